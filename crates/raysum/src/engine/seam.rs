//! The interface of engines: from a prior and rows to a likelihood and a posterior.
//!
//! [`Engine`] and [`Posterior`] are implemented by every engine. Optional capabilities are separate
//! traits, which a posterior returns if it has them.

use super::observations::Observations;
use super::path::Draw;
use super::prior::Prior;
use super::rows::{Change, Rows};
use super::statistics::{Statistics, Summary};
use super::tensor::Tensor;
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::linalg::Threads;
use crate::views::Views;
use std::ops::Range;

/// Log marginal likelihood at one θ and its derivatives.
#[derive(Clone, Debug)]
pub(crate) struct Evaluation {
    /// log p(y | X).
    pub log_marginal_likelihood: f64,
    /// ∂/∂W, of the weights that [`AdditiveKernel::views`](super::AdditiveKernel::views) keeps.
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
pub(crate) struct Marginals {
    /// Means.
    pub mean: Vec<f64>,
    /// Variances, never negative.
    pub variance: Vec<f64>,
}

/// Training rows that can be evaluated at any θ.
pub(crate) trait Engine {
    /// Fails if the engine does not support this prior.
    fn check(&self, prior: &Prior) -> Result<()>;

    /// Approximate number of multiplications of an evaluation at this prior, if it is known without
    /// one.
    fn work(&self, prior: &Prior) -> Option<f64>;

    /// Chooses whatever stays fixed during a search that starts at this prior. Returns whether
    /// there is anything: whether a search may find more from where it ends.
    fn settle(&mut self, _prior: &Prior) -> Result<bool> {
        Ok(false)
    }

    /// Log marginal likelihood and gradient, summed over targets. [`Error::is_recoverable`]
    /// distinguishes a θ that cannot be evaluated from a failure.
    fn evaluate(&mut self, prior: &Prior) -> Result<Evaluation>;

    /// The posterior of f under this prior, for each target.
    fn posteriors(&mut self, prior: &Prior) -> Result<Vec<Conditioned>>;

    /// The only posterior, where there is one target.
    fn posterior(&mut self, prior: &Prior) -> Result<Conditioned> {
        self.posteriors(prior)?.pop().ok_or(Error::NoTargets)
    }

    /// The state that evaluations leave behind, if later ones depend on it.
    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        None
    }
}

/// An engine whose evaluations depend on earlier ones.
pub(crate) trait Resumable {
    /// The state after the last evaluation.
    fn memory(&self) -> Vec<f64>;

    /// Restores the state of another engine over the same rows, as if its evaluations had been made
    /// here.
    fn remember(&mut self, memory: &[f64]);
}

/// A target's log marginal likelihood, and its posterior.
pub(crate) type Conditioned = (f64, Box<dyn Posterior>);

/// f given the training rows, under a prior that it owns. Everything is in standardised units, of f
/// without noise, and for one block of standardised rows `x`; a caller with many rows splits them
/// over threads.
pub(crate) trait Posterior: std::fmt::Debug + Send + Sync {
    /// The engine's name, as the user writes it.
    fn engine(&self) -> &'static str;

    /// The prior that the rows were seen under.
    fn prior(&self) -> &Prior;

    /// Standard error of the log marginal likelihood: 0 unless it is estimated.
    fn standard_error(&self) -> f64 {
        0.0
    }

    /// Whether the training rows can be read from it: it holds them standardised, or their
    /// projections.
    fn keeps_rows(&self) -> bool {
        false
    }

    /// Approximate number of kernel evaluations of [`Posterior::mean_of_projected`] at one row, where
    /// it is not one for each training row.
    fn kernel_evaluations(&self) -> Option<usize> {
        None
    }

    /// Mean of f at `rows` projected rows, for rough comparisons: one run of values per projection.
    fn mean_of_projected(&self, z: Vec<f64>, rows: usize) -> Vec<f64>;

    /// Mean of f alone: the bits of [`Posterior::marginals`], at a fraction of its cost.
    fn mean(&self, x: &Matrix) -> Vec<f64> {
        self.mean_of_projected(self.prior().kernel.project(x, Threads::One), x.rows())
    }

    /// Mean and variance of f.
    fn marginals(&self, x: &Matrix) -> Marginals;

    /// Mean and full covariance of f, without the constant.
    fn joint(&self, x: &Matrix) -> (Vec<f64>, Matrix);

    /// Numbers that [`Posterior::joint`] holds for each row, beside what it returns.
    fn joint_width(&self) -> usize;

    /// Gradient of the mean of f with respect to the views z (rows by Σ D_j).
    fn mean_slopes(&self, x: &Matrix) -> Matrix;

    /// The arrays that [`load`](super::load) needs to make this posterior again.
    fn tensors(&self) -> Vec<Tensor>;

    /// The functions of the sub-kernels, one by one.
    fn components(&self) -> Option<&dyn Components> {
        None
    }

    /// The gradient of the variance.
    fn variance_slopes(&self) -> Option<&dyn VarianceSlopes> {
        None
    }

    /// Functions drawn from the posterior.
    fn draws(&self) -> Option<&dyn Draws> {
        None
    }

    /// Leave-one-out predictions in closed form.
    fn leave_one_out(&self) -> Option<&dyn LeaveOneOut> {
        None
    }

    /// Updates with added or removed rows.
    fn row_changes(&self) -> Option<&dyn RowChanges> {
        None
    }

    /// Statistics of rows that can be added up.
    fn mergeable(&self) -> Option<&dyn Mergeable> {
        None
    }
}

/// A posterior that separates the sub-kernels' functions f_j.
pub(crate) trait Components: Posterior {
    /// Mean and variance of each f_j (one [`Marginals`] per sub-kernel).
    fn marginals_of_each(&self, x: &Matrix) -> Vec<Marginals>;

    /// The mean of each f_j alone, one vector per sub-kernel; `None` if the f_j are not the same
    /// functions at all points.
    fn means_of_each(&self, x: &Matrix) -> Option<Vec<Vec<f64>>>;

    /// Mean and full covariance of the sum of some f_j.
    fn joint_of(&self, which: Range<usize>, x: &Matrix) -> (Vec<f64>, Matrix);
}

/// A posterior whose variance has a gradient.
pub(crate) trait VarianceSlopes: Posterior {
    /// Gradient of the variance of f with respect to the views z (rows by Σ D_j).
    fn slopes_of_variance(&self, x: &Matrix) -> Matrix;
}

/// A posterior that functions can be drawn from.
pub(crate) trait Draws: Posterior {
    /// Function number `index` of those that a seed gives.
    fn draw(&self, seed: u64, index: u32) -> Draw;

    /// Drawn functions at the rows of `x`, one row per draw. The bits of a value do not depend on
    /// the other rows and draws.
    fn evaluate_draws(&self, draws: &[Draw], x: &Matrix) -> Matrix;
}

/// A posterior that predicts each training row from the others.
pub(crate) trait LeaveOneOut: Posterior {
    /// Leave-one-out mean and variance of f at the training rows, which are handed in again with
    /// this posterior's target.
    fn without_each(&self, x: &Matrix, y: &Observations) -> Result<Marginals>;
}

/// A posterior that can be updated at the same θ.
pub(crate) trait RowChanges: Posterior {
    /// The posterior after these rows were added or removed.
    fn change(&self, rows: &Rows<'_>, change: Change) -> Result<Conditioned>;
}

/// A posterior that depends on rows through additive statistics of features.
pub(crate) trait Mergeable: Posterior {
    /// Number of features.
    fn features(&self) -> usize;

    /// The arrays that statistics of rows depend on: only where they are equal may statistics be
    /// added up.
    fn frame(&self) -> Vec<Tensor>;

    /// The statistics of some rows, for a later update.
    fn summarise(&self, rows: &Rows<'_>) -> Result<Summary>;

    /// The posterior after rows have come or gone: those that `statistics` sums over (from
    /// [`Mergeable::summarise`], added up), and those that are handed over.
    fn merge(
        &self,
        statistics: &Statistics,
        rest: &Rows<'_>,
        change: Change,
    ) -> Result<Conditioned>;
}
