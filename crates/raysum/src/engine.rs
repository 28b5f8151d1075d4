//! The seam between the model and the linear algebra, and the engines behind it.
//!
//! An engine is handed standardised rows once. At each θ it gives the log marginal likelihood with
//! its gradient, and at the last one a posterior that predicts. How the sum over projections is
//! done, and what is stored, is internal to the engine.

pub mod auto;
pub mod dense;
mod observations;
pub(crate) mod path;
mod prior;
mod rows;
mod seam;
pub mod ski;
mod statistics;
mod streams;
mod tensor;
mod tiles;
pub mod weight;

pub use observations::Observations;
pub use path::Draw;
pub use prior::{AdditiveKernel, Prior};
pub use rows::{Change, Rows};
pub use seam::{
    Components, Conditioned, Draws, Engine, Evaluation, LeaveOneOut, Marginals, Mergeable,
    Posterior, Resumable, RowChanges, VarianceSlopes,
};
pub use statistics::{Moments, Statistics, Summary};
pub use tensor::Tensor;

use std::sync::Arc;

/// Makes a posterior from the arrays of a file; the error says what is wrong with them.
pub fn load(
    engine: &str,
    prior: Prior,
    tensors: &[Tensor],
) -> std::result::Result<Box<dyn Posterior>, String> {
    let prior = Arc::new(prior);
    match engine {
        dense::NAME => Ok(Box::new(dense::DensePosterior::from_tensors(&prior, tensors)?)),
        ski::NAME => Ok(Box::new(ski::SkiPosterior::from_tensors(&prior, tensors)?)),
        weight::NAME => Ok(Box::new(weight::WeightPosterior::from_tensors(&prior, tensors)?)),
        other => Err(format!("unknown engine '{other}'")),
    }
}
