//! Scores of predictions on held-out rows.

use raysum::{Prediction, Result, metrics};
use serde::Serialize;

/// Scores, in one unit of the target.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Scores {
    /// Root mean squared error.
    pub rmse: f64,
    /// Mean negative log predictive density.
    pub nlpd: f64,
    /// Share of the rows inside the 95 % interval.
    pub coverage95: f64,
    /// Mean continuous ranked probability score.
    pub crps: f64,
}

impl Scores {
    /// Scores of the target divided by `unit`, its standard deviation in the training rows, so that
    /// squares of very large or very small targets neither overflow nor underflow.
    pub fn standardised(truth: &[f64], p: &Prediction, unit: f64) -> Result<Self> {
        let error: Vec<f64> =
            truth.iter().zip(&p.mean).map(|(t, m)| (t / unit) - (m / unit)).collect();
        let average = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        let inside = |below: f64| f64::from(u8::from((0.025..=0.975).contains(&below)));
        Ok(Self {
            rmse: metrics::rmse(&error, &vec![0.0; error.len()]),
            nlpd: -average(p.log_density(truth)?) - unit.ln(),
            coverage95: average(p.cdf(truth)?.into_iter().map(inside).collect()),
            crps: average(p.crps(truth)?.into_iter().map(|score| score / unit).collect()),
        })
    }

    /// The same scores in the target's own units.
    pub(crate) fn in_units(&self, unit: f64) -> Self {
        Self {
            rmse: self.rmse * unit,
            nlpd: self.nlpd + unit.ln(),
            coverage95: self.coverage95,
            crps: self.crps * unit,
        }
    }
}
