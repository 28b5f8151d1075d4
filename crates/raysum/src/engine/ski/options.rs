//! The settings of the engine.

use super::lattice;
use super::solve::Limits;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// More probes than these would be a typing error, and fill the memory.
const MORE_PROBES: usize = 10_001;

/// How the engine works; the defaults suit most data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SkiOptions {
    /// Nodes per view; `None` lets the error of interpolation decide.
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
    /// Fails on settings that nothing could be computed with.
    pub fn check(&self) -> Result<()> {
        let least = 4 * lattice::MARGIN;
        let out = |name, value: f64, rule| Err(Error::OutOfRange { name, value, rule });
        match self {
            Self { grid: Some(nodes), .. } if *nodes < least => {
                out("the grid", *nodes as f64, "16 points or more")
            }
            Self { probes: 0..=1, .. } | Self { probes: MORE_PROBES.., .. } => {
                out("the number of probes", self.probes as f64, "2 or more, and at most 10,000")
            }
            Self { tolerance, .. } if !(*tolerance > 0.0 && *tolerance < 1.0) => {
                out("the tolerance of conjugate gradients", *tolerance, "between 0 and 1")
            }
            Self { iterations: 0, .. } => out("the limit of conjugate gradients", 0.0, "1 or more"),
            _ => Ok(()),
        }
    }

    pub(super) fn limits(&self) -> Limits {
        Limits { tolerance: self.tolerance, iterations: self.iterations }
    }
}
