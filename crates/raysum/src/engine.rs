//! The interface between the model and the linear algebra, and the engines that implement it.
//!
//! An engine is constructed from standardised rows. At each θ it gives the log marginal likelihood
//! with its gradient, and at the last one a posterior that predicts. How the sum over projections
//! is done, and what is stored, is internal to the engine.

pub(crate) mod auto;
pub(crate) mod dense;
pub(crate) mod neighbors;
mod observations;
pub(crate) mod path;
mod prior;
mod rows;
mod seam;
pub(crate) mod ski;
mod statistics;
mod streams;
mod tensor;
mod tiles;
pub(crate) mod weight;

pub(crate) use observations::Observations;
pub(crate) use path::Draw;
pub(crate) use prior::{AdditiveKernel, Prior};
pub(crate) use rows::{Change, Rows};
pub(crate) use seam::{
    Components, Conditioned, Draws, Engine, Evaluation, LeaveOneOut, Marginals, Mergeable,
    Posterior, Resumable, RowChanges, VarianceSlopes,
};
pub(crate) use statistics::{Statistics, Summary};
pub(crate) use tensor::Tensor;

use std::sync::Arc;

/// Reads a posterior from the arrays of a file; the error describes what is invalid.
pub(crate) fn load(
    engine: &str,
    prior: Prior,
    tensors: &[Tensor],
) -> std::result::Result<Box<dyn Posterior>, String> {
    let prior = Arc::new(prior);
    match engine {
        dense::NAME => Ok(Box::new(dense::DensePosterior::from_tensors(&prior, tensors)?)),
        neighbors::NAME => {
            Ok(Box::new(neighbors::NeighborsPosterior::from_tensors(&prior, tensors)?))
        }
        ski::NAME => Ok(Box::new(ski::SkiPosterior::from_tensors(&prior, tensors)?)),
        weight::NAME => Ok(Box::new(weight::WeightPosterior::from_tensors(&prior, tensors)?)),
        other => Err(format!("unknown engine '{other}'")),
    }
}

#[cfg(test)]
mod tests;
