//! Noise that depends on the columns.

use super::Model;
use crate::data::{Matrix, MatrixRef};
use crate::engine::Observations;
use crate::error::Result;
use std::sync::Arc;

/// Levels are limited to this factor above and below the usual one.
const MOST: f64 = 1e4;

/// How far levels may lie outside those of nine of ten training rows.
const BEYOND: f64 = 2.0;

/// The level of the noise at each row, as a multiple of σ².
#[derive(Clone, Debug)]
pub(crate) struct NoiseLevels {
    /// Predicts the logarithm of the level.
    pub(crate) model: Model,
    /// The mean of its predictions at the training rows, where the level is 1.
    pub(crate) centre: f64,
    /// What deviations from it are multiplied by.
    pub(crate) strength: f64,
    /// The mean level of the training rows.
    pub(crate) average: f64,
    /// The levels that nine of ten training rows lie between; no row has one far outside.
    pub(crate) range: (f64, f64),
}

impl NoiseLevels {
    /// Of a model of the logarithm, centred on the training rows.
    pub(crate) fn new(model: Model, strength: f64, x: MatrixRef<'_>) -> Result<Self> {
        let logs = model.predict_mean(x)?;
        let centre = logs.iter().sum::<f64>() / logs.len() as f64;
        let mut levels = Self { model, centre, strength, average: 1.0, range: (1.0, 1.0) };
        let mut all: Vec<f64> = logs.iter().map(|log| levels.unlimited(*log)).collect();
        all.sort_by(f64::total_cmp);
        let at = |share: f64| all[(share * (all.len() - 1) as f64).round() as usize];
        levels.range = (at(0.05), at(0.95));
        levels.average =
            all.iter().map(|level| levels.limited(*level)).sum::<f64>() / all.len() as f64;
        Ok(levels)
    }

    fn unlimited(&self, log: f64) -> f64 {
        (self.strength * (log - self.centre)).exp().clamp(1.0 / MOST, MOST)
    }

    /// Not far outside the levels of the training rows: beyond them nothing supports a level.
    fn limited(&self, level: f64) -> f64 {
        level.clamp(self.range.0 / BEYOND, self.range.1 * BEYOND)
    }

    fn level(&self, log: f64) -> f64 {
        self.limited(self.unlimited(log))
    }

    /// The gradient of the logarithm of the level at some rows with these levels: 0 where a level is at
    /// its limit.
    pub(super) fn log_slopes(&self, x: MatrixRef<'_>, levels: &[f64]) -> Result<Matrix> {
        let least = (self.range.0 / BEYOND).max(1.0 / MOST);
        let most = (self.range.1 * BEYOND).min(MOST);
        let mut slopes = self.model.mean_gradient(x)?;
        for (i, level) in levels.iter().enumerate() {
            let factor = if least < *level && *level < most { self.strength } else { 0.0 };
            slopes.row_mut(i).iter_mut().for_each(|slope| *slope *= factor);
        }
        Ok(slopes)
    }

    /// The levels at some rows.
    pub(crate) fn at(&self, x: MatrixRef<'_>) -> Result<Vec<f64>> {
        Ok(self.model.predict_mean(x)?.into_iter().map(|log| self.level(log)).collect())
    }

    /// Weights observations by the levels of their rows. Known noise has its own level.
    pub(crate) fn apply(&self, x: MatrixRef<'_>, observations: &mut Observations) -> Result<()> {
        let levels = self.at(x)?;
        let weights = observations.sample_weights.get_or_insert_with(|| vec![1.0; levels.len()]);
        weights.iter_mut().zip(&levels).for_each(|(weight, level)| *weight /= level);
        if let Some(noise) = &mut observations.noise {
            noise.iter_mut().zip(&levels).for_each(|(noise, level)| *noise /= level);
        }
        Ok(())
    }
}

impl Model {
    /// The levels of the noise at some rows, if they vary.
    pub(super) fn noise_levels(&self, x: MatrixRef<'_>) -> Result<Option<Vec<f64>>> {
        self.noise.as_ref().map(|noise| noise.at(x)).transpose()
    }

    /// The noise variance of a prediction at row i, standardised.
    pub(super) fn noise_variance(&self, levels: Option<&[f64]>, i: usize) -> f64 {
        let usual = self.prior().noise_variance * self.scaler.average_noise;
        levels.map_or(usual, |levels| usual * levels[i])
    }

    /// The same on average over the training rows.
    pub(super) fn average_level(&self) -> f64 {
        self.noise.as_ref().map_or(1.0, |noise| noise.average)
    }

    /// Whether the noise was found to depend on the columns.
    pub fn noise_varies(&self) -> bool {
        self.noise.is_some()
    }

    /// The standard deviations of the noise that nine of ten training rows lie between, if they have
    /// weight 1, in the target's units.
    pub fn noise_std_range(&self) -> (f64, f64) {
        let usual = self.prior().noise_variance * self.scaler.reported_noise;
        let std = |level: f64| self.noise_std_of(usual * level);
        self.noise.as_ref().map_or((std(1.0), std(1.0)), |n| (std(n.range.0), std(n.range.1)))
    }

    /// How much each original column matters for the noise, like [`Model::relevance`]; empty where
    /// the noise is constant.
    pub fn noise_relevance(&self) -> &[f64] {
        self.noise.as_ref().map_or(&[], |noise| noise.model.relevance())
    }

    /// Standard deviation of the noise at each row of `x`, in the target's units: that of new
    /// observations about a function that is known there.
    pub fn noise_std_at<'a>(&self, x: impl Into<MatrixRef<'a>>) -> Result<Vec<f64>> {
        let x = self.check(x)?;
        let levels = self.noise_levels(x)?;
        let means = self.by_block(x, |rows| self.posterior.mean(rows))?.concat();
        let std = |(i, mean): (usize, &f64)| {
            let variance = self.noise_variance(levels.as_deref(), i);
            self.scaler.undo_moments(*mean, variance.sqrt()).1
        };
        Ok(means.iter().enumerate().map(std).collect())
    }

    /// A noise variance as a standard deviation in the target's units: with a target scale, that at
    /// the middle of the target's values.
    pub(super) fn noise_std_of(&self, variance: f64) -> f64 {
        self.scaler.undo_moments(0.0, variance.sqrt()).1
    }

    /// Gives the model the levels of its noise.
    pub(crate) fn set_noise(&mut self, levels: Option<Arc<NoiseLevels>>) {
        self.noise = levels;
    }
}
