//! The search for θ, with progress and cancellation.

use super::evaluator::{Evaluator, Setbacks};
use super::progress::Tracker;
use crate::checkpoint::Checkpoint;
use crate::config::{Config, Optimizer};
use crate::error::{Error, Result};
use crate::optimize::{Adam, Lbfgs, Outcome, Step, Stop, adam, lbfgs};
use crate::rng::{Purpose, stream};
use rand_distr::{Distribution, StandardNormal};
use std::ops::ControlFlow;

/// A search ends when its steps gain less than this in log likelihood per observed value. With a
/// coarser tolerance it ends on plateaus.
const STEP_TOLERANCE: f64 = 2e-5;
/// Number of optima of a stage that are compared on the rows of the next.
const RIVALS: usize = 3;
/// Most times that an engine chooses anew what stays fixed during a search, which then goes on from
/// where it ended.
const ROUNDS: usize = 3;
/// Pairs of L-BFGS while directions are learned, whose θ has hundreds of correlated entries.
const LEARNING_MEMORY: usize = 50;

/// The input of an optimiser: value and gradient at a point, and a progress callback.
type Objective<'a> = dyn FnMut(&[f64], &mut [f64]) -> Result<f64> + 'a;
type Observer<'a> = dyn FnMut(&Step) -> ControlFlow<()> + 'a;

/// The common input of the searches of a fit.
pub(super) struct Search<'a, 'p> {
    pub(super) config: &'a Config,
    pub(super) tracker: Tracker<'a, 'p>,
    pub(super) evaluations: usize,
    pub(super) setbacks: Setbacks,
    /// Records evaluations of this run and of earlier ones.
    pub(super) checkpoint: Option<&'a mut Checkpoint>,
}

impl<'a, 'p> Search<'a, 'p> {
    pub(super) fn new(
        config: &'a Config,
        tracker: Tracker<'a, 'p>,
        checkpoint: Option<&'a mut Checkpoint>,
    ) -> Self {
        Self { config, tracker, evaluations: 0, setbacks: Setbacks::default(), checkpoint }
    }

    /// Continues to learn directions for this number of evaluations.
    pub(super) fn learn(
        &mut self,
        evaluator: &mut Evaluator<'_, '_>,
        from: &Outcome,
        evaluations: usize,
    ) -> Result<Outcome> {
        let options = Lbfgs {
            evaluations,
            memory: LEARNING_MEMORY,
            value_tolerance: evaluator.tolerance(STEP_TOLERANCE),
            curvature: from.curvature.clone(),
            ..Lbfgs::default()
        };
        evaluator.settle(&from.point)?;
        let outcome = self.run(evaluator, |objective, observer| {
            lbfgs(&from.point, &options, objective, observer)
        })?;
        if outcome.value.is_finite() { Ok(outcome) } else { Err(self.no_start()) }
    }

    /// The outcomes of all starts, the best first.
    pub(super) fn starts(
        &mut self,
        evaluator: &mut Evaluator<'_, '_>,
        first: &[f64],
    ) -> Result<Vec<Outcome>> {
        let outcome = self.minimise(evaluator, first, None)?;
        self.more_starts(evaluator, first, vec![outcome])
    }

    /// The same where the outcome of the first start is known.
    pub(super) fn more_starts(
        &mut self,
        evaluator: &mut Evaluator<'_, '_>,
        around: &[f64],
        mut outcomes: Vec<Outcome>,
    ) -> Result<Vec<Outcome>> {
        for index in 1..self.config.starts {
            let theta = scattered(around, self.config.seed, index);
            outcomes.push(self.minimise(evaluator, &theta, None)?);
        }
        outcomes.retain(|outcome| outcome.value.is_finite());
        if outcomes.is_empty() {
            return Err(self.no_start());
        }
        // The sort is stable: of equal optima that of the first start is kept.
        outcomes.sort_by(|a, b| a.value.total_cmp(&b.value));
        Ok(outcomes)
    }

    /// Minimises from one point, with at most this number of evaluations.
    pub(super) fn descend(
        &mut self,
        evaluator: &mut Evaluator<'_, '_>,
        first: &[f64],
        most: Option<usize>,
    ) -> Result<Outcome> {
        let outcome = self.minimise(evaluator, first, most)?;
        if outcome.value.is_finite() { Ok(outcome) } else { Err(self.no_start()) }
    }

    /// The point with the lowest value; the first of equals.
    pub(super) fn lowest(
        &mut self,
        evaluator: &mut Evaluator<'_, '_>,
        points: &[Vec<f64>],
    ) -> Result<Vec<f64>> {
        let mut best: Option<Outcome> = None;
        for point in points {
            let outcome = self.look(evaluator, point)?;
            if best.as_ref().is_none_or(|best| outcome.value < best.value) {
                best = Some(outcome);
            }
        }
        Ok(best.map_or_else(Vec::new, |best| best.point))
    }

    /// The optimum of the previous stage that is best on these rows: the final criterion is the
    /// value on all rows, on which the ranking may differ.
    pub(super) fn best_outcome(
        &mut self,
        evaluator: &mut Evaluator<'_, '_>,
        mut outcomes: Vec<Outcome>,
    ) -> Result<Outcome> {
        let best = outcomes.remove(0);
        // Starts that ended at the same place have about the same value.
        let least = evaluator.tolerance(STEP_TOLERANCE);
        let mut rivals = vec![best];
        for outcome in outcomes {
            let last = rivals.last().map_or(f64::INFINITY, |rival| rival.value);
            if rivals.len() < RIVALS && outcome.value > last + least {
                rivals.push(outcome);
            }
        }
        if rivals.len() == 1 {
            return Ok(rivals.remove(0));
        }
        let mut values = Vec::new();
        for rival in &rivals {
            values.push(self.look(evaluator, &rival.point)?.value);
        }
        let lowest = (0..values.len()).rev().min_by(|a, b| values[*a].total_cmp(&values[*b]));
        Ok(rivals.swap_remove(lowest.unwrap_or(0)))
    }

    /// One evaluation.
    fn look(&mut self, evaluator: &mut Evaluator<'_, '_>, point: &[f64]) -> Result<Outcome> {
        evaluator.settle(point)?;
        let options = Lbfgs { evaluations: 1, ..Lbfgs::default() };
        self.run(evaluator, |objective, observer| lbfgs(point, &options, objective, observer))
    }

    fn minimise(
        &mut self,
        evaluator: &mut Evaluator<'_, '_>,
        theta: &[f64],
        most: Option<usize>,
    ) -> Result<Outcome> {
        match self.config.optimizer {
            Optimizer::Lbfgs => {
                let mut options = Lbfgs::default();
                options.evaluations = self.config.max_evaluations.unwrap_or(options.evaluations);
                options.evaluations = options.evaluations.min(most.unwrap_or(usize::MAX));
                options.value_tolerance = evaluator.tolerance(STEP_TOLERANCE);
                self.in_rounds(evaluator, theta, options)
            }
            Optimizer::Adam => self.adam(evaluator, theta),
        }
    }

    /// Minimises; where the engine keeps something fixed during a search, it is chosen anew where
    /// the search ends, and the search goes on from there.
    fn in_rounds(
        &mut self,
        evaluator: &mut Evaluator<'_, '_>,
        theta: &[f64],
        mut options: Lbfgs,
    ) -> Result<Outcome> {
        let mut rounds = if evaluator.settle(theta)? { ROUNDS } else { 1 };
        let mut run = |evaluator: &mut Evaluator<'_, '_>, from: &[f64], options: &Lbfgs| {
            self.run(evaluator, |objective, observer| lbfgs(from, options, objective, observer))
        };
        let mut outcome = run(evaluator, theta, &options)?;
        while rounds > 1 && outcome.value.is_finite() && outcome.evaluations < options.evaluations {
            rounds -= 1;
            options.evaluations -= outcome.evaluations;
            options.curvature.clone_from(&outcome.curvature);
            evaluator.settle(&outcome.point)?;
            let next = run(evaluator, &outcome.point, &options)?;
            if !next.value.is_finite() {
                break;
            }
            outcome = next;
        }
        Ok(outcome)
    }

    /// The error if no start can be evaluated: that of an evaluation, if one failed.
    fn no_start(&mut self) -> Error {
        self.setbacks.last.take().unwrap_or(Error::NoFiniteStart)
    }

    /// At most `most` evaluations on more rows, from the optimum of the previous stage. The
    /// likelihood of `growth` times the rows is about that much more curved.
    pub(super) fn finish(
        &mut self,
        evaluator: &mut Evaluator<'_, '_>,
        from: Outcome,
        growth: f64,
        most: usize,
    ) -> Result<Outcome> {
        let mut curvature = from.curvature;
        for pair in &mut curvature {
            pair.change.iter_mut().for_each(|c| *c *= growth);
        }
        let evaluations = self.config.max_evaluations.unwrap_or(most).min(most);
        let value_tolerance = evaluator.tolerance(STEP_TOLERANCE);
        let options = Lbfgs { evaluations, value_tolerance, curvature, ..Lbfgs::default() };
        let outcome = self.in_rounds(evaluator, &from.point, options)?;
        // If the optimum cannot be evaluated on more rows, that of the previous stage is kept.
        let found = outcome.value.is_finite();
        Ok(if found { outcome } else { Outcome { curvature: Vec::new(), ..from } })
    }

    fn adam(&mut self, evaluator: &mut Evaluator<'_, '_>, theta: &[f64]) -> Result<Outcome> {
        let recipe = Adam::default();
        let evaluations = self.config.max_evaluations.unwrap_or(recipe.evaluations);
        // The paper's tolerance is per row.
        let tolerance = evaluator.tolerance(recipe.tolerance);
        let options = Adam { evaluations, tolerance, ..recipe };
        evaluator.settle(theta)?;
        self.run(evaluator, |objective, observer| adam(theta, &options, objective, observer))
    }

    /// Runs one search, with progress and cancellation.
    fn run(
        &mut self,
        evaluator: &mut Evaluator<'_, '_>,
        body: impl FnOnce(&mut Objective<'_>, &mut Observer<'_>) -> Result<Outcome>,
    ) -> Result<Outcome> {
        let rows = evaluator.problem.observations.rows();
        let tracker = &mut self.tracker;
        tracker.search();
        let (setbacks, checkpoint) = (&mut self.setbacks, &mut self.checkpoint);
        let mut observer = |step: &Step| tracker.evaluated(rows, step.evaluations, -step.best);
        let mut objective = |theta: &[f64], gradient: &mut [f64]| {
            evaluator.evaluate(theta, gradient, setbacks, checkpoint.as_deref_mut())
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
