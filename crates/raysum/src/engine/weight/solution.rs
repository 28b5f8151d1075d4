//! The p × p algebra of the weight-space engine: from sums over rows to weights and likelihood.

use crate::engine::statistics::{Moments, Statistics};
use crate::error::Result;
use crate::linalg::{self, Threads};
use std::sync::Arc;

/// The p × p algebra at one θ: with λ spread over the features,
/// C = σ²I + Λ^½ G Λ^½ and the weights' posterior mean μ = Λ^½ C⁻¹ Λ^½ b.
#[derive(Clone, Debug)]
pub(super) struct Solution {
    /// λ^½, one per feature.
    pub(super) root: Arc<Vec<f64>>,
    /// The Cholesky factor of C.
    pub(super) factor: Arc<Vec<f64>>,
    /// μ.
    pub(super) mean: Vec<f64>,
    /// σ² y'K⁻¹y, which is not negative for the sums of any rows.
    pub(super) misfit: f64,
    /// log p(y).
    pub(super) log_marginal_likelihood: f64,
}

impl Solution {
    /// One solution per target, with one factorisation.
    pub(super) fn all(s: &Statistics, variances: &[f64], noise: f64) -> Result<Vec<Self>> {
        let p = s.features();
        let root: Vec<f64> = variances.iter().map(|v| v.sqrt()).collect();
        let mut factor = s.gram.to_vec();
        for k in 0..p {
            for i in k..p {
                factor[k * p + i] *= root[i] * root[k];
            }
            factor[k * p + k] += noise;
        }
        linalg::cholesky(&mut factor, p, Threads::All)?;
        let n = s.rows as f64;
        let log_determinant =
            (n - p as f64) * noise.ln() + s.log_noise + linalg::log_determinant(&factor, p);
        let constant = n * (2.0 * std::f64::consts::PI).ln();
        let (root, factor) = (Arc::new(root), Arc::new(factor));
        let solve = |target: &Moments| {
            let mut half: Vec<f64> =
                target.moments.iter().zip(root.iter()).map(|(b, r)| b * r).collect();
            linalg::solve_lower(&factor, p, &mut half, Threads::One);
            let explained: f64 = half.iter().map(|v| v * v).sum();
            linalg::solve_lower_transposed(&factor, p, &mut half, Threads::One);
            let mean = half.iter().zip(root.iter()).map(|(v, r)| v * r).collect();
            let misfit = target.square - explained;
            Self {
                root: Arc::clone(&root),
                factor: Arc::clone(&factor),
                mean,
                misfit,
                log_marginal_likelihood: -0.5 * (misfit / noise + log_determinant + constant),
            }
        };
        Ok(s.targets.iter().map(solve).collect())
    }

    /// C⁻¹, in full.
    fn inverse(&self) -> Vec<f64> {
        let p = self.root.len();
        let mut inverse = vec![0.0; p * p];
        linalg::inverse(&self.factor, p, &mut inverse, Threads::All);
        for k in 0..p {
            for i in k + 1..p {
                inverse[i * p + k] = inverse[k * p + i];
            }
        }
        inverse
    }

    /// The weights' posterior covariance Σ = σ² Λ^½ C⁻¹ Λ^½ in full, and tr C⁻¹.
    pub(super) fn covariance(&self, noise: f64) -> (Vec<f64>, f64) {
        let p = self.root.len();
        let mut matrix = self.inverse();
        let trace = (0..p).map(|i| matrix[i * p + i]).sum();
        for k in 0..p {
            for i in 0..p {
                matrix[k * p + i] *= noise * self.root[i] * self.root[k];
            }
        }
        (matrix, trace)
    }
}
