//! The search for θ, with progress and cancellation.

use super::evaluator::{Evaluator, Record, Task};
use super::progress::Tracker;
use super::training::FitProblem;
use crate::checkpoint::Checkpoint;
use crate::config::{Config, Optimizer};
use crate::error::{Error, Result};
use crate::optimize::{Adam, Lbfgs, Outcome, Stop, adam, lbfgs};
use crate::parameters::Parameters;
use crate::rng::{Purpose, stream};
use rand_distr::{Distribution, StandardNormal};

/// A search ends when its steps gain less than this in log likelihood per observed value. With a
/// coarser tolerance it ends on plateaus.
const STEP_TOLERANCE: f64 = 2e-5;
/// Number of optima of a stage that are compared on the rows of the next.
const RIVALS: usize = 3;
/// Most rounds of a search in which an engine keeps something fixed, and chooses it anew for the next
/// round.
const ROUNDS: usize = 3;
/// Pairs of L-BFGS while directions are learned, whose θ has hundreds of correlated entries.
const LEARNING_MEMORY: usize = 50;

/// How a search minimises.
enum Method {
    Lbfgs(Lbfgs),
    Adam(Adam),
}

/// The common input of the searches of a fit.
pub(super) struct Search<'a, 'p> {
    pub(super) config: &'a Config,
    pub(super) record: Record<'a, 'p>,
}

impl<'a, 'p> Search<'a, 'p> {
    pub(super) fn new(
        config: &'a Config,
        tracker: Tracker<'a, 'p>,
        checkpoint: Option<&'a mut Checkpoint>,
    ) -> Self {
        let record = Record { tracker, checkpoint, evaluations: 0, unconverged: 0, rejected: None };
        Self { config, record }
    }

    /// Continues to learn directions for this number of evaluations.
    pub(super) fn learn(
        &mut self,
        task: &mut Task<'_, '_>,
        from: &Outcome,
        evaluations: usize,
    ) -> Result<Outcome> {
        let options = Lbfgs {
            evaluations,
            memory: LEARNING_MEMORY,
            value_tolerance: task.tolerance(STEP_TOLERANCE),
            curvature: from.curvature.clone(),
            ..Lbfgs::default()
        };
        let outcome = self.minimise(task, &from.point, Method::Lbfgs(options), 1)?;
        self.finite(outcome)
    }

    /// The outcomes of all starts, the best first.
    pub(super) fn starts(
        &mut self,
        task: &mut Task<'_, '_>,
        first: &[f64],
    ) -> Result<Vec<Outcome>> {
        let method = self.method(task, None);
        let outcome = self.minimise(task, first, method, ROUNDS)?;
        self.more_starts(task, first, vec![outcome])
    }

    /// The same where the outcome of the first start is known.
    pub(super) fn more_starts(
        &mut self,
        task: &mut Task<'_, '_>,
        around: &[f64],
        mut outcomes: Vec<Outcome>,
    ) -> Result<Vec<Outcome>> {
        for index in 1..self.config.starts {
            let theta = scattered(around, self.config.seed, index);
            let method = self.method(task, None);
            outcomes.push(self.minimise(task, &theta, method, ROUNDS)?);
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
        task: &mut Task<'_, '_>,
        first: &[f64],
        most: Option<usize>,
    ) -> Result<Outcome> {
        let method = self.method(task, most);
        let outcome = self.minimise(task, first, method, ROUNDS)?;
        self.finite(outcome)
    }

    /// Minimises without the largest term first, and then with all of them, where the search of all at
    /// once ended at the limit of roughness: the largest term may have taken the features that others
    /// would have made better use of.
    pub(super) fn largest_last(
        &mut self,
        problem: &mut FitProblem<'_>,
        parameters: &Parameters,
        bound: &Outcome,
    ) -> Result<Option<Outcome>> {
        let is_bound = problem.is_bound(&parameters.prior_at(&bound.point));
        let Some(others) = parameters.without_largest().filter(|_| is_bound) else {
            return Ok(None);
        };
        let mut task = Task { problem, parameters: &others };
        let without = self.descend(&mut task, &others.start(), None)?;
        let mut task = Task { problem: task.problem, parameters };
        self.descend(&mut task, &without.point, None).map(Some)
    }

    /// The point with the lowest value; the first of equals.
    pub(super) fn lowest(
        &mut self,
        task: &mut Task<'_, '_>,
        points: &[Vec<f64>],
    ) -> Result<Vec<f64>> {
        let mut best: Option<Outcome> = None;
        for point in points {
            let outcome = self.look(task, point)?;
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
        task: &mut Task<'_, '_>,
        mut outcomes: Vec<Outcome>,
    ) -> Result<Outcome> {
        let best = outcomes.remove(0);
        // Starts that ended at the same place have about the same value.
        let least = task.tolerance(STEP_TOLERANCE);
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
            values.push(self.look(task, &rival.point)?.value);
        }
        let lowest = (0..values.len()).rev().min_by(|a, b| values[*a].total_cmp(&values[*b]));
        Ok(rivals.swap_remove(lowest.unwrap_or(0)))
    }

    /// One evaluation.
    fn look(&mut self, task: &mut Task<'_, '_>, point: &[f64]) -> Result<Outcome> {
        let options = Lbfgs { evaluations: 1, ..Lbfgs::default() };
        self.minimise(task, point, Method::Lbfgs(options), 1)
    }

    /// The configuration's optimiser, with at most this number of evaluations by L-BFGS.
    fn method(&self, task: &Task<'_, '_>, most: Option<usize>) -> Method {
        let given = self.config.max_evaluations;
        match self.config.optimizer {
            Optimizer::Lbfgs => {
                let options = Lbfgs::default();
                let evaluations = given.unwrap_or(options.evaluations);
                Method::Lbfgs(Lbfgs {
                    evaluations: evaluations.min(most.unwrap_or(usize::MAX)),
                    value_tolerance: task.tolerance(STEP_TOLERANCE),
                    ..options
                })
            }
            Optimizer::Adam => {
                let recipe = Adam::default();
                Method::Adam(Adam {
                    evaluations: given.unwrap_or(recipe.evaluations),
                    // The paper's tolerance is per row.
                    tolerance: task.tolerance(recipe.tolerance),
                    ..recipe
                })
            }
        }
    }

    /// Minimises, with progress and cancellation. Where the engine keeps something fixed during a
    /// search, L-BFGS takes up to this number of rounds: it is chosen anew where a round ends, and
    /// the next one continues from there.
    fn minimise(
        &mut self,
        task: &mut Task<'_, '_>,
        theta: &[f64],
        mut method: Method,
        rounds: usize,
    ) -> Result<Outcome> {
        let mut rounds = if task.settle(theta)? { rounds } else { 1 };
        let mut best: Option<Outcome> = None;
        loop {
            self.record.tracker.search();
            let from = best.as_ref().map_or(theta, |best| &best.point);
            let mut evaluator = Evaluator {
                problem: task.problem,
                parameters: task.parameters,
                record: &mut self.record,
            };
            let outcome = match &method {
                Method::Lbfgs(options) => lbfgs(from, options, &mut evaluator)?,
                Method::Adam(options) => adam(from, options, &mut evaluator)?,
            };
            self.record.evaluations += outcome.evaluations;
            if outcome.stop == Stop::Cancelled {
                return Err(Error::Cancelled { evaluations: self.record.evaluations });
            }
            if !outcome.value.is_finite() {
                return Ok(best.unwrap_or(outcome));
            }
            rounds -= 1;
            match &mut method {
                Method::Lbfgs(options)
                    if rounds > 0 && outcome.evaluations < options.evaluations =>
                {
                    options.evaluations -= outcome.evaluations;
                    options.curvature.clone_from(&outcome.curvature);
                }
                _ => return Ok(outcome),
            }
            task.settle(&outcome.point)?;
            best = Some(outcome);
        }
    }

    /// The outcome, unless no point could be evaluated. The error is then that of an evaluation, if
    /// one failed.
    fn finite(&mut self, outcome: Outcome) -> Result<Outcome> {
        if outcome.value.is_finite() { Ok(outcome) } else { Err(self.no_start()) }
    }

    fn no_start(&mut self) -> Error {
        self.record.rejected.take().unwrap_or(Error::NoFiniteStart)
    }

    /// At most `most` evaluations on more rows, from the optimum of the previous stage. The
    /// likelihood of `growth` times the rows is about that much more curved.
    pub(super) fn finish(
        &mut self,
        task: &mut Task<'_, '_>,
        from: Outcome,
        growth: f64,
        most: usize,
    ) -> Result<Outcome> {
        let mut curvature = from.curvature;
        for pair in &mut curvature {
            pair.change.iter_mut().for_each(|c| *c *= growth);
        }
        let evaluations = self.config.max_evaluations.unwrap_or(most).min(most);
        let value_tolerance = task.tolerance(STEP_TOLERANCE);
        let options = Lbfgs { evaluations, value_tolerance, curvature, ..Lbfgs::default() };
        let outcome = self.minimise(task, &from.point, Method::Lbfgs(options), ROUNDS)?;
        // If the optimum cannot be evaluated on more rows, that of the previous stage is kept.
        let found = outcome.value.is_finite();
        Ok(if found { outcome } else { Outcome { curvature: Vec::new(), ..from } })
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
