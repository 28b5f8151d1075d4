//! The fitted model: predictions and explanations, in the user's units.

mod calibration;
mod components;
mod description;
mod explain;
mod extrapolation;
mod functions;
mod gradient;
mod joint;
mod law;
mod noise;
mod prediction;
mod relevance;
mod report;
mod scores;

pub use calibration::Calibration;
pub use components::Component;
pub use explain::Explanation;
pub use functions::Functions;
pub(crate) use functions::numbers as function_numbers;
pub(crate) use noise::NoiseLevels;
pub use prediction::Prediction;
pub use report::FitReport;
pub use scores::Scores;

use crate::config::Config;
use crate::data::{Dataset, Matrix, MatrixRef, check_noise_std};
use crate::engine::{Marginals, Mergeable, Observations, Posterior, Prior};
use crate::error::{Error, Result, UpdateError};
use crate::memory;
use crate::parameters::Hyperparameters;
use crate::project::Projections;
use crate::scale::{Power, Scaler, Standard, StandardRows};
use crate::schema::Schema;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Rows that one task predicts.
const BLOCK: usize = 128;

/// A fitted model. It contains what predictions need, which is not the training data unless
/// [`Model::keeps_rows`] says so. A clone shares the posterior, which is immutable: an update creates a
/// new one.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) config: Config,
    pub(crate) scaler: Scaler,
    /// Those of each term.
    pub(crate) projections: Vec<Projections>,
    pub(crate) hyperparameters: Hyperparameters,
    pub(crate) posterior: Arc<dyn Posterior>,
    /// The level of the noise at each row, if it depends on the columns.
    pub(crate) noise: Option<Arc<NoiseLevels>>,
    pub(crate) report: FitReport,
    pub(crate) relevance: Vec<f64>,
    /// The number of the original column of each column of X, in order.
    pub(crate) groups: Vec<usize>,
    pub(crate) version: String,
    /// The identities of the shards that were merged into it, in order.
    pub(crate) merged: Vec<String>,
    pub(crate) column_names: Option<Vec<String>>,
    pub(crate) schema: Option<Schema>,
    pub(crate) target_name: Option<String>,
    pub(crate) preset: Option<String>,
}

impl Model {
    pub(crate) fn new(
        config: Config,
        scaler: Scaler,
        projections: Vec<Projections>,
        hyperparameters: Hyperparameters,
        posterior: Box<dyn Posterior>,
        report: FitReport,
    ) -> Self {
        Self {
            config,
            scaler,
            projections,
            hyperparameters,
            posterior: posterior.into(),
            noise: None,
            report,
            relevance: Vec::new(),
            groups: Vec::new(),
            version: env!("CARGO_PKG_VERSION").into(),
            merged: Vec::new(),
            column_names: None,
            schema: None,
            target_name: None,
            preset: None,
        }
    }

    /// The configuration of the fit.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Mean, standard deviation and range of each column of the training rows, by which the model
    /// standardises them.
    pub fn column_scales(&self) -> &[Standard] {
        &self.scaler.x
    }

    /// Mean, standard deviation and range of the target in the training rows.
    pub fn target_scale(&self) -> Standard {
        self.scaler.y
    }

    /// What the transformation of the target is called, with its exponent, if there is one.
    pub fn target_transformation(&self) -> Option<String> {
        self.scaler.power.as_ref().map(Power::name)
    }

    /// Whether an observation may have this value: a model on the logarithm of its target takes only those
    /// above 0.
    pub fn takes_target(&self, y: f64) -> bool {
        self.scaler.power.as_ref().is_none_or(|power| power.takes(y))
    }

    /// The unit of [components](Model::components) and of the constant: the target's standard
    /// deviation, or 1 where they are those of the transformed target.
    pub fn function_unit(&self) -> f64 {
        self.scaler.unit()
    }

    /// The projections of each term.
    pub fn projections(&self) -> &[Projections] {
        &self.projections
    }

    /// The hyperparameters, in standardised units.
    pub fn hyperparameters(&self) -> &Hyperparameters {
        &self.hyperparameters
    }

    /// Report of a fit.
    pub fn report(&self) -> &FitReport {
        &self.report
    }

    /// log p(y | X) of the target in standard deviations, without the noise prior.
    pub fn log_marginal_likelihood(&self) -> f64 {
        self.report.log_marginal_likelihood
    }

    /// The standard error of [`Model::log_marginal_likelihood`]: 0 unless the engine estimates it.
    pub fn likelihood_error(&self) -> f64 {
        self.posterior.standard_error()
    }

    /// The version of raysum that fitted the model.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The engine that holds the posterior.
    pub fn engine(&self) -> &'static str {
        self.posterior.engine()
    }

    /// Number of features of the posterior, if its engine works with features.
    pub fn features(&self) -> Option<usize> {
        self.posterior.mergeable().map(Mergeable::features)
    }

    /// Standard deviation of the noise of a row of weight 1, in the target's units. If no weights
    /// were given it is [`Model::predicted_noise_std`].
    pub fn noise_std(&self) -> f64 {
        let variance = self.hyperparameters.noise_variance * self.scaler.reported_noise;
        self.noise_std_of(variance * self.average_level())
    }

    /// Standard deviation of the noise that predictions have, in the target's units: the
    /// average over the training rows.
    pub fn predicted_noise_std(&self) -> f64 {
        let variance = self.hyperparameters.noise_variance * self.scaler.average_noise;
        self.noise_std_of(variance * self.average_level())
    }

    /// How much each original column matters: half the mean squared change of the prediction when
    /// its value is replaced by that of another training row, as shares of the sum over columns.
    /// All zeros if no column has an effect. Columns that were [grouped](Dataset::grouped) have one
    /// share together.
    ///
    /// On very wide tables the mean squared slope is used instead.
    pub fn relevance(&self) -> &[f64] {
        &self.relevance
    }

    /// The original columns, the most relevant first.
    pub fn ranking(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.relevance.len()).collect();
        order.sort_by(|a, b| self.relevance[*b].total_cmp(&self.relevance[*a]));
        order
    }

    /// The number of the original column of each column of X, in order.
    pub fn groups(&self) -> &[usize] {
        &self.groups
    }

    /// Number of columns of X.
    pub fn columns(&self) -> usize {
        self.scaler.x.len()
    }

    pub(crate) fn check<'a>(&self, x: impl Into<MatrixRef<'a>>) -> Result<MatrixRef<'a>> {
        let x = x.into();
        if x.columns() != self.columns() {
            return Err(Error::ColumnCount { expected: self.columns(), found: x.columns() });
        }
        x.check_finite()?;
        Ok(x)
    }

    /// The prior at the fitted hyperparameters.
    pub(crate) fn prior(&self) -> &Prior {
        self.posterior.prior()
    }

    /// An optional capability of the engine, or an error that names it.
    pub(crate) fn ability<T>(&self, ability: Option<T>, what: &'static str) -> Result<T> {
        ability.ok_or(Error::Unsupported { engine: self.engine(), what })
    }

    /// All rows at once.
    fn standardised(&self, x: MatrixRef<'_>) -> Result<Matrix> {
        StandardRows::new(x, &self.scaler).block(0..x.rows())
    }

    /// Runs `body` on standardised blocks of rows, over all threads, and returns in order.
    fn by_block<T: Send>(
        &self,
        x: MatrixRef<'_>,
        body: impl Fn(&Matrix) -> T + Sync,
    ) -> Result<Vec<T>> {
        self.by_range(x, |_, rows| body(rows))
    }

    /// Like [`Model::by_block`]; `body` also receives the numbers of their rows.
    fn by_range<T: Send>(
        &self,
        x: MatrixRef<'_>,
        body: impl Fn(Range<usize>, &Matrix) -> T + Sync,
    ) -> Result<Vec<T>> {
        let starts: Vec<usize> = (0..x.rows()).step_by(BLOCK).collect();
        let rows = |start: usize| -> Range<usize> { start..(start + BLOCK).min(x.rows()) };
        let standard = StandardRows::new(x, &self.scaler);
        let run = |start| Ok(body(rows(start), &standard.block(rows(start))?));
        let blocks: Vec<Result<T>> = starts.into_par_iter().map(run).collect();
        blocks.into_iter().collect()
    }

    /// The mean at each row of `x` alone: that of [`Model::predict`], at a fraction of its cost.
    pub fn predict_mean<'a>(&self, x: impl Into<MatrixRef<'a>>) -> Result<Vec<f64>> {
        let x = self.check(x)?;
        require(x, "predictions", &[&[x.rows(), 4]])?;
        if self.scaler.power.is_some() {
            // The mean depends on the spread too.
            return Ok(self.predict(x)?.mean);
        }
        let blocks = self.by_block(x, |rows| self.posterior.mean(rows))?;
        let mean = blocks.into_iter().flatten().map(|m| self.scaler.undo_mean(m));
        let mean: Vec<f64> = mean.collect();
        match mean.iter().position(|m| !m.is_finite()) {
            Some(row) => Err(Error::NotFinitePrediction { row }),
            None => Ok(mean),
        }
    }

    /// Mean and variances at each row of `x`.
    pub fn predict<'a>(&self, x: impl Into<MatrixRef<'a>>) -> Result<Prediction> {
        let x = self.check(x)?;
        require(x, "predictions", &[&[x.rows(), 10]])?;
        let blocks = self.by_block(x, |rows| self.posterior.marginals(rows))?;
        self.in_units(x, &join(blocks), None)
    }

    /// Like [`Model::predict`], for rows whose noise is known: their standard deviations, in the
    /// target's units, are added to the noise of the model.
    pub fn predict_with_noise<'a>(
        &self,
        x: impl Into<MatrixRef<'a>>,
        noise_std: &[f64],
    ) -> Result<Prediction> {
        let x = self.check(x)?;
        self.check_untransformed("known noise")?;
        check_noise_std(x.rows(), noise_std)?;
        require(x, "predictions", &[&[x.rows(), 12]])?;
        let blocks = self.by_block(x, |rows| self.posterior.marginals(rows))?;
        let known: Vec<f64> = noise_std.iter().map(|s| self.scaler.y.scaled_square(*s)).collect();
        self.in_units(x, &join(blocks), Some(&known))
    }

    /// In the target's units; a new observation has the noise of its row, and what is known of it.
    fn in_units(
        &self,
        x: MatrixRef<'_>,
        f: &Marginals,
        known_noise: Option<&[f64]>,
    ) -> Result<Prediction> {
        let levels = self.noise_levels(x)?;
        let noise = |i: usize| {
            self.noise_variance(levels.as_deref(), i) + known_noise.map_or(0.0, |s| s[i])
        };
        let spread: Vec<f64> =
            f.variance.iter().enumerate().map(|(i, v)| (v + noise(i)).sqrt()).collect();
        // Far outside the training rows a linear term leads beyond the largest number there is.
        let in_units = |(mean, std): (&f64, &f64)| {
            let (mean, std) = self.scaler.undo_moments(*mean, *std);
            (mean.clamp(f64::MIN, f64::MAX), std.min(f64::MAX))
        };
        let (mean, std): (Vec<f64>, Vec<f64>) =
            f.mean.par_iter().zip(&spread).map(in_units).unzip();
        let finite = |(m, s): (&f64, &f64)| m.is_finite() && s.is_finite();
        if let Some(row) = mean.iter().zip(&std).position(|pair| !finite(pair)) {
            return Err(Error::NotFinitePrediction { row });
        }
        let latent = f.mean.par_iter().zip(&f.variance);
        let latent =
            latent.map(|(mean, v)| self.scaler.undo_moments(*mean, v.sqrt()).1.min(f64::MAX));
        let prediction = Prediction::new(mean, std, &latent.collect::<Vec<f64>>());
        Ok(match self.scaler.power {
            Some(power) => prediction.transformed(power, f.mean.clone(), spread),
            None => prediction,
        })
    }

    /// Fails if the target is transformed: then there is no such result in its units.
    fn check_untransformed(&self, what: &'static str) -> Result<()> {
        match self.scaler.power {
            Some(_) => Err(Error::TransformedTarget { what }),
            None => Ok(()),
        }
    }

    /// Leave-one-out predictions of the training rows, in closed form
    /// and at the same hyperparameters. The training data must be passed again.
    pub fn leave_one_out(&self, data: &Dataset<'_>) -> Result<Prediction> {
        let x = self.check(data.x())?;
        let width = x.columns() + 3 * self.prior().kernel.views.rows() + 12;
        require(x, "leave-one-out predictions", &[&[x.rows(), width]])?;
        let rows = self.standardised(x)?;
        let y = self.observations(data)?;
        let loo = self.ability(self.posterior.leave_one_out(), "leave-one-out predictions")?;
        let loo = loo.without_each(&rows, &y)?;
        let known = y.noise.as_ref().map(|_| self.known_noise(data));
        self.in_units(x, &loo, known.as_deref())
    }

    /// The known noise of each row, standardised.
    fn known_noise(&self, data: &Dataset<'_>) -> Vec<f64> {
        let known = data.noise_std().unwrap_or_default();
        known.iter().map(|s| self.scaler.y.scaled_square(*s)).collect()
    }

    /// The observations of the data, standardised like the training rows.
    pub(crate) fn observations(&self, data: &Dataset<'_>) -> Result<Observations> {
        data.check_targets(1)?;
        if data.noise_std().is_some() {
            self.check_untransformed("known noise")?;
        }
        if let Some(row) = data.y().iter().position(|y| !self.takes_target(*y)) {
            return Err(UpdateError::NoLogarithm { row, value: data.y()[row] }.into());
        }
        let mut all = Observations::standardised(data, std::slice::from_ref(&self.scaler));
        if let Some(noise) = &self.noise {
            noise.apply(data.x(), &mut all)?;
        }
        Ok(all)
    }

    /// Gradient of the predicted mean with respect to each column of X, one row per row of `x`.
    pub fn mean_gradient<'a>(&self, x: impl Into<MatrixRef<'a>>) -> Result<Matrix> {
        self.mean_gradient_inflated(x.into(), 1.0)
    }

    /// The same of a member whose standard deviations are multiplied by a factor: the mean of a
    /// transformed target depends on them.
    pub(crate) fn mean_gradient_inflated(&self, x: MatrixRef<'_>, factor: f64) -> Result<Matrix> {
        let x = self.check(x)?;
        require(x, "gradients", &[&[x.rows(), x.columns(), 2]])?;
        let mut data = Vec::with_capacity(x.rows() * x.columns());
        for block in self.by_block(x, |rows| self.standardised_gradient(rows))? {
            data.extend(block.into_row_major());
        }
        let gradient = Matrix::from_row_major(x.rows(), x.columns(), data)?;
        let unit = self.scaler.unit();
        let gradient = self.per_unit(gradient, x, |slope, along| slope * unit * along)?;
        match &self.scaler.power {
            Some(power) => self.gradient_through((power, factor), gradient, x),
            None => Ok(gradient),
        }
    }

    /// Gradient of the mean with respect to x, both standardised.
    fn standardised_gradient(&self, rows: &Matrix) -> Matrix {
        self.prior().kernel.views.along_columns(&self.posterior.mean_slopes(rows))
    }
}

/// Fails if there is no memory for a result at the rows of `x` of this many numbers.
fn require(x: MatrixRef<'_>, answer: &str, numbers: &[&[usize]]) -> Result<()> {
    memory::require(format_args!("{answer} at {} rows", x.rows()), memory::count(numbers))
}

fn join(blocks: Vec<Marginals>) -> Marginals {
    let mut all = Marginals { mean: Vec::new(), variance: Vec::new() };
    for block in blocks {
        all.mean.extend(block.mean);
        all.variance.extend(block.variance);
    }
    all
}

#[cfg(test)]
mod tests;
