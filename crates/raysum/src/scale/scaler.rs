//! The scales of a data set: of its columns, its target and its weights.

use super::evidence::Evidence;
use super::{ColumnMap, Power, Standard, cuts, ranks, robust};
use crate::data::{Dataset, MatrixRef};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Minimum weight of an observation in the average noise, in units of the average weight.
const LEAST_WEIGHT: f64 = 0.05;

/// Standardisation of X, of y and of sample weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaler {
    /// One entry per column of X.
    pub x: Vec<Standard>,
    /// The maps of the columns, where they are not on the standard scale.
    #[serde(rename = "ranks", default, skip_serializing_if = "Option::is_none")]
    pub(crate) maps: Option<Vec<ColumnMap>>,
    /// The target. Its `std` is never 0.
    pub y: Standard,
    /// The map of the target, where it is not standardised by its mean and standard deviation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) power: Option<Power>,
    /// The mean sample weight of an observation, where copies of a row are one observation of
    /// their total weight. Weights are divided by it, so that a common factor has no effect.
    #[serde(default = "one")]
    pub weight: f64,
    /// The noise variance of a prediction, in units of that of an observation of average weight:
    /// new rows come without a weight, so it is the average over those there were. 1 without
    /// weights.
    #[serde(default = "one")]
    pub average_noise: f64,
    /// The noise variance that is reported, in the same unit: that of weight 1, or of a prediction
    /// where no weights were given.
    #[serde(default = "one")]
    pub reported_noise: f64,
}

/// Which scales to learn, beside mean and standard deviation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LearnedScales {
    /// Maps of columns.
    pub(crate) columns: Option<MapKind>,
    /// Powers of targets.
    pub(crate) powers: bool,
}

/// What a column is mapped by.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MapKind {
    Robust,
    Ranks,
    Cuts,
}

impl LearnedScales {
    /// The maps of columns, for all targets together.
    fn column_maps(
        self,
        data: &Dataset<'_>,
        columns: &[Standard],
    ) -> Result<Option<Vec<ColumnMap>>> {
        let maps = self.columns.map(|kind| match kind {
            MapKind::Robust => Ok(robust::of_columns(columns)),
            MapKind::Ranks => ranks::of_columns(data.x()),
            MapKind::Cuts => cuts::of_columns(data),
        });
        maps.transpose()
    }
}

fn one() -> f64 {
    1.0
}

/// Shares first: the sum of huge weights must not overflow.
fn mean(weights: &[f64]) -> f64 {
    weights.iter().map(|w| w / weights.len() as f64).sum()
}

/// The mean of 1/w for weights in units of their mean. One that is next to nothing, by which people
/// leave rows out, does not make it infinite.
fn average_noise(weights: &[f64], mean_weight: f64) -> f64 {
    let noise: Vec<f64> =
        weights.iter().map(|w| 1.0 / (w / mean_weight).max(LEAST_WEIGHT)).collect();
    mean(&noise)
}

/// The scale of a target, never with a standard deviation of 0.
fn with_spread(mut target: Standard) -> Standard {
    if target.std == 0.0 {
        // A constant target gives no information on its scale; its own size is the best guess,
        // and keeps every predicted standard deviation finite and above 0.
        target.std = if target.mean == 0.0 { 1.0 } else { target.mean.abs() };
    }
    target
}

impl Scaler {
    /// Learns the scales from training rows.
    pub fn fit(x: MatrixRef<'_>, y: &[f64]) -> Result<Self> {
        let (x, y) = (Standard::of_columns(x)?, Self::of_target(y, None));
        let (weight, average_noise, reported_noise) = (1.0, 1.0, 1.0);
        Ok(Self { x, maps: None, y, power: None, weight, average_noise, reported_noise })
    }

    /// Learns the scales from a data set, for each of its targets. `observed` are the weights of its
    /// distinct observations, if they are not all 1; `weighted` says whether rows came with weights.
    pub(crate) fn of_targets(
        data: &Dataset<'_>,
        scales: LearnedScales,
        observed: Option<&[f64]>,
        weighted: bool,
    ) -> Result<Vec<Self>> {
        let weights = data.weights();
        let x = Standard::of_weighted(data.x(), weights)?;
        let maps = scales.column_maps(data, &x)?;
        let evidence = scales.powers.then(|| Evidence::new(data.x())).transpose()?;
        let weight = observed.map_or(1.0, mean);
        let average_noise = observed.map_or(1.0, |w| average_noise(w, weight));
        let scaler = |(y, above_zero): (&&[f64], &bool)| {
            let target = Self::of_target(y, weights);
            let power = |evidence: &Evidence| {
                let range = target.range.unwrap_or_default();
                Power::learn(evidence, y, weights, (range, *above_zero))
            };
            Self {
                x: x.clone(),
                maps: maps.clone(),
                y: target,
                power: evidence.as_ref().and_then(power),
                weight,
                average_noise,
                reported_noise: if weighted { weight } else { average_noise },
            }
        };
        Ok(data.targets().iter().zip(data.above_zero()).map(scaler).collect())
    }

    /// The scales of rows on many machines, for each target: the columns and the targets by sums
    /// over all rows, and what is learned beside them from a sample. `weight` is the mean sample
    /// weight, if rows have any; their average noise is not known yet.
    pub(crate) fn of_sample(
        sample: &Dataset<'_>,
        scales: LearnedScales,
        (x, targets): (&[Standard], &[Standard]),
        weight: Option<f64>,
    ) -> Result<Vec<Self>> {
        let weights = sample.weights();
        let maps = scales.column_maps(sample, x)?;
        let evidence = scales.powers.then(|| Evidence::new(sample.x())).transpose()?;
        let weight = weight.unwrap_or(1.0);
        let scaler = |(y, target): (&&[f64], &Standard)| {
            let power = |evidence: &Evidence| {
                let range = target.range.unwrap_or_default();
                Power::learn(evidence, y, weights, (range, range.0 > 0.0))
            };
            Self {
                x: x.to_vec(),
                maps: maps.clone(),
                y: with_spread(*target),
                power: evidence.as_ref().and_then(power),
                weight,
                average_noise: 1.0,
                reported_noise: weight,
            }
        };
        Ok(sample.targets().iter().zip(targets).map(scaler).collect())
    }

    /// The sum of the noise variances of rows with these weights, in units of that of the mean
    /// weight.
    pub(crate) fn sum_of_noise(&self, weights: &[f64]) -> f64 {
        average_noise(weights, self.weight) * weights.len() as f64
    }

    fn of_target(y: &[f64], weights: Option<&[f64]>) -> Standard {
        with_spread(Standard::of_column(y, weights))
    }

    /// The slope of a standardised column at a value of it: 0 for a constant one.
    pub(crate) fn slope(&self, column: usize, value: f64) -> f64 {
        match (&self.maps, self.x[column].std) {
            (_, 0.0) => 0.0,
            (Some(maps), _) => maps[column].slope(value),
            (None, std) => 1.0 / std,
        }
    }

    /// The weights of some rows as multiples of the average; `None` where they are all 1.
    pub(crate) fn apply_weights(&self, weights: Option<&[f64]>, rows: usize) -> Option<Vec<f64>> {
        match weights {
            Some(weights) => Some(weights.iter().map(|w| w / self.weight).collect()),
            None if self.weight == 1.0 => None,
            None => Some(vec![1.0 / self.weight; rows]),
        }
    }

    /// Standardised copy of `y`.
    pub fn apply_y(&self, y: &[f64]) -> Vec<f64> {
        match &self.power {
            Some(power) => y.iter().map(|v| power.apply(*v)).collect(),
            None => y.iter().map(|v| self.y.apply(*v)).collect(),
        }
    }

    /// A standardised value in the target's units.
    pub fn undo(&self, value: f64) -> f64 {
        match &self.power {
            Some(power) => power.undo(value),
            None => self.undo_mean(value),
        }
    }

    /// Mean and standard deviation of a target that is normal in standardised units.
    pub fn undo_moments(&self, mean: f64, std: f64) -> (f64, f64) {
        match &self.power {
            Some(power) => power.moments(mean, std),
            None => (self.undo_mean(mean), std * self.y.std),
        }
    }

    /// What is added to the log density of standardised targets, so that it is that of the targets in
    /// standard deviations: by this likelihoods on different scales are compared.
    pub fn log_jacobian(&self, y: &[f64]) -> f64 {
        match &self.power {
            Some(power) => y.iter().map(|v| power.log_slope(*v) + self.y.std.ln()).sum(),
            None => 0.0,
        }
    }

    /// The unit in which functions add up: the target's standard deviation, or that of the power.
    pub fn unit(&self) -> f64 {
        if self.power.is_some() { 1.0 } else { self.y.std }
    }

    /// A standardised mean in the unit in which functions add up.
    pub fn undo_mean(&self, value: f64) -> f64 {
        if self.power.is_some() { value } else { self.y.mean + value * self.y.std }
    }

    /// A standardised variance or covariance in that unit, squared; cut to the largest number there
    /// is.
    pub fn undo_variance(&self, value: f64) -> f64 {
        (value * self.unit() * self.unit()).clamp(f64::MIN, f64::MAX)
    }
}
