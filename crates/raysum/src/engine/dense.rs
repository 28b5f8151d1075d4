//! The dense engine: the n × n kernel matrix and one Cholesky factorisation, for any kernel.
//!
//! With K the kernel matrix plus the noise v/w of each row (σ² for plain rows, see
//! [`Observations`]) and a = K⁻¹(y − c),
//!
//! ```text
//! log p(y) = −½ (y−c)'a − ½ log|K| − n/2 log 2π
//! ∂ log p  =  ½ tr(B ∂K),   B = a a' − K⁻¹        (Rasmussen and Williams, eq. 5.9)
//! ```
//!
//! Memory is two n × n buffers, for any number of sub-kernels.

mod gradient;
mod online;
mod posterior;

pub(crate) use posterior::DensePosterior;
use posterior::DenseShared;

use super::{Conditioned, Engine, Evaluation, Observations, Prior, tiles};
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::linalg::{self, Threads};
use crate::memory;
use std::sync::Arc;

/// The engine's name.
pub(crate) const NAME: &str = "dense";

/// The largest condition number of K that a search may reach, as the trace of its functions over the median
/// noise of a row: beyond it rounding errors are larger than the noise, and predictions of targets without
/// noise are off by several standard deviations.
const MOST_CONDITION: f64 = 1e15;

/// Training rows and the two buffers.
#[derive(Debug)]
pub(crate) struct Dense {
    x: Matrix,
    observations: Observations,
    factor: Vec<f64>,
    inverse: Vec<f64>,
}

/// What a factorisation at one θ gives, apart from the factor itself.
struct Factorised {
    /// The projected rows.
    z: Vec<f64>,
    /// The noise of each row, v/w.
    noise: Vec<f64>,
    /// a = K⁻¹(y − c), for each target.
    a: Vec<Vec<f64>>,
    /// One per target.
    log_marginal_likelihoods: Vec<f64>,
}

impl Dense {
    /// Takes standardised rows.
    pub(crate) fn new(x: Matrix, observations: impl Into<Observations>) -> Self {
        let n = x.rows();
        let observations = observations.into();
        Self { x, observations, factor: vec![0.0; n * n], inverse: Vec::new() }
    }

    /// Fails if there is no memory for this number of rows: two buffers, and a third for the
    /// posterior.
    pub(super) fn require_memory(rows: usize) -> Result<()> {
        let what = format_args!("the kernel matrix of {rows} rows, which the dense engine needs,");
        memory::require(what, memory::count(&[&[rows, rows, 3]]))
    }

    /// Fails, so that a search steps back, where the noise is too small beside the functions.
    fn check_condition(&self, prior: &Prior) -> Result<()> {
        let of = &self.observations;
        let noise = |i| of.variance(i, prior.noise_variance) / of.weight(i);
        let mut noises: Vec<f64> = (0..self.x.rows()).map(noise).collect();
        // A single row of little noise or great weight does no harm.
        let middle = noises.len() / 2;
        let (_, median, _) = noises.select_nth_unstable_by(middle, f64::total_cmp);
        let trace = self.x.rows() as f64 * prior.kernel.stationary_variance();
        if trace > MOST_CONDITION * *median { Err(Error::NoiseTooSmall) } else { Ok(()) }
    }

    /// Factorises K in place and solves for a.
    fn factorise(&mut self, prior: &Prior) -> Result<Factorised> {
        let (n, views) = (self.x.rows(), prior.kernel.views.rows());
        memory::require(
            format_args!("{views} projections of {n} rows"),
            memory::count(&[&[views, n, 3 + gradient::accumulators(n)]]),
        )?;
        let z = prior.kernel.project(&self.x, Threads::All);
        tiles::kernel_matrix(&prior.kernel, prior.kernel.all(), &z, n, &mut self.factor);
        let of = &self.observations;
        let noise = |i| of.variance(i, prior.noise_variance) / of.weight(i);
        let noise: Vec<f64> = (0..n).map(noise).collect();
        for (i, noise) in noise.iter().enumerate() {
            self.factor[i * n + i] += noise;
        }
        linalg::cholesky(&mut self.factor, n, Threads::All)?;
        let two_pi = 2.0 * std::f64::consts::PI;
        let constant = linalg::log_determinant(&self.factor, n) + n as f64 * two_pi.ln();
        let mut solved =
            Factorised { z, noise, a: Vec::new(), log_marginal_likelihoods: Vec::new() };
        for y in &self.observations.targets {
            let residual: Vec<f64> = y.iter().map(|y| y - prior.mean).collect();
            let mut a = residual.clone();
            linalg::solve_lower(&self.factor, n, &mut a, Threads::One);
            linalg::solve_lower_transposed(&self.factor, n, &mut a, Threads::One);
            let quadratic: f64 = residual.iter().zip(&a).map(|(r, a)| r * a).sum();
            solved.log_marginal_likelihoods.push(-0.5 * (quadratic + constant));
            solved.a.push(a);
        }
        Ok(solved)
    }

    fn invert(&mut self) {
        let n = self.x.rows();
        self.inverse.resize(n * n, 0.0);
        linalg::inverse(&self.factor, n, &mut self.inverse, Threads::All);
    }

    /// The posterior of each target under `own`, of which the rows are projected as in `prior`.
    fn conditioned(
        &mut self,
        prior: &Prior,
        own: &Arc<Prior>,
    ) -> Result<Vec<(f64, DensePosterior)>> {
        let n = self.x.rows();
        let solved = self.factorise(prior)?;
        self.invert();
        let shared = Arc::new(DenseShared {
            z: solved.z,
            noise: solved.noise,
            weights: (0..n).map(|i| self.observations.weight(i)).collect(),
            precision: (0..n).map(|i| self.inverse[i * n + i]).collect(),
            factor: self.factor.clone(),
        });
        let conditioned = |(likelihood, a): (f64, Vec<f64>)| {
            (likelihood, DensePosterior::new(Arc::clone(own), Arc::clone(&shared), a))
        };
        Ok(solved.log_marginal_likelihoods.into_iter().zip(solved.a).map(conditioned).collect())
    }
}

/// Approximate number of multiplications of an evaluation: n³, and 60 for each projection of each
/// pair of rows.
pub(super) fn work(rows: usize, views: usize) -> f64 {
    let n = rows as f64;
    n.powi(3) + 60.0 * n * n * views as f64
}

impl Engine for Dense {
    /// Every kernel is supported.
    fn check(&self, _prior: &Prior) -> Result<()> {
        Ok(())
    }

    fn work(&self, prior: &Prior) -> Option<f64> {
        Some(work(self.x.rows(), prior.kernel.views.rows()))
    }

    fn evaluate(&mut self, prior: &Prior) -> Result<Evaluation> {
        self.check_condition(prior)?;
        let n = self.x.rows();
        let solved = self.factorise(prior)?;
        self.invert();
        let mut slopes = gradient::gradient(&prior.kernel, &solved.z, &solved.a, &self.inverse);
        let targets = solved.a.len() as f64;
        let diagonal = |i: usize| {
            let squares: f64 = solved.a.iter().map(|a| a[i] * a[i]).sum();
            squares - targets * self.inverse[i * n + i]
        };
        let diagonal: Vec<f64> = (0..n).map(diagonal).collect();
        slopes.add_diagonal(&prior.kernel, &solved.z, &diagonal);
        let weigh = |(i, b): (usize, &f64)| 0.5 * b / self.observations.weight(i);
        let noise_slope = diagonal.iter().enumerate().map(weigh).sum();
        Ok(Evaluation {
            log_marginal_likelihood: solved.log_marginal_likelihoods.iter().sum(),
            views: prior.kernel.views.slopes(&slopes.z, &self.x, Threads::All),
            variances: slopes.variances,
            noise_variance: noise_slope,
            mean: solved.a.iter().flatten().sum(),
        })
    }

    fn posteriors(&mut self, prior: &Prior) -> Result<Vec<Conditioned>> {
        let conditioned = self.conditioned(prior, &Arc::new(prior.clone()))?;
        let boxed = |(likelihood, posterior)| -> Conditioned { (likelihood, Box::new(posterior)) };
        Ok(conditioned.into_iter().map(boxed).collect())
    }
}
