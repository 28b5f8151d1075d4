//! Learned directions: where learning them starts, and after how many evaluations it ends.
//!
//! Learning starts from the model with the same projections and a length-scale per column. With few
//! rows it ends early: held-out rows are scored after more and more evaluations, and learning on
//! all rows takes the number of evaluations that was best for them.

use super::evaluator::Task;
use super::held_out::{self, HeldOutSplit, StepScores};
use super::progress::Phase;
use super::search::Search;
use super::shrinkage;
use super::training::{FitProblem, Training};
use crate::error::Result;
use crate::optimize::{Outcome, Stop};
use crate::parameters::{Freedom, Parameters};

/// Default maximum number of evaluations for learning directions.
pub(super) const EVALUATIONS: usize = 800;
/// Most evaluations of the stage that continues on more rows.
pub(super) const LATER_EVALUATIONS: usize = 60;
/// The evaluations after which held-out rows are scored. The first is of the plain model.
const MARKS: [usize; 9] = [1, 4, 8, 16, 32, 64, 128, 256, 512];

/// Evaluations that learning from the rows of a split usually takes.
const EXPECTED: usize = 150;

/// The start of learning directions, and its maximum number of evaluations; unlimited if `None`.
pub(super) struct Learning {
    pub(super) parameters: Parameters,
    pub(super) first: Vec<f64>,
    pub(super) most: Option<usize>,
}

impl Learning {
    /// Finds out on these rows, given by their numbers.
    pub(super) fn prepare(
        search: &mut Search<'_, '_>,
        training: &Training<'_>,
        parameters: &Parameters,
        rows: &[usize],
    ) -> Result<Self> {
        let config = search.config;
        let plain = Parameters::new(&config.plain(), parameters.projections())?;
        let ahead = (EVALUATIONS * rows.len()) as f64;
        let freedom = shrinkage::choose(search, training, &plain, None, rows, ahead)?.freedom;
        let start = Start { learned: parameters, plain: &plain, freedom };
        let splits = if held_out::enough(rows.len(), parameters.len()) {
            Vec::new()
        } else {
            held_out::splits(training, rows, config.seed)?
        };
        search.record.tracker.enter(Phase::HeldOut, splits.len() * EXPECTED, ahead);
        let mut trials = Vec::new();
        for split in &splits {
            let problem = training.problem(config, Some(&split.fitted))?;
            trials.push(LearningTrial::new(search, problem, split, &start)?);
        }
        let most = score(search, training, &mut trials)?;
        let some = rows.len() < training.len() || training.is_sample();
        let part = some.then(|| training.rows(rows)).transpose()?;
        let mut problem = training.problem(config, part.as_ref())?;
        let (parameters, first) = start.find(search, &mut problem)?;
        Ok(Self { parameters, first, most })
    }
}

/// The plain model that learning starts from.
struct Start<'s> {
    learned: &'s Parameters,
    plain: &'s Parameters,
    freedom: Freedom,
}

impl Start<'_> {
    fn find(
        &self,
        search: &mut Search<'_, '_>,
        problem: &mut FitProblem<'_>,
    ) -> Result<(Parameters, Vec<f64>)> {
        let (plain, outcome) = if self.freedom == Freedom::Free {
            let mut task = Task { problem, parameters: self.plain };
            (self.plain.clone(), search.starts(&mut task, &self.plain.start())?.remove(0))
        } else {
            let outcome = shrinkage::search(search, problem, self.plain, self.freedom)?;
            (self.plain.with(self.freedom), outcome)
        };
        self.learned.learning_from(&plain, &plain.hyperparameters(&outcome.point))
    }
}

/// Learning directions from some rows while others are held out.
struct LearningTrial<'t> {
    problem: FitProblem<'t>,
    split: &'t HeldOutSplit,
    parameters: Parameters,
    reached: Outcome,
}

impl<'t> LearningTrial<'t> {
    fn new(
        search: &mut Search<'_, '_>,
        mut problem: FitProblem<'t>,
        split: &'t HeldOutSplit,
        start: &Start<'_>,
    ) -> Result<Self> {
        let (parameters, first) = start.find(search, &mut problem)?;
        Ok(Self { problem, split, parameters, reached: Outcome::at(first) })
    }

    /// Whether learning has not converged yet.
    fn goes_on(&self) -> bool {
        self.reached.stop == Stop::Limit
    }

    /// Continues for this number of evaluations, and scores the held-out rows.
    fn learn(
        &mut self,
        search: &mut Search<'_, '_>,
        training: &Training<'_>,
        evaluations: usize,
    ) -> Result<Vec<f64>> {
        if self.goes_on() {
            let mut task = Task { problem: &mut self.problem, parameters: &self.parameters };
            self.reached = search.learn(&mut task, &self.reached, evaluations)?;
        }
        let theta = &self.reached.point;
        let posteriors = self.problem.engine.posteriors(&self.parameters.prior_at(theta))?;
        held_out::log_densities(training, self.split, &posteriors)
    }
}

/// The number of evaluations chosen by held-out rows: the first mark within a standard error of the
/// best; `None` for no limit.
fn score(
    search: &mut Search<'_, '_>,
    training: &Training<'_>,
    trials: &mut [LearningTrial<'_>],
) -> Result<Option<usize>> {
    let most = search.config.max_evaluations.unwrap_or(EVALUATIONS);
    let mut scores = StepScores::default();
    // Once no trial has anything more to learn the scores would not change.
    while let Some(evaluations) = next(&scores, most)
        && trials.iter().any(LearningTrial::goes_on)
    {
        let mut densities = Vec::new();
        for trial in trials.iter_mut() {
            densities.extend(trial.learn(search, training, evaluations)?);
        }
        scores.push(densities);
    }
    let chosen = scores.first_as_good().filter(|mark| mark + 1 < MARKS.len());
    Ok(chosen.map(|mark| MARKS[mark]))
}

/// The evaluations until held-out rows are scored next, if they are.
fn next(scores: &StepScores, most: usize) -> Option<usize> {
    let mark = MARKS.get(scores.len()).filter(|mark| **mark <= most)?;
    if scores.are_falling() {
        return None;
    }
    // Going on from a mark begins with the evaluation that it ended with.
    Some(scores.len().checked_sub(1).map_or(*mark, |last| mark - MARKS[last] + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_scored_at_the_marks() {
        let mut scores = StepScores::default();
        assert_eq!(next(&scores, 800), Some(1));
        for (density, expected) in [(0.0, Some(4)), (1.0, Some(5)), (0.5, Some(9)), (0.4, None)] {
            scores.push(vec![density]);
            if density == 0.0 {
                assert_eq!((next(&scores, 4), next(&scores, 3)), (Some(4), None));
            }
            assert_eq!(next(&scores, 800), expected);
        }
    }
}
