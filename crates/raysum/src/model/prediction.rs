//! Predictions: means, spreads, and the distribution of new observations.

use super::calibration::Calibration;
use super::law::{Bell, Law, Mixture};
use crate::error::{Error, Result};
use crate::metrics;
use crate::scale::Power;
use rayon::prelude::*;
use statrs::distribution::{ContinuousCDF, Normal};
use std::sync::Arc;

/// Quantiles by which a score of a distribution without a closed form is computed.
const QUANTILES: usize = 100;

/// Predictions at some rows, in the target's units.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The mean.
    pub mean: Vec<f64>,
    /// Variance of a new observation y: that of f plus the noise.
    pub variance: Vec<f64>,
    /// Variance of the function f.
    pub latent_variance: Vec<f64>,
    /// Kept beside its square, which may be out of range for huge or tiny units.
    std: Vec<f64>,
    /// The distribution of new observations.
    law: Law,
    /// Where held-out observations lay in such distributions, if this is known.
    curve: Option<Arc<Calibration>>,
}

impl Prediction {
    /// From means and standard deviations of a new observation and of f.
    pub fn new(mean: Vec<f64>, std: Vec<f64>, latent_std: &[f64]) -> Self {
        let law = Law::Bell(Bell { power: None, mean: mean.clone(), std: std.clone() });
        Self::of_law(mean, std, latent_std, law)
    }

    pub(crate) fn of_law(mean: Vec<f64>, std: Vec<f64>, latent_std: &[f64], law: Law) -> Self {
        let square = |s: &f64| (s * s).min(f64::MAX);
        Self {
            variance: std.iter().map(square).collect(),
            latent_variance: latent_std.iter().map(square).collect(),
            mean,
            std,
            law,
            curve: None,
        }
    }

    /// The same where observations are normal on the scale of a power, with these means and standard
    /// deviations.
    #[must_use]
    pub(super) fn transformed(self, power: Power, mean: Vec<f64>, std: Vec<f64>) -> Self {
        Self { law: Law::Bell(Bell { power: Some(power), mean, std }), ..self }
    }

    /// Whether observations are normal on the scale of a power.
    pub(crate) fn is_transformed(&self) -> bool {
        matches!(&self.law, Law::Bell(Bell { power: Some(_), .. }))
    }

    /// The same with all standard deviations multiplied by a factor, on the scale where observations
    /// are normal. Mixtures stay as they are.
    #[must_use]
    pub(crate) fn inflated(mut self, factor: f64) -> Self {
        let Law::Bell(Bell { power, mean, std }) = &mut self.law else { return self };
        std.iter_mut().for_each(|std| *std = (*std * factor).min(f64::MAX));
        match power {
            Some(power) => {
                let moments = mean.par_iter().zip(&*std).map(|(m, s)| power.moments(*m, *s));
                (self.mean, self.std) = moments.unzip();
            }
            None => self.std.clone_from(std),
        }
        self.variance = self.std.iter().map(|s| (s * s).min(f64::MAX)).collect();
        self.latent_variance.iter_mut().for_each(|v| *v = (*v * factor * factor).min(f64::MAX));
        self
    }

    /// The same with quantiles as held-out observations have them.
    #[must_use]
    pub(crate) fn calibrated(self, curve: Option<Arc<Calibration>>) -> Self {
        Self { curve, ..self }
    }

    /// The mixture of predictions with these weights, moved to this mean if there is one. Every
    /// prediction must be of one normal distribution per row.
    pub(crate) fn mixed(parts: Vec<(f64, Self)>, centre: Option<Vec<f64>>) -> Self {
        let rows = parts.first().map_or(0, |(_, p)| p.len());
        let own: Vec<f64> =
            (0..rows).map(|i| parts.iter().map(|(w, p)| w * p.mean[i]).sum()).collect();
        // The law of total variance, in units in which squares do not overflow.
        let total = |i: usize, std: &dyn Fn(&Self) -> f64| {
            let away = |p: &Self| (p.mean[i] - own[i]).abs().min(f64::MAX);
            let unit = parts.iter().map(|(_, p)| std(p).max(away(p))).fold(0.0, f64::max);
            let unit = unit.max(f64::MIN_POSITIVE);
            let square = |p: &Self| (std(p) / unit).powi(2) + (away(p) / unit).powi(2);
            (unit * parts.iter().map(|(w, p)| w * square(p)).sum::<f64>().sqrt()).min(f64::MAX)
        };
        let std = (0..rows).map(|i| total(i, &|p| p.std[i])).collect();
        let latent: Vec<f64> =
            (0..rows).map(|i| total(i, &|p| p.latent_variance[i].sqrt())).collect();
        let shift = match &centre {
            Some(centre) => centre.iter().zip(&own).map(|(to, from)| to - from).collect(),
            None => vec![0.0; rows],
        };
        let bells = parts.into_iter().filter_map(|(weight, p)| match p.law {
            Law::Bell(bell) => Some((weight, bell)),
            Law::Mixture(_) => None,
        });
        let law = Law::Mixture(Mixture { parts: bells.collect(), shift });
        Self::of_law(centre.unwrap_or(own), std, &latent, law)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.mean.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.mean.is_empty()
    }

    /// Standard deviation of a new observation.
    pub fn std(&self) -> Vec<f64> {
        self.std.clone()
    }

    /// Equal-tailed interval of a new observation with probability `level`: lower and upper ends.
    pub fn interval(&self, level: f64) -> Result<(Vec<f64>, Vec<f64>)> {
        check("the level", level)?;
        let z = metrics::two_sided_quantile(level);
        Ok((self.at_score(-z), self.at_score(z)))
    }

    /// The values that a new observation is below with this probability.
    pub fn quantile(&self, probability: f64) -> Result<Vec<f64>> {
        check("the probability", probability)?;
        Ok(self.at_score(Normal::standard().inverse_cdf(probability)))
    }

    /// The quantile of each row where that of the standard normal distribution is z.
    fn at_score(&self, z: f64) -> Vec<f64> {
        let z = self.curve.as_ref().map_or(z, |curve| curve.apply(z));
        (0..self.len()).into_par_iter().map(|i| self.law.at(i, z)).collect()
    }

    /// The probability that a new observation of each row is below the one given.
    pub fn cdf(&self, y: &[f64]) -> Result<Vec<f64>> {
        let scores = self.scores(y)?.into_iter();
        let below = |z: f64| {
            let z = self.curve.as_ref().map_or(z, |curve| curve.undo(z));
            Normal::standard().cdf(z)
        };
        Ok(scores.map(below).collect())
    }

    /// The normal scores of observations before calibration: standard normal, if the predictions are
    /// right.
    pub(crate) fn scores(&self, y: &[f64]) -> Result<Vec<f64>> {
        Ok(self.of_each(y)?.map(|(i, y)| self.law.score(i, *y)).collect())
    }

    /// The log density of observations, in the target's units.
    pub fn log_density(&self, y: &[f64]) -> Result<Vec<f64>> {
        Ok(self.of_each(y)?.map(|(i, y)| self.law.log_density(i, *y)).collect())
    }

    /// The continuous ranked probability score of observations (Gneiting and Raftery 2007), in the
    /// target's units; lower is better.
    pub fn crps(&self, y: &[f64]) -> Result<Vec<f64>> {
        let share = |k: usize| (k as f64 + 0.5) / QUANTILES as f64;
        let shares: Vec<(f64, f64)> =
            (0..QUANTILES).map(|k| (share(k), Normal::standard().inverse_cdf(share(k)))).collect();
        let score = |(i, y): (usize, &f64)| {
            if let Law::Bell(Bell { power: None, .. }) = self.law {
                return metrics::crps_of_standard(self.law.score(i, *y)) * self.std[i];
            }
            // Twice the mean loss of all quantiles.
            let loss = |(share, z): &(f64, f64)| {
                let above = y - self.law.at(i, *z);
                2.0 * if above > 0.0 { share * above } else { (share - 1.0) * above }
            };
            // Each is divided before they are added up: quantiles may be as large as numbers can be.
            shares.iter().map(|at| loss(at) / QUANTILES as f64).sum::<f64>().min(f64::MAX)
        };
        let rows: Vec<(usize, &f64)> = self.of_each(y)?.collect();
        Ok(rows.into_par_iter().map(score).collect())
    }

    /// The observations with their rows.
    fn of_each<'a>(&self, y: &'a [f64]) -> Result<impl Iterator<Item = (usize, &'a f64)>> {
        if y.len() != self.len() {
            return Err(Error::TargetLength { rows: self.len(), targets: y.len() });
        }
        Ok(y.iter().enumerate())
    }
}

pub(crate) fn check(name: &'static str, probability: f64) -> Result<()> {
    if probability > 0.0 && probability < 1.0 {
        return Ok(());
    }
    Err(Error::OutOfRange { name, value: probability, rule: "between 0 and 1".into() })
}
