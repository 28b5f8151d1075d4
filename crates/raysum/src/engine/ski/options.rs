//! The settings of the engine.

use super::solve::Limits;
use crate::error::{Error, Result};
use crate::limits::{MAX_PROBES, MIN_GRID_POINTS, MIN_PROBES, written};
use serde::{Deserialize, Serialize};

/// Settings of the SKI engine; the defaults suit most data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SkiOptions {
    /// Nodes per projection; `None` chooses them by the error of interpolation.
    pub grid: Option<usize>,
    /// Random probes for traces and the log determinant.
    pub probes: usize,
    /// Conjugate gradients end at this residual, as a share of the right-hand side.
    pub tolerance: f64,
    /// Most iterations of conjugate gradients.
    pub iterations: usize,
    /// Whether variances come from a solve for every point (slow, and the model keeps its rows),
    /// and not from a low-rank factor that was made once.
    pub exact_variance: bool,
}

impl Default for SkiOptions {
    fn default() -> Self {
        Self { grid: None, probes: 15, tolerance: 1e-6, iterations: 1000, exact_variance: false }
    }
}

impl SkiOptions {
    /// Fails on invalid settings.
    pub fn check(&self) -> Result<()> {
        let out = |name, value: f64, rule| Err(Error::OutOfRange { name, value, rule });
        if let Some(nodes) = self.grid.filter(|nodes| *nodes < MIN_GRID_POINTS) {
            let rule = format!("{MIN_GRID_POINTS} points or more").into();
            return out("the grid", nodes as f64, rule);
        }
        if !(MIN_PROBES..=MAX_PROBES).contains(&self.probes) {
            let rule = format!("{MIN_PROBES} or more, and at most {}", written(MAX_PROBES)).into();
            return out("the number of probes", self.probes as f64, rule);
        }
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            let rule = "between 0 and 1".into();
            return out("the tolerance of conjugate gradients", self.tolerance, rule);
        }
        if self.iterations == 0 {
            return out("the limit of conjugate gradients", 0.0, "1 or more".into());
        }
        Ok(())
    }

    pub(super) fn limits(&self) -> Limits {
        Limits { tolerance: self.tolerance, iterations: self.iterations }
    }
}
