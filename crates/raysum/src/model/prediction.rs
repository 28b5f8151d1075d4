//! Predictions: means, spreads, and the distribution of new observations.

use crate::error::{Error, Result};
use crate::metrics;
use crate::scale::Power;
use statrs::distribution::{Continuous, ContinuousCDF, Normal};

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
    /// Where observations are not normal, but become so by this map.
    transformed: Option<Transformed>,
}

/// Normal distributions on the scale of a power.
#[derive(Clone, Debug, PartialEq)]
struct Transformed {
    power: Power,
    mean: Vec<f64>,
    std: Vec<f64>,
}

impl Prediction {
    /// From means and standard deviations of a new observation and of f.
    pub fn new(mean: Vec<f64>, std: Vec<f64>, latent_std: &[f64]) -> Self {
        let square = |s: &f64| (s * s).min(f64::MAX);
        Self {
            variance: std.iter().map(square).collect(),
            latent_variance: latent_std.iter().map(square).collect(),
            mean,
            std,
            transformed: None,
        }
    }

    /// The same where observations are normal on the scale of a power, with these means and standard
    /// deviations.
    #[must_use]
    pub(super) fn transformed(self, power: Power, mean: Vec<f64>, std: Vec<f64>) -> Self {
        Self { transformed: Some(Transformed { power, mean, std }), ..self }
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

    /// Mean and standard deviation of row i on the scale where it is normal.
    fn normal(&self, i: usize) -> (f64, f64) {
        match &self.transformed {
            Some(t) => (t.mean[i], t.std[i]),
            None => (self.mean[i], self.std[i]),
        }
    }

    /// In the target's units, within the range of floats.
    fn undo(&self, value: f64) -> f64 {
        let value = self.transformed.as_ref().map_or(value, |t| t.power.undo(value));
        value.clamp(f64::MIN, f64::MAX)
    }

    /// The distance of an observation from the mean of row i, in standard deviations, on the scale
    /// where it is normal.
    fn deviation(&self, i: usize, y: f64) -> f64 {
        let (mean, std) = self.normal(i);
        let y = self.transformed.as_ref().map_or(y, |t| t.power.apply(y));
        y / std - mean / std
    }

    /// Equal-tailed interval of a new observation with probability `level`: lower and upper ends.
    pub fn interval(&self, level: f64) -> Result<(Vec<f64>, Vec<f64>)> {
        check("the level", level)?;
        let z = metrics::two_sided_quantile(level);
        let ends = |i: usize| {
            let (mean, std) = self.normal(i);
            (self.undo(mean - z * std), self.undo(mean + z * std))
        };
        Ok((0..self.len()).map(ends).unzip())
    }

    /// The values that a new observation is below with this probability.
    pub fn quantile(&self, probability: f64) -> Result<Vec<f64>> {
        check("the probability", probability)?;
        let z = Normal::standard().inverse_cdf(probability);
        Ok((0..self.len()).map(|i| self.quantile_at(i, z)).collect())
    }

    /// The quantile of row i where that of the standard normal distribution is z.
    fn quantile_at(&self, i: usize, z: f64) -> f64 {
        let (mean, std) = self.normal(i);
        self.undo(mean + z * std)
    }

    /// The probability that a new observation of each row is below the one given.
    pub fn cdf(&self, y: &[f64]) -> Result<Vec<f64>> {
        let below = |(i, y): (usize, &f64)| Normal::standard().cdf(self.deviation(i, *y));
        Ok(self.of_each(y)?.map(below).collect())
    }

    /// The log density of observations, in the target's units.
    pub fn log_density(&self, y: &[f64]) -> Result<Vec<f64>> {
        let density = |(i, y): (usize, &f64)| {
            let slope = self.transformed.as_ref().map_or(0.0, |t| t.power.log_slope(*y));
            Normal::standard().ln_pdf(self.deviation(i, *y)) - self.normal(i).1.ln() + slope
        };
        Ok(self.of_each(y)?.map(density).collect())
    }

    /// The continuous ranked probability score of observations (Gneiting and Raftery 2007), in the
    /// target's units; lower is better.
    pub fn crps(&self, y: &[f64]) -> Result<Vec<f64>> {
        let share = |k: usize| (k as f64 + 0.5) / QUANTILES as f64;
        let shares: Vec<(f64, f64)> =
            (0..QUANTILES).map(|k| (share(k), Normal::standard().inverse_cdf(share(k)))).collect();
        let score = |(i, y): (usize, &f64)| {
            if self.transformed.is_none() {
                return metrics::crps_of_standard(self.deviation(i, *y)) * self.std[i];
            }
            // Twice the mean loss of all quantiles.
            let loss = |(share, z): &(f64, f64)| {
                let above = y - self.quantile_at(i, *z);
                2.0 * if above > 0.0 { share * above } else { (share - 1.0) * above }
            };
            shares.iter().map(loss).sum::<f64>() / QUANTILES as f64
        };
        Ok(self.of_each(y)?.map(score).collect())
    }

    /// The observations with their rows.
    fn of_each<'a>(&self, y: &'a [f64]) -> Result<impl Iterator<Item = (usize, &'a f64)>> {
        if y.len() != self.len() {
            return Err(Error::TargetLength { rows: self.len(), targets: y.len() });
        }
        Ok(y.iter().enumerate())
    }
}

fn check(name: &'static str, probability: f64) -> Result<()> {
    if probability > 0.0 && probability < 1.0 {
        return Ok(());
    }
    Err(Error::OutOfRange { name, value: probability, rule: "between 0 and 1".into() })
}
