//! Chooses the shrinkage of length-scales by held-out rows where rows are few.
//!
//! On a wide table the likelihood with free length-scales favours columns whose noise happens to
//! explain the target. The search therefore starts from one common length-scale, and the prior that
//! ties the others to it is widened while the held-out density improves.

use super::evaluator::Task;
use super::held_out::{self, StepScores};
use super::progress::Phase;
use super::search::Search;
use super::training::{FitProblem, Training};
use crate::config::{Config, Optimizer, Shrinkage};
use crate::error::Result;
use crate::optimize::Outcome;
use crate::parameters::{Freedom, Parameters};

/// The steps from one common length-scale to free ones.
const STEPS: [Freedom; 4] =
    [Freedom::Common, Freedom::Shrunk(0.3), Freedom::Shrunk(1.0), Freedom::Free];
/// Evaluations that a step usually takes.
const STEP_EVALUATIONS: usize = 25;
/// Where the search for a common length-scale starts: how much longer than usual it is, in
/// logarithms, and the share of the variance that is noise. The best of these.
const STARTS: [(f64, f64); 10] = [
    (0.0, 0.1),
    (0.0, 0.6),
    (1.0, 0.1),
    (1.0, 0.6),
    (2.0, 0.1),
    (2.0, 0.6),
    (-1.0, 0.1),
    (-1.0, 0.01),
    (-2.0, 0.1),
    (-2.0, 0.01),
];
/// Most evaluations of a step on the rows of a split: the order of the steps shows early.
const MOST_EVALUATIONS: usize = 40;

/// Optima whose log likelihoods differ by less are considered equal: a ratio of 20.
const CLEARLY_BETTER: f64 = 3.0;

/// A search on all rows usually finds more noise than the fits that its freedom was chosen by, which had fewer
/// rows to explain. One that finds less than this share of their least noise has ended in another optimum, in
/// which functions follow the noise.
const EXPLAINED_AWAY: f64 = 0.5;
/// Targets with less noise than this, as a share of their variance, have none to explain away.
const SOME_NOISE: f64 = 0.01;

/// The freedom to search with, and what was found out when it was chosen.
pub(super) struct FreedomChoice {
    pub(super) freedom: Freedom,
    /// The least noise variance of the fits that it was chosen by, for each of the steps that were tried.
    least_noises: Vec<f64>,
}

impl FreedomChoice {
    fn given(freedom: Freedom) -> Self {
        Self { freedom, least_noises: Vec::new() }
    }

    /// Less freedom, if a search with this one found so little noise that it must have explained it away.
    pub(super) fn instead(&self, noise: f64) -> Option<Freedom> {
        let step = STEPS.iter().position(|step| *step == self.freedom)?;
        let least = *self.least_noises.get(step)?;
        let less = STEPS[step.checked_sub(1)?];
        (least > SOME_NOISE && noise < EXPLAINED_AWAY * least).then_some(less)
    }
}

/// The freedom of another fit, that of the configuration, or the one that held-out rows among
/// `rows` choose. `ahead` is the remaining work.
pub(super) fn choose(
    search: &mut Search<'_, '_>,
    training: &Training<'_>,
    parameters: &Parameters,
    known: Option<Freedom>,
    rows: &[usize],
    ahead: f64,
) -> Result<FreedomChoice> {
    let given = match (search.config.shrinkage, known) {
        // There are no two that could differ.
        _ if !parameters.is_shrinkable() => Some(Freedom::Free),
        // A fit on fewer rows may have needed shrinkage where this one does not.
        (Shrinkage::Auto, _) if needs_none(search.config, training, parameters) => {
            Some(Freedom::Free)
        }
        (_, Some(known)) => Some(known),
        (Shrinkage::None, None) => Some(Freedom::Free),
        (Shrinkage::Width(width), None) => Some(Freedom::of_width(Some(width))),
        (Shrinkage::Auto, None) => None,
    };
    if let Some(freedom) = given {
        return Ok(FreedomChoice::given(freedom));
    }
    let splits = held_out::splits(training, rows, search.config.seed)?;
    if splits.is_empty() {
        return Ok(FreedomChoice::given(Freedom::Common));
    }
    let expected = splits.len() * STEPS.len() * STEP_EVALUATIONS;
    search.record.tracker.enter(Phase::HeldOut, expected, ahead);
    let mut problems = Vec::new();
    for split in &splits {
        problems.push(training.problem(search.config, Some(&split.fitted))?);
    }
    let mut reached: Vec<Option<(Parameters, Outcome)>> = vec![None; splits.len()];
    let mut scores = StepScores::default();
    let mut least_noises = Vec::new();
    for step in STEPS {
        if step == Freedom::Free && parameters.len() > rows.len() {
            break;
        }
        let (mut densities, mut least_noise) = (Vec::new(), f64::INFINITY);
        for ((split, problem), reached) in splits.iter().zip(&mut problems).zip(&mut reached) {
            let parameters = parameters.with(step);
            let most = Some(MOST_EVALUATIONS);
            let outcome = advance(search, problem, &parameters, reached.as_ref(), most)?;
            let prior = parameters.prior_at(&outcome.point);
            least_noise = least_noise.min(prior.noise_variance);
            let posteriors = problem.engine.posteriors(&prior)?;
            densities.extend(held_out::log_densities(training, split, &posteriors)?);
            *reached = Some((parameters, outcome));
        }
        scores.push(densities);
        least_noises.push(least_noise);
        if scores.are_falling() {
            break;
        }
    }
    let best = scores.best().unwrap_or(0);
    Ok(FreedomChoice { freedom: STEPS[best], least_noises })
}

/// Whether no shrinkage is needed.
fn needs_none(config: &Config, training: &Training<'_>, parameters: &Parameters) -> bool {
    // Adam follows the paper's recipe throughout.
    config.optimizer == Optimizer::Adam || held_out::enough(training.len(), parameters.len())
}

/// Searches with this freedom, from one common length-scale on.
pub(super) fn search(
    search: &mut Search<'_, '_>,
    problem: &mut FitProblem<'_>,
    parameters: &Parameters,
    freedom: Freedom,
) -> Result<Outcome> {
    let common = parameters.with(Freedom::Common);
    let outcome = advance(search, problem, &common, None, None)?;
    if freedom == Freedom::Common {
        return Ok(outcome);
    }
    advance(search, problem, &parameters.with(freedom), Some(&(common, outcome)), None)
}

/// Of two optima of free length-scales, the one by the way from a common length-scale and the one
/// by the direct way, the better one. Where their likelihoods are about the same it is the direct
/// one.
pub(super) fn preferred(path: Outcome, direct: Outcome) -> Outcome {
    if path.value < direct.value - CLEARLY_BETTER { path } else { direct }
}

/// Searches with these parameters, from the optimum with less freedom.
fn advance(
    search: &mut Search<'_, '_>,
    problem: &mut FitProblem<'_>,
    parameters: &Parameters,
    reached: Option<&(Parameters, Outcome)>,
    most: Option<usize>,
) -> Result<Outcome> {
    let mut task = Task { problem, parameters };
    match reached {
        None => {
            let starts: Vec<_> =
                STARTS.iter().map(|(longer, noise)| parameters.start_at(*longer, *noise)).collect();
            let first = search.lowest(&mut task, &starts)?;
            search.descend(&mut task, &first, most)
        }
        Some((before, outcome)) => {
            let first = parameters.theta(&before.hyperparameters(&outcome.point))?;
            search.descend(&mut task, &first, most)
        }
    }
}
