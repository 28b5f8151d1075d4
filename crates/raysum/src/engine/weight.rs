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
//! Rows with weights w or known noise s² count ρ = wσ²/(σ² + s²) times (see [`Observations`]): Φ
//! and y are multiplied by the root of ρ, row by row, and the formulas stay as they are, with −Σ
//! log ρ added to the log determinant. With known noise ∂ log p/∂σ² is then a sum over the rows, ½
//! Σ ((|r|² + φ'Σφ)/σ² − 1)/v, with v = σ² + s².
//!
//! Rows are read in blocks, three times per evaluation: to find the range of the projections, to
//! sum G and b, and to gather the gradient. Memory does not depend on n. Blocks have fixed bounds
//! and go to a fixed number of streams, so the bits do not depend on the number of threads.

mod features;
mod online;
mod posterior;
mod solution;
mod sums;

pub(crate) use features::FeatureMap;
pub(crate) use posterior::WeightPosterior;
pub(crate) use sums::{GradientSums, RowSums, SolvedWeights, Summed};

use super::streams::in_streams;
use super::{Conditioned, Engine, Evaluation, Observations, Prior, Statistics};
use crate::basis::{Counts, lattice_spacing};
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::kernel::Shape;
use crate::linalg::{self, Threads};
use crate::memory;
use crate::scale::StandardRows;
use features::Located;
use std::borrow::Cow;
use std::ops::Range;

/// The engine's name.
pub(crate) const NAME: &str = "weight";

/// The likelihood may be wrong by about this many nats, or some ten times as many where the model
/// fits badly.
const NATS: f64 = 5e-5;

/// Training rows.
#[derive(Debug)]
pub(crate) struct Weight<'a> {
    pub(super) rows: StandardRows<'a>,
    pub(super) observations: Cow<'a, Observations>,
}

/// The use of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// The likelihood of the training rows.
    Likelihood,
    /// Predictions anywhere: covariances with points outside the data are only as good as the root
    /// of what a basis leaves out.
    Prediction,
}

impl Use {
    /// The share of each sub-kernel's variance that a basis may omit. The omitted part of K
    /// has trace n·s·share, and changes the likelihood by at most that over σ².
    fn tolerance(self, prior: &Prior, rows: usize) -> f64 {
        let variance = prior.kernel.stationary_variance().max(f64::MIN_POSITIVE);
        let share = NATS * prior.noise_variance / (rows as f64 * variance);
        // GradientSums are less accurate than values, and those of products least.
        let simple = prior.kernel.degrees.iter().all(|degree| *degree == 1);
        let most = if self == Self::Likelihood && simple { 1e-8 } else { 1e-10 };
        share.clamp(1e-13, most)
    }
}

impl<'a> Weight<'a> {
    /// Takes standardised rows.
    pub(crate) fn new(
        rows: StandardRows<'a>,
        observations: impl Into<Cow<'a, Observations>>,
    ) -> Self {
        Self { rows, observations: observations.into() }
    }

    /// The feature map for this prior and these rows.
    pub(crate) fn feature_map(&self, prior: &Prior, wanted: Use) -> Result<FeatureMap> {
        self.feature_map_below(prior, wanted, usize::MAX)
    }

    /// The feature map, unless it would have far more than `limit` features; then creating it
    /// is not worth the time.
    pub(super) fn feature_map_below(
        &self,
        prior: &Prior,
        wanted: Use,
        limit: usize,
    ) -> Result<FeatureMap> {
        sums::feature_map_below(self, prior, wanted, limit)
    }

    /// About how many features the likelihood of these rows needs.
    pub(crate) fn estimated_features(&self, prior: &Prior) -> Result<usize> {
        prior.kernel.check_products(NAME)?;
        let tolerance = Use::Likelihood.tolerance(prior, self.rows.len());
        Ok(sums::estimate(&sums::occupancies(self, prior, tolerance)?))
    }

    /// Counts where the rows fall along each view; lines do not need to know.
    fn count(&self, prior: &Prior, tolerance: f64) -> Result<Vec<Option<Counts>>> {
        self.require_memory_of_views(prior)?;
        let empty = || empty_counts(prior, tolerance);
        let parts = in_streams(self.rows.len(), 1024, 8, empty, |counts, range| {
            let rows = range.len();
            let z = prior.kernel.project(&self.rows.block(range)?, Threads::One);
            let each = counts.iter_mut().zip(z.chunks(rows));
            each.filter_map(|(o, z)| o.as_mut().zip(Some(z))).try_for_each(|(o, z)| o.add(z))
        })?;
        let mut views = empty();
        for part in parts {
            let each = views.iter_mut().flatten().zip(part.iter().flatten());
            each.into_iter().try_for_each(|(view, more)| view.merge(more))?;
        }
        Ok(views)
    }

    /// Fails if there is no memory for the projections of a block of rows on each thread, and for
    /// the counts of where they fall.
    fn require_memory_of_views(&self, prior: &Prior) -> Result<()> {
        let (n, views) = (self.rows.len(), prior.kernel.views.rows());
        let at_once = n.min(1024 * rayon::current_num_threads().min(8));
        memory::require(
            format_args!("{views} projections of {n} rows"),
            memory::count(&[&[views, 2 * at_once + 1024]]),
        )
    }

    /// The statistics of all rows under `map`.
    pub(crate) fn statistics(&self, map: &FeatureMap, prior: &Prior) -> Result<Statistics> {
        let empty = || Statistics::new(map.len(), self.observations.targets.len());
        let parts = self.by_stream(map, prior, empty, |sum, block| {
            let range = block.range.clone();
            sum.add(&block.phi, &block.targets, &self.observations, range, prior.noise_variance);
        })?;
        Ok(Statistics::sum(parts, empty))
    }

    /// Sums up over blocks of all rows, in streams.
    fn by_stream<S: Send>(
        &self,
        map: &FeatureMap,
        prior: &Prior,
        start: impl Fn() -> S + Sync,
        add: impl Fn(&mut S, &Workspace) + Sync,
    ) -> Result<Vec<S>> {
        // A block with its features should stay in a core's cache, but be large enough to pay for a
        // walk through a p × p sum. Every stream has such a sum of its own; where those are large,
        // or blocks few, there are fewer streams.
        let size = (map.len() / 2).clamp(128, 512).next_multiple_of(64);
        let most = if map.len() > 1000 { 4 } else { 8 };
        let streams = (self.rows.len() / size / 2).clamp(1, most);
        let start = || (start(), Workspace::default());
        let parts = in_streams(self.rows.len(), size, streams, start, |(sum, block), range| {
            self.read(map, prior, range, block)?;
            add(sum, block);
            Ok(())
        })?;
        Ok(parts.into_iter().map(|(sum, _)| sum).collect())
    }

    fn read(
        &self,
        map: &FeatureMap,
        prior: &Prior,
        range: Range<usize>,
        block: &mut Workspace,
    ) -> Result<()> {
        let rows = range.len();
        let less_mean = |y: &Vec<f64>| y[range.clone()].iter().map(|y| y - prior.mean).collect();
        block.targets = self.observations.targets.iter().map(less_mean).collect();
        block.x = self.rows.block(range.clone())?;
        block.at = map.locate(prior.kernel.project(&block.x, Threads::One), rows);
        block.phi.resize(rows * map.len(), 0.0);
        map.apply(&block.at, &mut block.phi);
        block.roots.clear();
        if !self.observations.are_plain() {
            let root = |i| self.observations.precision(i, prior.noise_variance).sqrt();
            block.roots.extend(range.clone().map(root));
            for (row, root) in block.phi.chunks_mut(map.len().max(1)).zip(&block.roots) {
                row.iter_mut().for_each(|v| *v *= root);
            }
            for y in &mut block.targets {
                y.iter_mut().zip(&block.roots).for_each(|(y, root)| *y *= root);
            }
        }
        block.range = range;
        Ok(())
    }

    /// Value and gradient with a feature map at hand.
    pub(super) fn evaluate_with(&self, map: &FeatureMap, prior: &Prior) -> Result<Evaluation> {
        sums::evaluate(self, map, prior)
    }

    /// Likelihood and posterior of each target, with a feature map at hand.
    pub(super) fn posteriors_with(
        &self,
        map: FeatureMap,
        prior: &Prior,
    ) -> Result<Vec<Conditioned>> {
        sums::posteriors(self, map, prior)
    }
}

/// Counts of no rows; lines need none, as their feature is the same wherever the rows are.
pub(super) fn empty_counts(prior: &Prior, tolerance: f64) -> Vec<Option<Counts>> {
    let count = |shape: Shape| match shape {
        Shape::Linear => None,
        Shape::Stationary(kernel) => Some(Counts::new(lattice_spacing(kernel, tolerance))),
    };
    prior.kernel.shapes_of_views().map(count).collect()
}

impl RowSums for Weight<'_> {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn has_known_noise(&self) -> bool {
        self.observations.noise.is_some()
    }

    fn counts(&self, prior: &Prior, tolerance: f64) -> Result<Vec<Option<Counts>>> {
        self.count(prior, tolerance)
    }

    fn statistics(&self, map: &FeatureMap, prior: &Prior) -> Result<Statistics> {
        Weight::statistics(self, map, prior)
    }

    fn slopes(
        &self,
        map: &FeatureMap,
        prior: &Prior,
        solved: &SolvedWeights,
    ) -> Result<GradientSums> {
        let noise = prior.noise_variance;
        let (p, targets) = (map.len(), solved.means.len() as f64);
        let Some((first, others)) = solved.means.split_first() else {
            return Err(Error::NoTargets);
        };
        let parts = self.by_stream(
            map,
            prior,
            || Gathered { sums: GradientSums::new(&prior.kernel.views), spread: Vec::new() },
            |sum, block| {
                sum.spread.resize(block.phi.len(), 0.0);
                linalg::symmetric_product(&solved.covariance, &block.phi, p, &mut sum.spread);
                sum.add_noise(block, &self.observations, targets, noise);
                let residuals = block.residuals(0, first);
                sum.add_residuals(block, &residuals, &self.observations, noise);
                // Σ_t r_t μ_t' − TΦΣ: the first target's part is left as a product.
                if !others.is_empty() {
                    sum.spread.iter_mut().for_each(|s| *s *= targets);
                }
                for (t, mean) in others.iter().enumerate() {
                    let residuals = block.residuals(t + 1, mean);
                    sum.add_residuals(block, &residuals, &self.observations, noise);
                    for (row, r) in sum.spread.chunks_mut(p.max(1)).zip(&residuals) {
                        row.iter_mut().zip(mean).for_each(|(s, m)| *s -= r * m);
                    }
                }
                let slopes = map.pull_back(&block.at, &residuals, first, &sum.spread);
                sum.add_slopes(slopes, block);
            },
        )?;
        let mut total = GradientSums::new(&prior.kernel.views);
        for part in &parts {
            total.add(&part.sums);
        }
        Ok(total)
    }
}

/// The multiplications that an evaluation with p features takes, about.
pub(super) fn work(rows: usize, features: usize) -> f64 {
    let (n, p) = (rows as f64, features as f64);
    3.0 * n * p * p + 2.0 * p.powi(3)
}

impl Engine for Weight<'_> {
    fn check(&self, prior: &Prior) -> Result<()> {
        self.feature_map(prior, Use::Prediction).map(drop)
    }

    fn work(&self, prior: &Prior) -> Option<f64> {
        let map = self.feature_map(prior, Use::Likelihood).ok()?;
        Some(work(self.rows.len(), map.len()))
    }

    fn evaluate(&mut self, prior: &Prior) -> Result<Evaluation> {
        self.evaluate_with(&self.feature_map(prior, Use::Likelihood)?, prior)
    }

    fn posteriors(&mut self, prior: &Prior) -> Result<Vec<Conditioned>> {
        self.posteriors_with(self.feature_map(prior, Use::Prediction)?, prior)
    }
}

/// Workspace of a block of rows: standardised, projected, mapped.
#[derive(Default)]
struct Workspace {
    range: Range<usize>,
    x: Matrix,
    at: Located,
    /// ρ^½ of each row, or nothing where it is 1; Φ and y−c are multiplied by it.
    roots: Vec<f64>,
    phi: Vec<f64>,
    targets: Vec<Vec<f64>>,
}

impl Workspace {
    /// y − c − Φμ of one target.
    fn residuals(&self, target: usize, mean: &[f64]) -> Vec<f64> {
        let p = mean.len();
        let residual =
            |(i, target): (usize, &f64)| target - linalg::dot(&self.phi[i * p..(i + 1) * p], mean);
        self.targets[target].iter().enumerate().map(residual).collect()
    }
}

/// The sums of a stream of rows for the gradient.
struct Gathered {
    sums: GradientSums,
    /// Room for a block's ΦΣ.
    spread: Vec<f64>,
}

impl Gathered {
    /// Adds ∂/∂W from ∂/∂z.
    fn add_slopes(&mut self, mut slopes: Vec<f64>, block: &Workspace) {
        let views = self.sums.views.rows();
        for (row, root) in slopes.chunks_mut(views.max(1)).zip(&block.roots) {
            row.iter_mut().for_each(|s| *s *= root);
        }
        self.sums.views.add_slopes(&slopes, &block.x);
    }

    /// Adds the contribution of one target's residuals to ∂/∂c and ∂/∂σ².
    fn add_residuals(&mut self, block: &Workspace, r: &[f64], of: &Observations, noise: f64) {
        let sums = &mut self.sums;
        sums.squares += r.iter().map(|r| r * r).sum::<f64>();
        sums.sum += if block.roots.is_empty() {
            r.iter().sum::<f64>()
        } else {
            linalg::dot(r, &block.roots)
        };
        if of.noise.is_some() {
            let slope = |(i, r): (usize, &f64)| r * r / of.variance(i, noise);
            sums.noise_slope += 0.5 * block.range.clone().zip(r).map(slope).sum::<f64>() / noise;
        }
    }

    /// Adds what ∂/∂σ² has beside the residuals, from ΦΣ.
    fn add_noise(&mut self, block: &Workspace, of: &Observations, targets: f64, noise: f64) {
        if of.noise.is_none() {
            return;
        }
        let p = self.spread.len() / block.range.len();
        for (k, i) in block.range.clone().enumerate() {
            let at = k * p..(k + 1) * p;
            let spread = linalg::dot(&block.phi[at.clone()], &self.spread[at]) / noise;
            self.sums.noise_slope += 0.5 * targets * (spread - 1.0) / of.variance(i, noise);
        }
    }
}
