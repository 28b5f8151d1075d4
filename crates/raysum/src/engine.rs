//! The seam between the model and the linear algebra: a prior at one θ, and what an engine makes
//! of it.
//!
//! An engine is handed standardised rows once. At each θ it gives the log marginal likelihood with
//! its gradient, and at the last one a posterior that predicts. How the sum over projections is
//! done, and what is stored, is the engine's own affair.

pub mod auto;
pub mod dense;
mod observations;
pub(crate) mod path;
pub(crate) mod reading;
pub mod ski;
mod streams;
pub mod weight;

pub use observations::Observations;

use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::kernel::SubKernel;
use crate::linalg::Threads;
use crate::scale::StandardRows;
use crate::views::Views;
pub use path::Draw;
use std::ops::Range;
use weight::Statistics;

/// Rows from which n × n matrices are out of the question (two of them take 14 GB).
pub(crate) const DENSE_LIMIT: usize = 30_000;

/// k(x, x') = Σ_j λ_j κ(|W_j (x − x')|): the paper's kernel with everything that scales an input
/// (P_j, A and ℓ_j) multiplied into one matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct AdditiveKernel {
    /// κ.
    pub sub_kernel: SubKernel,
    /// D_j, the number of rows of each W_j.
    pub degrees: Vec<usize>,
    /// W = diag(1/ℓ) P A, all sub-kernels stacked (Σ D_j rows by d columns): the views of the data.
    pub views: Views,
    /// λ_j = s·α_j, the prior variance of each sub-kernel's function.
    pub variances: Vec<f64>,
}

impl AdditiveKernel {
    /// z = W x for every row of `x`: one contiguous run of values per view.
    pub(crate) fn project(&self, x: &Matrix, threads: Threads) -> Vec<f64> {
        self.views.project(x, threads)
    }

    /// The numbers of all sub-kernels.
    pub fn all(&self) -> Range<usize> {
        0..self.degrees.len()
    }

    /// k(x, x): the prior variance of f.
    pub fn total_variance(&self) -> f64 {
        self.variances.iter().sum()
    }

    /// Fails unless every sub-kernel is one-dimensional, or a product of few that are: what the named
    /// engine needs.
    pub(crate) fn check_products(&self, engine: &'static str) -> Result<()> {
        let kernel = self.sub_kernel;
        match self.degrees.iter().find(|degree| !kernel.is_product(**degree)) {
            Some(&degree) => Err(Error::NoProductForm { engine, kernel: kernel.name(), degree }),
            None => Ok(()),
        }
    }

    /// The rows of W that belong to each sub-kernel.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.degrees.iter().scan(0, |start, degree| {
            let block = *start..*start + degree;
            *start = block.end;
            Some(block)
        })
    }
}

/// The Gaussian-process prior and noise at one θ, in standardised units.
#[derive(Clone, Debug, PartialEq)]
pub struct Prior {
    /// The kernel.
    pub kernel: AdditiveKernel,
    /// σ².
    pub noise_variance: f64,
    /// The constant mean c.
    pub mean: f64,
}

/// Log marginal likelihood at one θ and its derivatives.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// log p(y | X).
    pub log_marginal_likelihood: f64,
    /// Its standard error, where it is estimated; 0 where it is computed.
    pub standard_error: f64,
    /// ∂/∂W, of the weights that [`AdditiveKernel::views`] keeps.
    pub views: Views,
    /// ∂/∂λ_j.
    pub variances: Vec<f64>,
    /// ∂/∂σ².
    pub noise_variance: f64,
    /// ∂/∂c.
    pub mean: f64,
}

/// Means and variances at some points.
#[derive(Clone, Debug, PartialEq)]
pub struct Marginals {
    /// Means.
    pub mean: Vec<f64>,
    /// Variances, never negative.
    pub variance: Vec<f64>,
}

/// A named array of a posterior, as the model file keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Its shape, row-major.
    pub shape: Vec<usize>,
    /// Its values.
    pub values: Vec<f64>,
}

impl Tensor {
    /// An array with this name.
    pub fn new(name: impl Into<String>, shape: Vec<usize>, values: Vec<f64>) -> Self {
        Self { name: name.into(), shape, values }
    }

    /// A matrix with this name.
    pub(crate) fn of(name: impl Into<String>, matrix: &Matrix) -> Self {
        Self::new(name, vec![matrix.rows(), matrix.columns()], matrix.as_slice().to_vec())
    }

    /// The values as a file keeps them.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    /// The array with this name, or the words that it is missing.
    pub(crate) fn find<'t>(
        tensors: &'t [Tensor],
        name: &str,
    ) -> std::result::Result<&'t Tensor, String> {
        tensors.iter().find(|t| t.name == name).ok_or(format!("array '{name}' is missing"))
    }

    /// A value that is a whole number of at most this size.
    pub(crate) fn whole(value: f64, most: f64) -> Option<i64> {
        (value.fract() == 0.0 && value.abs() <= most).then_some(value as i64)
    }

    /// Fails with words unless the array has this shape.
    pub(crate) fn check_shape(&self, shape: &[usize]) -> std::result::Result<(), String> {
        if self.shape == shape {
            return Ok(());
        }
        Err(format!("array '{}' has shape {:?}", self.name, self.shape))
    }
}

/// Training rows that can be evaluated at any θ.
pub trait Engine {
    /// Fails if nothing at all can be done with this prior, before a search finds out.
    fn check(&self, _prior: &Prior) -> Result<()> {
        Ok(())
    }

    /// The multiplications that an evaluation at this prior takes, about, where they can be told
    /// without one.
    fn work(&self, _prior: &Prior) -> Option<f64> {
        None
    }

    /// Log marginal likelihood and gradient, summed over targets. [`crate::Error::is_recoverable`] tells a θ that cannot
    /// be evaluated from a failure.
    fn evaluate(&mut self, prior: &Prior) -> Result<Evaluation>;

    /// What evaluations leave behind that later ones depend on.
    fn memory(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Takes up the memory of another engine over the same rows, as if the evaluations had been
    /// made here.
    fn remember(&mut self, _memory: &[f64]) {}

    /// What the rows say about f under this prior: one posterior per target.
    fn posteriors(&mut self, prior: &Prior) -> Result<Vec<Conditioned>>;

    /// The only posterior, where there is one target.
    fn posterior(&mut self, prior: &Prior) -> Result<Conditioned> {
        self.posteriors(prior)?.pop().ok_or(Error::NoTargets)
    }
}

/// A target's log marginal likelihood, and its posterior.
pub type Conditioned = (f64, Box<dyn Posterior>);

/// f given the training rows. Everything is in standardised units, of f without noise, and for
/// one block of standardised rows `x`; a caller with many rows splits them over threads.
pub trait Posterior: std::fmt::Debug + Send + Sync {
    /// The engine's name, as the user writes it.
    fn engine(&self) -> &'static str;

    /// Number of features, for an engine that has them.
    fn features(&self) -> Option<usize> {
        None
    }

    /// The standard error of the log marginal likelihood that came with it: 0 if that was computed
    /// and not estimated.
    fn standard_error(&self) -> f64 {
        0.0
    }

    /// Mean of f alone: the bits of [`Posterior::marginals`], at a fraction of its cost.
    fn mean(&self, prior: &Prior, x: &Matrix) -> Vec<f64>;

    /// Mean and variance of f.
    fn marginals(&self, prior: &Prior, x: &Matrix) -> Marginals;

    /// Numbers that [`Posterior::joint`] holds for each row, beside what it returns.
    fn joint_width(&self) -> usize {
        self.features().unwrap_or(0)
    }

    /// Mean and full covariance of the sum of some sub-kernels' functions, without the constant.
    fn joint(&self, prior: &Prior, which: Range<usize>, x: &Matrix) -> (Vec<f64>, Matrix);

    /// Mean and variance of each sub-kernel's function f_j (one [`Marginals`] per sub-kernel).
    fn components(&self, prior: &Prior, x: &Matrix) -> Vec<Marginals>;

    /// Gradient of the mean of f with respect to the views z (rows by Σ D_j).
    fn mean_slopes(&self, prior: &Prior, x: &Matrix) -> Matrix;

    /// Gradient of the variance of f with respect to the views z (rows by Σ D_j).
    fn variance_slopes(&self, prior: &Prior, x: &Matrix) -> Matrix;

    /// Function number `index` of those that a seed gives.
    fn draw(&self, prior: &Prior, seed: u64, index: u32) -> Draw;

    /// Drawn functions at the rows of `x`, one row per draw. The bits of a value do not depend on
    /// the other rows and draws.
    fn evaluate_draws(&self, prior: &Prior, draws: &[Draw], x: &Matrix) -> Matrix;

    /// Leave-one-out mean and variance of f at the training rows, which are handed in again with
    /// this posterior's target.
    fn leave_one_out(&self, prior: &Prior, x: &Matrix, y: &Observations) -> Result<Marginals>;

    /// What the posterior needs to know of some rows of its target, to take them in later: the rows
    /// themselves, unless an engine knows something shorter.
    fn summarise(&self, _prior: &Prior, rows: &Rows<'_>) -> Summary {
        Summary { statistics: None, rest: (0..rows.x.len()).collect() }
    }

    /// The posterior at the same θ after rows have come or gone: those that `statistics` tells of
    /// (from [`Posterior::summarise`], added up), and those that are handed over.
    fn change(
        &self,
        prior: &Prior,
        statistics: Option<&Statistics>,
        rows: &Rows<'_>,
        change: Change,
    ) -> Result<Conditioned>;

    /// The arrays that statistics of rows depend on: only where they are equal may statistics be
    /// added up.
    fn frame(&self) -> Vec<Tensor> {
        Vec::new()
    }

    /// The arrays that [`load`] needs to make this posterior again.
    fn tensors(&self) -> Vec<Tensor>;
}

/// Rows of one target that come or go.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// X.
    pub x: &'a StandardRows<'a>,
    /// What was observed there.
    pub observations: &'a Observations,
}

/// What a posterior needs to know of some rows.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Sums over the rows that the posterior's features express, if it has any.
    pub statistics: Option<Statistics>,
    /// The other rows, in order.
    pub rest: Vec<usize>,
}

/// Whether rows come or go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// They come.
    Add,
    /// They go.
    Remove,
    /// They come, and all others go.
    Replace,
}

/// Makes a posterior from the arrays of a file; the error says what is wrong with them.
pub fn load(
    engine: &str,
    prior: &Prior,
    tensors: &[Tensor],
) -> std::result::Result<Box<dyn Posterior>, String> {
    match engine {
        dense::NAME => Ok(Box::new(dense::DensePosterior::from_tensors(prior, tensors)?)),
        ski::NAME => Ok(Box::new(ski::SkiPosterior::from_tensors(prior, tensors)?)),
        weight::NAME => Ok(Box::new(weight::WeightPosterior::from_tensors(prior, tensors)?)),
        other => Err(format!("unknown engine '{other}'")),
    }
}
