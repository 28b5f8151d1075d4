//! Models at given hyperparameters, or at those of a search.

use super::Fit;
use super::schedule::Found;
use super::start;
use super::training::Training;
use crate::config::Config;
use crate::data::Dataset;
use crate::error::Result;
use crate::model::{FitReport, Model, NoiseLevels};
use crate::parameters::{Freedom, Hyperparameters};
use std::sync::Arc;

impl Fit<'_, '_> {
    /// Conditions on all rows at given hyperparameters, without any search: one model per target,
    /// in order.
    pub fn condition(
        self,
        data: &Dataset<'_>,
        hyperparameters: &Hyperparameters,
    ) -> Result<Vec<Model>> {
        let mut models = Vec::new();
        for data in start::groups(data, self.shared) {
            let training = self.training(&data)?;
            let fewer = self.fewer_directions(Some(hyperparameters), &training, &data)?;
            let config = fewer.as_ref().unwrap_or(self.config);
            let parameters = start::parameters(config, self.projections.as_deref(), &data)?;
            parameters.check(hyperparameters)?;
            let mut found = Found::given(parameters, hyperparameters.clone());
            found.report.shrinkage = self.freedom.and_then(Freedom::width);
            found.report.fewer_directions = fewer.is_some();
            models.extend(condition(config, &training, &found, self.levels.as_ref())?);
        }
        Ok(models)
    }

    /// The rows of a fit, weighted by the levels of noise that it starts from.
    pub(super) fn training<'d>(&self, data: &Dataset<'d>) -> Result<Training<'d>> {
        let mut training = Training::new(self.config, data)?;
        if let Some(levels) = &self.levels {
            training.take_levels(levels)?;
        }
        training.relevance = self.relevance;
        Ok(training)
    }
}

/// The models of all targets at the hyperparameters found, with the levels of noise that the rows
/// are weighted by.
pub(super) fn condition(
    config: &Config,
    training: &Training<'_>,
    found: &Found,
    levels: Option<&Arc<NoiseLevels>>,
) -> Result<Vec<Model>> {
    let prior = found.parameters.prior(&found.hyperparameters);
    let mut problem = training.whole(config)?;
    let correction = problem
        .correction
        .as_ref()
        .map_or(0.0, |correction| correction.of_one(prior.noise_variance));
    let mut models = Vec::new();
    let posteriors = problem.engine.posteriors(&prior)?;
    let scales = training.scalers.iter().zip(&training.jacobians);
    for ((likelihood, posterior), (scaler, jacobian)) in posteriors.into_iter().zip(scales) {
        let report = FitReport {
            rows: training.all_rows(),
            log_marginal_likelihood: likelihood + correction + jacobian,
            copies: correction,
            jacobian: *jacobian,
            rough: problem.is_bound(&prior),
            ..found.report.clone()
        };
        let mut model = Model::new(
            config.clone(),
            scaler.clone(),
            found.parameters.projections(),
            found.hyperparameters.clone(),
            posterior,
            report,
        );
        model.set_noise(levels.cloned());
        training.learn_relevance(&mut model)?;
        models.push(model);
    }
    Ok(models)
}
