//! Scores of predictions on held-out rows.

use super::Prediction;
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Scores of predictions, in one unit of the target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Root mean squared error.
    pub rmse: f64,
    /// Mean absolute error.
    pub mae: f64,
    /// Mean negative log predictive density.
    pub nlpd: f64,
    /// Mean continuous ranked probability score.
    pub crps: f64,
    /// Share of the rows inside the 95 % interval.
    pub coverage95: f64,
    /// Mean width of the 95 % interval.
    pub width95: f64,
}

impl Scores {
    /// Scores of the target divided by `unit`, its standard deviation in the training rows, so that
    /// squares of very large or very small targets neither overflow nor underflow.
    pub fn standardised(truth: &[f64], p: &Prediction, unit: f64) -> Result<Self> {
        let error = || truth.iter().zip(&p.mean).map(|(t, m)| (t / unit) - (m / unit));
        let average = |values: Vec<f64>| {
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            // The sum of huge values overflows; that of their shares does not.
            if mean.is_finite() {
                return mean;
            }
            values.iter().map(|v| v / n).sum::<f64>().clamp(f64::MIN, f64::MAX)
        };
        let inside = |below: f64| f64::from(u8::from((0.025..=0.975).contains(&below)));
        let (lower, upper) = p.interval(0.95)?;
        let width = |(low, high): (&f64, &f64)| high / unit - low / unit;
        Ok(Self {
            rmse: average(error().map(|e| e * e).collect()).sqrt(),
            mae: average(error().map(f64::abs).collect()),
            nlpd: -average(p.log_density(truth)?) - unit.ln(),
            crps: average(p.crps(truth)?.into_iter().map(|score| score / unit).collect()),
            coverage95: average(p.cdf(truth)?.into_iter().map(inside).collect()),
            width95: average(lower.iter().zip(&upper).map(width).collect()),
        })
    }

    /// The same scores in the target's own units.
    #[must_use]
    pub fn in_units(&self, unit: f64) -> Self {
        Self {
            rmse: self.rmse * unit,
            mae: self.mae * unit,
            nlpd: self.nlpd + unit.ln(),
            crps: self.crps * unit,
            coverage95: self.coverage95,
            width95: self.width95 * unit,
        }
    }

    /// The scores of all rows from those of parts, weighted by their numbers of rows.
    pub(crate) fn joined(parts: &[(usize, Self)]) -> Option<Self> {
        let rows: usize = parts.iter().map(|(rows, _)| rows).sum();
        let mean = |score: &dyn Fn(&Self) -> f64| {
            parts.iter().map(|(n, part)| *n as f64 * score(part)).sum::<f64>() / rows as f64
        };
        // Errors beyond what floats can hold are as large as they can be: a file cannot hold infinity.
        let bounded = |score: f64| if score.is_nan() { f64::MAX } else { score.min(f64::MAX) };
        (rows > 0).then(|| Self {
            rmse: bounded(mean(&|s| s.rmse * s.rmse).sqrt()),
            mae: bounded(mean(&|s| s.mae)),
            nlpd: bounded(mean(&|s| s.nlpd)),
            crps: bounded(mean(&|s| s.crps)),
            coverage95: mean(&|s| s.coverage95),
            width95: bounded(mean(&|s| s.width95)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_join_to_the_scores_of_all_rows() {
        let p = |mean: Vec<f64>| {
            let n = mean.len();
            Prediction::new(mean, vec![2.0; n], &vec![1.0; n])
        };
        let truth = [1.0, -2.0, 9.0];
        let all = Scores::standardised(&truth, &p(vec![0.0, 0.5, 1.0]), 2.0).unwrap();
        let first = Scores::standardised(&truth[..2], &p(vec![0.0, 0.5]), 2.0).unwrap();
        let last = Scores::standardised(&truth[2..], &p(vec![1.0]), 2.0).unwrap();
        let joined = Scores::joined(&[(2, first), (1, last)]).unwrap();
        for (a, b) in [
            (all.rmse, joined.rmse),
            (all.mae, joined.mae),
            (all.nlpd, joined.nlpd),
            (all.crps, joined.crps),
            (all.width95, joined.width95),
        ] {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
        assert!((joined.coverage95 - 2.0 / 3.0).abs() < 1e-12);
        assert!((all.width95 - 2.0 * 1.959_963_984_540_054).abs() < 1e-9);
        assert_eq!(all.in_units(2.0).rmse, 2.0 * all.rmse);
    }
}
