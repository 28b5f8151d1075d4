//! The calibration of quantiles: where held-out observations lay, in place of where they should have.
//!
//! Each held-out observation has a normal score under its prediction. If predictions were right, the
//! scores would be standard normal; the curve maps the quantiles of that distribution to those that
//! the scores have (conformal prediction across folds).

use crate::metrics;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Fewest scores whose own quantiles are used, those of their sizes; with fewer, the quantiles are
/// those of Student's distribution.
const FEW: usize = 40;
/// Fewest scores whose lower and upper quantiles are used each for itself.
const MANY: usize = 200;
/// The probabilities of the knots below one half; those above mirror them.
const KNOTS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4];
/// Bounds on how much wider or narrower than normal tails are taken to be beyond the last knot.
const TAILS: (f64, f64) = (0.5, 4.0);
/// Knots are at least this far apart.
const APART: f64 = 1e-6;

/// An increasing map of normal scores, linear between its knots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The scores of the normal distribution.
    nominal: Vec<f64>,
    /// The scores at which held-out observations have the same probability.
    actual: Vec<f64>,
}

impl Calibration {
    /// Of the scores of held-out observations, of which there must be some.
    pub(crate) fn of_scores(scores: &[f64]) -> Self {
        let n = scores.len() as f64;
        // Beyond the smallest and the largest score nothing is known of their quantiles.
        let in_reach = |p: f64| scores.len() < FEW || p * (n + 1.0) >= 1.0;
        let lower = KNOTS.iter().copied().filter(|p| in_reach(*p));
        let lower: Vec<f64> = lower.collect();
        let middle = if scores.len() >= MANY { vec![0.45, 0.5, 0.55] } else { vec![0.5] };
        let upper = lower.iter().rev().map(|p| 1.0 - p);
        let shares: Vec<f64> = lower.iter().copied().chain(middle).chain(upper).collect();
        let quantile: Box<dyn Fn(f64) -> f64> = match scores.len() {
            few if few < FEW => Box::new(student(few)),
            some if some < MANY => Box::new(of_sizes(scores)),
            _ => Box::new(of_sorted(sorted(scores.to_vec()))),
        };
        let nominal: Vec<f64> = shares.iter().map(|p| Normal::standard().inverse_cdf(*p)).collect();
        let mut actual: Vec<f64> = shares.iter().map(|p| quantile(*p)).collect();
        // Equal ones are moved apart from the middle on: observations that all equal their mean are
        // inside of every interval.
        let middle = actual.len() / 2;
        for k in middle + 1..actual.len() {
            actual[k] = actual[k].max(actual[k - 1] + APART);
        }
        for k in (0..middle).rev() {
            actual[k] = actual[k].min(actual[k + 1] - APART);
        }
        Self { nominal, actual }
    }

    /// The score at which held-out observations have the probability that z has.
    pub(crate) fn apply(&self, z: f64) -> f64 {
        interpolated(&self.nominal, &self.actual, z, self.slopes())
    }

    /// The inverse of [`Calibration::apply`].
    pub(crate) fn undo(&self, z: f64) -> f64 {
        let (low, high) = self.slopes();
        interpolated(&self.actual, &self.nominal, z, (1.0 / low, 1.0 / high))
    }

    /// How much wider than those of normal distributions intervals of this probability are.
    pub fn widening(&self, level: f64) -> f64 {
        let z = metrics::two_sided_quantile(level);
        (self.apply(z) - self.apply(-z)) / (2.0 * z)
    }

    /// The slopes beyond the first and the last knot.
    fn slopes(&self) -> (f64, f64) {
        let slope = |k: usize| (self.actual[k] / self.nominal[k]).clamp(TAILS.0, TAILS.1);
        (slope(0), slope(self.nominal.len() - 1))
    }

    /// Whether it is an increasing map, as those of damaged files may not be.
    pub(crate) fn is_sound(&self) -> bool {
        let rises = |values: &[f64]| {
            values.iter().all(|v| v.is_finite()) && values.windows(2).all(|pair| pair[0] < pair[1])
        };
        let ends = self.nominal.first().zip(self.nominal.last());
        self.nominal.len() == self.actual.len()
            && rises(&self.nominal)
            && rises(&self.actual)
            && ends.is_some_and(|(first, last)| *first < 0.0 && *last > 0.0)
    }
}

/// Of few scores, whose spread alone is known.
fn student(scores: usize) -> impl Fn(f64) -> f64 {
    let freedom = scores.max(2) as f64;
    let distribution = StudentsT::new(0.0, 1.0, freedom);
    move |p: f64| match &distribution {
        Ok(student) => student.inverse_cdf(p),
        Err(_) => Normal::standard().inverse_cdf(p),
    }
}

/// Of the sizes of scores: the same on both sides.
fn of_sizes(scores: &[f64]) -> impl Fn(f64) -> f64 + use<> {
    let sizes = of_sorted(sorted(scores.iter().map(|z| z.abs()).collect()));
    move |p: f64| match p {
        p if p < 0.5 => -sizes(1.0 - 2.0 * p),
        p if p > 0.5 => sizes(2.0 * p - 1.0),
        _ => 0.0,
    }
}

/// The quantile p of n sorted values is number p (n + 1): then a further value of the same
/// distribution lies below it with probability p.
fn of_sorted(values: Vec<f64>) -> impl Fn(f64) -> f64 {
    move |p: f64| {
        let place = (p * (values.len() as f64 + 1.0) - 1.0).clamp(0.0, values.len() as f64 - 1.0);
        let (below, above) = (place.floor() as usize, place.ceil() as usize);
        values[below] + (place - place.floor()) * (values[above] - values[below])
    }
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// The piecewise linear map from `x` to `y`, with these slopes before the first and after the last.
fn interpolated(x: &[f64], y: &[f64], at: f64, (before, after): (f64, f64)) -> f64 {
    let last = x.len() - 1;
    match x.partition_point(|x| *x < at) {
        0 => y[0] + before * (at - x[0]),
        k if k > last => y[last] + after * (at - x[last]),
        k => y[k - 1] + (y[k] - y[k - 1]) * (at - x[k - 1]) / (x[k] - x[k - 1]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, stream};
    use rand_distr::{Distribution, StandardNormal};

    fn draws(count: usize, of: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut rng = stream(3, Purpose::Samples, 0);
        (0..count).map(|_| of(StandardNormal.sample(&mut rng))).collect()
    }

    #[test]
    fn intervals_hold_further_observations() {
        // Scores that are spread twice as wide, and skewed.
        for (count, of) in [
            (5000, (|z: f64| 2.0 * z + 0.3 * (z * z - 1.0)) as fn(f64) -> f64),
            (150, |z: f64| 1.5 * z),
        ] {
            let curve = Calibration::of_scores(&draws(count, of));
            let fresh = draws(40_000, |z| of(-z));
            for level in [0.5, 0.8, 0.95] {
                let z = metrics::two_sided_quantile(level);
                let (low, high) = (curve.apply(-z), curve.apply(z));
                let inside = fresh.iter().filter(|s| (low..high).contains(*s)).count();
                let share = inside as f64 / 40_000.0;
                let room = 3.0 * (level * (1.0 - level) / count as f64).sqrt() + 0.01;
                assert!((share - level).abs() < room, "{count} {level}: {share}");
            }
        }
    }

    #[test]
    fn the_map_can_be_undone_and_continues_beyond_its_ends() {
        let curve = Calibration::of_scores(&draws(300, |z| 1.3 * z + 0.1));
        assert!(curve.is_sound());
        for z in [-9.0, -3.0, -1.0, -0.01, 0.0, 0.7, 2.0, 8.0] {
            assert!((curve.undo(curve.apply(z)) - z).abs() < 1e-9, "{z}");
        }
        assert!(curve.apply(9.0) > curve.apply(8.0) && curve.apply(-9.0) < curve.apply(-8.0));
        assert!((1.1..1.5).contains(&curve.widening(0.95)), "{}", curve.widening(0.95));
    }

    #[test]
    fn few_scores_give_wider_intervals_than_the_normal_distribution() {
        let (ten, thirty) =
            (Calibration::of_scores(&[0.0; 10]), Calibration::of_scores(&[0.0; 30]));
        assert!(ten.widening(0.95) > thirty.widening(0.95) && thirty.widening(0.95) > 1.0);
        // 2.228 is Student's quantile with ten degrees of freedom.
        assert!((ten.widening(0.95) - 2.228 / 1.96).abs() < 0.02, "{}", ten.widening(0.95));
    }

    #[test]
    fn equal_scores_are_no_obstacle() {
        let curve = Calibration::of_scores(&[1.0; 500]);
        assert!(curve.is_sound() && curve.apply(0.3).is_finite() && curve.undo(0.3).is_finite());
        for count in [50, 500] {
            let curve = Calibration::of_scores(&vec![0.0; count]);
            assert!(curve.is_sound() && curve.apply(-0.7) < 0.0 && curve.apply(0.7) > 0.0);
            assert!(curve.apply(0.0).abs() < 1e-12);
        }
    }
}
