//! One fit of an experiment: a model, the rows it learns from, the rows it is asked about.

use crate::pool::Job;
use crate::record::{Key, Record};
use crate::sets::Set;
use anyhow::{Result, ensure};
use raysum::{Config, Dataset, Degrees, Matrix, MatrixRef};
use raysum_cli::score::Scores;
use raysum_cli::splits;
use std::sync::Arc;

/// A model of an experiment.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    pub(crate) model: String,
    pub(crate) config: Config,
}

impl Recipe {
    /// A preset as it is.
    pub(crate) fn preset(name: &str) -> Result<Self> {
        Ok(Self { model: name.into(), config: Config::paper(name)? })
    }

    /// A preset with `j` one-dimensional sub-kernels.
    pub(crate) fn with_directions(name: &str, j: usize) -> Result<Self> {
        let mut recipe = Self::preset(name)?;
        recipe.config.degrees = Degrees::ones(j);
        Ok(recipe)
    }

    /// Some presets as they are, then others with ever more one-dimensional sub-kernels.
    pub(crate) fn sweep(levels: &[&str], models: &[&str], counts: &[usize]) -> Result<Vec<Self>> {
        let with = |j: usize| models.iter().map(move |m| Self::with_directions(m, j));
        let swept = counts.iter().copied().flat_map(with);
        levels.iter().map(|m| Self::preset(m)).chain(swept).collect()
    }

    /// A key for a fit to a set with this number of rows and columns.
    fn key(&self, set: &str, rows: usize, columns: usize, repeat: u32, fold: u32) -> Key {
        let j = self.config.degrees.resolve(columns).len();
        Key { set: set.into(), rows, model: self.model.clone(), j, repeat, fold }
    }

    /// Every fit draws its own directions: a mean over folds is a mean over draws too, and a
    /// spread over folds holds theirs.
    fn seeded(&self, seed: u64, repeat: u32, fold: u32) -> Config {
        let fit = u64::from(repeat) << 32 | u64::from(fold);
        let mut config = self.config.clone();
        config.seed = seed.wrapping_add(fit);
        config
    }

    fn job<'a>(
        &self,
        key: Key,
        rows: usize,
        columns: usize,
        work: impl Fn(&Key) -> Result<Record> + Send + Sync + 'a,
    ) -> Job<'a> {
        let views = self.config.degrees.resolve(columns).iter().sum();
        let own = key.clone();
        Job { key, rows, views, work: Box::new(move || work(&own)) }
    }
}

/// How often and how finely to cross-validate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CrossValidation {
    pub(crate) folds: u32,
    pub(crate) repeats: u32,
    /// Folds that are run, of each repeat.
    pub(crate) run: u32,
    pub(crate) seed: u64,
}

impl CrossValidation {
    /// The jobs of some models on a set; the splits of a repeat are the same for all of them.
    pub(crate) fn jobs(self, set: &Arc<Set>, recipes: &[Recipe]) -> Result<Vec<Job<'static>>> {
        let (n, columns) = (set.x.rows(), set.x.columns());
        let folds = self.folds as usize;
        ensure!(
            splits::are_enough(n, folds),
            "{}: {folds} folds need more rows than the {n} there are",
            set.name
        );
        let mut jobs = Vec::new();
        for recipe in recipes {
            for repeat in 0..self.repeats {
                for fold in 0..self.run.min(self.folds) {
                    let (set, config) = (Arc::clone(set), recipe.seeded(self.seed, repeat, fold));
                    let key = recipe.key(&set.name, n, columns, repeat, fold);
                    jobs.push(recipe.job(key, n - n / folds, columns, move |key| {
                        let split =
                            splits::folds(n, folds, self.seed, repeat).swap_remove(fold as usize);
                        fold_record(key, &config, &set, &split)
                    }));
                }
            }
        }
        Ok(jobs)
    }
}

fn fold_record(key: &Key, config: &Config, set: &Set, split: &splits::Split) -> Result<Record> {
    let x = MatrixRef::from(&set.x);
    let (y, truth) = (split.train_of(&set.y), split.test_of(&set.y));
    record(key, config, x.without(&split.test), &y, x.choose(&split.test), &truth)
}

/// Rows to learn from and rows to be asked about, both made by `make` when they are wanted.
pub(crate) struct Drawn {
    pub(crate) x: Matrix,
    pub(crate) y: Vec<f64>,
    pub(crate) x_new: Matrix,
    pub(crate) truth: Vec<f64>,
}

/// The job of one model on rows that are drawn for it.
pub(crate) fn drawn_job(
    recipe: &Recipe,
    (set, rows, columns): (&str, usize, usize),
    (seed, repeat): (u64, u32),
    make: impl Fn() -> Drawn + Send + Sync + 'static,
) -> Job<'static> {
    let key = recipe.key(set, rows, columns, repeat, 0);
    let config = recipe.seeded(seed, repeat, 0);
    recipe.job(key, rows, columns, move |key| {
        let drawn = make();
        record(key, &config, (&drawn.x).into(), &drawn.y, (&drawn.x_new).into(), &drawn.truth)
    })
}

fn record(
    key: &Key,
    config: &Config,
    x: MatrixRef<'_>,
    y: &[f64],
    x_new: MatrixRef<'_>,
    truth: &[f64],
) -> Result<Record> {
    let model = config.fit(&Dataset::new(x, y)?)?;
    let prediction = model.predict(x_new)?;
    // As the paper: normalised by the training rows.
    let unit = model.target_scale().std;
    Ok(Record {
        key: key.clone(),
        columns: x.columns(),
        scores: Scores::standardised(truth, &prediction, unit),
        log_marginal_likelihood: model.log_marginal_likelihood(),
        noise_std: model.noise_std() / unit,
        evaluations: model.report().evaluations,
        engine: model.engine().into(),
    })
}
