//! Config and data to fitted models: choose projections, search hyperparameters, condition.

mod conditioning;
mod directions;
mod elsewhere;
mod evaluator;
mod held_out;
mod noise;
mod options;
mod progress;
mod roughness;
mod schedule;
mod search;
mod shrinkage;
mod stages;
mod start;
mod training;

pub use progress::{Phase, Progress, ProgressFn};
pub(crate) use training::Elsewhere;

use crate::checkpoint::{Checkpoint, Fingerprint};
use crate::config::Config;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::model::{Model, NoiseLevels};
use crate::parameters::{Freedom, Hyperparameters, Parameters};
use crate::project::Projections;
use progress::{Place, Tracker};
use schedule::Schedule;
use search::Search;
use std::sync::Arc;
use training::Training;

/// Builder of a fit: a configuration, and options of the search.
///
/// ```
/// # fn main() -> raysum::Result<()> {
/// use raysum::{Config, Dataset, Fit, Matrix};
///
/// let x = Matrix::from_fn(60, 2, |i, j| ((i * (7 + j)) % 13) as f64);
/// let y: Vec<f64> = (0..60).map(|i| x[(i, 0)] - 0.5 * x[(i, 1)]).collect();
/// let config = Config::default();
/// let mut evaluations = 0;
/// let mut count = |_: &raysum::progress::Progress| {
///     evaluations += 1;
///     std::ops::ControlFlow::Continue(())
/// };
/// let models = Fit::new(&config).progress(&mut count).run(&Dataset::new(&x, &y)?)?;
/// assert_eq!(models[0].report().evaluations, evaluations);
/// # Ok(())
/// # }
/// ```
#[must_use = "a fit does nothing until it is run"]
pub struct Fit<'a, 'p> {
    config: &'a Config,
    start: Option<&'a Hyperparameters>,
    projections: Option<Vec<Projections>>,
    freedom: Option<Freedom>,
    /// The levels of noise of the model that the fit starts from.
    levels: Option<Arc<NoiseLevels>>,
    shared: bool,
    /// Whether the relevance of columns is computed.
    relevance: bool,
    /// Its place among the searches of a larger fit.
    place: Place,
    progress: Option<&'a mut ProgressFn<'p>>,
    checkpoint: Option<&'a mut Checkpoint>,
}

impl Config {
    /// Fits one target with this configuration; see [`Fit`] for options.
    pub fn fit(&self, data: &Dataset<'_>) -> Result<Model> {
        data.check_targets(1)?;
        Fit::new(self).run(data)?.pop().ok_or(Error::NoTargets)
    }
}

impl<'a, 'p> Fit<'a, 'p> {
    /// A fit with this configuration.
    pub fn new(config: &'a Config) -> Self {
        Self {
            config,
            start: None,
            projections: None,
            freedom: None,
            levels: None,
            shared: false,
            relevance: true,
            place: Place { target: 0, index: 0, count: 1 },
            progress: None,
            checkpoint: None,
        }
    }

    /// Searches hyperparameters and conditions on all rows: one model per target, in order.
    ///
    /// Above 2,000 rows the search starts on some random rows and finishes on all, unless
    /// [`Config::subset`] says otherwise or a start is given.
    pub fn run(mut self, data: &Dataset<'_>) -> Result<Vec<Model>> {
        if self.shared && self.learns_noise() && data.targets().len() > 1 {
            return Err(Error::NoiseOfTargets);
        }
        let mut models = Vec::new();
        let groups = start::groups(data, self.shared);
        // A search, and with noise that varies two more in each pass: for its levels, and with them.
        let searches = if self.learns_noise() { 1 + 2 * noise::PASSES } else { 1 };
        let whole = self.place;
        for (target, data) in groups.iter().enumerate() {
            self.place = Place {
                target,
                index: (whole.index * groups.len() + target) * searches,
                count: whole.count * groups.len() * searches,
            };
            let training = self.training(data)?;
            models.extend(self.run_affordably(training, data)?);
        }
        Ok(models)
    }

    /// The same for targets that are fitted together, with fewer directions where all of them cost too
    /// much.
    fn run_affordably(&mut self, training: Training<'_>, data: &Dataset<'_>) -> Result<Vec<Model>> {
        let fewer = self.fewer_directions(self.start, &training, data)?;
        let mut fit = self.of_config(fewer.as_ref().unwrap_or(self.config));
        let mut models = fit.run_together(training, data)?;
        for model in &mut models {
            model.report.fewer_directions = fewer.is_some();
        }
        Ok(models)
    }

    /// Searches for targets that are fitted together, and conditions on all rows.
    fn run_together(
        &mut self,
        mut training: Training<'_>,
        data: &Dataset<'_>,
    ) -> Result<Vec<Model>> {
        let parameters = start::parameters(self.config, self.projections.as_deref(), data)?;
        let parameters = training.with_room(parameters);
        let (schedule, search) = self.prepare(&mut training, data, &parameters, self.start)?;
        let found = schedule.run(search, &training, &parameters);
        let found = found.map_err(|e| start::of_term(e, self.config, data.columns()))?;
        let models = conditioning::condition(self.config, &training, &found, self.levels.as_ref())?;
        if self.learns_noise() {
            self.with_levels(&training, data, found, models)
        } else {
            Ok(models)
        }
    }

    /// The configuration with fewer directions, if it needs them: see [`start::fewer_directions`].
    fn fewer_directions(
        &self,
        known: Option<&Hyperparameters>,
        training: &Training<'_>,
        data: &Dataset<'_>,
    ) -> Result<Option<Config>> {
        let known: Option<Vec<usize>> = match (&self.projections, known) {
            (Some(along), _) => Some(along.iter().map(|p| p.degrees().len()).collect()),
            (None, Some(h)) => Some(h.terms.iter().map(|term| term.variances.len()).collect()),
            (None, None) => None,
        };
        start::fewer_directions(self.config, known.as_deref(), training, data.columns())
    }

    /// The same fit of another configuration.
    fn of_config<'s>(&'s mut self, config: &'s Config) -> Fit<'s, 'p> {
        Fit {
            config,
            start: self.start,
            projections: self.projections.clone(),
            freedom: self.freedom,
            levels: self.levels.clone(),
            shared: self.shared,
            relevance: self.relevance,
            place: self.place,
            progress: self.progress.as_deref_mut(),
            checkpoint: self.checkpoint.as_deref_mut(),
        }
    }

    /// A search of hyperparameters for some rows, before its first evaluation.
    fn prepare(
        &mut self,
        training: &mut Training<'_>,
        data: &Dataset<'_>,
        parameters: &Parameters,
        start: Option<&Hyperparameters>,
    ) -> Result<(Schedule<'_>, Search<'_, 'p>)> {
        let first = match start {
            Some(h) => parameters.theta(h)?,
            None => parameters.start(),
        };
        training.allow(&parameters.prior_at(&first));
        if let Some(checkpoint) = &mut self.checkpoint {
            let settings = (self.config, self.freedom);
            checkpoint.begin(Fingerprint::of_fit(settings, data, &first)?)?;
        }
        let tracker = Tracker::new(self.progress.as_deref_mut(), training.len(), self.place);
        let search = Search::new(self.config, tracker, self.checkpoint.as_deref_mut());
        let started = start.is_some();
        Ok((Schedule::new(self.config, training, first, started, self.freedom), search))
    }
}
