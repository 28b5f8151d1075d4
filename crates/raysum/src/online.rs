//! Updates after the fit: rows are added or removed exactly, at fixed hyperparameters, from any
//! number of processes.
//!
//! Rows are summarised as a [`Shard`], the statistics of a shard: sums over the rows that the
//! model's features express, and unchanged those few outside. Shards can be computed anywhere and
//! merged in any order. Sums do not identify their rows, so a shard has an identity, and a model
//! records those that were merged: no row counts twice by mistake.

use crate::checkpoint::Fingerprint;
use crate::data::{Dataset, Matrix};
use crate::engine::{Change, Mergeable, Observations, Rows, Statistics, Tensor};
use crate::error::{Error, Result};
use crate::file::checksum;
use crate::model::Model;
use crate::scale::{ColumnMap, Power, Standard, StandardRows};
use std::collections::{HashMap, HashSet};

/// The statistics of a shard of rows, for [`Model::merge`].
#[derive(Clone, Debug)]
pub struct Shard {
    /// Of the model it was made for.
    pub(crate) fingerprint: String,
    /// Of the rows it was made of, whatever the model.
    pub(crate) identity: String,
    /// The smallest and the largest value of each column; empty without rows, and in files of
    /// earlier versions.
    pub(crate) ranges: Vec<(f64, f64)>,
    /// What its rows add to the logarithm of the Jacobian of the target scale.
    pub(crate) jacobian: f64,
    pub(crate) statistics: Option<Statistics>,
    /// The rows that the statistics do not include, unchanged.
    pub(crate) x: Matrix,
    /// What was observed there, in standardised units.
    pub(crate) observations: Observations,
}

impl Shard {
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
    /// Adds rows at the same hyperparameters and scales, as if they had been there from the start;
    /// in the weight-space engine the cost does not depend on the number of earlier rows. Rows
    /// where no row was before extend the model's features; the error says if they cannot. If it
    /// fails, the model stays as it was. [`Model::relevance`] stays that of the fit.
    pub fn update(&mut self, data: &Dataset<'_>) -> Result<()> {
        let shard = self.shard(data)?;
        self.take(&[shard], Change::Add)
    }

    /// Removes rows that the model was fitted on or updated with.
    ///
    /// The dense engine looks for them among its rows. The weight-space engine keeps only sums: it
    /// refuses to remove more than was added, and targets that no row of the model can have had, but
    /// does not detect that rows like its own were meant.
    pub fn remove(&mut self, data: &Dataset<'_>) -> Result<()> {
        let x = StandardRows::new(self.check(data.x())?, &self.scaler);
        let rows = Rows { x: &x, observations: &self.observations(data)? };
        let seen = (data.rows() as u64, self.scaler.log_jacobian(data.targets()[0]));
        let removed = self.change(None, &rows, Change::Remove, seen);
        removed.map_err(|error| match error {
            // More was removed than was added.
            Error::NotPositiveDefinite { .. } => Error::NotTrainingRows { row: None },
            other => other,
        })?;
        // A shard with exactly these rows may be merged again.
        if !self.merged.is_empty() {
            let gone = identity(data)?;
            self.merged.retain(|merged| *merged != gone);
        }
        Ok(())
    }

    /// Computes the statistics of some rows, for [`Model::merge`] here or in another process.
    pub fn shard(&self, data: &Dataset<'_>) -> Result<Shard> {
        let x = StandardRows::new(self.check(data.x())?, &self.scaler);
        let observations = self.observations(data)?;
        let rows = Rows { x: &x, observations: &observations };
        let (statistics, rest) = match self.posterior.mergeable() {
            Some(posterior) => {
                let summary = posterior.summarise(&rows)?;
                (Some(summary.statistics), summary.rest)
            }
            None => (None, (0..x.len()).collect()),
        };
        Ok(Shard {
            fingerprint: self.fingerprint(),
            identity: identity(data)?,
            ranges: Standard::ranges(data.x())?,
            jacobian: self.scaler.log_jacobian(data.targets()[0]),
            statistics,
            x: x.gather(&rest)?,
            observations: observations.gather(&rest),
        })
    }

    /// Adds the rows of shards that were computed for this model.
    ///
    /// Fails with [`Error::RepeatedShard`] if the same rows, in whatever order, come in two of the
    /// shards, or were already merged, which the model file also records.
    pub fn merge(&mut self, shards: &[Shard]) -> Result<()> {
        check_repeated(shards, &self.merged)?;
        self.merge_repeated(shards)
    }

    /// Replaces all rows of the model by those of shards: for hyperparameters that
    /// were found on a sample, and statistics of all shards.
    ///
    /// Fails with [`Error::RepeatedShard`] if the same rows come in two of the shards.
    pub fn replace(&mut self, shards: &[Shard]) -> Result<()> {
        check_repeated(shards, &[])?;
        self.replace_repeated(shards)
    }

    /// Like [`Model::merge`], but repeated rows count every time.
    pub fn merge_repeated(&mut self, shards: &[Shard]) -> Result<()> {
        self.check_shards(shards)?;
        self.take(shards, Change::Add)?;
        self.remember(shards);
        Ok(())
    }

    /// Like [`Model::replace`], but repeated rows count every time.
    pub fn replace_repeated(&mut self, shards: &[Shard]) -> Result<()> {
        self.check_shards(shards)?;
        self.take(shards, Change::Replace)?;
        self.merged.clear();
        self.remember(shards);
        Ok(())
    }

    fn remember(&mut self, shards: &[Shard]) {
        for shard in shards {
            if !self.merged.contains(&shard.identity) {
                self.merged.push(shard.identity.clone());
            }
        }
    }

    /// A number for everything that statistics of rows depend on.
    fn fingerprint(&self) -> String {
        let mut tensors = self.posterior.mergeable().map_or(Vec::new(), Mergeable::frame);
        let weights = self.prior().kernel.views.weights();
        tensors.push(Tensor::new("views", vec![weights.len()], weights.to_vec()));
        let theta = vec![self.prior().noise_variance, self.prior().mean];
        tensors.push(Tensor::new("theta", vec![2], theta));
        let scales = self.scaler.x.iter().chain([&self.scaler.y]).flat_map(|s| [s.mean, s.std]);
        let maps = self.scaler.maps.iter().flatten().flat_map(ColumnMap::numbers);
        let power = self.scaler.power.iter().flat_map(Power::numbers);
        let scales: Vec<f64> = scales.chain(maps).chain(power).collect();
        tensors.push(Tensor::new("scales", vec![scales.len()], scales));
        if let Some(noise) = &self.noise {
            tensors.extend(noise.model.posterior.tensors());
            tensors.push(Tensor::new("noise", vec![2], vec![noise.centre, noise.strength]));
        }
        let bytes: Vec<Vec<u8>> = tensors.iter().map(Tensor::bytes).collect();
        let kernels: Vec<&str> = self.config.terms.iter().map(|term| term.kernel.name()).collect();
        let arrays =
            tensors.iter().zip(&bytes).map(|(t, bytes)| (t.name.as_str(), bytes.as_slice()));
        checksum(&kernels.join("+"), arrays.collect())
    }

    fn check_shards(&self, shards: &[Shard]) -> Result<()> {
        let fingerprint = self.fingerprint();
        match shards.iter().position(|shard| shard.fingerprint != fingerprint) {
            Some(shard) => Err(Error::NotForThisModel { shard: Some(shard) }),
            None => Ok(()),
        }
    }

    fn take(&mut self, shards: &[Shard], change: Change) -> Result<()> {
        let mut statistics: Option<Statistics> = None;
        for other in shards.iter().filter_map(|shard| shard.statistics.as_ref()) {
            match &mut statistics {
                None => statistics = Some(other.clone()),
                Some(sum) => sum.merge(other)?,
            }
        }
        let mut x = Matrix::zeros(0, self.columns());
        for shard in shards {
            self.check(&shard.x)?;
            x = x.stacked(&shard.x);
        }
        let x = StandardRows::new((&x).into(), &self.scaler);
        let observations = Observations::joined(shards.iter().map(|shard| &shard.observations));
        let rows = Rows { x: &x, observations: &observations };
        let seen = (shards.iter().map(Shard::rows).sum(), shards.iter().map(|p| p.jacobian).sum());
        self.change(statistics.as_ref(), &rows, change, seen)?;
        self.extend_ranges(shards, change);
        Ok(())
    }

    /// Takes the rows of shards into what [`Model::extrapolation`] calls the range of the rows.
    fn extend_ranges(&mut self, shards: &[Shard], change: Change) {
        let all_known = shards.iter().all(|shard| shard.rows() == 0 || !shard.ranges.is_empty());
        let mut known = shards.iter().filter(|shard| !shard.ranges.is_empty());
        if change == Change::Replace
            && all_known
            && let Some(first) = known.next()
        {
            for (column, range) in self.scaler.x.iter_mut().zip(&first.ranges) {
                column.range = column.range.map(|_| *range);
            }
        }
        for shard in known {
            for (column, range) in self.scaler.x.iter_mut().zip(&shard.ranges) {
                column.extend_range(*range);
            }
        }
    }

    fn change(
        &mut self,
        statistics: Option<&Statistics>,
        rows: &Rows<'_>,
        change: Change,
        (count, jacobian): (u64, f64),
    ) -> Result<()> {
        let (likelihood, posterior) = match (statistics, self.posterior.mergeable()) {
            (Some(statistics), Some(posterior)) => posterior.merge(statistics, rows, change)?,
            (Some(_), None) => return Err(Error::NotForThisModel { shard: None }),
            (None, _) => {
                let posterior =
                    self.ability(self.posterior.row_changes(), "changes of its rows")?;
                posterior.change(rows, change)?
            }
        };
        let (seen, before) = (self.report.rows, self.report.jacobian);
        let count = count as usize;
        (self.report.rows, self.report.jacobian) = match change {
            Change::Add => (seen + count, before + jacobian),
            Change::Remove => (seen.saturating_sub(count), before - jacobian),
            Change::Replace => (count, jacobian),
        };
        let report = &mut self.report;
        report.log_marginal_likelihood = likelihood + report.copies + report.jacobian;
        self.posterior = posterior.into();
        Ok(())
    }
}

/// A hash of the rows of some data, in any order: against mistakes, not against malice.
fn identity(data: &Dataset<'_>) -> Result<String> {
    let (x, columns) = (data.x(), data.columns());
    let mut sum = data.rows() as u64;
    x.in_blocks(|first, rows| {
        for (i, row) in rows.chunks(columns.max(1)).enumerate() {
            let mut print = Fingerprint::new();
            print.numbers(row);
            for values in data.labels().slots() {
                print.numbers(values.map_or(&[], |values| &values[first + i..=first + i]));
            }
            sum = sum.wrapping_add(mixed(print.finish()));
        }
    })?;
    Ok(format!("{sum:016x}"))
}

/// Spreads every bit over all of them, as `SplitMix64` does: what is added up must not cancel.
fn mixed(bits: u64) -> u64 {
    let z = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Fails if a shard has the rows of another one, or rows that are known already. Shards without rows
/// are all equal, and harmless.
fn check_repeated(shards: &[Shard], known: &[String]) -> Result<()> {
    let known: HashSet<&str> = known.iter().map(String::as_str).collect();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (index, shard) in shards.iter().enumerate().filter(|(_, shard)| shard.rows() > 0) {
        let identity = shard.identity.as_str();
        if known.contains(identity) {
            return Err(Error::RepeatedShard { shard: index, same_as: None });
        }
        if let Some(other) = seen.insert(identity, index) {
            return Err(Error::RepeatedShard { shard: index, same_as: Some(other) });
        }
    }
    Ok(())
}
