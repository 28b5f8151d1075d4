//! The weight-space engine: exact inference at a cost linear in the number of rows.
//!
//! A sum of one-dimensional kernels is, to working precision, a linear model f = Φw with few
//! features (see [`crate::basis`]) and prior variances λ_j per block, so everything follows from
//! the sums G = Φ'Φ and b = Φ'(y−c). With C = σ²I + Λ^½ G Λ^½,
//!
//! ```text
//! log|K + σ²I| = (n − p) log σ² + log|C|
//! (y−c)'(K + σ²I)⁻¹(y−c) = (|y−c|² − b'Λ^½ C⁻¹ Λ^½ b) / σ²
//! w | y ~ N(μ, Σ),   μ = Λ^½ C⁻¹ Λ^½ b,   Σ = σ² Λ^½ C⁻¹ Λ^½
//! ∂ log p/∂Φ   = (r μ' − Φ Σ)/σ²,   r = y − c − Φμ
//! ∂ log p/∂λ_j = ½ (|μ_j|² + tr Σ_jj − r_j λ_j)/λ_j²
//! ∂ log p/∂σ²  = ½ (|r|²/σ⁴ − tr K⁻¹),   tr K⁻¹ = (n − p + σ² tr C⁻¹)/σ²
//! ```
//!
//! Rows are read in blocks, three times per evaluation: to see where the views fall, to sum G and
//! b, and to gather the gradient. Memory does not depend on n. Blocks have fixed bounds and are
//! taken in order, so the bits do not depend on the number of threads.

mod features;
mod posterior;
mod statistics;

pub use features::FeatureMap;
pub use posterior::WeightPosterior;
pub use statistics::Statistics;

use super::{AdditiveKernel, Engine, Evaluation, Posterior, Prior};
use crate::basis::Occupancy;
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::linalg::{self, Threads};
use crate::scale::StandardRows;
use rayon::prelude::*;
use statistics::Solution;

/// The engine's name.
pub const NAME: &str = "weight";

/// The likelihood may be wrong by about this many nats, or a few times as many where the model
/// fits badly.
const NATS: f64 = 2e-4;
/// Features and their products in a block take about this many numbers.
const BLOCK_NUMBERS: usize = 4_000_000;

/// Training rows.
#[derive(Debug)]
pub struct Weight<'a> {
    rows: StandardRows<'a>,
    y: Vec<f64>,
}

/// The share of each sub-kernel's variance that a basis may leave out. What is left out of K has
/// trace n·s·share, and changes the likelihood by at most that over σ². It is capped because
/// covariances with points outside the data are only as good as its root.
fn tolerance(prior: &Prior, rows: usize) -> f64 {
    let share = NATS * prior.noise_variance / (rows as f64 * prior.kernel.total_variance());
    share.clamp(1e-13, 1e-10)
}

impl<'a> Weight<'a> {
    /// Takes standardised rows.
    pub fn new(rows: StandardRows<'a>, y: Vec<f64>) -> Self {
        Self { rows, y }
    }

    /// Fails unless the engine can express this kernel.
    pub fn check_form(kernel: &AdditiveKernel) -> Result<()> {
        features::check_form(kernel)
    }

    /// The feature map for this prior and these rows.
    pub fn feature_map(&self, prior: &Prior) -> Result<FeatureMap> {
        self.feature_map_below(prior, usize::MAX)
    }

    /// The feature map, unless it would have clearly more than `limit` features: then making it
    /// is not worth the time.
    pub(super) fn feature_map_below(&self, prior: &Prior, limit: usize) -> Result<FeatureMap> {
        features::check_form(&prior.kernel)?;
        let tolerance = tolerance(prior, self.y.len());
        let spacing = features::spacing(&prior.kernel, tolerance);
        let mut views = vec![Occupancy::new(spacing); prior.kernel.views.rows()];
        for range in blocks(self.y.len(), 8192) {
            let rows = range.len();
            let z = prior.kernel.project(&self.rows.block(range), Threads::All);
            views.par_iter_mut().zip(z.par_chunks(rows)).try_for_each(|(o, z)| o.add(z))?;
        }
        if views.iter().map(Occupancy::estimate).sum::<usize>() > limit {
            return Err(Error::BasisTooLarge);
        }
        FeatureMap::new(&prior.kernel, &views, tolerance)
    }

    /// The statistics of all rows under `map`.
    pub fn statistics(&self, map: &FeatureMap, prior: &Prior) -> Statistics {
        self.sum(map, prior).0
    }

    /// Rows in one block, whatever the machine.
    fn block_rows(map: &FeatureMap) -> usize {
        (BLOCK_NUMBERS / map.len().max(1)).clamp(256, 8192) / 64 * 64
    }

    fn block(&self, map: &FeatureMap, prior: &Prior, range: std::ops::Range<usize>) -> Block {
        let targets = self.y[range.clone()].iter().map(|y| y - prior.mean).collect();
        let rows = range.len();
        let x = self.rows.block(range);
        let z = prior.kernel.project(&x, Threads::All);
        let mut phi = vec![0.0; rows * map.len()];
        map.apply(&z, rows, &mut phi);
        Block { x, z, phi, targets }
    }

    /// The statistics, and the only block if there is just one.
    fn sum(&self, map: &FeatureMap, prior: &Prior) -> (Statistics, Option<Block>) {
        let mut statistics = Statistics::new(map.len());
        let mut only = None;
        let all = blocks(self.y.len(), Self::block_rows(map));
        for range in all.clone() {
            let block = self.block(map, prior, range);
            statistics.add(&block.phi, &block.targets);
            only = Some(block);
        }
        (statistics, only.filter(|_| all.count() == 1))
    }

    /// Value and gradient with a feature map at hand.
    pub(super) fn evaluate_with(&self, map: &FeatureMap, prior: &Prior) -> Result<Evaluation> {
        let (statistics, mut only) = self.sum(map, prior);
        let noise = prior.noise_variance;
        let variances = map.spread(&prior.kernel.variances);
        let solution = Solution::new(&statistics, &variances, noise)?;
        let (covariance, trace) = solution.covariance(noise);
        let (p, n) = (map.len(), self.y.len());
        let mut views = Matrix::zeros(prior.kernel.views.rows(), prior.kernel.views.columns());
        let (mut squares, mut sum) = (0.0, 0.0);
        for range in blocks(n, Self::block_rows(map)) {
            let block = only.take().unwrap_or_else(|| self.block(map, prior, range));
            let smoothed = linalg::symmetric_product(&covariance, &block.phi, p);
            let residuals = block.residuals(&solution.mean);
            let slopes = map.pull_back(&block.z, block.targets.len(), |i, weights| {
                let smoothed = &smoothed[i * p..(i + 1) * p];
                let residual = residuals[i];
                for ((w, m), s) in weights.iter_mut().zip(&solution.mean).zip(smoothed) {
                    *w = (residual * m - s) / noise;
                }
            });
            linalg::add_row_major_gram(
                views.as_mut_slice(),
                &slopes,
                block.x.as_slice(),
                block.targets.len(),
            );
            squares += residuals.iter().map(|r| r * r).sum::<f64>();
            sum += residuals.iter().sum::<f64>();
        }
        let trace_inverse = (n as f64 - p as f64 + noise * trace) / noise;
        let by_variance = map.blocks.iter().zip(&prior.kernel.variances).map(|(block, v)| {
            let mean: f64 = solution.mean[block.features.clone()].iter().map(|m| m * m).sum();
            let spread: f64 = block.features.clone().map(|a| covariance[a * p + a]).sum();
            0.5 * (mean + spread - block.features.len() as f64 * v) / (v * v)
        });
        Ok(Evaluation {
            log_marginal_likelihood: solution.log_marginal_likelihood,
            views,
            variances: by_variance.collect(),
            noise_variance: 0.5 * (squares / (noise * noise) - trace_inverse),
            mean: sum / noise,
        })
    }

    /// Likelihood and posterior with a feature map at hand.
    pub(super) fn posterior_with(
        &self,
        map: FeatureMap,
        prior: &Prior,
    ) -> Result<(f64, Box<dyn Posterior>)> {
        let statistics = self.statistics(&map, prior);
        let posterior = WeightPosterior::new(map, statistics, prior)?;
        Ok((posterior.log_marginal_likelihood(), Box::new(posterior)))
    }
}

impl Engine for Weight<'_> {
    fn evaluate(&mut self, prior: &Prior) -> Result<Evaluation> {
        self.evaluate_with(&self.feature_map(prior)?, prior)
    }

    fn posterior(&mut self, prior: &Prior) -> Result<(f64, Box<dyn Posterior>)> {
        self.posterior_with(self.feature_map(prior)?, prior)
    }
}

/// Some rows on their way: standardised, projected, mapped.
struct Block {
    x: Matrix,
    z: Vec<f64>,
    phi: Vec<f64>,
    targets: Vec<f64>,
}

impl Block {
    /// y − c − Φμ.
    fn residuals(&self, mean: &[f64]) -> Vec<f64> {
        let p = mean.len();
        let residual = |(i, target): (usize, &f64)| {
            target - features::dot(&self.phi[i * p..(i + 1) * p], mean)
        };
        self.targets.par_iter().enumerate().map(residual).collect()
    }
}

fn blocks(rows: usize, size: usize) -> impl Iterator<Item = std::ops::Range<usize>> + Clone {
    (0..rows).step_by(size).map(move |start| start..(start + size).min(rows))
}
