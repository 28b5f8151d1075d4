//! Rows that come after the fit, or go: at fixed hyperparameters, exact, from any number of
//! processes.
//!
//! A model takes rows in as a [`Part`]: sums over the rows that its features express, and as they
//! are those few that lie where no row was before. Parts are made anywhere and merged in any order.

use crate::data::{Dataset, Matrix};
use crate::engine::weight::Statistics;
use crate::engine::{Change, Observations, Rows, Tensor};
use crate::error::{Error, Result};
use crate::file::checksum;
use crate::model::Model;
use crate::scale::StandardRows;

/// What a model needs to know of some rows, to take them in later.
#[derive(Clone, Debug)]
pub struct Part {
    /// Of the model it was made for.
    pub(crate) fingerprint: String,
    pub(crate) statistics: Option<Statistics>,
    /// The rows that the statistics do not tell of, as they came.
    pub(crate) x: Matrix,
    /// What was observed there, in standardised units.
    pub(crate) observations: Observations,
}

impl Part {
    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.statistics.as_ref().map_or(0, |s| s.rows) + self.x.rows() as u64
    }

    /// How many of them lie where the model's features do not reach, and are kept as they are.
    pub fn rows_beyond(&self) -> usize {
        self.x.rows()
    }
}

impl Model {
    /// Takes in more rows at the same hyperparameters and scales, as if they had been there from
    /// the start; in the weight engine at a cost that does not depend on the rows seen before. Rows
    /// where no row was before extend the model's features; the error says if they cannot. If it
    /// fails, the model stays as it was. [`Model::relevance`] stays that of the fit.
    pub fn update(&mut self, data: &Dataset<'_>) -> Result<()> {
        let part = self.part(data)?;
        self.take(&[part], Change::Add)
    }

    /// Takes rows out again that the model was fitted on or has taken in.
    ///
    /// The dense engine looks for them among its rows. The weight engine keeps sums only: it notices
    /// if more is taken out than had come in, but not that other rows were meant.
    pub fn remove(&mut self, data: &Dataset<'_>) -> Result<()> {
        let x = StandardRows::new(self.check(data.x())?, &self.scaler);
        let rows = Rows { x: &x, observations: &self.observations(data)? };
        let removed = self.change(None, &rows, Change::Remove, data.rows() as u64);
        removed.map_err(|error| match error {
            // More was taken out than had come in.
            Error::NotPositiveDefinite { .. } => Error::NotTrainingRows { row: None },
            other => other,
        })
    }

    /// What the model needs to know of some rows, for [`Model::merge`], here or in another process.
    pub fn part(&self, data: &Dataset<'_>) -> Result<Part> {
        let x = StandardRows::new(self.check(data.x())?, &self.scaler);
        let observations = self.observations(data)?;
        let rows = Rows { x: &x, observations: &observations };
        let summary = self.posterior.summarise(&self.prior, &rows);
        Ok(Part {
            fingerprint: self.fingerprint(),
            statistics: summary.statistics,
            x: x.gather(&summary.rest),
            observations: observations.gather(&summary.rest),
        })
    }

    /// Takes in the rows of parts that were made for this model.
    pub fn merge(&mut self, parts: &[Part]) -> Result<()> {
        self.check_parts(parts)?;
        self.take(parts, Change::Add)
    }

    /// Takes in the rows of parts in place of all that the model has seen: for hyperparameters that
    /// were found on a sample, and statistics of all shards.
    pub fn replace(&mut self, parts: &[Part]) -> Result<()> {
        self.check_parts(parts)?;
        self.take(parts, Change::Replace)
    }

    /// A number for everything that statistics of rows depend on.
    fn fingerprint(&self) -> String {
        let mut tensors = self.posterior.frame();
        let weights = self.prior.kernel.views.weights();
        tensors.push(Tensor::new("views", vec![weights.len()], weights.to_vec()));
        let theta = vec![self.prior.noise_variance, self.prior.mean];
        tensors.push(Tensor::new("theta", vec![2], theta));
        let scales = self.scaler.x.iter().chain([&self.scaler.y]).flat_map(|s| [s.mean, s.std]);
        let scales: Vec<f64> = scales.collect();
        tensors.push(Tensor::new("scales", vec![scales.len()], scales));
        let bytes: Vec<Vec<u8>> = tensors.iter().map(Tensor::bytes).collect();
        let arrays =
            tensors.iter().zip(&bytes).map(|(t, bytes)| (t.name.as_str(), bytes.as_slice()));
        checksum(self.config.kernel.name(), arrays.collect())
    }

    fn check_parts(&self, parts: &[Part]) -> Result<()> {
        let fingerprint = self.fingerprint();
        match parts.iter().position(|part| part.fingerprint != fingerprint) {
            Some(part) => Err(Error::NotForThisModel { part: Some(part) }),
            None => Ok(()),
        }
    }

    fn take(&mut self, parts: &[Part], change: Change) -> Result<()> {
        let mut statistics: Option<Statistics> = None;
        for other in parts.iter().filter_map(|part| part.statistics.as_ref()) {
            match &mut statistics {
                None => statistics = Some(other.clone()),
                Some(sum) => sum.merge(other)?,
            }
        }
        let mut x = Matrix::zeros(0, self.columns());
        for part in parts {
            self.check(&part.x)?;
            x = x.stacked(&part.x);
        }
        let x = StandardRows::new((&x).into(), &self.scaler);
        let observations = Observations::joined(parts.iter().map(|part| &part.observations));
        let rows = Rows { x: &x, observations: &observations };
        let count = parts.iter().map(Part::rows).sum();
        self.change(statistics.as_ref(), &rows, change, count)
    }

    fn change(
        &mut self,
        statistics: Option<&Statistics>,
        rows: &Rows<'_>,
        change: Change,
        count: u64,
    ) -> Result<()> {
        let (likelihood, posterior) =
            self.posterior.change(&self.prior, statistics, rows, change)?;
        let seen = self.report.rows;
        let count = count as usize;
        self.report.rows = match change {
            Change::Add => seen + count,
            Change::Remove => seen.saturating_sub(count),
            Change::Replace => count,
        };
        self.report.log_marginal_likelihood = likelihood + self.report.copies;
        self.posterior = posterior.into();
        Ok(())
    }
}
