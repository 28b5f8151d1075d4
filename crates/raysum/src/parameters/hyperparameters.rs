//! What a search finds.

use serde::{Deserialize, Serialize};

/// The hyperparameters of a model, in standardised units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hyperparameters {
    /// σ_c, one per column of X, if the model scales columns before projecting; else empty.
    pub column_length_scales: Vec<f64>,
    /// ℓ, one per row of every projection, if the model does not; else empty.
    pub length_scales: Vec<f64>,
    /// λ_j = s·α_j, one per sub-kernel.
    pub variances: Vec<f64>,
    /// σ².
    pub noise_variance: f64,
    /// The constant mean c.
    pub mean: f64,
}

impl Hyperparameters {
    /// The scale s = Σ λ_j.
    pub fn scale(&self) -> f64 {
        self.variances.iter().sum()
    }
}
