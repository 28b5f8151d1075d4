//! Inference in weight space from sums over rows, wherever the rows are: in memory, in a file, or on
//! other machines.

use super::features::FeatureMap;
use super::posterior::WeightPosterior;
use super::solution::Solution;
use super::{NAME, Use};
use crate::basis::{Counts, Occupancy};
use crate::engine::{Conditioned, Engine, Evaluation, Prior, Statistics};
use crate::error::{Error, Result};
use crate::limits::MAX_FEATURES;
use crate::memory;
use crate::views::Views;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Everything that inference in weight space needs from the rows. Each is a sum over rows, so that
/// those of parts of the rows add up.
pub(crate) trait RowSums {
    /// Number of rows.
    fn rows(&self) -> usize;

    /// Whether rows come with known noise.
    fn has_known_noise(&self) -> bool;

    /// Where the rows fall along each view; `None` for lines.
    fn counts(&self, prior: &Prior, tolerance: f64) -> Result<Vec<Option<Counts>>>;

    /// The statistics of the rows under a feature map.
    fn statistics(&self, map: &FeatureMap, prior: &Prior) -> Result<Statistics>;

    /// The sums of the gradient, at the weights that the statistics give.
    fn slopes(
        &self,
        map: &FeatureMap,
        prior: &Prior,
        solved: &SolvedWeights,
    ) -> Result<GradientSums>;
}

/// The posterior of the weights, as the sums of the gradient need it.
pub(crate) struct SolvedWeights {
    /// μ of each target.
    pub means: Vec<Vec<f64>>,
    /// Σ, p × p, in full.
    pub covariance: Vec<f64>,
}

/// The sums over rows for the gradient.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct GradientSums {
    /// σ² ∂/∂W.
    pub views: Views,
    /// Σ ρr² and Σ ρr.
    pub squares: f64,
    pub sum: f64,
    /// ∂/∂σ² where the noise of rows is known.
    pub noise_slope: f64,
}

impl GradientSums {
    /// Of no rows.
    pub(crate) fn new(views: &Views) -> Self {
        Self { views: views.zeros(), squares: 0.0, sum: 0.0, noise_slope: 0.0 }
    }

    /// Adds those of other rows.
    pub(crate) fn add(&mut self, other: &GradientSums) {
        self.views.add(&other.views);
        self.squares += other.squares;
        self.sum += other.sum;
        self.noise_slope += other.noise_slope;
    }
}

/// Where the rows fall along each view.
pub(super) fn occupancies(
    rows: &dyn RowSums,
    prior: &Prior,
    tolerance: f64,
) -> Result<Vec<Option<Occupancy>>> {
    let counts = rows.counts(prior, tolerance)?;
    Ok(counts.into_iter().map(|counts| counts.map(Counts::settled)).collect())
}

/// About how many features the bases over these points have.
pub(super) fn estimate(views: &[Option<Occupancy>]) -> usize {
    views.iter().map(|view| view.as_ref().map_or(1, Occupancy::estimate)).sum()
}

/// The feature map, unless it would have far more than `limit` features; then creating it is not
/// worth the time.
pub(super) fn feature_map_below(
    rows: &dyn RowSums,
    prior: &Prior,
    wanted: Use,
    limit: usize,
) -> Result<FeatureMap> {
    prior.kernel.check_products(NAME)?;
    // Every sub-kernel has a feature at least.
    if prior.kernel.degrees.len() > limit {
        return Err(Error::BasisTooLarge);
    }
    let tolerance = wanted.tolerance(prior, rows.rows());
    let views = occupancies(rows, prior, tolerance)?;
    if estimate(&views) > limit {
        return Err(Error::BasisTooLarge);
    }
    FeatureMap::new(&prior.kernel, &views, tolerance)
}

/// Fails if there is no memory for p × p sums: one per stream, the total, and its factors.
fn require_memory_of_features(rows: usize, p: usize) -> Result<()> {
    memory::require(
        format_args!("the sums over {rows} rows of a model with {p} features"),
        memory::count(&[&[p, p, 6], &[p, 512, 2, 4]]),
    )
}

/// Value and gradient with a feature map at hand.
pub(super) fn evaluate(rows: &dyn RowSums, map: &FeatureMap, prior: &Prior) -> Result<Evaluation> {
    require_memory_of_features(rows.rows(), map.len())?;
    let noise = prior.noise_variance;
    let variances = map.spread(&prior.kernel.variances);
    let statistics = rows.statistics(map, prior)?;
    let solutions = Solution::all(&statistics, &variances, noise)?;
    let Some(first) = solutions.first() else { return Err(Error::NoTargets) };
    let (covariance, trace) = first.covariance(noise);
    let (p, targets) = (map.len(), solutions.len() as f64);
    let means = solutions.iter().map(|s| s.mean.clone()).collect();
    let solved = SolvedWeights { means, covariance };
    let mut total = rows.slopes(map, prior, &solved)?;
    total.views.weights_mut().iter_mut().for_each(|v| *v /= noise);
    let noise_slope = if rows.has_known_noise() {
        total.noise_slope
    } else {
        let trace_inverse = (statistics.rows as f64 - p as f64 + noise * trace) / noise;
        0.5 * (total.squares / (noise * noise) - targets * trace_inverse)
    };
    let by_variance = map.blocks.iter().zip(&prior.kernel.variances).map(|(block, v)| {
        let own =
            |s: &Solution| -> f64 { s.mean[block.features.clone()].iter().map(|m| m * m).sum() };
        let mean: f64 = solutions.iter().map(own).sum();
        let spread: f64 = block.features.clone().map(|a| solved.covariance[a * p + a]).sum();
        0.5 * (mean + targets * (spread - block.features.len() as f64 * v)) / (v * v)
    });
    Ok(Evaluation {
        log_marginal_likelihood: solutions.iter().map(|s| s.log_marginal_likelihood).sum(),
        views: total.views,
        variances: by_variance.collect(),
        noise_variance: noise_slope,
        mean: total.sum / noise,
    })
}

/// Likelihood and posterior of each target, with a feature map at hand.
pub(super) fn posteriors(
    rows: &dyn RowSums,
    map: FeatureMap,
    prior: &Prior,
) -> Result<Vec<Conditioned>> {
    require_memory_of_features(rows.rows(), map.len())?;
    let statistics = rows.statistics(&map, prior)?;
    let posteriors = WeightPosterior::all(map, &statistics, &Arc::new(prior.clone()))?;
    Ok(posteriors.into_iter().map(WeightPosterior::conditioned).collect())
}

/// The engine over rows that only their sums are known of.
pub(crate) struct Summed<'a>(pub(crate) &'a dyn RowSums);

impl Engine for Summed<'_> {
    fn check(&self, prior: &Prior) -> Result<()> {
        prior.kernel.check_products(NAME)
    }

    fn work(&self, _prior: &Prior) -> Option<f64> {
        None
    }

    fn evaluate(&mut self, prior: &Prior) -> Result<Evaluation> {
        let map = feature_map_below(self.0, prior, Use::Likelihood, MAX_FEATURES)?;
        evaluate(self.0, &map, prior)
    }

    fn posteriors(&mut self, prior: &Prior) -> Result<Vec<Conditioned>> {
        let map = feature_map_below(self.0, prior, Use::Prediction, MAX_FEATURES)?;
        posteriors(self.0, map, prior)
    }
}
