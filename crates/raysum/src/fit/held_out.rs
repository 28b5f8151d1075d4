//! Chooses the freedom of a model by held-out rows.
//!
//! Some models have about as many parameters as a small table has rows: a length-scale per column
//! of a wide table, the entries of learned directions. No likelihood of the rows that they were
//! fitted to, not even leave-one-out in closed form, shows when they begin to fit noise. Therefore
//! some of the rows are held out in turn, the model is fitted to the others with increasing
//! freedom, and the density of the held-out rows is recorded.

use super::training::{SomeRows, Training};
use crate::engine::{Conditioned, Marginals, Observations};
use crate::error::Result;

/// Number of rows per parameter from which held-out rows are not needed.
const ENOUGH_ROWS: usize = 20;
/// Number of folds.
pub(super) const PARTS: usize = 5;
/// Up to this number of rows every fold is held out in turn; with more rows one fold suffices.
const FEW_ROWS: usize = 2_000;
/// Number of steps without improvement after which more freedom is not tried.
const PATIENCE: usize = 2;

/// Rows to fit to, and rows to score.
pub(super) struct HeldOutSplit {
    pub(super) fitted: SomeRows,
    pub(super) held: SomeRows,
}

/// Whether the rows are enough for this number of parameters.
pub(super) fn enough(rows: usize, parameters: usize) -> bool {
    rows >= ENOUGH_ROWS * parameters
}

/// Splits some rows, given by their numbers; none if there are too few to split.
pub(super) fn splits(
    training: &Training<'_>,
    rows: &[usize],
    seed: u64,
) -> Result<Vec<HeldOutSplit>> {
    let parts = parts(&training.keys(rows, seed)?);
    let numbered = |wanted: &dyn Fn(usize) -> bool| -> Result<SomeRows> {
        let chosen = rows.iter().zip(&parts).filter(|(_, part)| wanted(**part));
        training.rows(&chosen.map(|(row, _)| *row).collect::<Vec<_>>())
    };
    let count = match rows.len() {
        n if n < 2 * PARTS => 0,
        n if n <= FEW_ROWS => PARTS,
        _ => 1,
    };
    let split = |part: usize| {
        Ok(HeldOutSplit { fitted: numbered(&|p| p != part)?, held: numbered(&|p| p == part)? })
    };
    (0..count).map(split).collect()
}

/// The fold of each row. Rows with the same key are in the same fold; the order of the keys
/// is as good as random.
pub(super) fn parts(keys: &[u64]) -> Vec<usize> {
    let mut sorted = keys.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    keys.iter().map(|key| sorted.partition_point(|other| other < key) % PARTS).collect()
}

/// log p(y) of each held-out value, with one posterior per target.
pub(super) fn log_densities(
    training: &Training<'_>,
    split: &HeldOutSplit,
    posteriors: &[Conditioned],
) -> Result<Vec<f64>> {
    let rows = training.standardised(&split.held)?;
    let mut all = Vec::new();
    for (target, (_, posterior)) in posteriors.iter().enumerate() {
        let f = posterior.marginals(&rows);
        all.extend(densities(
            &f,
            posterior.prior().noise_variance,
            &split.held.observations,
            target,
        ));
    }
    Ok(all)
}

fn densities(f: &Marginals, noise: f64, rows: &Observations, target: usize) -> Vec<f64> {
    let density = |(i, y): (usize, &f64)| {
        let variance = f.variance[i] + rows.variance(i, noise) / rows.weight(i);
        let square = (y - f.mean[i]).powi(2) / variance;
        -0.5 * (square + (std::f64::consts::TAU * variance).ln())
    };
    rows.targets[target].iter().enumerate().map(density).collect()
}

/// The log density of each held-out value after each step towards more freedom.
#[derive(Default)]
pub(super) struct StepScores(Vec<Vec<f64>>);

impl StepScores {
    /// Adds the densities of one more step.
    pub(super) fn push(&mut self, densities: Vec<f64>) {
        self.0.push(densities);
    }

    /// Number of steps.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there was no improvement for too many steps.
    pub(super) fn are_falling(&self) -> bool {
        self.best().is_some_and(|best| best + PATIENCE < self.len())
    }

    /// The step with the highest density; the first of equals.
    pub(super) fn best(&self) -> Option<usize> {
        let total = |step: &usize| self.0[*step].iter().sum::<f64>();
        (0..self.len()).rev().max_by(|a, b| total(a).total_cmp(&total(b)))
    }

    /// The first step within a standard error of the best.
    pub(super) fn first_as_good(&self) -> Option<usize> {
        let best = self.best()?;
        let close = |step: &Vec<f64>| {
            let n = step.len() as f64;
            let lead: Vec<f64> = self.0[best].iter().zip(step).map(|(b, s)| b - s).collect();
            let mean = lead.iter().sum::<f64>() / n;
            let variance = lead.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / n;
            mean <= (variance / n).sqrt()
        };
        self.0.iter().position(close)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Matrix};

    #[test]
    fn rows_are_held_out_in_turn_and_copies_together() {
        let x = Matrix::from_fn(40, 1, |i, _| (i % 30) as f64);
        let y: Vec<f64> = (0..40).map(|i| f64::from(i % 30) + 0.25).collect();
        let data = Dataset::new(&x, &y).unwrap();
        let training = Training::new(&crate::Config::default(), &data).unwrap();
        // Ten of the rows are copies, which leaves thirty.
        let rows: Vec<usize> = (0..training.len()).collect();
        let all = splits(&training, &rows, 1).unwrap();
        assert_eq!((rows.len(), all.len()), (30, PARTS));
        let mut held = Vec::new();
        for split in &all {
            assert_eq!(split.fitted.observations.rows() + split.held.observations.rows(), 30);
            held.extend(split.held.observations.targets[0].clone());
        }
        held.sort_by(f64::total_cmp);
        held.dedup();
        assert_eq!(held.len(), 30);
        assert!(splits(&training, &rows[..9], 1).unwrap().is_empty());
    }

    #[test]
    fn rows_with_one_key_are_in_one_part() {
        let keys: Vec<u64> = (0..100).map(|i| i * 7919 % 37).collect();
        let parts = parts(&keys);
        for (i, key) in keys.iter().enumerate() {
            assert_eq!(parts[i], parts[keys.iter().position(|other| other == key).unwrap()]);
        }
        assert!((0..PARTS).all(|part| parts.contains(&part)));
    }

    /// Two rows whose densities are the ones given, apart from a little noise.
    fn scores(densities: &[f64]) -> StepScores {
        let mut scores = StepScores::default();
        for (k, d) in densities.iter().enumerate() {
            scores.push(vec![d - 0.01 * k as f64, d + 0.01 * k as f64]);
        }
        scores
    }

    #[test]
    fn the_first_step_as_good_as_the_best_is_found() {
        assert_eq!(scores(&[0.0, -1.0, -2.0]).first_as_good(), Some(0));
        assert_eq!(scores(&[0.0, 1.0, 2.0, 1.0]).first_as_good(), Some(2));
        assert_eq!(scores(&[0.0, 1.0, 1.0, 1.005]).first_as_good(), Some(1));
        assert_eq!(scores(&[0.0, 1.0, 1.0, 1.005]).best(), Some(3));
        assert_eq!(scores(&[1.0, 1.0]).best(), Some(0));
        assert_eq!(StepScores::default().first_as_good(), None);
    }

    #[test]
    fn more_freedom_is_not_tried_once_the_best_is_far_back() {
        assert!(!scores(&[0.0, 1.0]).are_falling());
        assert!(!scores(&[0.0, 1.0, 0.5]).are_falling());
        assert!(scores(&[0.0, 1.0, 0.5, 0.2]).are_falling());
    }

    #[test]
    fn densities_are_those_of_the_normal_distribution() {
        let f = Marginals { mean: vec![0.0, 1.0], variance: vec![0.75, 0.75] };
        let found = densities(&f, 0.25, &vec![0.0, 3.0].into(), 0);
        assert!((found[0] + 0.918_938_533_204_672_8).abs() < 1e-12);
        assert!((found[1] + 2.918_938_533_204_672_7).abs() < 1e-12);
    }
}
