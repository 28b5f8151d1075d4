//! The search for θ under the caller's eyes: from several starts, in stages, or along directions.

use crate::checkpoint::{Checkpoint, Found, Known};
use crate::config::{Config, Optimizer};
use crate::engine::{Engine, Observations};
use crate::error::{Error, Result};
use crate::objective::Layout;
use crate::optimize::{Adam, Lbfgs, Outcome, Step, Stop, adam, lbfgs};
use crate::rng::{Purpose, stream};
use rand_distr::{Distribution, StandardNormal};
use std::ops::ControlFlow;

/// A search ends when its steps gain less than this in log likelihood per observed value. Half of
/// it, or twice as much, changes no score on the paper's data sets by more than a tenth of its spread.
const STEP_TOLERANCE: f64 = 1e-4;

/// The same for learning directions, where the last tenth of the gain takes half of the steps.
const LEARNING_TOLERANCE: f64 = 2e-5;
/// Steps that learning remembers: its θ has hundreds of entries that turn with each other.
const LEARNING_MEMORY: usize = 50;

/// Where a fit stands after an evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Rows searched on: all, or the part that a search starts with.
    pub rows: usize,
    /// The start being searched, from 0.
    pub start: u32,
    /// Number of starts.
    pub starts: u32,
    /// Evaluations so far in this start.
    pub evaluations: usize,
    /// The most this start will take (usually far fewer are needed).
    pub limit: usize,
    /// What comes after this stage of the search, counted in its evaluations: those on all rows
    /// take as much longer as there are more rows.
    pub later: f64,
    /// The best objective so far in this start: log marginal likelihood plus log noise prior.
    pub objective: f64,
}

/// What an optimiser is given: value and gradient at a point, and who watches.
type Objective<'a> = dyn FnMut(&[f64], &mut [f64]) -> Result<f64> + 'a;
type Observer<'a> = dyn FnMut(&Step) -> ControlFlow<()> + 'a;

/// Called after each evaluation; `Break` cancels the fit.
pub type ProgressFn<'a> = dyn FnMut(&Progress) -> ControlFlow<()> + 'a;

/// The search for θ, in one or two stages.
pub(crate) struct Search<'a, 'p> {
    pub(crate) config: &'a Config,
    pub(crate) progress: &'a mut ProgressFn<'p>,
    pub(crate) evaluations: usize,
    pub(crate) setbacks: Setbacks,
    pub(crate) later: f64,
    /// Remembers evaluations, here and in runs before.
    pub(crate) checkpoint: Option<&'a mut Checkpoint>,
}

/// Evaluations that a search stepped back from.
#[derive(Default)]
pub(crate) struct Setbacks {
    /// Because a solve did not converge.
    pub(crate) unconverged: usize,
    /// Why, the last time.
    last: Option<Error>,
}

/// What is searched: the likelihood of some rows over θ.
pub(crate) struct Task<'t> {
    pub(crate) engine: &'t mut dyn Engine,
    pub(crate) layout: &'t Layout,
    /// What was observed at the engine's rows; tolerances are counted by it.
    pub(crate) observations: &'t Observations,
}

impl Task<'_> {
    /// Value and gradient; an infinite value where there is none, so that the optimiser steps back.
    fn evaluate(
        &mut self,
        theta: &[f64],
        gradient: &mut [f64],
        setbacks: &mut Setbacks,
    ) -> Result<f64> {
        match self.layout.evaluate(self.engine, theta, gradient) {
            Err(e) if e.is_recoverable() => {
                setbacks.unconverged += usize::from(matches!(e, Error::NotConverged { .. }));
                setbacks.last = Some(e);
                Ok(f64::INFINITY)
            }
            other => other,
        }
    }

    /// The same, from what a checkpoint remembers or with its knowledge.
    fn remembered(
        &mut self,
        theta: &[f64],
        gradient: &mut [f64],
        setbacks: &mut Setbacks,
        checkpoint: Option<&mut Checkpoint>,
    ) -> Result<f64> {
        let Some(checkpoint) = checkpoint else { return self.evaluate(theta, gradient, setbacks) };
        match checkpoint.recall(theta)? {
            Known::Found(found) => {
                gradient.copy_from_slice(&found.gradient);
                self.engine.remember(&found.memory);
                Ok(found.value)
            }
            Known::Failed => self.evaluate(theta, gradient, setbacks),
            Known::Nothing => {
                let value = self.evaluate(theta, gradient, setbacks)?;
                let found =
                    || Found { value, gradient: gradient.to_vec(), memory: self.engine.memory() };
                checkpoint.keep(theta, value.is_finite().then(found))?;
                Ok(value)
            }
        }
    }

    /// A tolerance for the likelihood, from one per observed value.
    fn tolerance(&self, each: f64) -> f64 {
        each * self.observations.values()
    }
}

impl Search<'_, '_> {
    /// Learns directions for so many evaluations, from where learning has come.
    pub(crate) fn learn(
        &mut self,
        task: &mut Task<'_>,
        from: &Outcome,
        evaluations: usize,
    ) -> Result<Outcome> {
        let options = Lbfgs {
            evaluations,
            memory: LEARNING_MEMORY,
            value_tolerance: task.tolerance(LEARNING_TOLERANCE),
            curvature: from.curvature.clone(),
            ..Lbfgs::default()
        };
        let outcome = self.run(task, 0, |objective, observer| {
            lbfgs(&from.point, &options, objective, observer)
        })?;
        if outcome.value.is_finite() { Ok(outcome) } else { Err(self.no_start()) }
    }

    /// The best of all starts.
    pub(crate) fn starts(&mut self, task: &mut Task<'_>, first: &[f64]) -> Result<Outcome> {
        let mut best: Option<Outcome> = None;
        for index in 0..self.config.starts {
            let theta = match index {
                0 => first.to_vec(),
                _ => scattered(first, self.config.seed, index),
            };
            let outcome = match self.config.optimizer {
                Optimizer::Lbfgs => {
                    let mut options = Lbfgs::default();
                    options.evaluations =
                        self.config.max_evaluations.unwrap_or(options.evaluations);
                    self.lbfgs(task, index, &theta, options)?
                }
                Optimizer::Adam => self.adam(task, index, &theta)?,
            };
            if best.as_ref().is_none_or(|b| outcome.value < b.value) {
                best = Some(outcome);
            }
        }
        best.filter(|b| b.value.is_finite()).ok_or_else(|| self.no_start())
    }

    /// Why there is no start: what an evaluation said, if there was one to fail.
    fn no_start(&mut self) -> Error {
        self.setbacks.last.take().unwrap_or(Error::NoFiniteStart)
    }

    /// At most `most` evaluations on more rows, from where fewer of them led. The likelihood of
    /// `growth` times the rows is about that much more curved.
    pub(crate) fn finish(
        &mut self,
        task: &mut Task<'_>,
        from: Outcome,
        growth: f64,
        most: usize,
    ) -> Result<Outcome> {
        let mut curvature = from.curvature;
        for pair in &mut curvature {
            pair.change.iter_mut().for_each(|c| *c *= growth);
        }
        let evaluations = self.config.max_evaluations.unwrap_or(most).min(most);
        let options = Lbfgs { evaluations, curvature, ..Lbfgs::default() };
        let outcome = self.lbfgs(task, 0, &from.point, options)?;
        // If all rows cannot be evaluated there, the part's word stands.
        let found = outcome.value.is_finite();
        Ok(if found { outcome } else { Outcome { curvature: Vec::new(), ..from } })
    }

    fn lbfgs(
        &mut self,
        task: &mut Task<'_>,
        index: u32,
        theta: &[f64],
        options: Lbfgs,
    ) -> Result<Outcome> {
        let options = Lbfgs { value_tolerance: task.tolerance(STEP_TOLERANCE), ..options };
        self.run(task, index, |objective, observer| lbfgs(theta, &options, objective, observer))
    }

    fn adam(&mut self, task: &mut Task<'_>, index: u32, theta: &[f64]) -> Result<Outcome> {
        let recipe = Adam::default();
        let evaluations = self.config.max_evaluations.unwrap_or(recipe.evaluations);
        // The paper's tolerance is per row.
        let tolerance = task.tolerance(recipe.tolerance);
        let options = Adam { evaluations, tolerance, ..recipe };
        self.run(task, index, |objective, observer| adam(theta, &options, objective, observer))
    }

    /// Runs one search under the caller's eyes.
    fn run(
        &mut self,
        task: &mut Task<'_>,
        start: u32,
        body: impl FnOnce(&mut Objective<'_>, &mut Observer<'_>) -> Result<Outcome>,
    ) -> Result<Outcome> {
        let rows = task.observations.rows();
        let (starts, later, progress) = (self.config.starts, self.later, &mut self.progress);
        let (setbacks, checkpoint) = (&mut self.setbacks, &mut self.checkpoint);
        let mut observer = |step: &Step| {
            progress(&Progress {
                rows,
                start,
                starts,
                evaluations: step.evaluations,
                limit: step.limit,
                later,
                objective: -step.best,
            })
        };
        let mut objective = |theta: &[f64], gradient: &mut [f64]| {
            task.remembered(theta, gradient, setbacks, checkpoint.as_deref_mut())
        };
        let outcome = body(&mut objective, &mut observer)?;
        self.evaluations += outcome.evaluations;
        if outcome.stop == Stop::Cancelled {
            return Err(Error::Cancelled { evaluations: self.evaluations });
        }
        Ok(outcome)
    }
}

/// A starting point scattered around the first one.
fn scattered(first: &[f64], seed: u64, index: u32) -> Vec<f64> {
    let mut rng = stream(seed, Purpose::Starts, index);
    let scatter = |t: &f64| t + Distribution::<f64>::sample(&StandardNormal, &mut rng);
    let mut theta: Vec<f64> = first.iter().map(scatter).collect();
    // The last entry is the constant mean, which is near 0 on standardised targets.
    if let Some(mean) = theta.last_mut() {
        *mean = 0.0;
    }
    theta
}
