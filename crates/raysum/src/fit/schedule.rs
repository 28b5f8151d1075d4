//! Runs a search in stages: on some of the rows first, then on all.

use super::directions::{self, Learning};
use super::evaluator::Task;
use super::progress::Phase;
use super::search::Search;
use super::shrinkage;
use super::stages::{self, Stages};
use super::training::{FitProblem, Training};
use crate::config::{Config, Optimizer, Shrinkage};
use crate::error::Result;
use crate::model::FitReport;
use crate::optimize::{Lbfgs, Outcome, Stop};
use crate::parameters::{Freedom, Hyperparameters, Parameters};

/// The result of a search.
pub(super) struct Found {
    pub(super) parameters: Parameters,
    pub(super) hyperparameters: Hyperparameters,
    /// The report, without what the posterior adds.
    pub(super) report: FitReport,
}

impl Found {
    /// Hyperparameters that were given.
    pub(super) fn given(parameters: Parameters, hyperparameters: Hyperparameters) -> Self {
        Self { parameters, hyperparameters, report: FitReport::default() }
    }
}

/// The stages of one search.
pub(super) struct Schedule<'s> {
    config: &'s Config,
    stages: Stages,
    /// The θ that it starts at, and whether the caller gives it.
    first: Vec<f64>,
    started: bool,
    /// The freedom of length-scales, if the caller gives it.
    freedom: Option<Freedom>,
}

/// The result of the first stage.
struct First {
    parameters: Parameters,
    /// The optima among which the next stage chooses, the best first.
    outcomes: Vec<Outcome>,
    freedom: Freedom,
    /// The most evaluations of each later stage, if learning directions has to end early.
    most: Option<usize>,
}

impl<'s> Schedule<'s> {
    pub(super) fn new(
        config: &'s Config,
        training: &Training<'_>,
        first: Vec<f64>,
        started: bool,
        freedom: Option<Freedom>,
    ) -> Self {
        let n = training.len();
        // Adam has the paper's recipe from its start to its end, and learned directions are
        // stopped by rows of the first stage, which must be many.
        let no_scouts = config.learns_directions() || config.optimizer == Optimizer::Adam;
        let stages = match config.subset {
            Some(rows) if training.is_sample() => Stages::one(rows.min(training.at_hand())),
            None if training.is_sample() => Stages::sampled(training.at_hand(), n, no_scouts),
            Some(rows) if rows < n && !started && !no_scouts => Stages::scouted(rows),
            Some(rows) => Stages::one(rows.min(n)),
            None if started => Stages::one(n),
            None if no_scouts => Stages::plain(n),
            None => Stages::scouted(n),
        };
        Self { config, stages, first, started, freedom }
    }

    /// Searches, one stage after the other.
    pub(super) fn run(
        &self,
        mut search: Search<'_, '_>,
        training: &Training<'_>,
        parameters: &Parameters,
    ) -> Result<Found> {
        if self.stages.rows[0] < training.len() || training.is_sample() {
            training.whole(self.config)?.engine.check(&parameters.prior_at(&self.first))?;
        }
        let First { parameters, mut outcomes, freedom, most } =
            self.first_stage(&mut search, training, parameters)?;
        // A later stage is short on purpose, as is learning that was stopped early; their limit is
        // not reported.
        let mut short = most.is_some();
        for index in 1..self.stages.rows.len() {
            let rows = self.stages.rows[index];
            let part = (!self.is_all(training, index))
                .then(|| training.rows(&training.sample(rows, self.config.seed, index)))
                .transpose()?;
            let mut problem = training.problem(self.config, part.as_ref())?;
            let mut task = Task { problem: &mut problem, parameters: &parameters };
            let expected = self.stages.expected(index).min(most.unwrap_or(usize::MAX));
            search.record.tracker.enter(Phase::Search, expected, self.stages.ahead(index));
            let growth = rows as f64 / self.stages.rows[index - 1] as f64;
            // Where evaluations are dear, the sample has decided.
            if self.stages.is_elsewhere(index) {
                outcomes.truncate(1);
            }
            let best = search.best_outcome(&mut task, outcomes)?;
            let work = task.problem.engine.work(&parameters.prior_at(&best.point));
            let limit = self.limit(index, work);
            short |= self.stages.limit(index).is_some() || limit < self.most_evaluations();
            let limit = limit.min(most.unwrap_or(limit));
            outcomes = vec![search.finish(&mut task, best, growth, limit)?];
        }
        let best = &outcomes[0];
        let report = FitReport {
            evaluations: search.record.evaluations,
            unconverged: search.record.unconverged,
            hit_limit: best.stop == Stop::Limit && !short,
            shrinkage: freedom.width(),
            ..FitReport::default()
        };
        let hyperparameters = parameters.hyperparameters(&best.point);
        Ok(Found { parameters: parameters.settled(&best.point), hyperparameters, report })
    }

    /// Whether a stage is on all rows: of a sample's, the last one may be.
    fn is_all(&self, training: &Training<'_>, index: usize) -> bool {
        if training.is_sample() {
            self.stages.is_elsewhere(index)
        } else {
            self.stages.rows[index] == training.len()
        }
    }

    fn most_evaluations(&self) -> usize {
        self.config.max_evaluations.unwrap_or(Lbfgs::default().evaluations)
    }

    /// The most evaluations of a later stage, if each takes `work` multiplications.
    fn limit(&self, index: usize, work: Option<f64>) -> usize {
        match self.stages.limit(index) {
            None => {
                let all = self.most_evaluations();
                work.map_or(all, stages::affordable).min(all)
            }
            Some(_)
                if self.config.learns_directions()
                    && index == 1
                    && !self.stages.is_elsewhere(index) =>
            {
                directions::LATER_EVALUATIONS
            }
            Some(limit) => limit,
        }
    }

    fn first_stage(
        &self,
        search: &mut Search<'_, '_>,
        training: &Training<'_>,
        parameters: &Parameters,
    ) -> Result<First> {
        let (config, rows) = (self.config, self.stages.rows[0]);
        let all = self.is_all(training, 0);
        let numbers = if all { (0..rows).collect() } else { training.sample(rows, config.seed, 0) };
        let part = (!all).then(|| training.rows(&numbers)).transpose()?;
        if config.learns_directions() {
            let learning = if self.started {
                Learning { parameters: parameters.clone(), first: self.first.clone(), most: None }
            } else {
                Learning::prepare(search, training, parameters, &numbers)?
            };
            let Learning { parameters, first, most } = learning;
            let mut problem = training.problem(config, part.as_ref())?;
            let mut task = Task { problem: &mut problem, parameters: &parameters };
            let limit = config.max_evaluations.unwrap_or(directions::EVALUATIONS);
            let limit = limit.min(most.unwrap_or(limit));
            search.record.tracker.enter(Phase::Search, limit, self.stages.ahead(0));
            let outcome = search.learn(&mut task, &Outcome::at(first), limit)?;
            return Ok(First { parameters, outcomes: vec![outcome], freedom: Freedom::Free, most });
        }
        let first_work = (self.stages.expected(0) * rows) as f64;
        let ahead = first_work + self.stages.ahead(0);
        let mut choice =
            shrinkage::choose(search, training, parameters, self.freedom, &numbers, ahead)?;
        let started = self.started && self.freedom.is_none_or(|known| known == choice.freedom);
        let expected = self.stages.expected(0) * config.starts as usize;
        search.record.tracker.enter(Phase::Search, expected, self.stages.ahead(0));
        let mut problem = training.problem(config, part.as_ref())?;
        if started {
            let freed = parameters.with(choice.freedom);
            let first = freed.theta(&parameters.hyperparameters(&self.first))?;
            let mut task = Task { problem: &mut problem, parameters: &freed };
            let outcomes = search.starts(&mut task, &first)?;
            return Ok(First { parameters: freed, outcomes, freedom: choice.freedom, most: None });
        }
        loop {
            let first = self.search_with(search, &mut problem, parameters, choice.freedom)?;
            let best = &first.outcomes[0].point;
            match choice.instead(first.parameters.prior_at(best).noise_variance) {
                Some(less) => choice.freedom = less,
                None => return Ok(first),
            }
        }
    }

    /// Searches with this freedom from all starts; the best outcome comes first.
    fn search_with(
        &self,
        search: &mut Search<'_, '_>,
        problem: &mut FitProblem<'_>,
        parameters: &Parameters,
        freedom: Freedom,
    ) -> Result<First> {
        let (config, freed) = (self.config, parameters.with(freedom));
        let mut outcomes = Vec::new();
        // Adam follows the paper's recipe throughout.
        let direct = config.optimizer == Optimizer::Adam && freedom == Freedom::Free;
        if config.shrinkage != Shrinkage::None && parameters.is_shrinkable() && !direct {
            outcomes.push(shrinkage::search(search, problem, parameters, freedom)?);
        }
        let mut task = Task { problem, parameters: &freed };
        // Free length-scales have several optima: the way from a common one and the direct way
        // often lead to different ones.
        if freedom == Freedom::Free {
            let direct = search.descend(&mut task, &freed.start(), None)?;
            match outcomes.pop() {
                // The next stage decides; without one this value does.
                Some(path) if self.stages.rows.len() == 1 => {
                    outcomes.push(shrinkage::preferred(path, direct));
                }
                path => outcomes.extend(path.into_iter().chain([direct])),
            }
        }
        let mut outcomes = search.more_starts(&mut task, &freed.start(), outcomes)?;
        if config.optimizer == Optimizer::Lbfgs
            && let Some(other) = search.largest_last(task.problem, &freed, &outcomes[0])?
        {
            outcomes.push(other);
            outcomes.sort_by(|a, b| a.value.total_cmp(&b.value));
        }
        Ok(First { parameters: freed, outcomes, freedom, most: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dear_evaluations_bound_a_stage_and_cheap_ones_do_not() {
        let all = Lbfgs::default().evaluations;
        let mut config = Config::default();
        let limit = |config: &Config, index, work| {
            let stages = Stages::scouted(30_000);
            Schedule { config, stages, first: Vec::new(), started: false, freedom: None }
                .limit(index, work)
        };
        assert_eq!(limit(&config, 1, None), all);
        assert_eq!(limit(&config, 1, Some(1e9)), all);
        assert_eq!(limit(&config, 1, Some(1e15)), stages::affordable(1e15));
        assert!(stages::affordable(1e15) < all);
        // The last stage is always short.
        assert_eq!(limit(&config, 2, Some(1.0)), limit(&config, 2, Some(1e15)));
        config.max_evaluations = Some(5);
        assert_eq!(limit(&config, 1, Some(1e15)), 5);
    }
}
