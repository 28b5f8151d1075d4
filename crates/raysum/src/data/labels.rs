//! The labels of the rows of a table: targets, sample weights and known noise.

use super::{Dataset, MatrixRef};
use crate::error::Result;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The labels of the rows of a table: one `T` for each target, for the sample weights and
/// for the known noise.
///
/// `T` is how a column is held: by its name, its position, a [`LabelColumn`](crate::schema::LabelColumn), or its values,
/// owned or borrowed. So one type serves from the options of a command to the numbers of a fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels<T> {
    /// What is to be predicted.
    pub targets: Vec<T>,
    /// Sample weights.
    #[serde(default = "nothing", skip_serializing_if = "Option::is_none")]
    pub sample_weights: Option<T>,
    /// Known noise of each row: its standard deviation, in the target's units. An engine works with
    /// its variance, in standardised units.
    #[serde(rename = "noise_std", default = "nothing", skip_serializing_if = "Option::is_none")]
    pub noise: Option<T>,
}

/// Serde's own default would require `T: Default`.
fn nothing<T>() -> Option<T> {
    None
}

impl<T> Default for Labels<T> {
    fn default() -> Self {
        Self { targets: Vec::new(), sample_weights: None, noise: None }
    }
}

impl<T> Labels<T> {
    /// Targets without sample weights or known noise.
    pub fn of_targets(targets: Vec<T>) -> Self {
        Self { targets, ..Self::default() }
    }

    /// All of them: targets, sample weights, known noise.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.targets.iter().chain(&self.sample_weights).chain(&self.noise)
    }

    /// All of them, with `None` for sample weights and noise that were not given.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Option<&T>> {
        let others = [self.sample_weights.as_ref(), self.noise.as_ref()];
        self.targets.iter().map(Some).chain(others)
    }

    /// Replaces each of them.
    pub fn map<'a, U>(&'a self, mut f: impl FnMut(&'a T) -> U) -> Labels<U> {
        Labels {
            targets: self.targets.iter().map(&mut f).collect(),
            sample_weights: self.sample_weights.as_ref().map(&mut f),
            noise: self.noise.as_ref().map(&mut f),
        }
    }

    /// Replaces each of them, or returns the first error.
    pub fn try_map<'a, U, E>(
        &'a self,
        mut f: impl FnMut(&'a T) -> std::result::Result<U, E>,
    ) -> std::result::Result<Labels<U>, E> {
        Ok(Labels {
            targets: self.targets.iter().map(&mut f).collect::<std::result::Result<_, E>>()?,
            sample_weights: self.sample_weights.as_ref().map(&mut f).transpose()?,
            noise: self.noise.as_ref().map(&mut f).transpose()?,
        })
    }

    /// The same rows with some of the targets alone.
    ///
    /// # Panics
    /// If there are no such targets.
    #[must_use]
    pub fn some_targets(&self, targets: Range<usize>) -> Self
    where
        T: Clone,
    {
        Self {
            targets: self.targets[targets].to_vec(),
            sample_weights: self.sample_weights.clone(),
            noise: self.noise.clone(),
        }
    }
}

impl<T: AsRef<[f64]>> Labels<T> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.targets.first().map_or(0, |y| y.as_ref().len())
    }

    /// The values, borrowed.
    pub fn as_slices(&self) -> Labels<&[f64]> {
        self.map(AsRef::as_ref)
    }

    /// Those of some rows, in this order.
    #[must_use]
    pub fn gather(&self, rows: &[usize]) -> Labels<Vec<f64>> {
        self.map(|values| rows.iter().map(|&i| values.as_ref()[i]).collect())
    }

    /// These labels and the rows they belong to, as data for some of the targets. A single row is
    /// enough.
    pub fn dataset<'a>(
        &'a self,
        x: impl Into<MatrixRef<'a>>,
        targets: Range<usize>,
    ) -> Result<Dataset<'a>> {
        Dataset::labelled_rows(x, self.as_slices().some_targets(targets))
    }
}

impl Labels<Vec<f64>> {
    /// Appends those of further rows.
    pub fn extend(&mut self, more: Labels<Vec<f64>>) {
        if self.targets.is_empty() {
            *self = more;
            return;
        }
        self.targets.iter_mut().zip(more.targets).for_each(|(all, more)| all.extend(more));
        let others =
            [(&mut self.sample_weights, more.sample_weights), (&mut self.noise, more.noise)];
        for (all, more) in others {
            all.iter_mut().zip(more).for_each(|(all, more)| all.extend(more));
        }
    }
}
