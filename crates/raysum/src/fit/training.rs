//! The training rows of a search: standardised, with copies merged, some or all of them.

use super::roughness::{Roughness, SAMPLE};
use crate::config::{Config, EngineChoice, TargetScale};
use crate::data::{Copies, Dataset, Distinct, Matrix, MatrixRef};
use crate::engine::auto::{self, Auto, Choice};
use crate::engine::neighbors::Neighbors;
use crate::engine::ski::Ski;
use crate::engine::weight::{RowSums, Summed, Weight};
use crate::engine::{Engine, Observations, Prior};
use crate::error::{Error, Result};
use crate::model::{Model, NoiseLevels};
use crate::parameters::Parameters;
use crate::rng::{Purpose, random_key, stream};
use crate::scale::{LearnedScales, Scaler, StandardRows};
use std::f64::consts::TAU;

/// All rows of a data set, standardised.
#[derive(Clone)]
pub(super) struct Training<'a> {
    /// The original rows, which a posterior conditions on.
    pub(super) x: MatrixRef<'a>,
    pub(super) observations: Observations,
    /// One per target; they differ only in y.
    pub(super) scalers: Vec<Scaler>,
    /// The logarithm of the Jacobian of each target's scale.
    pub(super) jacobians: Vec<f64>,
    groups: Option<&'a [usize]>,
    copies: Option<Copies>,
    /// The rows of a search, if they are not the original rows.
    distinct: Option<SomeRows>,
    /// How rough functions may become.
    roughness: Option<Roughness>,
    /// All rows, where those at hand are a sample of them.
    elsewhere: Option<Elsewhere<'a>>,
    /// Whether the relevance of columns is computed.
    pub(super) relevance: bool,
}

/// Rows that are somewhere else, such as on other machines.
#[derive(Clone)]
pub(crate) struct Elsewhere<'a> {
    /// Sums over them.
    pub(crate) sums: &'a dyn RowSums,
    /// Their scales, one per target.
    pub(crate) scalers: Vec<Scaler>,
    /// The logarithm of the Jacobian of each target's scale.
    pub(crate) jacobians: Vec<f64>,
}

/// Some rows, owned.
#[derive(Clone)]
pub(super) struct SomeRows {
    pub(super) x: Matrix,
    pub(super) observations: Observations,
    copies: Option<Copies>,
}

impl<'a> Training<'a> {
    pub(super) fn new(config: &Config, data: &Dataset<'a>) -> Result<Self> {
        let copies = Copies::of(data)?;
        let distinct = Distinct::of(data, copies.as_ref())?;
        let merged = distinct.as_ref().map(Distinct::dataset);
        let all = merged.as_ref().unwrap_or(data);
        let unmerged = copies.as_ref().filter(|_| merged.is_none());
        let totals = unmerged.map(|copies| copies.total_weights(data));
        let observed = totals.as_deref().or(all.weights());
        let scales = LearnedScales {
            columns: config.columns_scale.map_kind(),
            powers: config.target_scale == TargetScale::YeoJohnson,
        };
        if scales.powers && data.noise_std().is_some() {
            return Err(Error::TransformedTarget { what: "known noise" });
        }
        let scalers = Scaler::of_targets(all, scales, observed, data.weights().is_some())?;
        // One value of each observation.
        let firsts: Option<Vec<usize>> =
            unmerged.map(|copies| copies.groups().iter().map(|group| group[0]).collect());
        let jacobian = |(scaler, y): (&Scaler, &&[f64])| match &firsts {
            Some(rows) => scaler.log_jacobian(&rows.iter().map(|&i| y[i]).collect::<Vec<_>>()),
            None => scaler.log_jacobian(y),
        };
        let jacobians = scalers.iter().zip(all.targets()).map(jacobian).collect();
        let merged = merged.map(|merged| Observations::standardised(&merged, &scalers));
        let distinct = distinct.map(Distinct::into_x).zip(merged);
        let distinct = distinct.map(|(x, observations)| SomeRows { x, observations, copies: None });
        let observations = Observations::standardised(data, &scalers);
        let (x, groups) = (data.x(), data.groups());
        let sample = || {
            let rows: Vec<usize> = (0..x.rows()).step_by(x.rows().div_ceil(SAMPLE)).collect();
            x.gather(&rows)
        };
        let roughness = Roughness::new(config, x.rows(), sample)?;
        let relevance = true;
        Ok(Self {
            x,
            observations,
            scalers,
            jacobians,
            groups,
            copies,
            distinct,
            roughness,
            elsewhere: None,
            relevance,
        })
    }

    /// A sample of rows that are somewhere else. Copies of a row count as rows of their own, because
    /// they may be on different machines.
    pub(super) fn of_sample(
        config: &Config,
        data: &Dataset<'a>,
        all: Elsewhere<'a>,
    ) -> Result<Self> {
        let (x, groups) = (data.x(), data.groups());
        let sample = || {
            let rows: Vec<usize> = (0..x.rows()).step_by(x.rows().div_ceil(SAMPLE)).collect();
            x.gather(&rows)
        };
        Ok(Self {
            x,
            observations: Observations::standardised(data, &all.scalers),
            scalers: all.scalers.clone(),
            jacobians: all.jacobians.clone(),
            groups,
            copies: None,
            distinct: None,
            roughness: Roughness::new(config, all.sums.rows(), sample)?,
            elsewhere: Some(all),
            relevance: true,
        })
    }

    /// Whether these rows are a sample of others.
    pub(super) fn is_sample(&self) -> bool {
        self.elsewhere.is_some()
    }

    /// Number of rows that a posterior conditions on.
    pub(super) fn all_rows(&self) -> usize {
        self.elsewhere.as_ref().map_or(self.x.rows(), |all| all.sums.rows())
    }

    /// Number of rows at hand.
    pub(super) fn at_hand(&self) -> usize {
        self.distinct.as_ref().map_or(self.x.rows(), |rows| rows.x.rows())
    }

    /// Weights all rows by the level of their noise.
    pub(super) fn take_levels(&mut self, levels: &NoiseLevels) -> Result<()> {
        levels.apply(self.x, &mut self.observations)?;
        if let Some(rows) = &mut self.distinct {
            levels.apply((&rows.x).into(), &mut rows.observations)?;
        }
        Ok(())
    }

    /// The original columns, as [`Dataset::grouped`] takes them.
    pub(super) fn groups(&self) -> Option<&'a [usize]> {
        self.groups
    }

    /// Whether a search from here on would take more features than are affordable.
    pub(super) fn is_dear(&self, start: &Prior) -> bool {
        let scaler = &self.scalers[0];
        self.roughness.as_ref().is_some_and(|roughness| roughness.check(start, scaler).is_err())
    }

    /// These parameters with a start that leaves room for a search: see [`Roughness::room`].
    pub(super) fn with_room(&mut self, parameters: Parameters) -> Parameters {
        let Some(roughness) = &mut self.roughness else { return parameters };
        let longer = roughness.room(&parameters, &self.scalers[0]);
        parameters.starting_longer(longer)
    }

    /// A search may stay as rough as it starts.
    pub(super) fn allow(&mut self, start: &Prior) {
        if let Some(roughness) = &mut self.roughness {
            roughness.allow(start, &self.scalers[0]);
        }
    }

    /// Number of rows to search on.
    pub(super) fn len(&self) -> usize {
        self.elsewhere.as_ref().map_or(self.at_hand(), |all| all.sums.rows())
    }

    /// The indices of random rows at hand, in order.
    pub(super) fn sample(&self, rows: usize, seed: u64, stage: usize) -> Vec<usize> {
        let mut rng = stream(seed, Purpose::Subset, stage as u32);
        let mut chosen = rand::seq::index::sample(&mut rng, self.at_hand(), rows).into_vec();
        chosen.sort_unstable();
        chosen
    }

    /// The rows with these indices.
    pub(super) fn rows(&self, chosen: &[usize]) -> Result<SomeRows> {
        Ok(match &self.distinct {
            Some(rows) => SomeRows {
                x: rows.x.gather(chosen),
                observations: rows.observations.gather(chosen),
                copies: None,
            },
            None => SomeRows {
                x: self.x.gather(chosen)?,
                observations: self.observations.gather(chosen),
                copies: self.copies.as_ref().map(|copies| copies.among(chosen)),
            },
        })
    }

    /// A random number for each of these rows, which copies share.
    pub(super) fn keys(&self, rows: &[usize], seed: u64) -> Result<Vec<u64>> {
        let rows = self.rows(rows)?;
        let x = self.standardised(&rows)?;
        let targets = |i: usize| rows.observations.targets.iter().map(move |y| y[i]);
        let key = |i: usize| random_key(seed, x.row(i).iter().copied().chain(targets(i)));
        Ok((0..x.rows()).map(key).collect())
    }

    /// The problem of a search over some rows, or over all.
    pub(super) fn problem<'b>(
        &'b self,
        config: &Config,
        some: Option<&'b SomeRows>,
    ) -> Result<FitProblem<'b>> {
        match some.or(self.distinct.as_ref()) {
            Some(rows) => {
                self.over(config, (&rows.x).into(), &rows.observations, rows.copies.as_ref())
            }
            None => self.whole(config),
        }
    }

    /// The same for a posterior: all original rows.
    pub(super) fn whole(&self, config: &Config) -> Result<FitProblem<'_>> {
        if let Some(all) = &self.elsewhere {
            let roughness = self.roughness.as_ref().map(|roughness| (roughness, &self.scalers[0]));
            let values = (all.sums.rows() * self.scalers.len()) as f64;
            let (rows, engine) = (all.sums.rows(), Box::new(Summed(all.sums)));
            return Ok(FitProblem { engine, rows, values, correction: None, roughness });
        }
        self.over(config, self.x, &self.observations, self.copies.as_ref())
    }

    fn over<'b>(
        &'b self,
        config: &Config,
        x: MatrixRef<'b>,
        observations: &'b Observations,
        copies: Option<&Copies>,
    ) -> Result<FitProblem<'b>> {
        let correction = copies.map(|copies| Correction::new(copies, observations));
        let roughness = self.roughness.as_ref().map(|roughness| (roughness, &self.scalers[0]));
        let engine = self.engine(config, x, observations)?;
        let (rows, values) = (observations.rows(), observations.values());
        Ok(FitProblem { engine, rows, values, correction, roughness })
    }

    /// Computes the relevance of a model's columns from the rows of the search.
    pub(super) fn learn_relevance(&self, model: &mut Model) -> Result<()> {
        if !self.relevance {
            return Ok(());
        }
        let (x, weights) = match &self.distinct {
            Some(rows) => ((&rows.x).into(), rows.observations.sample_weights.as_deref()),
            None => (self.x, self.observations.sample_weights.as_deref()),
        };
        model.learn_relevance(x, weights, self.groups)
    }

    /// Some rows, standardised.
    pub(super) fn standardised(&self, rows: &SomeRows) -> Result<Matrix> {
        StandardRows::new((&rows.x).into(), &self.scalers[0]).block(0..rows.x.rows())
    }

    fn engine<'b>(
        &'b self,
        config: &Config,
        x: MatrixRef<'b>,
        y: &'b Observations,
    ) -> Result<Box<dyn Engine + 'b>> {
        let rows = StandardRows::new(x, &self.scalers[0]);
        Ok(match config.engine {
            EngineChoice::Auto => {
                let (all_rows, seed) = (self.x.rows(), config.seed);
                let choice = Choice { all_rows, neighbors: config.neighbors.clone(), seed };
                Box::new(Auto::new(rows, y, choice))
            }
            EngineChoice::Dense => Box::new(auto::dense(&rows, y.clone())?),
            EngineChoice::Ski => {
                Box::new(Ski::new(rows, y.clone(), config.ski.clone(), config.seed))
            }
            EngineChoice::Weight => Box::new(Weight::new(rows, y)),
            EngineChoice::Neighbors => {
                Box::new(Neighbors::new(rows, y, config.neighbors.clone(), config.seed))
            }
        })
    }
}

/// Rows behind an engine.
pub(super) struct FitProblem<'a> {
    pub(super) engine: Box<dyn Engine + 'a>,
    /// Number of rows, and of observed values over all targets.
    pub(super) rows: usize,
    pub(super) values: f64,
    pub(super) correction: Option<Correction>,
    roughness: Option<(&'a Roughness, &'a Scaler)>,
}

impl FitProblem<'_> {
    /// Fails if functions are too rough.
    pub(super) fn check(&self, prior: &Prior) -> Result<()> {
        self.roughness.map_or(Ok(()), |(roughness, scaler)| roughness.check(prior, scaler))
    }

    /// Whether functions are about as rough as they may be.
    pub(super) fn is_bound(&self, prior: &Prior) -> bool {
        self.roughness.is_some_and(|(roughness, scaler)| roughness.is_near(prior, scaler))
    }
}

/// What separates the likelihood of one observation of weight W from that of its m copies, which an
/// engine takes for observations of weights w_i, W = Σ w_i:
///
/// ```text
/// log N(y | f, v/W) − Σ log N(y | f, v/w_i) = ½ ((m − 1) log 2πv + log W − Σ log w_i)
/// ```
pub(super) struct Correction {
    /// m − 1 and the known noise of each observation that has copies.
    copies: Vec<(f64, f64)>,
    /// The part that does not depend on σ².
    constant: f64,
    targets: f64,
}

impl Correction {
    fn new(copies: &Copies, of: &Observations) -> Self {
        let mut constant = 0.0;
        let mut counts = Vec::new();
        for group in copies.groups().into_iter().filter(|group| group.len() > 1) {
            let total: f64 = group.iter().map(|row| of.weight(*row)).sum();
            constant += total.ln() - group.iter().map(|row| of.weight(*row).ln()).sum::<f64>();
            counts.push((group.len() as f64 - 1.0, of.variance(group[0], 0.0)));
        }
        if of.noise.is_none() {
            counts = vec![(counts.iter().map(|(more, _)| more).sum(), 0.0)];
        }
        Self { copies: counts, constant, targets: of.targets.len() as f64 }
    }

    /// Its value at this σ² for all targets together, and the slope.
    pub(super) fn at(&self, noise: f64) -> (f64, f64) {
        let (mut value, mut slope) = (self.constant, 0.0);
        for (more, known) in &self.copies {
            value += more * (TAU * (noise + known)).ln();
            slope += more / (noise + known);
        }
        (0.5 * self.targets * value, 0.5 * self.targets * slope)
    }

    /// Its value for one of the targets.
    pub(super) fn of_one(&self, noise: f64) -> f64 {
        self.at(noise).0 / self.targets
    }
}
