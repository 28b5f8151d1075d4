//! Structured kernel interpolation, the paper's own scalable inference (Wilson and Nickisch 2015;
//! Gardner et al. 2018): K ≈ Σ_j λ_j W_j T_j W_j', where W_j interpolates the rows from a regular
//! grid and T_j is the kernel between its nodes.
//!
//! Solves are conjugate gradients, the log determinant is estimated by Lanczos quadrature and the
//! traces of the gradient by Hutchinson's method, all from the same solves with the same few probes
//! (drawn from a fixed seed). With A = S K S + I in units of the noise, probes z ~ N(0, P),
//! u = A⁻¹z and v = P⁻¹z,
//!
//! ```text
//! log|A|     = log|P|      + E z'P⁻¹ᐟ² log(P⁻¹ᐟ² A P⁻¹ᐟ²) P⁻¹ᐟ²z
//! tr(A⁻¹ ∂A) = tr(P⁻¹ ∂A) + E (u − v)'∂A v
//! ```
//!
//! so that both are as certain as P is close to A (Wenger et al. 2022).
//!
//! θ enters K through the places z of the rows, and so through the weights in W: their slopes give
//! the gradient. Any kernel whose grid is a Toeplitz matrix will do, rough ones too.

mod columns;
mod factor;
mod grid;
mod lattice;
mod operator;
mod posterior;
mod precondition;
mod solve;
mod toeplitz;

pub use posterior::SkiPosterior;

use super::streams::{blocks, in_streams};
use super::{Conditioned, Engine, Evaluation, Observations, Prior};
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::kernel::SubKernel;
use crate::linalg::{self, Threads};
use crate::scale::StandardRows;
use columns::Columns;
use grid::Grid;
use lattice::Lattice;
use operator::Operator;
use precondition::Preconditioner;
use serde::{Deserialize, Serialize};
use solve::{Limits, Solved};
use std::f64::consts::PI;

/// The engine's name.
pub const NAME: &str = "ski";

/// An automatic lattice has no wider cells than this, in length-scales, whatever its size: an RBF is
/// then wrong by a thousandth.
const WIDEST: f64 = 0.25;

/// The nodes beyond which an automatic lattice rather has wider cells: as many as there are rows, and
/// more for the kernel that is wrong for all rows of a cell.
fn most_nodes(kernel: SubKernel, rows: usize) -> usize {
    let share = if kernel == SubKernel::Matern12 { 4 } else { 1 };
    512.max(share * rows)
}

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
            Self { probes: 0..=1, .. } => {
                out("the number of probes", self.probes as f64, "2 or more")
            }
            Self { tolerance, .. } if !(*tolerance > 0.0 && *tolerance < 1.0) => {
                out("the tolerance of conjugate gradients", *tolerance, "between 0 and 1")
            }
            Self { iterations: 0, .. } => out("the limit of conjugate gradients", 0.0, "1 or more"),
            _ => Ok(()),
        }
    }

    fn limits(&self) -> Limits {
        Limits { tolerance: self.tolerance, iterations: self.iterations }
    }
}

/// Training rows.
#[derive(Debug)]
pub struct Ski<'a> {
    rows: StandardRows<'a>,
    observations: Observations,
    options: SkiOptions,
    seed: u64,
    /// K⁻¹(y − c) at the θ before, for each target: where the next solve starts.
    last: Option<Vec<Vec<f64>>>,
}

/// Everything that a θ is evaluated with.
struct System {
    operator: Operator,
    preconditioner: Preconditioner,
    /// A⁻¹ and P⁻¹ times y − c in units of the noise, one column per target, and then the probes.
    solved: Solved,
    shaped: Columns,
    /// What each probe's estimate counts, so that all probes have the same length: their length
    /// says nothing, and drawing it adds noise.
    counts: Vec<f64>,
    /// Log marginal likelihood of each target.
    log_marginal_likelihoods: Vec<f64>,
    /// Of the log determinant over two: the standard error of each of them.
    standard_error: f64,
}

impl<'a> Ski<'a> {
    /// Takes standardised rows, and the seed of probes.
    pub fn new(
        rows: StandardRows<'a>,
        observations: impl Into<Observations>,
        options: SkiOptions,
        seed: u64,
    ) -> Self {
        Self { rows, observations: observations.into(), options, seed, last: None }
    }

    /// z = W x of all rows: one run per view.
    fn project(&self, prior: &Prior) -> Vec<f64> {
        let (n, views) = (self.rows.len(), prior.kernel.views.rows());
        let size = 1024;
        let parts = in_streams(n, size, n.div_ceil(size).max(1), Vec::new, |z, range| {
            *z = prior.kernel.project(&self.rows.block(range), Threads::One);
        });
        let mut all = vec![0.0; n * views];
        for (range, part) in blocks(n, size).zip(parts) {
            for (view, run) in part.chunks(range.len()).enumerate() {
                all[view * n + range.start..view * n + range.end].copy_from_slice(run);
            }
        }
        all
    }

    fn operator(&self, prior: &Prior) -> Result<Operator> {
        let kernel = &prior.kernel;
        let mut positions = self.project(prior);
        let n = self.rows.len();
        let mut grids = Vec::with_capacity(kernel.degrees.len());
        for block in kernel.blocks() {
            grid::check_form(kernel.sub_kernel, block.len())?;
            let spacing = lattice::spacing(kernel.sub_kernel, tolerance(prior, n, block.len()));
            let mut lattices = Vec::with_capacity(block.len());
            for run in positions[block.start * n..block.end * n].chunks_mut(n) {
                let low = run.iter().fold(f64::INFINITY, |m, z| m.min(*z));
                let high = run.iter().fold(f64::NEG_INFINITY, |m, z| m.max(*z));
                let lattice = if let Some(nodes) = self.options.grid {
                    Lattice::sized(low, high, nodes)
                } else {
                    let wide = (high - low) / most_nodes(kernel.sub_kernel, n) as f64;
                    Lattice::spaced(low, high, spacing.max(wide.min(WIDEST)))?
                };
                run.iter_mut().for_each(|z| *z = lattice.position(*z));
                lattices.push(lattice);
            }
            lattice::check_size(&lattices)?;
            grids.push(Grid::new(kernel.sub_kernel, lattices));
        }
        let of = &self.observations;
        let noise = |i| of.variance(i, prior.noise_variance) / of.weight(i);
        Ok(Operator::new(grids, kernel.variances.clone(), positions, noise, n))
    }

    fn system(&mut self, prior: &Prior) -> Result<System> {
        let n = self.rows.len();
        let (targets, probes) = (self.observations.targets.len(), self.options.probes);
        let operator = self.operator(prior)?;
        let preconditioner = Preconditioner::new(&operator, prior, self.seed)?;
        let mut sides = Columns::zeros(n, targets + probes);
        preconditioner.probes(self.seed, &mut sides, targets, probes);
        for (t, y) in self.observations.targets.iter().enumerate() {
            let scaled = y.iter().zip(&operator.scales).map(|(y, s)| (y - prior.mean) * s);
            sides.set(t, scaled);
        }
        let start = self.last.as_ref().map(|last| {
            let mut start = Columns::zeros(n, sides.width);
            for (t, a) in last.iter().enumerate() {
                start.set(t, a.iter().zip(&operator.scales).map(|(a, s)| a / s));
            }
            start
        });
        let solved =
            solve::solve(&operator, &preconditioner, &sides, start, self.options.limits())?;
        let coefficients = |t: usize| solved.x.column(t).zip(&operator.scales).map(|(u, s)| u * s);
        self.last = Some((0..targets).map(|t| coefficients(t).collect()).collect());
        let shaped = preconditioner.solve(&sides);
        let lengths = solve::dots(&sides, &shaped);
        let counts: Vec<f64> =
            lengths[targets..targets + probes].iter().map(|l| n as f64 / l).collect();
        let logs: Vec<f64> =
            (targets..targets + probes).map(|c| n as f64 * solved.quadrature_of_log(c)).collect();
        let mean = logs.iter().sum::<f64>() / probes as f64;
        let spread: f64 = logs.iter().map(|l| (l - mean).powi(2)).sum();
        let error = (spread / (probes * (probes - 1)) as f64).sqrt();
        let determinant =
            preconditioner.log_determinant() + mean + self.log_noise(prior, &operator.scales);
        let fits = solve::dots(&sides, &solved.x);
        let likelihood = |t: usize| -0.5 * (fits[t] + determinant);
        Ok(System {
            log_marginal_likelihoods: (0..targets).map(likelihood).collect(),
            standard_error: 0.5 * error,
            counts,
            operator,
            preconditioner,
            solved,
            shaped,
        })
    }

    /// What the likelihood has of the noise beside A: log|D|, and where rows have weights the rest of
    /// N(y | f, v)^w.
    fn log_noise(&self, prior: &Prior, scales: &[f64]) -> f64 {
        let of = &self.observations;
        let own = |(i, scale): (usize, &f64)| {
            let (w, v) = (of.weight(i), of.variance(i, prior.noise_variance));
            (2.0 * PI).ln() - 2.0 * scale.ln() + (w - 1.0) * (2.0 * PI * v).ln() + w.ln()
        };
        scales.iter().enumerate().map(own).sum()
    }
}

/// What interpolation may add to or take from an entry of the kernel matrix, as a share of the prior
/// variance: little beside the noise, even where it adds up over rows.
fn tolerance(prior: &Prior, rows: usize, degree: usize) -> f64 {
    let noise = prior.noise_variance / prior.kernel.total_variance();
    if prior.kernel.sub_kernel == SubKernel::Matern12 {
        // Only rows in the same cell are wrong, and only their common part.
        return (0.1 * noise).clamp(1e-4, 1e-2);
    }
    let one = (1e-2 * noise / (rows as f64).sqrt()).clamp(1e-8, 1e-5);
    // Grids in two and three dimensions pay for accuracy with its power.
    if degree == 1 { one } else { 10.0 * one }
}

impl Engine for Ski<'_> {
    fn check(&self, prior: &Prior) -> Result<()> {
        self.operator(prior).map(drop)
    }

    fn evaluate(&mut self, prior: &Prior) -> Result<Evaluation> {
        let system = self.system(prior)?;
        let System { operator, solved, counts, .. } = &system;
        let (n, of) = (self.rows.len(), &self.observations);
        let (targets, probes) = (of.targets.len(), counts.len());
        // ½ Σ_t a_t'∂A a_t − ½ T tr(A⁻¹ ∂A). The trace is that of P⁻¹ = I − Y Y', which is known, and
        // the probes' word on what P⁻¹ lacks: E (u − v)'∂A v.
        let width = solved.x.width;
        let mut factors = vec![0.0; width];
        factors[..targets].fill(0.5);
        for (factor, count) in factors[targets..].iter_mut().zip(counts) {
            *factor = -0.5 * targets as f64 * count / probes as f64;
        }
        let (mut left, mut right) = (solved.x.clone(), system.shaped.clone());
        let rows = left.values.chunks_mut(width).zip(right.values.chunks_mut(width));
        for (left, right) in rows {
            right[..targets].copy_from_slice(&left[..targets]);
            let lacking = left[targets..].iter_mut().zip(&right[targets..]);
            lacking.for_each(|(u, v)| *u -= v);
        }
        let mut slopes = operator.slopes(&factors, &left, Some(&right));
        let mut diagonal: Vec<f64> = vec![-0.5 * targets as f64; n];
        add_products(&mut diagonal, &factors, &left, &right);
        for y in system.preconditioner.deflation() {
            let factors = vec![0.5 * targets as f64; y.width];
            slopes.add(&operator.slopes(&factors, &y, None));
            add_products(&mut diagonal, &factors, &y, &y);
        }
        // The diagonal of K in A, and where interpolation misses some of it, in D.
        let squares = operator.scales.iter().map(|s| s * s);
        let by_noise: Vec<f64> = diagonal.iter().zip(squares.clone()).map(|(d, s)| d * s).collect();
        let missed = |i: &usize| operator.missing[*i] > 0.0;
        let by_kernel = squares.enumerate().map(|(i, square)| {
            let noise = if missed(&i) { by_noise[i] } else { 0.0 };
            -0.5 * targets as f64 * square - noise
        });
        operator.add_diagonal(&by_kernel.collect::<Vec<f64>>(), &mut slopes);
        let of_missed: f64 = (0..n).filter(missed).map(|i| by_noise[i]).sum();
        slopes.variances.iter_mut().for_each(|v| *v += of_missed);
        let weighted = |i: usize| {
            let (w, v) = (of.weight(i), of.variance(i, prior.noise_variance));
            by_noise[i] / w - 0.5 * targets as f64 * (w - 1.0) / v
        };
        let coefficients = |t: usize| solved.x.column(t).zip(&operator.scales).map(|(a, s)| a * s);
        Ok(Evaluation {
            log_marginal_likelihood: system.log_marginal_likelihoods.iter().sum(),
            standard_error: targets as f64 * system.standard_error,
            views: self.pull_back(prior, &slopes.z),
            variances: slopes.variances,
            noise_variance: (0..n).map(weighted).sum(),
            mean: (0..targets).flat_map(coefficients).sum(),
        })
    }

    fn posteriors(&mut self, prior: &Prior) -> Result<Vec<Conditioned>> {
        let system = self.system(prior)?;
        Ok(SkiPosterior::all(system, &self.options, self.seed))
    }
}

/// Adds Σ_c f_c a_ic b_ic for every row i.
fn add_products(out: &mut [f64], factors: &[f64], a: &Columns, b: &Columns) {
    let rows = a.values.chunks(a.width).zip(b.values.chunks(b.width));
    for (out, (a, b)) in out.iter_mut().zip(rows) {
        *out += a.iter().zip(b).zip(factors).map(|((a, b), f)| f * a * b).sum::<f64>();
    }
}

impl Ski<'_> {
    /// ∂/∂W = (∂/∂z)'X.
    fn pull_back(&self, prior: &Prior, slopes: &[f64]) -> Matrix {
        let (n, views) = (self.rows.len(), prior.kernel.views.rows());
        let empty = || Matrix::zeros(views, prior.kernel.views.columns());
        let parts = in_streams(n, 1024, 8, empty, |sum, range| {
            let x = self.rows.block(range.clone());
            let own = |i: usize| (0..views).map(move |v| slopes[v * n + i]);
            let own: Vec<f64> = range.clone().flat_map(own).collect();
            linalg::add_row_major_gram(sum.as_mut_slice(), &own, x.as_slice(), range.len());
        });
        let mut total = empty();
        for part in parts {
            total.as_mut_slice().iter_mut().zip(part.as_slice()).for_each(|(t, p)| *t += p);
        }
        total
    }
}
