//! Noise that depends on the columns: a second, additive model of its level.
//!
//! The level is learned from the squared errors of rows that were held out, in units of what the
//! first model expects there: the logarithm of such a ratio is the logarithm of the level, plus an
//! error that does not depend on the columns. The levels are kept only if they predict the errors
//! better than a constant does, at rows that they were not learned from. Then the first model is
//! fitted again, with each row weighted by its level, and the levels are found once more from its errors.

use super::held_out::{PARTS, enough, parts};
use super::progress::Place;
use super::schedule::Found;
use super::training::{SomeRows, Training};
use super::{Fit, conditioning, start};
use crate::config::{Config, LengthScalePrior, LengthScales, Noise, TargetScale};
use crate::data::Dataset;
use crate::engine::Prior;
use crate::error::{Error, Result};
use crate::model::{Model, NoiseLevels};
use crate::parameters::{Freedom, Parameters};
use std::f64::consts::TAU;
use std::sync::Arc;

/// The most rows whose errors are used: of weight space, whose cost is linear in them, and of other
/// engines.
const MOST_ROWS: usize = 20_000;
const MOST_DENSE_ROWS: usize = 3_000;
/// With fewer rows there is nothing to be learned about the noise: in all, and for each column.
const LEAST_ROWS: usize = 100;
const LEAST_ROWS_PER_COLUMN: usize = 10;
/// Ratios of squared errors to their expectations are at least this. Smaller ones arise by chance, and
/// their logarithms would be outliers.
const SMALLEST: f64 = 1e-3;
/// Factors of the logarithm of the level that are tried, from weak to strong.
const STRENGTHS: [f64; 4] = [0.25, 0.5, 0.75, 1.0];
/// How often the levels are found. The errors of a model with constant noise are larger than the noise where
/// that is low, and levels found from them too even.
pub(super) const PASSES: usize = 2;
/// A number for the random rows whose errors are used, beyond those of the stages of a search.
const SAMPLE: usize = 1_000;

impl Fit<'_, '_> {
    /// Whether the levels of the noise are to be found: those of another model are kept.
    pub(super) fn learns_noise(&self) -> bool {
        self.config.noise == Noise::Columns && self.start.is_none()
    }

    /// The models of a group whose noise varies, from the ones with constant noise: the same, if it
    /// does not vary.
    pub(super) fn with_levels(
        &mut self,
        training: &Training<'_>,
        data: &Dataset<'_>,
        found: Found,
        constant: Vec<Model>,
    ) -> Result<Vec<Model>> {
        let parameters = self.all_parameters(data, &found)?;
        let (mut found, mut models) = (found, constant);
        let (mut weighted, mut known) = (training.clone(), None);
        for _ in 0..PASSES {
            self.place.index += 1;
            let of_pass = self.levels_of(&weighted, &parameters, &models[0], known.as_deref())?;
            let Some((levels, factor)) = of_pass else { break };
            let levels = Arc::new(levels);
            weighted = training.clone();
            weighted.take_levels(&levels)?;
            self.place.index += 1;
            let noise = &mut found.hyperparameters.noise_variance;
            *noise = (*noise * factor).max(self.config.noise_bounds.0);
            if enough(weighted.len(), parameters.len()) {
                found = self.search_again(&mut weighted, data, &parameters, &found)?;
            }
            models = conditioning::condition(self.config, &weighted, &found, Some(&levels))?;
            known = Some(levels);
        }
        Ok(models)
    }

    /// Continues a search with the levels of the noise. Where rows are few this would only fit the
    /// hyperparameters to the luck of the levels.
    fn search_again(
        &mut self,
        training: &mut Training<'_>,
        data: &Dataset<'_>,
        parameters: &Parameters,
        found: &Found,
    ) -> Result<Found> {
        let width = found.report.shrinkage;
        let freedom = self.freedom.replace(Freedom::of_width(width));
        let start = &found.hyperparameters;
        let (schedule, search) = self.prepare(training, data, parameters, Some(start))?;
        let mut again = schedule.run(search, training, parameters)?;
        self.freedom = freedom;
        again.report.evaluations += found.report.evaluations;
        again.report.unconverged += found.report.unconverged;
        Ok(again)
    }

    /// All parameters that a search along the projections found could change.
    fn all_parameters(&self, data: &Dataset<'_>, found: &Found) -> Result<Parameters> {
        start::parameters(self.config, Some(&found.parameters.projections()), data)
    }

    /// The levels of the noise of a model, if they vary, and the factor of σ² that goes with them. The
    /// model may have been fitted with levels that are known from an earlier pass.
    fn levels_of(
        &mut self,
        training: &Training<'_>,
        parameters: &Parameters,
        model: &Model,
        known: Option<&NoiseLevels>,
    ) -> Result<Option<(NoiseLevels, f64)>> {
        let dense = model.features().is_none();
        let most = if dense { MOST_DENSE_ROWS } else { MOST_ROWS };
        let count = training.len().min(most);
        if count < LEAST_ROWS.max(LEAST_ROWS_PER_COLUMN * training.x.columns()) {
            return Ok(None);
        }
        let chosen = training.sample(count, self.config.seed, SAMPLE);
        let errors = if enough(count, parameters.len()) {
            Errors::at(training, self.config, model.prior(), &chosen)?
        } else {
            self.errors_of_fits(training, &chosen)?
        };
        let rows = training.rows(&errors.rows)?;
        let known = known.map(|levels| levels.at((&rows.x).into())).transpose()?;
        let logs = errors.log_ratios(known.as_deref());
        let errors = errors.without_levels(known.as_deref());
        if logs.iter().all(|log| *log == logs[0]) {
            return Ok(None);
        }
        let config = of_noise(self.config, rows.x.rows(), rows.x.columns())?;
        let mut data = Dataset::new(&rows.x, &logs)?;
        if let Some(groups) = training.groups() {
            data = data.grouped(groups)?;
        }
        let of_noise = self.inner(&config, PARTS, &data)?;
        let without_each = of_noise.leave_one_out(&data)?.mean;
        let Some((strength, factor)) = errors.strength(&without_each) else { return Ok(None) };
        Ok(Some((NoiseLevels::new(of_noise, strength, training.x)?, factor)))
    }
}

impl Fit<'_, '_> {
    /// The errors of rows that were held out from fits of their own. Where rows are few, those of the
    /// hyperparameters found on all rows are too small at the rows that these happened to suit.
    fn errors_of_fits(&mut self, training: &Training<'_>, rows: &[usize]) -> Result<Errors> {
        // The targets are transformed already.
        let config = Config {
            target_scale: TargetScale::None,
            noise: Noise::Constant,
            ..self.config.clone()
        };
        let mut all = Errors::default();
        for HeldPart { index, others, held } in held_out_parts(training, rows, config.seed)? {
            let (fitted, held_rows) = (training.rows(&others)?, training.rows(&held)?);
            let mut labels = fitted.observations.0.clone();
            labels.noise.iter_mut().flatten().for_each(|variance| *variance = variance.sqrt());
            let model = self.inner(&config, index, &labels.dataset(&fitted.x, 0..1)?)?;
            let p = model.predict(&held_rows.x)?;
            let noise = model.noise_std().powi(2);
            all.rows.extend(held);
            all.extend(&p.mean, p.latent_variance, &held_rows, noise);
        }
        Ok(all)
    }

    /// The model of a fit inside this one: which of those that this search is made of.
    fn inner(&mut self, config: &Config, index: usize, data: &Dataset<'_>) -> Result<Model> {
        let Place { target, index: before, count } = self.place;
        let (index, count) = (before * (PARTS + 1) + index, count * (PARTS + 1));
        let mut fit = Fit { place: Place { target, index, count }, ..Fit::new(config) };
        if let Some(progress) = self.progress.as_deref_mut() {
            fit = fit.progress(progress);
        }
        if let Some(checkpoint) = self.checkpoint.as_deref_mut() {
            fit = fit.checkpoint(checkpoint);
        }
        fit.run(data)?.pop().ok_or(Error::NoTargets)
    }
}

/// A part of some rows that is held out, and the others, by their numbers.
struct HeldPart {
    index: usize,
    others: Vec<usize>,
    held: Vec<usize>,
}

/// The parts of some rows; copies are in one part.
fn held_out_parts(training: &Training<'_>, rows: &[usize], seed: u64) -> Result<Vec<HeldPart>> {
    let parts = parts(&training.keys(rows, seed)?);
    let numbers = |part: usize, held: bool| {
        let chosen = rows.iter().zip(&parts).filter(|(_, p)| (**p == part) == held);
        chosen.map(|(row, _)| *row).collect()
    };
    let split =
        |index| HeldPart { index, others: numbers(index, false), held: numbers(index, true) };
    let all = (0..PARTS).map(split);
    Ok(all.filter(|part| part.others.len() > 1 && !part.held.is_empty()).collect())
}

/// The model of the level: additive, on the columns' own scale. Where rows are few, all columns have
/// one length-scale and the same weight: a logarithm of a squared error says little, and many
/// parameters would follow what it does not say.
fn of_noise(config: &Config, rows: usize, columns: usize) -> Result<Config> {
    let gam = Config::preset("gam")?.with_terms(|term| {
        if !enough(rows, 2 * columns) {
            (term.length_scales, term.learn_weights) = (LengthScales::Common, false);
        }
    });
    Ok(Config {
        prior: LengthScalePrior::LogNormal,
        columns_scale: config.columns_scale,
        seed: config.seed,
        ..gam
    })
}

/// The errors of predictions at held-out rows.
#[derive(Default)]
struct Errors {
    /// The numbers of the rows.
    rows: Vec<usize>,
    /// Their squared errors.
    squares: Vec<f64>,
    /// The variances of the function and of the noise that were expected there.
    function: Vec<f64>,
    noise: Vec<f64>,
}

impl Errors {
    /// Of some rows, each predicted by the others at known hyperparameters.
    fn at(training: &Training<'_>, config: &Config, prior: &Prior, rows: &[usize]) -> Result<Self> {
        let mut all = Self::default();
        for HeldPart { others, held, .. } in held_out_parts(training, rows, config.seed)? {
            let fitted = training.rows(&others)?;
            let posterior = training.problem(config, Some(&fitted))?.engine.posterior(prior)?.1;
            let of_part = training.rows(&held)?;
            let f = posterior.marginals(&training.standardised(&of_part)?);
            all.rows.extend(held);
            all.extend(&f.mean, f.variance, &of_part, prior.noise_variance);
        }
        Ok(all)
    }

    fn extend(&mut self, mean: &[f64], variance: Vec<f64>, rows: &SomeRows, noise: f64) {
        let y = &rows.observations.targets[0];
        self.squares.extend(y.iter().zip(mean).map(|(y, mean)| (y - mean).powi(2)));
        self.function.extend(variance);
        let of_row = |i| rows.observations.variance(i, noise) / rows.observations.weight(i);
        self.noise.extend((0..y.len()).map(of_row));
    }

    /// The logarithm of each squared error over its expectation, and of the level that is known there.
    fn log_ratios(&self, levels: Option<&[f64]>) -> Vec<f64> {
        let ratio = |i: usize| {
            let ratio = (self.squares[i] / (self.function[i] + self.noise[i])).max(SMALLEST);
            ratio.ln() + levels.map_or(0.0, |levels| levels[i].ln())
        };
        (0..self.squares.len()).map(ratio).collect()
    }

    /// The same errors, with the noise that is expected without these levels.
    fn without_levels(self, levels: Option<&[f64]>) -> Self {
        let of_row = |(i, noise): (usize, &f64)| noise / levels.map_or(1.0, |levels| levels[i]);
        Self { noise: self.noise.iter().enumerate().map(of_row).collect(), ..self }
    }

    /// A factor of these logarithms of levels, and the factor of σ² that goes with it; `None` if no levels
    /// make the errors clearly more likely than constant noise does, by two standard errors. Of factors
    /// that do nearly as well as the best, by one standard error, the weakest: levels that are too even
    /// cost less than levels that follow the luck of these errors.
    fn strength(&self, logs: &[f64]) -> Option<(f64, f64)> {
        let centre = logs.iter().sum::<f64>() / logs.len() as f64;
        let (_, constant) = self.best_densities(&vec![1.0; logs.len()]);
        let varying = STRENGTHS.map(|strength| {
            let level = |log: &f64| (strength * (log - centre)).exp();
            let (factor, densities) =
                self.best_densities(&logs.iter().map(level).collect::<Vec<_>>());
            (strength, factor, densities)
        });
        let total = |densities: &[f64]| densities.iter().sum::<f64>();
        let (.., best) = varying.iter().max_by(|a, b| total(&a.2).total_cmp(&total(&b.2)))?;
        if !clearly_higher(best, &constant, 2.0) {
            return None;
        }
        let near = varying.iter().find(|(.., densities)| !clearly_higher(best, densities, 1.0));
        near.map(|&(strength, factor, _)| (strength, factor))
    }

    /// The factor of σ² that makes the errors the most likely where the noise has these levels, and
    /// their log densities.
    fn best_densities(&self, levels: &[f64]) -> (f64, Vec<f64>) {
        let densities = |factor: f64| -> Vec<f64> {
            let each = self.squares.iter().zip(&self.function).zip(self.noise.iter().zip(levels));
            let density = |((square, f), (noise, level)): ((&f64, &f64), (&f64, &f64))| {
                let variance = f + factor * noise * level;
                -0.5 * (square / variance + (TAU * variance).ln())
            };
            each.map(density).collect()
        };
        let mut best = (1.0, densities(1.0));
        let mut highest = best.1.iter().sum::<f64>();
        for step in -30..=30 {
            let factor = (0.1 * f64::from(step)).exp();
            let densities = densities(factor);
            let total = densities.iter().sum::<f64>();
            if total > highest {
                (best, highest) = ((factor, densities), total);
            }
        }
        best
    }
}

/// Whether the first densities of the same errors are higher by this number of standard errors of the
/// mean difference.
fn clearly_higher(densities: &[f64], others: &[f64], standard_errors: f64) -> bool {
    let gains: Vec<f64> = densities.iter().zip(others).map(|(a, b)| a - b).collect();
    let n = gains.len() as f64;
    let mean = gains.iter().sum::<f64>() / n;
    let variance = gains.iter().map(|gain| (gain - mean).powi(2)).sum::<f64>() / n;
    mean > standard_errors * (variance / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, stream};
    use rand_distr::{Distribution, StandardNormal};

    /// Errors of noise whose level is given, and of a function that is well known.
    fn errors(level: impl Fn(usize) -> f64, n: usize) -> Errors {
        let mut rng = stream(1, Purpose::Samples, 0);
        let mut square = |i: usize| {
            let z: f64 = StandardNormal.sample(&mut rng);
            0.1 * level(i) * z * z
        };
        Errors {
            rows: (0..n).collect(),
            squares: (0..n).map(&mut square).collect(),
            function: vec![1e-3; n],
            noise: vec![0.1; n],
        }
    }

    #[test]
    fn levels_are_kept_only_where_they_explain_the_errors() {
        let level = |i: usize| (1.5 * (i as f64 / 10.0).sin()).exp();
        let logs: Vec<f64> = (0..300).map(|i| level(i).ln()).collect();
        let (strength, factor) = errors(level, 300).strength(&logs).unwrap();
        assert!(strength == 1.0 && (0.8..1.25).contains(&factor), "{strength} {factor}");
        assert_eq!(errors(|_| 1.0, 300).strength(&logs), None);
        // Logarithms that are twice too far from their mean are halved.
        let twice: Vec<f64> = logs.iter().map(|log| 2.0 * log).collect();
        assert_eq!(errors(level, 300).strength(&twice).unwrap().0, 0.5);
        // A common factor is no reason to keep them.
        assert_eq!(errors(level, 300).strength(&[2.0; 300]), None);
    }

    #[test]
    fn log_ratios_are_bounded_from_below() {
        let found = errors(|i| if i == 0 { 0.0 } else { 1.0 }, 5).log_ratios(None);
        assert_eq!(found[0], SMALLEST.ln());
        assert!(found.iter().all(|log| log.is_finite()));
    }
}
