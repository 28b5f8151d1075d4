//! Config and data to a fitted model: choose projections, search hyperparameters, condition.

use crate::config::{Config, EngineChoice, Optimizer};
use crate::data::{Dataset, Matrix, MatrixRef};
use crate::engine::auto::{self, Auto};
use crate::engine::weight::Weight;
use crate::engine::{Engine, Observations};
use crate::error::{Error, Result};
use crate::model::{FitReport, Model};
use crate::objective::{Hyperparameters, Layout};
use crate::optimize::{Adam, Lbfgs, Outcome, Step, Stop, adam, lbfgs};
use crate::project::Projections;
use crate::rng::{Purpose, stream};
use crate::scale::{Scaler, StandardRows};
use rand_distr::{Distribution, StandardNormal};
use std::ops::ControlFlow;

/// From this many rows on, a search starts on a random part of them, and finishes on all.
const STAGED_ABOVE: usize = 20_000;
/// The parts, and the number of rows from which each is worth its while.
const PARTS: [(usize, usize); 2] = [(10_000, STAGED_ABOVE), (100_000, 300_000)];
/// Evaluations of a later stage at most; the first one has the search's own limit.
const LATER_EVALUATIONS: usize = 10;
/// The same for the last stage, where a stage before it has come close already.
const LAST_EVALUATIONS: usize = 3;

/// A search ends when its steps gain less than this in log likelihood per observed value. Half of it, or
/// twice as much, changes no score on the paper's data sets by more than a tenth of its spread.
const STEP_TOLERANCE: f64 = 1e-4;

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

/// Called after each evaluation; `Break` cancels the fit.
pub type ProgressFn<'a> = dyn FnMut(&Progress) -> ControlFlow<()> + 'a;

impl Config {
    /// Fits to the data: standardises, chooses projections, maximises the marginal likelihood.
    pub fn fit(&self, data: &Dataset<'_>) -> Result<Model> {
        self.fit_from(data, None, &mut |_| ControlFlow::Continue(()))
    }

    /// Like [`Config::fit`], with a callback for progress and cancellation, and optionally with
    /// the first start at known hyperparameters (of a fit to similar data).
    ///
    /// Above 20,000 rows the search starts on a random part of them and finishes on all, unless
    /// [`Config::subset`] says otherwise or a start is given.
    pub fn fit_from(
        &self,
        data: &Dataset<'_>,
        start: Option<&Hyperparameters>,
        progress: &mut ProgressFn<'_>,
    ) -> Result<Model> {
        data.check_targets(1)?;
        self.fit_targets(data, start, progress)?.pop().ok_or(Error::NoTargets)
    }

    /// Like [`Config::fit_from`], for any number of targets with shared hyperparameters, at the
    /// cost of one factorisation per evaluation: one model for each, in order.
    pub fn fit_targets(
        &self,
        data: &Dataset<'_>,
        start: Option<&Hyperparameters>,
        progress: &mut ProgressFn<'_>,
    ) -> Result<Vec<Model>> {
        let problem = Problem::new(self, data)?;
        let first = match start {
            Some(h) => problem.layout.theta(h)?,
            None => problem.layout.start(),
        };
        let n = data.rows();
        let stages = match self.subset {
            Some(rows) => vec![rows.min(n)],
            None if start.is_some() => vec![n],
            None => stages(n),
        };
        if stages[0] < n {
            let prior = problem.layout.prior(&problem.layout.hyperparameters(&first));
            problem.engine(self.engine, None)?.check(&prior)?;
        }
        let mut search = Search {
            config: self,
            layout: &problem.layout,
            progress,
            evaluations: 0,
            later: 0.0,
            values: 0.0,
        };
        let mut best: Option<Outcome> = None;
        for (index, &rows) in stages.iter().enumerate() {
            let some = (rows < n).then(|| problem.sample(rows, self.seed, index));
            let observations = some.as_ref().map_or(&problem.observations, |(_, y)| y);
            search.values = observations.values();
            let mut engine = problem.engine(self.engine, some.as_ref())?;
            search.later = later(&stages, index);
            best = Some(match best {
                None => search.starts(engine.as_mut(), rows, &first)?,
                Some(from) => {
                    let growth = rows as f64 / stages[index - 1] as f64;
                    let most = stage_limit(index);
                    search.finish(engine.as_mut(), rows, from, growth, most)?
                }
            });
        }
        let best = best.ok_or(Error::NoFiniteStart)?;
        let evaluations = search.evaluations;
        let hyperparameters = problem.layout.hyperparameters(&best.point);
        // A later stage is short on purpose; its limit is nothing to warn of.
        let hit_limit = best.stop == Stop::Limit && stages.len() == 1;
        problem.condition(self, &hyperparameters, evaluations, hit_limit)
    }

    /// The model at given hyperparameters, without any search.
    pub fn condition(
        &self,
        data: &Dataset<'_>,
        hyperparameters: &Hyperparameters,
    ) -> Result<Model> {
        data.check_targets(1)?;
        self.condition_targets(data, hyperparameters)?.pop().ok_or(Error::NoTargets)
    }

    /// Like [`Config::condition`], for any number of targets.
    pub fn condition_targets(
        &self,
        data: &Dataset<'_>,
        hyperparameters: &Hyperparameters,
    ) -> Result<Vec<Model>> {
        let problem = Problem::new(self, data)?;
        problem.layout.check(hyperparameters)?;
        problem.condition(self, hyperparameters, 0, false)
    }
}

/// The rows of each stage of a search over n.
fn stages(n: usize) -> Vec<usize> {
    let parts = PARTS.iter().filter(|(_, from)| n > *from).map(|(rows, _)| *rows);
    parts.chain([n]).collect()
}

/// The most evaluations of a stage after the first, by its place among the stages.
fn stage_limit(index: usize) -> usize {
    if index == 1 { LATER_EVALUATIONS } else { LAST_EVALUATIONS }
}

/// What comes after a stage, in evaluations on its rows: those of later stages, and one on the most
/// rows for the posterior.
fn later(stages: &[usize], index: usize) -> f64 {
    let evaluations = |later: usize| stage_limit(later) * stages[later];
    let rows = (index + 1..stages.len()).map(evaluations).sum::<usize>() + stages[stages.len() - 1];
    rows as f64 / stages[index] as f64
}

/// Standardised data, and the layout of θ.
struct Problem<'a> {
    x: MatrixRef<'a>,
    observations: Observations,
    /// One per target; they differ in y alone.
    scalers: Vec<Scaler>,
    layout: Layout,
}

impl<'a> Problem<'a> {
    fn new(config: &Config, data: &Dataset<'a>) -> Result<Self> {
        config.check()?;
        let degrees = config.degrees.resolve(data.columns());
        let projections =
            Projections::choose(config.directions, &degrees, data.columns(), config.seed)?;
        let layout = Layout::new(config, projections)?;
        let scalers = Scaler::of_targets(data);
        let observations = Observations::standardised(data, &scalers);
        Ok(Self { x: data.x(), observations, scalers, layout })
    }

    /// A random part of the rows, in the order of the data.
    fn sample(&self, rows: usize, seed: u64, stage: usize) -> (Matrix, Observations) {
        let mut rng = stream(seed, Purpose::Subset, stage as u32);
        let mut chosen = rand::seq::index::sample(&mut rng, self.x.rows(), rows).into_vec();
        chosen.sort_unstable();
        let x = Matrix::from_fn(rows, self.x.columns(), |i, j| self.x.at(chosen[i], j));
        (x, self.observations.gather(&chosen))
    }

    /// An engine over some rows, or all.
    fn engine<'b>(
        &'b self,
        choice: EngineChoice,
        some: Option<&'b (Matrix, Observations)>,
    ) -> Result<Box<dyn Engine + 'b>> {
        let (x, y) = some.map_or((self.x, &self.observations), |(x, y)| (x.into(), y));
        let rows = StandardRows::new(x, &self.scalers[0]);
        Ok(match choice {
            EngineChoice::Auto => Box::new(Auto::new(rows, y.clone())),
            EngineChoice::Dense => Box::new(auto::dense(&rows, y.clone())?),
            EngineChoice::Weight => Box::new(Weight::new(rows, y.clone())),
        })
    }

    fn condition(
        self,
        config: &Config,
        hyperparameters: &Hyperparameters,
        evaluations: usize,
        hit_limit: bool,
    ) -> Result<Vec<Model>> {
        let prior = self.layout.prior(hyperparameters);
        let posteriors = self.engine(config.engine, None)?.posteriors(&prior)?;
        let rows = self.x.rows();
        let mut models = Vec::with_capacity(posteriors.len());
        for ((log_marginal_likelihood, posterior), scaler) in
            posteriors.into_iter().zip(self.scalers)
        {
            let report = FitReport { rows, log_marginal_likelihood, evaluations, hit_limit };
            let mut model = Model::new(
                config.clone(),
                scaler,
                self.layout.projections().clone(),
                hyperparameters.clone(),
                prior.clone(),
                posterior,
                report,
            );
            model.learn_relevance(self.x, self.observations.weights.as_deref());
            models.push(model);
        }
        Ok(models)
    }
}

/// The search for θ, in one or two stages.
struct Search<'a, 'p> {
    config: &'a Config,
    layout: &'a Layout,
    progress: &'a mut ProgressFn<'p>,
    evaluations: usize,
    later: f64,
    /// Observed values searched on.
    values: f64,
}

impl Search<'_, '_> {
    /// The best of all starts.
    fn starts(&mut self, engine: &mut dyn Engine, rows: usize, first: &[f64]) -> Result<Outcome> {
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
                    self.lbfgs(engine, rows, index, &theta, &options)?
                }
                Optimizer::Adam => self.adam(engine, rows, index, &theta)?,
            };
            if best.as_ref().is_none_or(|b| outcome.value < b.value) {
                best = Some(outcome);
            }
        }
        best.filter(|b| b.value.is_finite()).ok_or(Error::NoFiniteStart)
    }

    /// At most `most` evaluations on more rows, from where fewer of them led. The likelihood of
    /// `growth` times the rows is about that much more curved.
    fn finish(
        &mut self,
        engine: &mut dyn Engine,
        rows: usize,
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
        let outcome = self.lbfgs(engine, rows, 0, &from.point, &options)?;
        // If all rows cannot be evaluated there, the part's word stands.
        let found = outcome.value.is_finite();
        Ok(if found { outcome } else { Outcome { curvature: Vec::new(), ..from } })
    }

    fn lbfgs(
        &mut self,
        engine: &mut dyn Engine,
        rows: usize,
        index: u32,
        theta: &[f64],
        options: &Lbfgs,
    ) -> Result<Outcome> {
        let value_tolerance = STEP_TOLERANCE * self.values;
        let options = &Lbfgs { value_tolerance, ..options.clone() };
        self.run(rows, index, |layout, observer| {
            let objective = |t: &[f64], g: &mut [f64]| layout.evaluate(engine, t, g);
            lbfgs(theta, options, objective, observer)
        })
    }

    fn adam(
        &mut self,
        engine: &mut dyn Engine,
        rows: usize,
        index: u32,
        theta: &[f64],
    ) -> Result<Outcome> {
        let recipe = Adam::default();
        let evaluations = self.config.max_evaluations.unwrap_or(recipe.evaluations);
        // The paper's tolerance is per row.
        let tolerance = recipe.tolerance * self.values;
        let options = Adam { evaluations, tolerance, ..recipe };
        self.run(rows, index, |layout, observer| {
            let objective = |t: &[f64], g: &mut [f64]| layout.evaluate(engine, t, g);
            adam(theta, &options, objective, observer)
        })
    }

    /// Runs one search under the caller's eyes.
    fn run(
        &mut self,
        rows: usize,
        start: u32,
        body: impl FnOnce(&Layout, &mut dyn FnMut(&Step) -> ControlFlow<()>) -> Result<Outcome>,
    ) -> Result<Outcome> {
        let (starts, later, progress) = (self.config.starts, self.later, &mut self.progress);
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
        let outcome = body(self.layout, &mut observer)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_rows_make_more_stages() {
        assert_eq!(stages(20_000), [20_000]);
        assert_eq!(stages(20_001), [10_000, 20_001]);
        assert_eq!(stages(1_000_000), [10_000, 100_000, 1_000_000]);
    }

    #[test]
    fn what_comes_later_is_counted_in_evaluations_of_this_stage() {
        assert_eq!(later(&[500], 0), 1.0);
        let three = stages(1_000_000);
        let last = LAST_EVALUATIONS as f64;
        assert_eq!(later(&three, 0), 10.0 * LATER_EVALUATIONS as f64 + 100.0 * last + 100.0);
        assert_eq!(later(&three, 1), 10.0 * last + 10.0);
        assert_eq!(later(&three, 2), 1.0);
    }
}
