//! Scores of predictions on rows that were not fitted.

use raysum::metrics;
use raysum::{Prediction, Standard};
use serde::Serialize;

/// Scores, in one unit of the target.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Scores {
    pub(crate) rmse: f64,
    pub(crate) nlpd: f64,
    pub(crate) coverage95: f64,
    pub(crate) crps: f64,
}

impl Scores {
    /// Scores in the target's units.
    pub(crate) fn new(truth: &[f64], p: &Prediction) -> Self {
        Self {
            rmse: metrics::rmse(truth, &p.mean),
            nlpd: metrics::nlpd(truth, &p.mean, &p.variance),
            coverage95: metrics::coverage(truth, &p.mean, &p.variance, 0.95),
            crps: metrics::crps(truth, &p.mean, &p.variance),
        }
    }

    /// The same scores with the target standardised by its training rows.
    pub(crate) fn standardised(&self, target: Standard) -> Self {
        Self {
            rmse: self.rmse / target.std,
            nlpd: self.nlpd - target.std.ln(),
            coverage95: self.coverage95,
            crps: self.crps / target.std,
        }
    }
}
