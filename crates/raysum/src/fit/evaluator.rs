//! The objective of a search: a value and a gradient at each θ.

use super::progress::Tracker;
use super::training::FitProblem;
use crate::checkpoint::{Checkpoint, Known, Recorded};
use crate::error::{Error, Result};
use crate::optimize::{Objective, Step};
use crate::parameters::Parameters;
use std::ops::ControlFlow;

/// The rows of a search and the parameters that it varies.
pub(super) struct Task<'e, 'p> {
    pub(super) problem: &'e mut FitProblem<'p>,
    pub(super) parameters: &'e Parameters,
}

impl Task<'_, '_> {
    /// Lets the engine choose what stays fixed during a search that starts at θ; whether there is
    /// anything.
    pub(super) fn settle(&mut self, theta: &[f64]) -> Result<bool> {
        self.problem.engine.settle(&self.parameters.prior_at(theta))
    }

    /// A tolerance for the value, from one per observed value.
    pub(super) fn tolerance(&self, each: f64) -> f64 {
        each * self.problem.values
    }
}

/// What all searches of a fit share: progress, the checkpoint, and counts.
pub(super) struct Record<'a, 'p> {
    pub(super) tracker: Tracker<'a, 'p>,
    /// Records evaluations of this run and of earlier ones.
    pub(super) checkpoint: Option<&'a mut Checkpoint>,
    /// Number of evaluations.
    pub(super) evaluations: usize,
    /// Number of evaluations that were rejected because a solve did not converge.
    pub(super) unconverged: usize,
    /// The reason of the last rejection.
    pub(super) rejected: Option<Error>,
}

/// The function over θ that an optimiser minimises.
pub(super) struct Evaluator<'e, 'p, 'a, 'f> {
    pub(super) problem: &'e mut FitProblem<'p>,
    pub(super) parameters: &'e Parameters,
    pub(super) record: &'e mut Record<'a, 'f>,
}

impl Objective for Evaluator<'_, '_, '_, '_> {
    type Error = Error;

    /// Value and gradient at θ, from the checkpoint if it has them; infinite where θ cannot be
    /// evaluated, so that the optimiser rejects the step.
    fn evaluate(&mut self, theta: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let Self { problem, parameters, record } = self;
        let known = match &mut record.checkpoint {
            Some(checkpoint) => checkpoint.recall(theta)?,
            None => Known::Nothing,
        };
        if let Known::Found(found) = known {
            gradient.copy_from_slice(&found.gradient);
            if let Some(engine) = problem.engine.resumable() {
                engine.remember(&found.memory);
            }
            return Ok(found.value);
        }
        let prior = parameters.prior_at(theta);
        let likelihood = match problem.check(&prior) {
            Ok(()) => problem.engine.evaluate(&prior),
            Err(e) => Err(e),
        };
        let value = match likelihood {
            Ok(mut likelihood) => {
                if let Some(correction) = &problem.correction {
                    let (value, slope) = correction.at(prior.noise_variance);
                    likelihood.log_marginal_likelihood += value;
                    likelihood.noise_variance += slope;
                }
                parameters.minimised(theta, &prior, &likelihood, gradient)
            }
            Err(e) if e.is_recoverable() => {
                record.unconverged += usize::from(matches!(e, Error::NotConverged { .. }));
                record.rejected = Some(e);
                f64::INFINITY
            }
            Err(e) => return Err(e),
        };
        // A point that is known to fail is in the checkpoint already.
        if let (Some(checkpoint), Known::Nothing) = (&mut record.checkpoint, known) {
            let memory = problem.engine.resumable().map_or(Vec::new(), |engine| engine.memory());
            let found = || Recorded { value, gradient: gradient.to_vec(), memory };
            checkpoint.keep(theta, value.is_finite().then(found))?;
        }
        Ok(value)
    }

    fn observe(&mut self, step: &Step) -> ControlFlow<()> {
        let rows = self.problem.rows;
        self.record.tracker.evaluated(rows, step.evaluations, -step.best)
    }
}
