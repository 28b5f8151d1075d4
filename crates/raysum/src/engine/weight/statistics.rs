//! All that a likelihood or a posterior needs to know of the rows: four sums that add up.

use crate::error::{Error, Result};
use crate::linalg::{self, Threads};
use serde::{Deserialize, Serialize};

/// n, Σ(y−c)², Φ'(y−c) and Φ'Φ over some rows, for one feature map and constant c.
///
/// They form a monoid: the statistics of two sets of rows, merged, are those of their union.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// n.
    pub rows: u64,
    /// Σ (y−c)².
    pub square: f64,
    /// b = Φ'(y−c).
    pub moments: Vec<f64>,
    /// G = Φ'Φ, p × p, of which the lower half counts (column-major).
    pub gram: Vec<f64>,
}

impl Statistics {
    /// Of no rows, with p features.
    pub fn new(features: usize) -> Self {
        Self {
            rows: 0,
            square: 0.0,
            moments: vec![0.0; features],
            gram: vec![0.0; features * features],
        }
    }

    /// p.
    pub fn features(&self) -> usize {
        self.moments.len()
    }

    /// Adds rows with features `phi` (row-major, rows by p) and targets less c.
    pub(super) fn add(&mut self, phi: &[f64], targets: &[f64]) {
        self.rows += targets.len() as u64;
        self.square += targets.iter().map(|y| y * y).sum::<f64>();
        let features = self.features();
        linalg::add_gram(&mut self.gram, phi, features, Threads::One);
        linalg::add_product(&mut self.moments, phi, targets);
    }

    /// Takes in the statistics of other rows under the same feature map.
    pub fn merge(&mut self, other: &Statistics) -> Result<()> {
        if other.features() != self.features() || other.gram.len() != self.gram.len() {
            return Err(Error::HyperparameterCount {
                name: "features",
                expected: self.features(),
                found: other.features(),
            });
        }
        self.add_up(other);
        Ok(())
    }

    /// Like [`Statistics::merge`], where the features are known to be the same.
    pub(super) fn add_up(&mut self, other: &Statistics) {
        self.rows += other.rows;
        self.square += other.square;
        self.moments.iter_mut().zip(&other.moments).for_each(|(a, b)| *a += b);
        self.gram.iter_mut().zip(&other.gram).for_each(|(a, b)| *a += b);
    }
}

/// The p × p algebra at one θ: with λ spread over the features,
/// C = σ²I + Λ^½ G Λ^½ and the weights' posterior mean μ = Λ^½ C⁻¹ Λ^½ b.
#[derive(Clone, Debug)]
pub(super) struct Solution {
    /// λ^½, one per feature.
    pub(super) root: Vec<f64>,
    /// The Cholesky factor of C.
    pub(super) factor: Vec<f64>,
    /// μ.
    pub(super) mean: Vec<f64>,
    /// log p(y).
    pub(super) log_marginal_likelihood: f64,
}

impl Solution {
    pub(super) fn new(s: &Statistics, variances: &[f64], noise: f64) -> Result<Self> {
        let p = s.features();
        let root: Vec<f64> = variances.iter().map(|v| v.sqrt()).collect();
        let mut factor = s.gram.clone();
        for k in 0..p {
            for i in k..p {
                factor[k * p + i] *= root[i] * root[k];
            }
            factor[k * p + k] += noise;
        }
        linalg::cholesky(&mut factor, p, Threads::All)?;
        let mut half: Vec<f64> = s.moments.iter().zip(&root).map(|(b, r)| b * r).collect();
        linalg::solve_lower(&factor, p, &mut half, Threads::One);
        let explained: f64 = half.iter().map(|v| v * v).sum();
        linalg::solve_lower_transposed(&factor, p, &mut half, Threads::One);
        let mean = half.iter().zip(&root).map(|(v, r)| v * r).collect();
        let n = s.rows as f64;
        let log_determinant = (n - p as f64) * noise.ln() + linalg::log_determinant(&factor, p);
        let quadratic = (s.square - explained) / noise;
        let constant = n * (2.0 * std::f64::consts::PI).ln();
        let log_marginal_likelihood = -0.5 * (quadratic + log_determinant + constant);
        Ok(Self { root, factor, mean, log_marginal_likelihood })
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
