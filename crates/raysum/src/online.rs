//! Rows that come after the fit, or go: at fixed hyperparameters, exact, from any number of
//! processes.
//!
//! A model takes rows in as a [`Part`]: sums over the rows that its features express, and as they
//! are those few that lie where no row was before. Parts are made anywhere and merged in any order.

use crate::data::{Dataset, Matrix};
use crate::engine::weight::Statistics;
use crate::engine::{Change, Observations, Tensor};
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
    pub(crate) rows: Rows,
}

/// Rows as they came.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub(crate) x: Matrix,
    pub(crate) y: Vec<f64>,
    pub(crate) weights: Option<Vec<f64>>,
    pub(crate) noise_std: Option<Vec<f64>>,
}

impl Part {
    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.statistics.as_ref().map_or(0, |s| s.rows) + self.rows.y.len() as u64
    }

    /// How many of them lie where the model's features do not reach, and are kept as they are.
    pub fn rows_beyond(&self) -> usize {
        self.rows.y.len()
    }
}

impl Model {
    /// Takes in more rows at the same hyperparameters and scales, as if they had been there from
    /// the start; in the weight engine at a cost that does not depend on the rows seen before. Rows
    /// where no row was before extend the model's features; the error says if they cannot. If it
    /// fails, the model stays as it was. [`Model::relevance`] stays that of the fit.
    pub fn update(&mut self, data: &Dataset<'_>) -> Result<()> {
        let part = self.part(data)?;
        self.merge(&[part])
    }

    /// Takes rows out again that the model was fitted on or has taken in.
    ///
    /// The dense engine looks for them among its rows. The weight engine keeps sums only: it notices
    /// if more is taken out than had come in, but not that other rows were meant.
    pub fn remove(&mut self, data: &Dataset<'_>) -> Result<()> {
        let x = self.check(data.x())?;
        let observations = self.observations(data)?;
        let rows = StandardRows::new(x, &self.scaler);
        let removed = self.change(None, &rows, &observations, Change::Remove, data.rows() as u64);
        removed.map_err(|error| match error {
            // More was taken out than had come in.
            Error::NotPositiveDefinite { .. } => Error::NotTrainingRows { row: None },
            other => other,
        })
    }

    /// What the model needs to know of some rows, for [`Model::merge`], here or in another process.
    pub fn part(&self, data: &Dataset<'_>) -> Result<Part> {
        let x = self.check(data.x())?;
        let observations = self.observations(data)?;
        let rows = StandardRows::new(x, &self.scaler);
        let summary = self.posterior.summarise(&self.prior, &rows, &observations);
        let pick = |values: &[f64]| summary.rest.iter().map(|&i| values[i]).collect();
        let rest = Rows {
            x: rows.gather(&summary.rest),
            y: pick(data.y()),
            weights: data.weights().map(pick),
            noise_std: data.noise_std().map(pick),
        };
        let fingerprint = self.fingerprint();
        Ok(Part { fingerprint, statistics: summary.statistics, rows: rest })
    }

    /// Takes in the rows of parts that were made for this model.
    pub fn merge(&mut self, parts: &[Part]) -> Result<()> {
        self.merge_as(parts, Change::Add)
    }

    /// Takes in the rows of parts in place of all that the model has seen: for hyperparameters that
    /// were found on a sample, and statistics of all shards.
    pub fn replace(&mut self, parts: &[Part]) -> Result<()> {
        self.merge_as(parts, Change::Replace)
    }

    /// A number for everything that statistics of rows depend on.
    fn fingerprint(&self) -> String {
        let mut tensors = self.posterior.frame();
        tensors.push(Tensor::of("views", &self.prior.kernel.views));
        tensors.push(Tensor::new(
            "theta",
            vec![2],
            vec![self.prior.noise_variance, self.prior.mean],
        ));
        let scales = self.scaler.x.iter().chain([&self.scaler.y]).flat_map(|s| [s.mean, s.std]);
        let scales: Vec<f64> = scales.collect();
        tensors.push(Tensor::new("scales", vec![scales.len()], scales));
        let bytes: Vec<Vec<u8>> = tensors.iter().map(Tensor::bytes).collect();
        let arrays =
            tensors.iter().zip(&bytes).map(|(t, bytes)| (t.name.as_str(), bytes.as_slice()));
        checksum(self.config.kernel.name(), arrays.collect())
    }

    /// Whether the part was made for this model, as it is now.
    pub fn made(&self, part: &Part) -> bool {
        part.fingerprint == self.fingerprint()
    }

    fn merge_as(&mut self, parts: &[Part], change: Change) -> Result<()> {
        let fingerprint = self.fingerprint();
        if parts.iter().any(|part| part.fingerprint != fingerprint) {
            return Err(Error::NotForThisModel);
        }
        let mut statistics: Option<Statistics> = None;
        for other in parts.iter().filter_map(|part| part.statistics.as_ref()) {
            match &mut statistics {
                None => statistics = Some(other.clone()),
                Some(sum) if other.rows > 0 => sum.merge(other)?,
                Some(_) => {}
            }
        }
        let rest = Rows::concatenated(parts.iter().map(|part| &part.rows), self.columns())?;
        let data = rest.data()?;
        let x = self.check(data.x())?;
        let observations = self.observations(&data)?;
        let rows = StandardRows::new(x, &self.scaler);
        let count = parts.iter().map(Part::rows).sum();
        self.change(statistics.as_ref(), &rows, &observations, change, count)
    }

    fn change(
        &mut self,
        statistics: Option<&Statistics>,
        rows: &StandardRows<'_>,
        observations: &Observations,
        change: Change,
        count: u64,
    ) -> Result<()> {
        let (likelihood, posterior) =
            self.posterior.change(&self.prior, statistics, rows, observations, change)?;
        let seen = self.report.rows;
        let count = count as usize;
        self.report.rows = match change {
            Change::Add => seen + count,
            Change::Remove => seen.saturating_sub(count),
            Change::Replace => count,
        };
        self.report.log_marginal_likelihood = likelihood;
        self.posterior = posterior;
        Ok(())
    }
}

impl Rows {
    /// All rows; weights and noise are filled in where only some have them.
    fn concatenated<'a>(parts: impl Iterator<Item = &'a Rows>, columns: usize) -> Result<Rows> {
        let parts: Vec<&Rows> = parts.collect();
        let all = |values: fn(&Rows) -> Option<&Vec<f64>>, usual: f64| {
            parts.iter().any(|rows| values(rows).is_some()).then(|| {
                let of = |rows: &&Rows| values(rows).cloned().unwrap_or(vec![usual; rows.y.len()]);
                parts.iter().flat_map(of).collect()
            })
        };
        if let Some(other) = parts.iter().find(|rows| rows.x.columns() != columns) {
            return Err(Error::ColumnCount { expected: columns, found: other.x.columns() });
        }
        let x = parts.iter().flat_map(|rows| rows.x.as_slice()).copied().collect();
        let y: Vec<f64> = parts.iter().flat_map(|rows| &rows.y).copied().collect();
        Ok(Rows {
            x: Matrix::from_row_major(y.len(), columns, x)?,
            y,
            weights: all(|rows| rows.weights.as_ref(), 1.0),
            noise_std: all(|rows| rows.noise_std.as_ref(), 0.0),
        })
    }

    fn data(&self) -> Result<Dataset<'_>> {
        let mut data = Dataset::rows_of(&self.x, &[&self.y])?;
        if let Some(weights) = &self.weights {
            data = data.weighted(weights)?;
        }
        if let Some(noise_std) = &self.noise_std {
            data = data.with_noise_std(noise_std)?;
        }
        Ok(data)
    }
}
