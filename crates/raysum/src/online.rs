//! Rows that come after the fit, or go: at fixed hyperparameters, exact, from any number of
//! processes.
//!
//! A model takes rows in as a [`Part`]: sums over the rows that its features express, and as they
//! are those few that lie where no row was before. Parts are made anywhere and merged in any order.
//! Sums do not show which rows they are of, so a part has an identity, and a model remembers those
//! that it has merged: no row counts twice by mistake.

use crate::checkpoint::Fingerprint;
use crate::data::{Dataset, Matrix};
use crate::engine::{Change, Mergeable, Observations, Rows, Statistics, Tensor};
use crate::error::{Error, Result};
use crate::file::checksum;
use crate::model::Model;
use crate::scale::{Standard, StandardRows};
use std::collections::{HashMap, HashSet};

/// What a model needs to know of some rows, to take them in later.
#[derive(Clone, Debug)]
pub struct Part {
    /// Of the model it was made for.
    pub(crate) fingerprint: String,
    /// Of the rows it was made of, whatever the model.
    pub(crate) identity: String,
    /// The smallest and the largest value of each column; empty without rows, and in files of
    /// earlier versions.
    pub(crate) ranges: Vec<(f64, f64)>,
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
        })?;
        // A part of just these rows may come again.
        if !self.merged.is_empty() {
            let gone = identity(data)?;
            self.merged.retain(|merged| *merged != gone);
        }
        Ok(())
    }

    /// What the model needs to know of some rows, for [`Model::merge`], here or in another process.
    pub fn part(&self, data: &Dataset<'_>) -> Result<Part> {
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
        Ok(Part {
            fingerprint: self.fingerprint(),
            identity: identity(data)?,
            ranges: Standard::ranges(data.x())?,
            statistics,
            x: x.gather(&rest)?,
            observations: observations.gather(&rest),
        })
    }

    /// Takes in the rows of parts that were made for this model.
    ///
    /// Fails with [`Error::RepeatedPart`] if the same rows, in whatever order, come in two of the
    /// parts, or were merged before: the model remembers that, in its file too.
    pub fn merge(&mut self, parts: &[Part]) -> Result<()> {
        check_repeated(parts, &self.merged)?;
        self.merge_repeated(parts)
    }

    /// Takes in the rows of parts in place of all that the model has seen: for hyperparameters that
    /// were found on a sample, and statistics of all shards.
    ///
    /// Fails with [`Error::RepeatedPart`] if the same rows come in two of the parts.
    pub fn replace(&mut self, parts: &[Part]) -> Result<()> {
        check_repeated(parts, &[])?;
        self.replace_repeated(parts)
    }

    /// Like [`Model::merge`], for rows that are meant to count as often as they come.
    pub fn merge_repeated(&mut self, parts: &[Part]) -> Result<()> {
        self.check_parts(parts)?;
        self.take(parts, Change::Add)?;
        self.remember(parts);
        Ok(())
    }

    /// Like [`Model::replace`], for rows that are meant to count as often as they come.
    pub fn replace_repeated(&mut self, parts: &[Part]) -> Result<()> {
        self.check_parts(parts)?;
        self.take(parts, Change::Replace)?;
        self.merged.clear();
        self.remember(parts);
        Ok(())
    }

    fn remember(&mut self, parts: &[Part]) {
        for part in parts {
            if !self.merged.contains(&part.identity) {
                self.merged.push(part.identity.clone());
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
        self.change(statistics.as_ref(), &rows, change, count)?;
        self.extend_ranges(parts, change);
        Ok(())
    }

    /// Takes the rows of parts into what [`Model::extrapolation`] calls the range of the rows.
    fn extend_ranges(&mut self, parts: &[Part], change: Change) {
        let all_known = parts.iter().all(|part| part.rows() == 0 || !part.ranges.is_empty());
        let mut known = parts.iter().filter(|part| !part.ranges.is_empty());
        if change == Change::Replace
            && all_known
            && let Some(first) = known.next()
        {
            for (column, range) in self.scaler.x.iter_mut().zip(&first.ranges) {
                column.range = column.range.map(|_| *range);
            }
        }
        for part in known {
            for (column, range) in self.scaler.x.iter_mut().zip(&part.ranges) {
                column.extend_range(*range);
            }
        }
    }

    fn change(
        &mut self,
        statistics: Option<&Statistics>,
        rows: &Rows<'_>,
        change: Change,
        count: u64,
    ) -> Result<()> {
        let (likelihood, posterior) = match (statistics, self.posterior.mergeable()) {
            (Some(statistics), Some(posterior)) => posterior.merge(statistics, rows, change)?,
            (Some(_), None) => return Err(Error::NotForThisModel { part: None }),
            (None, _) => {
                let posterior =
                    self.ability(self.posterior.row_changes(), "changes of its rows")?;
                posterior.change(rows, change)?
            }
        };
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

/// A number for the rows of some data, whatever their order: against mistakes, not against malice.
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

/// Fails if a part has the rows of another one, or rows that are known already. Parts without rows
/// are all the same, and do no harm.
fn check_repeated(parts: &[Part], known: &[String]) -> Result<()> {
    let known: HashSet<&str> = known.iter().map(String::as_str).collect();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (index, part) in parts.iter().enumerate().filter(|(_, part)| part.rows() > 0) {
        let identity = part.identity.as_str();
        if known.contains(identity) {
            return Err(Error::RepeatedPart { part: index, same_as: None });
        }
        if let Some(other) = seen.insert(identity, index) {
            return Err(Error::RepeatedPart { part: index, same_as: Some(other) });
        }
    }
    Ok(())
}
