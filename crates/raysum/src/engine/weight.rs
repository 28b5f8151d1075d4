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
//! b, and to gather the gradient. Memory does not depend on n. Blocks have fixed bounds and go to a
//! fixed number of streams, so the bits do not depend on the number of threads.

mod features;
mod posterior;
mod statistics;

pub use features::FeatureMap;
pub use posterior::WeightPosterior;
pub use statistics::Statistics;

use super::{Engine, Evaluation, Posterior, Prior};
use crate::basis::{Occupancy, lattice_spacing};
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::linalg::{self, Threads};
use crate::scale::StandardRows;
use features::Located;
use rayon::prelude::*;
use statistics::Solution;
use std::ops::Range;

/// The engine's name.
pub const NAME: &str = "weight";

/// The likelihood may be wrong by about this many nats, or some ten times as many where the model
/// fits badly.
const NATS: f64 = 5e-5;

/// Training rows.
#[derive(Debug)]
pub struct Weight<'a> {
    pub(super) rows: StandardRows<'a>,
    pub(super) y: Vec<f64>,
}

/// What features are wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// The likelihood of the training rows.
    Likelihood,
    /// Predictions anywhere: covariances with points outside the data are only as good as the root
    /// of what a basis leaves out.
    Prediction,
}

impl Use {
    /// The share of each sub-kernel's variance that a basis may leave out. What is left out of K
    /// has trace n·s·share, and changes the likelihood by at most that over σ².
    fn tolerance(self, prior: &Prior, rows: usize) -> f64 {
        let share = NATS * prior.noise_variance / (rows as f64 * prior.kernel.total_variance());
        // Slopes suffer more than values, and those of products most.
        let simple = prior.kernel.degrees.iter().all(|degree| *degree == 1);
        let most = if self == Self::Likelihood && simple { 1e-8 } else { 1e-10 };
        share.clamp(1e-13, most)
    }
}

impl<'a> Weight<'a> {
    /// Takes standardised rows.
    pub fn new(rows: StandardRows<'a>, y: Vec<f64>) -> Self {
        Self { rows, y }
    }

    /// The feature map for this prior and these rows.
    pub fn feature_map(&self, prior: &Prior, wanted: Use) -> Result<FeatureMap> {
        self.feature_map_below(prior, wanted, usize::MAX)
    }

    /// The feature map, unless it would have clearly more than `limit` features: then making it
    /// is not worth the time.
    pub(super) fn feature_map_below(
        &self,
        prior: &Prior,
        wanted: Use,
        limit: usize,
    ) -> Result<FeatureMap> {
        features::check_form(&prior.kernel)?;
        let tolerance = wanted.tolerance(prior, self.y.len());
        let spacing = lattice_spacing(prior.kernel.sub_kernel, tolerance);
        let empty = || vec![Occupancy::new(spacing); prior.kernel.views.rows()];
        let parts = in_streams(
            self.y.len(),
            1024,
            8,
            || Ok(empty()),
            |views: &mut Result<Vec<Occupancy>>, range| {
                let Ok(counts) = views else { return };
                let rows = range.len();
                let z = prior.kernel.project(&self.rows.block(range), Threads::One);
                let mut runs = counts.iter_mut().zip(z.chunks(rows));
                if let Err(error) = runs.try_for_each(|(o, z)| o.add(z)) {
                    *views = Err(error);
                }
            },
        );
        let mut views = empty();
        for part in parts {
            views.iter_mut().zip(&part?).try_for_each(|(view, more)| view.merge(more))?;
        }
        if views.iter().map(Occupancy::estimate).sum::<usize>() > limit {
            return Err(Error::BasisTooLarge);
        }
        FeatureMap::new(&prior.kernel, &views, tolerance)
    }

    /// The statistics of all rows under `map`.
    pub fn statistics(&self, map: &FeatureMap, prior: &Prior) -> Statistics {
        let parts = self.by_stream(
            map,
            prior,
            || Statistics::new(map.len()),
            |sum, block| {
                sum.add(&block.phi, &block.targets);
            },
        );
        let mut parts = parts.into_iter();
        let mut total = parts.next().unwrap_or_else(|| Statistics::new(map.len()));
        for part in parts {
            total.add_up(&part);
        }
        total
    }

    /// Sums up over blocks of all rows, in streams.
    fn by_stream<S: Send>(
        &self,
        map: &FeatureMap,
        prior: &Prior,
        start: impl Fn() -> S + Sync,
        add: impl Fn(&mut S, &Block) + Sync,
    ) -> Vec<S> {
        // A block with its features should stay in a core's cache, but be large enough to pay for a
        // walk through a p × p sum. Every stream has such a sum of its own; where those are large,
        // or blocks few, a few must do.
        let size = (map.len() / 2).clamp(128, 512).next_multiple_of(64);
        let most = if map.len() > 1000 { 4 } else { 8 };
        let streams = (self.y.len() / size / 2).clamp(1, most);
        let start = || (start(), Block::default());
        let parts = in_streams(self.y.len(), size, streams, start, |(sum, block), range| {
            self.read(map, prior, range, block);
            add(sum, block);
        });
        parts.into_iter().map(|(sum, _)| sum).collect()
    }

    fn read(&self, map: &FeatureMap, prior: &Prior, range: Range<usize>, block: &mut Block) {
        let rows = range.len();
        block.targets.clear();
        block.targets.extend(self.y[range.clone()].iter().map(|y| y - prior.mean));
        block.x = self.rows.block(range);
        block.at = map.locate(prior.kernel.project(&block.x, Threads::One), rows);
        block.phi.resize(rows * map.len(), 0.0);
        map.apply(&block.at, &mut block.phi);
    }

    /// Value and gradient with a feature map at hand.
    pub(super) fn evaluate_with(&self, map: &FeatureMap, prior: &Prior) -> Result<Evaluation> {
        let noise = prior.noise_variance;
        let variances = map.spread(&prior.kernel.variances);
        let solution = Solution::new(&self.statistics(map, prior), &variances, noise)?;
        let (covariance, trace) = solution.covariance(noise);
        let (p, n) = (map.len(), self.y.len());
        let shape = (prior.kernel.views.rows(), prior.kernel.views.columns());
        let parts = self.by_stream(
            map,
            prior,
            || Gathered::new(shape),
            |sum, block| {
                let residuals = block.residuals(&solution.mean);
                sum.spread.resize(block.phi.len(), 0.0);
                linalg::symmetric_product(&covariance, &block.phi, p, &mut sum.spread);
                let slopes = map.pull_back(&block.at, &residuals, &solution.mean, &sum.spread);
                sum.add(&slopes, block, &residuals);
            },
        );
        let mut total = Gathered::new(shape);
        for part in &parts {
            total.add_up(part);
        }
        total.views.as_mut_slice().iter_mut().for_each(|v| *v /= noise);
        let trace_inverse = (n as f64 - p as f64 + noise * trace) / noise;
        let by_variance = map.blocks.iter().zip(&prior.kernel.variances).map(|(block, v)| {
            let mean: f64 = solution.mean[block.features.clone()].iter().map(|m| m * m).sum();
            let spread: f64 = block.features.clone().map(|a| covariance[a * p + a]).sum();
            0.5 * (mean + spread - block.features.len() as f64 * v) / (v * v)
        });
        Ok(Evaluation {
            log_marginal_likelihood: solution.log_marginal_likelihood,
            views: total.views,
            variances: by_variance.collect(),
            noise_variance: 0.5 * (total.squares / (noise * noise) - trace_inverse),
            mean: total.sum / noise,
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
    fn check(&self, prior: &Prior) -> Result<()> {
        self.feature_map(prior, Use::Prediction).map(drop)
    }

    fn evaluate(&mut self, prior: &Prior) -> Result<Evaluation> {
        self.evaluate_with(&self.feature_map(prior, Use::Likelihood)?, prior)
    }

    fn posterior(&mut self, prior: &Prior) -> Result<(f64, Box<dyn Posterior>)> {
        self.posterior_with(self.feature_map(prior, Use::Prediction)?, prior)
    }
}

/// Some rows on their way: standardised, projected, mapped. The room is used again and again.
#[derive(Default)]
struct Block {
    x: Matrix,
    at: Located,
    phi: Vec<f64>,
    targets: Vec<f64>,
}

impl Block {
    /// y − c − Φμ.
    fn residuals(&self, mean: &[f64]) -> Vec<f64> {
        let p = mean.len();
        let residual =
            |(i, target): (usize, &f64)| target - linalg::dot(&self.phi[i * p..(i + 1) * p], mean);
        self.targets.iter().enumerate().map(residual).collect()
    }
}

/// What the gradient needs from the rows: σ² ∂/∂W, Σ r² and Σ r.
struct Gathered {
    views: Matrix,
    squares: f64,
    sum: f64,
    /// Room for a block's ΦΣ.
    spread: Vec<f64>,
}

impl Gathered {
    fn new((rows, columns): (usize, usize)) -> Self {
        Self { views: Matrix::zeros(rows, columns), squares: 0.0, sum: 0.0, spread: Vec::new() }
    }

    fn add(&mut self, slopes: &[f64], block: &Block, residuals: &[f64]) {
        let rows = residuals.len();
        linalg::add_row_major_gram(self.views.as_mut_slice(), slopes, block.x.as_slice(), rows);
        self.squares += residuals.iter().map(|r| r * r).sum::<f64>();
        self.sum += residuals.iter().sum::<f64>();
    }

    fn add_up(&mut self, other: &Gathered) {
        let views = other.views.as_slice();
        self.views.as_mut_slice().iter_mut().zip(views).for_each(|(a, b)| *a += b);
        self.squares += other.squares;
        self.sum += other.sum;
    }
}

/// Goes through blocks of `size` rows in a fixed number of streams, which share the threads: stream
/// t takes the blocks t, t + T, t + 2T, …, one after another, and sums up on its own. What comes
/// back is in order, so that adding it up gives the same bits on any number of threads.
fn in_streams<S: Send>(
    rows: usize,
    size: usize,
    streams: usize,
    start: impl Fn() -> S + Sync,
    add: impl Fn(&mut S, Range<usize>) + Sync,
) -> Vec<S> {
    (0..streams.min(rows.div_ceil(size)))
        .into_par_iter()
        .map(|stream| {
            let mut sum = start();
            for range in blocks(rows, size).skip(stream).step_by(streams) {
                add(&mut sum, range);
            }
            sum
        })
        .collect()
}

fn blocks(rows: usize, size: usize) -> impl Iterator<Item = Range<usize>> + Clone {
    (0..rows).step_by(size).map(move |start| start..(start + size).min(rows))
}
