//! What belongs to the rows of a table beside X: targets, sample weights and known noise.

use crate::data::{Dataset, MatrixRef};
use crate::error::Result;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What belongs to the rows of a table beside X: one `T` for each target, for the sample weights and
/// for the known noise. `T` is a position, a [`LabelColumn`], or the values themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels<T> {
    /// What is to be predicted.
    pub targets: Vec<T>,
    /// How often each row counts.
    #[serde(default = "nothing", skip_serializing_if = "Option::is_none")]
    pub sample_weights: Option<T>,
    /// Known standard deviation of each row's noise, in the target's units.
    #[serde(default = "nothing", skip_serializing_if = "Option::is_none")]
    pub noise_std: Option<T>,
}

/// Serde's own default would ask for `T: Default`.
fn nothing<T>() -> Option<T> {
    None
}

impl<T> Default for Labels<T> {
    fn default() -> Self {
        Self { targets: Vec::new(), sample_weights: None, noise_std: None }
    }
}

impl<T> Labels<T> {
    /// Targets without sample weights or known noise.
    pub fn of_targets(targets: Vec<T>) -> Self {
        Self { targets, ..Self::default() }
    }

    /// All of them: targets, sample weights, known noise.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.targets.iter().chain(&self.sample_weights).chain(&self.noise_std)
    }

    /// Replaces each of them.
    pub fn map<U>(&self, mut f: impl FnMut(&T) -> U) -> Labels<U> {
        Labels {
            targets: self.targets.iter().map(&mut f).collect(),
            sample_weights: self.sample_weights.as_ref().map(&mut f),
            noise_std: self.noise_std.as_ref().map(&mut f),
        }
    }

    /// Replaces each of them, or fails as the first that fails does.
    pub fn try_map<U, E>(
        &self,
        mut f: impl FnMut(&T) -> std::result::Result<U, E>,
    ) -> std::result::Result<Labels<U>, E> {
        Ok(Labels {
            targets: self.targets.iter().map(&mut f).collect::<std::result::Result<_, E>>()?,
            sample_weights: self.sample_weights.as_ref().map(&mut f).transpose()?,
            noise_std: self.noise_std.as_ref().map(&mut f).transpose()?,
        })
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
        let others = [
            (&mut self.sample_weights, more.sample_weights),
            (&mut self.noise_std, more.noise_std),
        ];
        for (all, more) in others {
            all.iter_mut().zip(more).for_each(|(all, more)| all.extend(more));
        }
    }

    /// These labels and the rows they belong to, as data for some of the targets.
    pub fn dataset<'a>(
        &'a self,
        x: impl Into<MatrixRef<'a>>,
        targets: Range<usize>,
    ) -> Result<Dataset<'a>> {
        let targets: Vec<&[f64]> = self.targets[targets].iter().map(Vec::as_slice).collect();
        let mut data = Dataset::rows_of(x, &targets)?;
        if let Some(weights) = &self.sample_weights {
            data = data.weighted(weights)?;
        }
        if let Some(noise_std) = &self.noise_std {
            data = data.with_noise_std(noise_std)?;
        }
        Ok(data)
    }
}
