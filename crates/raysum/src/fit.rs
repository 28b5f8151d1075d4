//! Config and data to a fitted model: choose projections, search hyperparameters, condition.

use crate::config::{Config, Optimizer};
use crate::data::Dataset;
use crate::engine::Engine;
use crate::engine::dense::Dense;
use crate::error::{Error, Result};
use crate::model::{FitReport, Model};
use crate::objective::{Hyperparameters, Layout};
use crate::optimize::{Adam, Lbfgs, Outcome, Step, Stop, adam, lbfgs};
use crate::project::Projections;
use crate::rng::{Purpose, stream};
use crate::scale::Scaler;
use rand_distr::{Distribution, StandardNormal};
use std::ops::ControlFlow;

/// Where a fit stands after an evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The start being searched, from 0.
    pub start: u32,
    /// Number of starts.
    pub starts: u32,
    /// Evaluations so far in this start.
    pub evaluations: usize,
    /// The most this start will take (usually far fewer are needed).
    pub limit: usize,
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
    pub fn fit_from(
        &self,
        data: &Dataset<'_>,
        start: Option<&Hyperparameters>,
        progress: &mut ProgressFn<'_>,
    ) -> Result<Model> {
        let mut problem = Problem::new(self, data)?;
        let first = match start {
            Some(h) => problem.layout.theta(h)?,
            None => problem.layout.start(),
        };
        let mut best: Option<Outcome> = None;
        let mut evaluations = 0;
        for index in 0..self.starts {
            let theta =
                if index == 0 { first.clone() } else { scattered(&first, self.seed, index) };
            let mut observer = |step: &Step| {
                progress(&Progress {
                    start: index,
                    starts: self.starts,
                    evaluations: step.evaluations,
                    limit: step.limit,
                    objective: -step.best,
                })
            };
            let outcome = problem.search(self, &theta, &mut observer)?;
            evaluations += outcome.evaluations;
            if outcome.stop == Stop::Cancelled {
                return Err(Error::Cancelled { evaluations });
            }
            if best.as_ref().is_none_or(|b| outcome.value < b.value) {
                best = Some(outcome);
            }
        }
        let best = best.filter(|b| b.value.is_finite()).ok_or(Error::NoFiniteStart)?;
        let hyperparameters = problem.layout.hyperparameters(&best.point);
        problem.condition(self, data, hyperparameters, evaluations, best.stop == Stop::Limit)
    }

    /// The model at given hyperparameters, without any search.
    pub fn condition(&self, data: &Dataset<'_>, hyperparameters: Hyperparameters) -> Result<Model> {
        let problem = Problem::new(self, data)?;
        problem.layout.check(&hyperparameters)?;
        problem.condition(self, data, hyperparameters, 0, false)
    }
}

/// Standardised data in an engine, and the layout of θ.
struct Problem {
    scaler: Scaler,
    layout: Layout,
    engine: Box<dyn Engine>,
}

impl Problem {
    fn new(config: &Config, data: &Dataset<'_>) -> Result<Self> {
        config.check()?;
        let degrees = config.degrees.resolve(data.columns());
        let projections =
            Projections::choose(config.directions, &degrees, data.columns(), config.seed)?;
        let layout = Layout::new(config, projections)?;
        let scaler = Scaler::fit(data.x(), data.y());
        let x = scaler.apply_rows(data.x(), 0..data.rows());
        let y = scaler.apply_y(data.y());
        Ok(Self { scaler, layout, engine: Box::new(Dense::new(x, y)) })
    }

    fn search(
        &mut self,
        config: &Config,
        theta: &[f64],
        observer: &mut (dyn FnMut(&Step) -> ControlFlow<()> + '_),
    ) -> Result<Outcome> {
        let (layout, engine) = (&self.layout, self.engine.as_mut());
        let objective =
            |theta: &[f64], gradient: &mut [f64]| layout.evaluate(engine, theta, gradient);
        let mut observer = |step: &Step| observer(step);
        match config.optimizer {
            Optimizer::Lbfgs => {
                let mut options = Lbfgs::default();
                options.evaluations = config.max_evaluations.unwrap_or(options.evaluations);
                lbfgs(theta, &options, objective, &mut observer)
            }
            Optimizer::Adam => {
                let mut options = Adam::default();
                options.evaluations = config.max_evaluations.unwrap_or(options.evaluations);
                adam(theta, &options, objective, &mut observer)
            }
        }
    }

    fn condition(
        mut self,
        config: &Config,
        data: &Dataset<'_>,
        hyperparameters: Hyperparameters,
        evaluations: usize,
        hit_limit: bool,
    ) -> Result<Model> {
        let prior = self.layout.prior(&hyperparameters);
        let (log_marginal_likelihood, posterior) = self.engine.posterior(&prior)?;
        let report =
            FitReport { rows: data.rows(), log_marginal_likelihood, evaluations, hit_limit };
        let mut model = Model::new(
            config.clone(),
            self.scaler,
            self.layout.projections().clone(),
            hyperparameters,
            prior,
            posterior,
            report,
        );
        model.learn_relevance(data.x());
        Ok(model)
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
