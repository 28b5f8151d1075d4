//! Config and data to a fitted model: choose projections, search hyperparameters, condition.

use crate::checkpoint::{Checkpoint, Fingerprint};
use crate::config::{Config, EngineChoice, Optimizer};
use crate::data::{Dataset, Distinct, Matrix, MatrixRef};
use crate::engine::auto::{self, Auto};
use crate::engine::reading::Reading;
use crate::engine::ski::Ski;
use crate::engine::weight::Weight;
use crate::engine::{Engine, Observations};
use crate::error::{Error, Result};
use crate::learn;
use crate::model::{FitReport, Model};
use crate::objective::{Hyperparameters, Layout};
use crate::optimize::{Lbfgs, Outcome, Stop};
use crate::project::Projections;
use crate::rng::{Purpose, stream};
use crate::scale::{Scaler, StandardRows};
use crate::search::{ProgressFn, Search, Setbacks, Task};
use crate::stages::Stages;
use std::ops::ControlFlow;

impl Config {
    /// Fits to the data: standardises, chooses projections, maximises the marginal likelihood.
    pub fn fit(&self, data: &Dataset<'_>) -> Result<Model> {
        self.fit_from(data, None, &mut |_| ControlFlow::Continue(()))
    }

    /// Like [`Config::fit`], with a callback for progress and cancellation, and optionally with
    /// the first start at known hyperparameters (of a fit to similar data).
    ///
    /// Above 2,000 rows the search starts on a random part of them and finishes on all, unless
    /// [`Config::subset`] says otherwise or a start is given.
    ///
    /// Learned directions start from the model with a length-scale per column, and are stopped by
    /// held-out rows where there are few rows; from a given start they are learned to the end.
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
        self.fit_resumed(data, start, progress, None)
    }

    /// Like [`Config::fit_targets`], with every evaluation kept in a file: a fit that was ended in
    /// whatever way and is started again with the same file goes on where it was, to the same bits.
    pub fn fit_resumed(
        &self,
        data: &Dataset<'_>,
        start: Option<&Hyperparameters>,
        progress: &mut ProgressFn<'_>,
        mut checkpoint: Option<&mut Checkpoint>,
    ) -> Result<Vec<Model>> {
        let mut problem = Problem::new(self, data)?;
        let mut first = match start {
            Some(h) => problem.layout.theta(h)?,
            None => problem.layout.start(),
        };
        let n = data.rows();
        let stages = match self.subset {
            Some(rows) => Stages::one(rows.min(n)),
            None if start.is_some() => Stages::one(n),
            // Adam has the paper's recipe from its start to its end, and learned directions are
            // stopped by rows of the first stage, which must be many.
            None if self.learn_directions || self.optimizer == Optimizer::Adam => Stages::plain(n),
            None => Stages::scouted(n),
        };
        if stages.rows[0] < n {
            let prior = problem.layout.prior(&problem.layout.hyperparameters(&first));
            problem.engine(self, None)?.check(&prior)?;
        }
        if let Some(checkpoint) = &mut checkpoint {
            checkpoint.begin(fingerprint(self, data, &first))?;
        }
        let setbacks = Setbacks::default();
        let mut search =
            Search { config: self, progress, evaluations: 0, setbacks, later: 0.0, checkpoint };
        let mut most = None;
        if self.learn_directions && start.is_none() {
            let learning = problem.before_learning(&mut search, stages.rows[0])?;
            (problem.layout, first, most) = (learning.layout, learning.first, learning.most);
        }
        let layout = &problem.layout;
        let mut best: Option<Outcome> = None;
        for (index, &rows) in stages.rows.iter().enumerate() {
            let sample = (rows < n).then(|| problem.sample(rows, self.seed, index));
            let some = sample.as_ref().or(problem.distinct.as_ref());
            let mut engine = problem.engine(self, some)?;
            let observations = problem.observations_of(some);
            let mut task = Task { engine: engine.as_mut(), layout, observations };
            search.later = stages.later(index);
            best = Some(match best {
                None if self.learn_directions => {
                    let limit = self.max_evaluations.unwrap_or(learn::EVALUATIONS);
                    let limit = limit.min(most.unwrap_or(limit));
                    let from = Outcome::at(first.clone());
                    search.learn(&mut task, &from, limit)?
                }
                None => search.starts(&mut task, &first)?,
                Some(from) => {
                    let growth = rows as f64 / stages.rows[index - 1] as f64;
                    let limit = match stages.limit(index) {
                        None => Lbfgs::default().evaluations,
                        Some(_) if self.learn_directions && index == 1 => learn::LATER_EVALUATIONS,
                        Some(limit) => limit,
                    };
                    let most = limit.min(most.unwrap_or(limit));
                    search.finish(&mut task, from, growth, most)?
                }
            });
        }
        let best = best.ok_or(Error::NoFiniteStart)?;
        let (evaluations, unconverged) = (search.evaluations, search.setbacks.unconverged);
        let hyperparameters = layout.hyperparameters(&best.point);
        problem.layout = layout.settled(&best.point);
        // A later stage is short on purpose, as is learning that was stopped; their limit is
        // nothing to warn of.
        let short = stages.limit(stages.rows.len() - 1).is_some() || most.is_some();
        let hit_limit = best.stop == Stop::Limit && !short;
        let how = Found { evaluations, unconverged, hit_limit };
        problem.condition(self, &hyperparameters, how)
    }

    /// The model at given hyperparameters, without any search, along the directions that the seed
    /// chooses; for learned ones see [`Config::condition_along`].
    pub fn condition(
        &self,
        data: &Dataset<'_>,
        hyperparameters: &Hyperparameters,
    ) -> Result<Model> {
        data.check_targets(1)?;
        let models =
            Problem::new(self, data)?.condition(self, hyperparameters, Found::default())?;
        models.into_iter().next().ok_or(Error::NoTargets)
    }

    /// The models of any number of targets at given hyperparameters and projections, such as
    /// another fit has found or learned: one model for each, in order.
    pub fn condition_along(
        &self,
        data: &Dataset<'_>,
        projections: Projections,
        hyperparameters: &Hyperparameters,
    ) -> Result<Vec<Model>> {
        Problem::along(self, data, projections)?.condition(self, hyperparameters, Found::default())
    }
}

/// A number for everything that a search depends on.
fn fingerprint(config: &Config, data: &Dataset<'_>, first: &[f64]) -> u64 {
    let mut print = Fingerprint::new();
    print.text(env!("CARGO_PKG_VERSION"));
    print.text(&serde_json::to_string(config).expect("plain data serialises"));
    print.data(data);
    print.numbers(first);
    print.finish()
}

/// Where learning directions starts, and the evaluations it may take: all it wants, if `None`.
struct Learning {
    layout: Layout,
    first: Vec<f64>,
    most: Option<usize>,
}

/// How hyperparameters were found.
#[derive(Clone, Copy, Default)]
struct Found {
    evaluations: usize,
    unconverged: usize,
    hit_limit: bool,
}

/// Learning directions from some rows while others are held out.
struct Trial<'t> {
    engine: Box<dyn Engine + 't>,
    layout: Layout,
    reached: Outcome,
    observations: &'t Observations,
    /// The held-out rows, standardised, and what was observed there.
    ask: Matrix,
    truth: &'t Observations,
}

impl Trial<'_> {
    /// Goes on for so many evaluations, if there is anything more to learn.
    fn learn(&mut self, search: &mut Search<'_, '_>, evaluations: usize) -> Result<()> {
        if self.reached.stop == Stop::Limit {
            let (engine, layout) = (self.engine.as_mut(), &self.layout);
            let mut task = Task { engine, layout, observations: self.observations };
            self.reached = search.learn(&mut task, &self.reached, evaluations)?;
        }
        Ok(())
    }

    /// The log density of each held-out value.
    fn log_densities(&mut self) -> Result<Vec<f64>> {
        let prior = self.layout.prior_at(&self.reached.point);
        let mut all = Vec::new();
        for (target, (_, posterior)) in self.engine.posteriors(&prior)?.iter().enumerate() {
            let f = posterior.marginals(&prior, &self.ask);
            all.extend(learn::log_densities(&f, prior.noise_variance, self.truth, target));
        }
        Ok(all)
    }
}

/// Standardised data, and the layout of θ.
struct Problem<'a> {
    x: MatrixRef<'a>,
    observations: Observations,
    /// What to search on in place of rows that repeat or have weights.
    distinct: Option<(Matrix, Observations)>,
    /// One per target; they differ in y alone.
    scalers: Vec<Scaler>,
    layout: Layout,
}

impl<'a> Problem<'a> {
    fn new(config: &Config, data: &Dataset<'a>) -> Result<Self> {
        let degrees = config.degrees.resolve(data.columns());
        let projections =
            Projections::choose(config.directions, &degrees, data.columns(), config.seed)?;
        Self::along(config, data, projections)
    }

    /// The same with projections that are given.
    fn along(config: &Config, data: &Dataset<'a>, projections: Projections) -> Result<Self> {
        let (expected, found) = (projections.views().columns(), data.columns());
        if found != expected {
            return Err(Error::ColumnCount { expected, found });
        }
        config.check()?;
        let layout = Layout::new(config, projections)?;
        let distinct = Distinct::of(data);
        let merged = distinct.as_ref().map(Distinct::dataset);
        let scalers = Scaler::of_targets(merged.as_ref().unwrap_or(data));
        let merged = merged.map(|merged| Observations::standardised(&merged, &scalers));
        let distinct = distinct.map(Distinct::into_x).zip(merged);
        data.x().check_read()?;
        let observations = Observations::standardised(data, &scalers);
        Ok(Self { x: data.x(), observations, distinct, scalers, layout })
    }

    /// A random part of the rows, in the order of the data.
    fn sample(&self, rows: usize, seed: u64, stage: usize) -> (Matrix, Observations) {
        self.rows(&self.sampled(rows, seed, stage))
    }

    /// The numbers of its rows.
    fn sampled(&self, rows: usize, seed: u64, stage: usize) -> Vec<usize> {
        let mut rng = stream(seed, Purpose::Subset, stage as u32);
        let mut chosen = rand::seq::index::sample(&mut rng, self.x.rows(), rows).into_vec();
        chosen.sort_unstable();
        chosen
    }

    /// The rows with these numbers.
    fn rows(&self, chosen: &[usize]) -> (Matrix, Observations) {
        (self.x.gather(chosen), self.observations.gather(chosen))
    }

    /// What was observed of some rows, or all.
    fn observations_of<'b>(&'b self, some: Option<&'b (Matrix, Observations)>) -> &'b Observations {
        some.map_or(&self.observations, |(_, y)| y)
    }

    /// An engine over some rows, or all.
    fn engine<'b>(
        &'b self,
        config: &Config,
        some: Option<&'b (Matrix, Observations)>,
    ) -> Result<Box<dyn Engine + 'b>> {
        let (x, y) = (some.map_or(self.x, |(x, _)| x.into()), self.observations_of(some));
        let rows = StandardRows::new(x, &self.scalers[0]);
        let engine: Box<dyn Engine + 'b> = match config.engine {
            EngineChoice::Auto => Box::new(Auto::new(rows, y)),
            EngineChoice::Dense => Box::new(auto::dense(&rows, y.clone())?),
            EngineChoice::Ski => {
                Box::new(Ski::new(rows, y.clone(), config.ski.clone(), config.seed))
            }
            EngineChoice::Weight => Box::new(Weight::new(rows, y)),
        };
        // All rows may be in a file, and not all engines read them only now.
        self.x.check_read()?;
        Ok(Box::new(Reading::new(engine, self.x)))
    }

    /// What learning directions starts from, its layout and θ: the model that has the same
    /// projections and a length-scale per column.
    fn plain(
        &self,
        search: &mut Search<'_, '_>,
        engine: &mut dyn Engine,
        observations: &Observations,
    ) -> Result<(Layout, Vec<f64>)> {
        let config = Config {
            learn_directions: false,
            learn_weights: false,
            ard: true,
            ..search.config.clone()
        };
        let layout = Layout::new(&config, self.layout.projections().clone())?;
        let mut task = Task { engine, layout: &layout, observations };
        let best = search.starts(&mut task, &layout.start())?;
        self.layout.learning_from(&layout, &layout.hyperparameters(&best.point))
    }

    /// Finds out where learning directions starts on these rows, and how far it may go.
    fn before_learning(&self, search: &mut Search<'_, '_>, rows: usize) -> Result<Learning> {
        let (seed, config) = (search.config.seed, search.config);
        let all = rows == self.x.rows();
        let part = if all { (0..rows).collect() } else { self.sampled(rows, seed, 0) };
        let splits = learn::splits(&part, self.layout.len(), seed);
        let sets: Vec<_> =
            splits.iter().map(|s| (self.rows(&s.learn), self.rows(&s.ask))).collect();
        search.later = (1 + sets.len()) as f64 * learn::EVALUATIONS as f64;
        let mut trials = Vec::new();
        for (set, (x, y)) in &sets {
            let mut engine = self.engine(config, Some(set))?;
            let (layout, first) = self.plain(search, engine.as_mut(), &set.1)?;
            let ask = StandardRows::new(x.into(), &self.scalers[0]).block(0..y.rows());
            let (reached, observations) = (Outcome::at(first), &set.1);
            trials.push(Trial { engine, layout, reached, observations, ask, truth: y });
        }
        let mut asked = learn::Asked::default();
        let most = search.config.max_evaluations.unwrap_or(learn::EVALUATIONS);
        // Once no trial has anything more to learn the answers would not change.
        while let Some(evaluations) = asked.next(most)
            && trials.iter().any(|trial| trial.reached.stop == Stop::Limit)
        {
            let mut densities = Vec::new();
            for trial in &mut trials {
                trial.learn(search, evaluations)?;
                densities.extend(trial.log_densities()?);
            }
            asked.answer(densities);
        }
        let some = (!all).then(|| self.rows(&part));
        let mut engine = self.engine(config, some.as_ref())?;
        let observations = self.observations_of(some.as_ref());
        let (layout, first) = self.plain(search, engine.as_mut(), observations)?;
        Ok(Learning { layout, first, most: asked.stop_at() })
    }

    fn condition(
        self,
        config: &Config,
        hyperparameters: &Hyperparameters,
        found: Found,
    ) -> Result<Vec<Model>> {
        self.layout.check(hyperparameters)?;
        let prior = self.layout.prior(hyperparameters);
        let posteriors = self.engine(config, None)?.posteriors(&prior)?;
        let rows = self.x.rows();
        let mut models = Vec::with_capacity(posteriors.len());
        for ((log_marginal_likelihood, posterior), scaler) in
            posteriors.into_iter().zip(self.scalers)
        {
            let Found { evaluations, unconverged, hit_limit } = found;
            let report =
                FitReport { rows, log_marginal_likelihood, evaluations, unconverged, hit_limit };
            let mut model = Model::new(
                config.clone(),
                scaler,
                self.layout.projections().clone(),
                hyperparameters.clone(),
                prior.clone(),
                posterior,
                report,
            );
            model.learn_relevance(self.x, self.observations.weights.as_deref())?;
            models.push(model);
        }
        Ok(models)
    }
}
