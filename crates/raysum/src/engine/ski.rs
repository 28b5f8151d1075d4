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
//! so that the variance of both estimates falls as P approaches A (Wenger et al. 2022).
//!
//! θ enters K through the positions z of the rows, and so through the weights in W: their slopes
//! give the gradient. Any stationary kernel is supported, including rough ones.

mod columns;
mod factor;
mod gradient;
mod grid;
mod lattice;
mod operator;
mod options;
mod posterior;
mod precondition;
mod solve;
mod system;
mod toeplitz;

pub use options::SkiOptions;
pub(crate) use posterior::SkiPosterior;

use super::streams::in_streams;
use super::{Conditioned, Engine, Evaluation, Observations, Prior, Resumable};
use crate::error::Result;
use crate::scale::StandardRows;
use crate::views::Views;
use std::sync::Arc;
use system::System;

/// The engine's name.
pub(crate) const NAME: &str = "ski";

/// Reject a trial point whose grids have more than this many times the nodes of the first one, and
/// more than this many per row and projection (or per each of a few hundred rows): its functions
/// are rougher than the rows can determine, at a higher cost.
const NODES_GROW: usize = 4;
const FEW_ROWS: usize = 512;

/// Training rows.
#[derive(Debug)]
pub(crate) struct Ski<'a> {
    rows: StandardRows<'a>,
    observations: Observations,
    options: SkiOptions,
    seed: u64,
    /// K⁻¹(y − c) at the previous θ, for each target: the start of the next solve.
    last: Option<Vec<Vec<f64>>>,
    /// Nodes of all grids at the first evaluation.
    nodes: Option<usize>,
}

impl<'a> Ski<'a> {
    /// Takes standardised rows, and the seed of probes.
    pub(crate) fn new(
        rows: StandardRows<'a>,
        observations: impl Into<Observations>,
        options: SkiOptions,
        seed: u64,
    ) -> Self {
        Self { rows, observations: observations.into(), options, seed, last: None, nodes: None }
    }

    /// The number of nodes above which a trial point is rejected.
    fn most_nodes(&self, prior: &Prior) -> usize {
        let free = self.rows.len().max(FEW_ROWS).saturating_mul(prior.kernel.views.rows());
        self.nodes.map_or(usize::MAX, |first| first.max(free).saturating_mul(NODES_GROW))
    }

    fn system(&mut self, prior: &Prior, most_nodes: usize) -> Result<System> {
        let system = System::new(self, prior, self.last.as_deref(), most_nodes)?;
        self.last = Some(system.coefficients());
        Ok(system)
    }

    /// ∂/∂W = (∂/∂z)'X.
    fn pull_back(&self, prior: &Prior, slopes: &[f64]) -> Result<Views> {
        let (n, views) = (self.rows.len(), prior.kernel.views.rows());
        let empty = || prior.kernel.views.zeros();
        let parts = in_streams(n, 1024, 8, empty, |sum, range| {
            let x = self.rows.block(range.clone())?;
            let own = |i: usize| (0..views).map(move |v| slopes[v * n + i]);
            let own: Vec<f64> = range.clone().flat_map(own).collect();
            sum.add_slopes(&own, &x);
            Ok(())
        })?;
        let mut total = empty();
        for part in parts {
            total.add(&part);
        }
        Ok(total)
    }
}

impl Engine for Ski<'_> {
    fn check(&self, prior: &Prior) -> Result<()> {
        system::operator(&self.rows, &self.observations, &self.options, prior).map(drop)
    }

    /// Not known before the grids and the iterations are.
    fn work(&self, _prior: &Prior) -> Option<f64> {
        None
    }

    fn evaluate(&mut self, prior: &Prior) -> Result<Evaluation> {
        let system = self.system(prior, self.most_nodes(prior))?;
        self.nodes.get_or_insert(system.operator.nodes());
        let gradient = system.gradient();
        let slopes = gradient.noise.iter().enumerate();
        let noise_variance = slopes.map(|(i, slope)| slope / self.observations.weight(i));
        Ok(Evaluation {
            log_marginal_likelihood: system.log_marginal_likelihoods.iter().sum(),
            views: self.pull_back(prior, &gradient.kernel.z)?,
            noise_variance: noise_variance.sum(),
            mean: system.coefficients().iter().flatten().sum(),
            variances: gradient.kernel.variances,
        })
    }

    fn posteriors(&mut self, prior: &Prior) -> Result<Vec<Conditioned>> {
        let system = self.system(prior, usize::MAX)?;
        Ok(SkiPosterior::all(system, &Arc::new(prior.clone()), &self.options, self.seed))
    }

    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }
}

impl Resumable for Ski<'_> {
    fn memory(&self) -> Vec<f64> {
        let nodes = self.nodes.iter().map(|nodes| *nodes as f64);
        nodes.chain(self.last.iter().flatten().flatten().copied()).collect()
    }

    fn remember(&mut self, memory: &[f64]) {
        let Some((nodes, last)) = memory.split_first() else { return };
        self.nodes = Some(*nodes as usize);
        self.last = Some(last.chunks(self.rows.len().max(1)).map(<[f64]>::to_vec).collect());
    }
}
