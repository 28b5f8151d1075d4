//! The objective of a search: a value and a gradient at each θ.

use super::training::Problem;
use crate::checkpoint::{Checkpoint, Found, Known};
use crate::error::{Error, Result};
use crate::parameters::Parameters;

/// The function over θ that a search minimises.
pub(super) struct Evaluator<'e, 'p> {
    pub(super) problem: &'e mut Problem<'p>,
    pub(super) parameters: &'e Parameters,
}

/// Number of rejected evaluations.
#[derive(Default)]
pub(super) struct Setbacks {
    /// Number of those rejected because a solve did not converge.
    pub(super) unconverged: usize,
    /// The reason of the last rejection.
    pub(super) last: Option<Error>,
}

impl Evaluator<'_, '_> {
    /// Value and gradient at θ, from the checkpoint if it has them; infinite where θ cannot be
    /// evaluated, so that the optimiser rejects the step.
    pub(super) fn evaluate(
        &mut self,
        theta: &[f64],
        gradient: &mut [f64],
        setbacks: &mut Setbacks,
        checkpoint: Option<&mut Checkpoint>,
    ) -> Result<f64> {
        let Some(checkpoint) = checkpoint else { return self.compute(theta, gradient, setbacks) };
        match checkpoint.recall(theta)? {
            Known::Found(found) => {
                gradient.copy_from_slice(&found.gradient);
                if let Some(engine) = self.problem.engine.resumable() {
                    engine.remember(&found.memory);
                }
                Ok(found.value)
            }
            Known::Failed => self.compute(theta, gradient, setbacks),
            Known::Nothing => {
                let value = self.compute(theta, gradient, setbacks)?;
                let resumable = self.problem.engine.resumable();
                let memory = resumable.map_or(Vec::new(), |engine| engine.memory());
                let found = || Found { value, gradient: gradient.to_vec(), memory };
                checkpoint.keep(theta, value.is_finite().then(found))?;
                Ok(value)
            }
        }
    }

    /// Lets the engine choose what stays fixed during a search that starts at θ; whether there is
    /// anything.
    pub(super) fn settle(&mut self, theta: &[f64]) -> Result<bool> {
        self.problem.engine.settle(&self.parameters.prior_at(theta))
    }

    fn compute(
        &mut self,
        theta: &[f64],
        gradient: &mut [f64],
        setbacks: &mut Setbacks,
    ) -> Result<f64> {
        let prior = self.parameters.prior_at(theta);
        match self.problem.evaluate(&prior) {
            Ok(mut likelihood) => {
                if let Some(correction) = &self.problem.correction {
                    let (value, slope) = correction.at(prior.noise_variance);
                    likelihood.log_marginal_likelihood += value;
                    likelihood.noise_variance += slope;
                }
                Ok(self.parameters.minimised(theta, &prior, &likelihood, gradient))
            }
            Err(e) if e.is_recoverable() => {
                setbacks.unconverged += usize::from(matches!(e, Error::NotConverged { .. }));
                setbacks.last = Some(e);
                Ok(f64::INFINITY)
            }
            Err(e) => Err(e),
        }
    }

    /// A tolerance for the value, from one per observed value.
    pub(super) fn tolerance(&self, each: f64) -> f64 {
        each * self.problem.observations.values()
    }
}
