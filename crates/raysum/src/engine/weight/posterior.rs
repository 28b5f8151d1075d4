//! The weight-space posterior: feature map, statistics and the factor of C. No training rows.

mod draw;
mod file;
mod slopes;

use super::NAME;
use super::features::{FeatureMap, SubFeatures};
use super::solution::Solution;
use crate::data::Matrix;
use crate::engine::streams::blocks;
use crate::engine::{
    Components, Conditioned, Draws, LeaveOneOut, Marginals, Mergeable, Observations, Posterior,
    Prior, RowChanges, Statistics, Tensor, VarianceSlopes,
};
use crate::error::{Error, Result};
use crate::kernel::Shape;
use crate::linalg::{self, Threads, dot};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// f given the training rows, by their statistics.
#[derive(Debug)]
pub(crate) struct WeightPosterior {
    prior: Arc<Prior>,
    pub(super) map: Arc<FeatureMap>,
    statistics: Statistics,
    pub(super) solution: Solution,
    /// Σ, computed on first use of components.
    covariance: OnceLock<Vec<f64>>,
}

impl WeightPosterior {
    /// One posterior per target of the statistics; they share what does not depend on it.
    pub(super) fn all(
        map: impl Into<Arc<FeatureMap>>,
        statistics: &Statistics,
        prior: &Arc<Prior>,
    ) -> Result<Vec<Self>> {
        let map = map.into();
        let variances = map.spread(&prior.kernel.variances);
        let solutions = Solution::all(statistics, &variances, prior.noise_variance)?;
        let posterior = |(target, solution): (usize, Solution)| Self {
            prior: Arc::clone(prior),
            map: Arc::clone(&map),
            statistics: statistics.target(target),
            solution,
            covariance: OnceLock::new(),
        };
        Ok(solutions.into_iter().enumerate().map(posterior).collect())
    }

    /// The posterior of the only target of the statistics.
    pub(super) fn one(
        map: impl Into<Arc<FeatureMap>>,
        statistics: &Statistics,
        prior: &Arc<Prior>,
    ) -> Result<Self> {
        Self::all(map, statistics, prior)?.pop().ok_or(Error::NoTargets)
    }

    /// The posterior with its likelihood.
    pub(super) fn conditioned(self) -> Conditioned {
        (self.log_marginal_likelihood(), Box::new(self))
    }

    /// log p(y).
    pub(crate) fn log_marginal_likelihood(&self) -> f64 {
        self.solution.log_marginal_likelihood
    }

    /// The prior, to share.
    pub(super) fn shared_prior(&self) -> &Arc<Prior> {
        &self.prior
    }

    /// The statistics of the training rows.
    pub(crate) fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Φ at new rows, row-major.
    pub(super) fn features_of(&self, x: &Matrix) -> Vec<f64> {
        self.features_at(self.prior.kernel.project(x, Threads::One), x.rows())
    }

    /// Φ at projected rows, row-major.
    fn features_at(&self, z: Vec<f64>, rows: usize) -> Vec<f64> {
        let mut phi = vec![0.0; rows * self.map.len()];
        self.map.apply(&self.map.locate(z, rows), &mut phi);
        phi
    }

    /// L⁻¹ Λ^½ φ for each row of Φ: its squared length times σ² is φ'Σφ.
    fn whitened(&self, phi: &[f64]) -> Vec<f64> {
        let p = self.map.len();
        let mut v = phi.to_vec();
        for row in v.chunks_mut(p) {
            row.iter_mut().zip(self.solution.root.iter()).for_each(|(v, r)| *v *= r);
        }
        // Row-major Φ is Φ' in columns, which is what the solve wants.
        linalg::solve_lower(&self.solution.factor, p, &mut v, Threads::One);
        v
    }

    /// The prior variance that the basis leaves out at a row, Σ_j λ_j (1 − |φ_j|²): far from the
    /// data it is all of it.
    fn left_out(&self, phi: &[f64]) -> f64 {
        let blocks = self.map.blocks.iter().zip(&self.prior.kernel.variances);
        blocks
            .map(|(block, variance)| {
                variance * self.map.left_out_share(block, &phi[block.features.clone()])
            })
            .sum()
    }

    fn variances(&self, phi: &[f64]) -> Vec<f64> {
        let p = self.map.len();
        let whitened = self.whitened(phi);
        phi.chunks(p)
            .zip(whitened.chunks(p))
            .map(|(phi, v)| self.prior.noise_variance * dot(v, v) + self.left_out(phi))
            .collect()
    }

    fn means(&self, phi: &[f64]) -> Vec<f64> {
        let mean = |row| dot(row, &self.solution.mean) + self.prior.mean;
        phi.chunks(self.map.len()).map(mean).collect()
    }
}

impl Posterior for WeightPosterior {
    fn engine(&self) -> &'static str {
        NAME
    }

    fn prior(&self) -> &Prior {
        &self.prior
    }

    fn mean_of_projected(&self, z: Vec<f64>, rows: usize) -> Vec<f64> {
        self.means(&self.features_at(z, rows))
    }

    fn marginals(&self, x: &Matrix) -> Marginals {
        let phi = self.features_of(x);
        Marginals { mean: self.means(&phi), variance: self.variances(&phi) }
    }

    fn joint(&self, x: &Matrix) -> (Vec<f64>, Matrix) {
        self.joint_of(self.prior.kernel.all(), x)
    }

    fn joint_width(&self) -> usize {
        self.map.len()
    }

    fn mean_slopes(&self, x: &Matrix) -> Matrix {
        let z = self.prior.kernel.project(x, Threads::One);
        let at = self.map.locate(z, x.rows());
        let (one, nothing) = (vec![1.0; x.rows()], vec![0.0; x.rows() * self.map.len()]);
        let slopes = self.map.pull_back(&at, &one, &self.solution.mean, &nothing);
        Matrix::from_fn(x.rows(), self.map.views.len(), |i, j| slopes[i * self.map.views.len() + j])
    }

    fn tensors(&self) -> Vec<Tensor> {
        let mut all = self.map.tensors();
        all.extend(self.statistics.tensors());
        all
    }

    fn components(&self) -> Option<&dyn Components> {
        Some(self)
    }

    fn variance_slopes(&self) -> Option<&dyn VarianceSlopes> {
        Some(self)
    }

    fn draws(&self) -> Option<&dyn Draws> {
        Some(self)
    }

    fn leave_one_out(&self) -> Option<&dyn LeaveOneOut> {
        Some(self)
    }

    fn row_changes(&self) -> Option<&dyn RowChanges> {
        Some(self)
    }

    fn mergeable(&self) -> Option<&dyn Mergeable> {
        Some(self)
    }
}

impl Components for WeightPosterior {
    fn marginals_of_each(&self, x: &Matrix) -> Vec<Marginals> {
        let p = self.map.len();
        let sigma =
            self.covariance.get_or_init(|| self.solution.covariance(self.prior.noise_variance).0);
        let phi = self.features_of(x);
        let blocks = self.map.blocks.iter().zip(&self.prior.kernel.variances);
        let component = |(block, variance): (&SubFeatures, &f64)| {
            let at = &block.features;
            let mut f = Marginals { mean: Vec::new(), variance: Vec::new() };
            for row in phi.chunks(p) {
                let own = &row[at.clone()];
                f.mean.push(dot(own, &self.solution.mean[at.clone()]));
                let spread: f64 = at
                    .clone()
                    .zip(own)
                    .map(|(a, phi)| phi * dot(&sigma[a * p + at.start..a * p + at.end], own))
                    .sum();
                f.variance.push(spread.max(0.0) + variance * self.map.left_out_share(block, own));
            }
            f
        };
        blocks.map(component).collect()
    }

    fn means_of_each(&self, x: &Matrix) -> Option<Vec<Vec<f64>>> {
        let (p, phi) = (self.map.len(), self.features_of(x));
        let component = |block: &SubFeatures| {
            let at = &block.features;
            let mean = |row: &[f64]| dot(&row[at.clone()], &self.solution.mean[at.clone()]);
            phi.chunks(p).map(mean).collect()
        };
        Some(self.map.blocks.iter().map(component).collect())
    }

    fn joint_of(&self, which: Range<usize>, x: &Matrix) -> (Vec<f64>, Matrix) {
        let (p, m) = (self.map.len(), x.rows());
        let mut phi = self.features_of(x);
        let (kernel, blocks) = (&self.prior.kernel, &self.map.blocks[which.clone()]);
        let own = blocks.first().map_or(0..0, |first| {
            first.features.start..blocks.last().map_or(0, |last| last.features.end)
        });
        for row in phi.chunks_mut(p) {
            row[..own.start].fill(0.0);
            row[own.end..].fill(0.0);
        }
        let mean = phi.chunks(p).map(|row| dot(row, &self.solution.mean)).collect();
        let whitened = self.whitened(&phi);
        let z = self.prior.kernel.project(x, Threads::All);
        let mut covariance = Matrix::zeros(m, m);
        for i in 0..m {
            for k in 0..=i {
                let (a, b) = (&phi[i * p..(i + 1) * p], &phi[k * p..(k + 1) * p]);
                // What the basis leaves out keeps its prior covariance, sub-kernel by sub-kernel.
                let mut left_out = 0.0;
                for (j, block) in which.clone().zip(blocks) {
                    let Shape::Stationary(shape) = kernel.shapes[j] else { continue };
                    let f = block.features.clone();
                    left_out += kernel.variances[j]
                        * if i == k {
                            self.map.left_out_share(block, &a[f])
                        } else {
                            let gap = |view: usize| z[view * m + i] - z[view * m + k];
                            let s = block.views.clone().map(|view| gap(view).powi(2)).sum();
                            shape.value(s) - dot(&a[f.clone()], &b[f])
                        };
                }
                let (v, w) = (&whitened[i * p..(i + 1) * p], &whitened[k * p..(k + 1) * p]);
                let value = self.prior.noise_variance * dot(v, w) + left_out;
                covariance[(i, k)] = value;
                covariance[(k, i)] = value;
            }
        }
        (mean, covariance)
    }
}

impl LeaveOneOut for WeightPosterior {
    fn without_each(&self, x: &Matrix, y: &Observations) -> Result<Marginals> {
        let ([target], true) = (&y.targets[..], x.rows() as u64 == self.statistics.rows) else {
            return Err(Error::NotTrainingRows { row: None });
        };
        let p = self.map.len();
        let noise = self.prior.noise_variance;
        let mut loo = Marginals { mean: Vec::new(), variance: Vec::new() };
        let mut moments = vec![0.0; p];
        for range in blocks(x.rows(), 512) {
            let rows: Vec<usize> = range.clone().collect();
            let phi = self.features_of(&x.gather(&rows));
            let means = self.means(&phi);
            let precision: Vec<f64> = range.clone().map(|i| y.precision(i, noise)).collect();
            let targets = &target[range];
            let weigh = |(y, r): (&f64, &f64)| (y - self.prior.mean) * r;
            let weighted: Vec<f64> = targets.iter().zip(&precision).map(weigh).collect();
            linalg::add_product(&mut moments, &phi, &weighted);
            let whitened = self.whitened(&phi);
            for (i, (phi, v)) in phi.chunks(p).zip(whitened.chunks(p)).enumerate() {
                // Dropping row i divides its residual and its variance by 1 − h_i.
                let spread = dot(v, v);
                let rest = (1.0 - precision[i] * spread).max(1e-12);
                let residual = (targets[i] - means[i]) / rest;
                loo.mean.push(targets[i] - residual);
                loo.variance.push(noise * spread / rest + self.left_out(phi));
            }
        }
        let known = &self.statistics.targets[0].moments;
        let size = known.iter().fold(1.0_f64, |m, b| m.max(b.abs()));
        let same = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * size;
        if !moments.iter().zip(known).all(same) {
            return Err(Error::NotTrainingRows { row: None });
        }
        Ok(loo)
    }
}
