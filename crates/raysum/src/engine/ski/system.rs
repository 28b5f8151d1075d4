//! Everything that a θ is evaluated with: the operator, its preconditioner, and the solves that
//! likelihood, gradient and posterior are made from.

use super::columns::{Columns, LANES};
use super::grid::Grid;
use super::lattice::{self, Lattice};
use super::operator::Operator;
use super::precondition::Preconditioner;
use super::solve::{self, Solved};
use super::{NAME, Ski, SkiOptions};
use crate::engine::streams::{blocks, in_streams};
use crate::engine::{Observations, Prior};
use crate::error::{Error, Result};
use crate::kernel::{Shape, SubKernel};
use crate::linalg::Threads;
use crate::memory;
use crate::scale::StandardRows;
use std::f64::consts::PI;

/// An automatic lattice has no wider cells than this, in length-scales, whatever its size: an RBF is
/// then wrong by a thousandth.
const WIDEST: f64 = 0.25;

/// The nodes beyond which an automatic lattice rather has wider cells: as many as there are rows, and
/// more for the kernel that is wrong for all rows of a cell.
fn most_nodes(kernel: SubKernel, rows: usize) -> usize {
    let share = if kernel.has_kink() { 4 } else { 1 };
    512.max(share * rows)
}

/// What interpolation may add to or take from an entry of the kernel matrix, as a share of the prior
/// variance: little beside the noise, even where it adds up over rows.
fn tolerance(prior: &Prior, kernel: SubKernel, rows: usize, degree: usize) -> f64 {
    let noise = prior.noise_variance / prior.kernel.stationary_variance();
    if kernel.has_kink() {
        // Only rows in the same cell are wrong, and only their common part.
        return (0.1 * noise).clamp(1e-4, 1e-2);
    }
    let one = (1e-2 * noise / (rows as f64).sqrt()).clamp(1e-8, 1e-5);
    // Grids in two and three dimensions pay for accuracy with its power.
    if degree == 1 { one } else { 10.0 * one }
}

/// The solves at one θ.
pub(super) struct System {
    pub(super) operator: Operator,
    pub(super) preconditioner: Preconditioner,
    /// A⁻¹ times y − c in units of the noise, one column per target, and then the probes; of these
    /// P⁻¹ times them too.
    pub(super) solved: Solved,
    /// What each probe's estimate counts, so that all probes have the same length: their length
    /// says nothing, and drawing it adds noise.
    pub(super) counts: Vec<f64>,
    /// Log marginal likelihood of each target.
    pub(super) log_marginal_likelihoods: Vec<f64>,
    /// Of the log determinant over two: the standard error of each of them.
    pub(super) standard_error: f64,
}

impl System {
    /// Solves for targets and probes, if the grids have no more than `most_nodes`; targets from
    /// `last`, which is K⁻¹(y − c) at a θ nearby.
    pub(super) fn new(
        ski: &Ski<'_>,
        prior: &Prior,
        last: Option<&[Vec<f64>]>,
        most_nodes: usize,
    ) -> Result<Self> {
        let Ski { rows, observations, options, seed, .. } = ski;
        let n = rows.len();
        let (targets, probes) = (observations.targets.len(), options.probes);
        // Vectors of conjugate gradients over the rows, and what they are on the grids.
        let width = (targets + probes).next_multiple_of(LANES);
        let views = prior.kernel.views.rows();
        memory::require(
            format_args!("the ski engine with {probes} probes and {views} projections of {n} rows"),
            memory::count(&[&[n, width, 12], &[n, views, 4]]),
        )?;
        let operator = operator(rows, observations, options, prior)?;
        if operator.nodes() > most_nodes {
            return Err(Error::GridTooLarge);
        }
        let nodes = operator.nodes();
        memory::require(
            format_args!("the ski engine with {probes} probes on grids of {nodes} nodes in all"),
            memory::count(&[&[nodes, width, 4]]),
        )?;
        let preconditioner = Preconditioner::new(&operator, prior, *seed)?;
        let mut sides = Columns::zeros(n, targets + probes);
        preconditioner.probes(*seed, &mut sides, targets, probes);
        for (t, y) in observations.targets.iter().enumerate() {
            let scaled = y.iter().zip(&operator.scales).map(|(y, s)| (y - prior.mean) * s);
            sides.set(t, scaled);
        }
        // Probes start from 0, because their steps must be those of Lanczos' method.
        let start = last.map(|last| {
            let mut start = Columns::zeros(n, sides.width);
            for (t, a) in last.iter().enumerate() {
                start.set(t, a.iter().zip(&operator.scales).map(|(a, s)| a / s));
            }
            start
        });
        let solved = solve::solve(&operator, &preconditioner, &sides, start, options.limits())?;
        let lengths = solve::dots(&sides, &solved.shaped);
        let own = targets..targets + probes;
        let counts = lengths[own.clone()].iter().map(|l| n as f64 / l).collect();
        let logs: Vec<f64> = own.map(|c| n as f64 * solved.quadrature_of_log(c)).collect();
        let mean = logs.iter().sum::<f64>() / probes as f64;
        let spread: f64 = logs.iter().map(|l| (l - mean).powi(2)).sum();
        let error = (spread / (probes * (probes - 1)) as f64).sqrt();
        let noise = log_noise(&operator.scales);
        let determinant = preconditioner.log_determinant() + mean + noise;
        let fits = solve::dots(&sides, &solved.x);
        let likelihood = |t: usize| -0.5 * (fits[t] + determinant);
        let log_marginal_likelihoods = (0..targets).map(likelihood).collect();
        let standard_error = 0.5 * error;
        Ok(Self {
            operator,
            preconditioner,
            solved,
            counts,
            log_marginal_likelihoods,
            standard_error,
        })
    }

    /// K⁻¹(y − c) of each target.
    pub(super) fn coefficients(&self) -> Vec<Vec<f64>> {
        let scales = &self.operator.scales;
        let own = |t: usize| self.solved.x.column(t).zip(scales).map(|(u, s)| u * s).collect();
        (0..self.log_marginal_likelihoods.len()).map(own).collect()
    }
}

/// The interpolated kernel matrix of the rows, on grids that hold them.
pub(super) fn operator(
    rows: &StandardRows<'_>,
    observations: &Observations,
    options: &SkiOptions,
    prior: &Prior,
) -> Result<Operator> {
    let (n, kernel) = (rows.len(), &prior.kernel);
    let shapes = stationary(prior)?;
    let mut positions = project(rows, prior)?;
    let mut grids = Vec::with_capacity(kernel.degrees.len());
    for (block, &shape) in kernel.blocks().zip(&shapes) {
        let spacing = lattice::spacing(shape, tolerance(prior, shape, n, block.len()));
        let mut lattices = Vec::with_capacity(block.len());
        for run in positions[block.start * n..block.end * n].chunks_mut(n) {
            let low = run.iter().fold(f64::INFINITY, |m, z| m.min(*z));
            let high = run.iter().fold(f64::NEG_INFINITY, |m, z| m.max(*z));
            let lattice = if let Some(nodes) = options.grid {
                Lattice::sized(low, high, nodes)
            } else {
                let wide = (high - low) / most_nodes(shape, n) as f64;
                Lattice::spaced(low, high, spacing.max(wide.min(WIDEST)))?
            };
            run.iter_mut().for_each(|z| *z = lattice.position(*z));
            lattices.push(lattice);
        }
        lattice::check_size(&lattices)?;
        grids.push(Grid::new(shape, lattices));
    }
    let noise = |i| observations.variance(i, prior.noise_variance) / observations.weight(i);
    Ok(Operator::new(grids, kernel.variances.clone(), positions, noise, n))
}

/// The kernel of each sub-kernel; fails unless grids can do with all of them.
pub(super) fn stationary(prior: &Prior) -> Result<Vec<SubKernel>> {
    prior.kernel.check_products(NAME)?;
    let kernel = |shape: &Shape| match shape {
        Shape::Stationary(kernel) => Ok(*kernel),
        Shape::Linear => Err(Error::NoLinearTerm { engine: NAME }),
    };
    prior.kernel.shapes.iter().map(kernel).collect()
}

/// z = W x of all rows: one run per view.
fn project(rows: &StandardRows<'_>, prior: &Prior) -> Result<Vec<f64>> {
    let (n, views) = (rows.len(), prior.kernel.views.rows());
    let size = 1024;
    let parts = in_streams(n, size, n.div_ceil(size).max(1), Vec::new, |z, range| {
        *z = prior.kernel.project(&rows.block(range)?, Threads::One);
        Ok(())
    })?;
    let mut all = vec![0.0; n * views];
    for (range, part) in blocks(n, size).zip(parts) {
        for (view, run) in part.chunks(range.len()).enumerate() {
            all[view * n + range.start..view * n + range.end].copy_from_slice(run);
        }
    }
    Ok(all)
}

/// What the likelihood has of the noise beside A: log|2πD|, where D = S⁻².
fn log_noise(scales: &[f64]) -> f64 {
    scales.iter().map(|scale| (2.0 * PI).ln() - 2.0 * scale.ln()).sum()
}
