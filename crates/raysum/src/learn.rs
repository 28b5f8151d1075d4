//! When to stop learning directions: as many evaluations as held-out rows can bear.
//!
//! Directions have as many entries as a small table has rows, and no likelihood of the rows that
//! they were fitted to, not even leave-one-out in closed form, tells when they begin to follow the
//! noise. So parts of the rows are held out in turn, directions are learned from the others, and the
//! density of the held-out rows is followed along the way, from the plain model on.

use crate::engine::{Marginals, Observations};
use crate::rng::{Purpose, stream};
use rand::seq::SliceRandom;

/// Most evaluations for learning directions, unless the user says so.
pub(crate) const EVALUATIONS: usize = 800;
/// Most evaluations of the stage that goes on with it on more rows.
pub(crate) const LATER_EVALUATIONS: usize = 60;
/// With so many rows for each entry of θ directions are learned to the end.
const ENOUGH_ROWS: usize = 20;
/// The held-out share of the rows is one of so many parts.
const PARTS: usize = 5;
/// Up to this many rows every part is held out in turn; of more rows one part tells as much.
const FEW_ROWS: usize = 2_000;
/// The evaluations after which held-out rows are asked. The first is of the plain model.
const MARKS: [usize; 9] = [1, 4, 8, 16, 32, 64, 128, 256, 512];

/// Rows to learn from and rows to ask, by their numbers.
pub(crate) struct Split {
    pub(crate) learn: Vec<usize>,
    pub(crate) ask: Vec<usize>,
}

/// The splits of these rows that tell when to stop learning so many entries; none if there is no
/// need to, or nothing to split.
pub(crate) fn splits(rows: &[usize], entries: usize, seed: u64) -> Vec<Split> {
    let n = rows.len();
    if n >= ENOUGH_ROWS * entries || n < 2 * PARTS {
        return Vec::new();
    }
    let mut part: Vec<usize> = (0..n).map(|k| k % PARTS).collect();
    part.shuffle(&mut stream(seed, Purpose::Stopping, 0));
    let numbered = |wanted: &dyn Fn(usize) -> bool| -> Vec<usize> {
        rows.iter().zip(&part).filter(|(_, p)| wanted(**p)).map(|(row, _)| *row).collect()
    };
    let split =
        |held: usize| Split { learn: numbered(&|p| p != held), ask: numbered(&|p| p == held) };
    (0..if n <= FEW_ROWS { PARTS } else { 1 }).map(split).collect()
}

/// log p(y) of each row of a target under predictions of f and the noise, times the row's weight.
pub(crate) fn log_densities(
    f: &Marginals,
    noise_variance: f64,
    rows: &Observations,
    target: usize,
) -> Vec<f64> {
    let density = |(i, y): (usize, &f64)| {
        let variance = f.variance[i] + rows.variance(i, noise_variance);
        let square = (y - f.mean[i]).powi(2) / variance;
        -0.5 * rows.weight(i) * (square + (std::f64::consts::TAU * variance).ln())
    };
    rows.targets[target].iter().enumerate().map(density).collect()
}

/// What held-out rows said so far: the log density of each at each of [`MARKS`].
#[derive(Default)]
pub(crate) struct Asked(Vec<Vec<f64>>);

impl Asked {
    /// The evaluations until held-out rows are asked next; `None` if they need not be, because the
    /// best is two marks back, or the next one beyond the most evaluations there may be.
    pub(crate) fn next(&self, most: usize) -> Option<usize> {
        let asked = self.0.len();
        if self.best().is_some_and(|best| best + 2 < asked) {
            return None;
        }
        let mark = MARKS.get(asked).filter(|mark| **mark <= most)?;
        // Going on from a mark begins with the evaluation that it ended with.
        Some(asked.checked_sub(1).map_or(*mark, |last| mark - MARKS[last] + 1))
    }

    /// Takes the answer.
    pub(crate) fn answer(&mut self, densities: Vec<f64>) {
        self.0.push(densities);
    }

    /// The mark with the highest density.
    fn best(&self) -> Option<usize> {
        let total = |mark: &usize| self.0[*mark].iter().sum::<f64>();
        (0..self.0.len()).max_by(|a, b| total(a).total_cmp(&total(b)))
    }

    /// The evaluations to stop at; `None` to go on to the end.
    ///
    /// It is the first mark within a standard error of the best: what cannot be told from noise is
    /// not worth the risk.
    pub(crate) fn stop_at(&self) -> Option<usize> {
        let best = self.best()?;
        let close = |mark: &Vec<f64>| {
            let n = mark.len() as f64;
            let lead: Vec<f64> = self.0[best].iter().zip(mark).map(|(b, m)| b - m).collect();
            let mean = lead.iter().sum::<f64>() / n;
            let variance = lead.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / n;
            mean <= (variance / n).sqrt()
        };
        let chosen = self.0.iter().position(close)?;
        (chosen + 1 < MARKS.len()).then(|| MARKS[chosen])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_held_out_where_they_are_few() {
        let rows: Vec<usize> = (0..103).map(|k| 3 * k).collect();
        let all = splits(&rows, 100, 1);
        assert_eq!(all.len(), PARTS);
        let mut asked: Vec<usize> = all.iter().flat_map(|s| s.ask.clone()).collect();
        asked.sort_unstable();
        assert_eq!(asked, rows);
        for split in &all {
            assert_eq!(split.learn.len() + split.ask.len(), 103);
            assert!(split.learn.is_sorted() && split.ask.iter().all(|r| !split.learn.contains(r)));
        }
        let many: Vec<usize> = (0..3000).collect();
        assert_eq!(splits(&many, 200, 1).len(), 1);
        assert!(splits(&many, 100, 1).is_empty());
        assert!(splits(&many[..9], 100, 1).is_empty());
    }

    /// Two rows whose densities are the ones given, apart from a little noise.
    fn asked(densities: &[f64]) -> Asked {
        let mut asked = Asked::default();
        for (k, d) in densities.iter().enumerate() {
            assert_eq!(asked.next(800).is_some(), k < MARKS.len());
            asked.answer(vec![d - 0.01 * k as f64, d + 0.01 * k as f64]);
        }
        asked
    }

    #[test]
    fn learning_stops_at_the_first_mark_as_good_as_the_best() {
        assert_eq!(asked(&[0.0, -1.0, -2.0]).stop_at(), Some(1));
        assert_eq!(asked(&[0.0, 1.0, 2.0, 1.0]).stop_at(), Some(8));
        assert_eq!(asked(&[0.0, 1.0, 1.0, 1.005]).stop_at(), Some(4));
        // Rows that ask for more and more get all there is, as do those that are not asked.
        let rising: Vec<f64> = (0..MARKS.len()).map(|k| k as f64).collect();
        assert_eq!(asked(&rising).stop_at(), None);
        assert_eq!(asked(&rising).next(800), None);
        assert_eq!(Asked::default().stop_at(), None);
    }

    #[test]
    fn asking_ends_two_marks_after_the_best() {
        assert_eq!(asked(&[0.0, 1.0]).next(800), Some(5));
        assert_eq!(asked(&[0.0, 1.0, 0.5]).next(800), Some(9));
        assert_eq!(asked(&[0.0, 1.0, 0.5, 0.2]).next(800), None);
        assert_eq!((asked(&[0.0]).next(4), asked(&[0.0]).next(3)), (Some(4), None));
    }

    #[test]
    fn densities_are_those_of_the_normal_distribution() {
        let f = Marginals { mean: vec![0.0, 1.0], variance: vec![0.75, 0.75] };
        let found = log_densities(&f, 0.25, &vec![0.0, 3.0].into(), 0);
        assert!((found[0] + 0.918_938_533_204_672_8).abs() < 1e-12);
        assert!((found[1] + 2.918_938_533_204_672_7).abs() < 1e-12);
    }
}
