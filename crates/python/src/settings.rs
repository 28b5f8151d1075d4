//! Keyword arguments to what is fitted: a preset with changes to it, or a choice of models.

use crate::error::to_python;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use raysum::limits::{
    MAX_CATEGORIES, MAX_NEIGHBORS, MAX_PROBES, MAX_SUB_KERNELS, MIN_CATEGORIES, MIN_FOLD_ROWS,
    MIN_GRID_POINTS, MIN_PROBES, MIN_SUBSET_ROWS,
};
use raysum::settings::{
    ColumnsScale, ConfigPatch, Directions, EngineChoice, LengthScalePrior, Noise, Optimizer,
    SubKernel, TargetScale,
};
use raysum::{Config, Effort, Error, Intervals, Result, StackFit};
use serde_json::json;
use std::collections::HashMap;
use std::str::FromStr;

/// The preset that is ridge regression.
const RIDGE: &str = "linear";

/// The settings of a fit; `None` leaves that of the preset.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    model: String,
    degrees: Option<String>,
    kernel: Option<String>,
    directions: Option<String>,
    ard: Option<bool>,
    learn_weights: Option<bool>,
    learn_directions: Option<bool>,
    columns_scale: String,
    target_scale: String,
    noise: String,
    length_scale_prior: Option<String>,
    shrinkage: String,
    engine: Option<String>,
    optimizer: String,
    max_evaluations: Option<usize>,
    subset: Option<usize>,
    starts: u32,
    noise_bounds: Option<(f64, f64)>,
    seed: u64,
    ski: Ski,
    neighbors: Option<usize>,
    prediction_neighbors: Option<usize>,
    intervals: String,
    /// Whether several targets share their hyperparameters.
    shared: bool,
}

/// The settings of a fit that chooses models by itself.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct AutoSettings {
    effort: String,
    intervals: String,
    seed: u64,
}

/// What is to be fitted.
// There is one per fit, so that its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(FromPyObject)]
pub(crate) enum Recipe {
    /// One model.
    One(Settings),
    /// The models that suit the table.
    Auto(AutoSettings),
}

/// The same, checked.
pub(crate) enum Plan {
    /// One model with its name.
    One { name: String, config: Box<Config>, shared: bool, intervals: Intervals },
    /// The models that suit the table.
    Auto { effort: Effort, intervals: Intervals, seed: u64 },
}

impl Recipe {
    /// What is to be fitted, or what is wrong with it.
    pub(crate) fn plan(&self) -> PyResult<Plan> {
        match self {
            Self::One(settings) => Ok(Plan::One {
                name: settings.model.clone(),
                config: Box::new(settings.config()?),
                shared: settings.shared,
                intervals: settings.intervals.parse().map_err(to_python)?,
            }),
            Self::Auto(settings) => Ok(Plan::Auto {
                effort: settings.effort.parse().map_err(to_python)?,
                intervals: settings.intervals.parse().map_err(to_python)?,
                seed: settings.seed,
            }),
        }
    }
}

impl Plan {
    /// The fit, without rows. One model needs held-out rows for calibrated intervals alone.
    pub(crate) fn fit(&self) -> StackFit<'_, '_> {
        match self {
            Self::One { name, config, shared, intervals } => StackFit::one(name, config)
                .shared(*shared)
                .intervals(*intervals)
                .held_out(*intervals == Intervals::Calibrated),
            Self::Auto { effort, intervals, seed } => {
                StackFit::auto(*effort).seed(*seed).intervals(*intervals)
            }
        }
    }

    /// What is fitted in place of a choice of models that there are too few rows for.
    pub(crate) fn of_few_rows(&self) -> Result<Self> {
        let (name, mut config) = (RIDGE, Box::new(Config::preset(RIDGE)?));
        if let Self::Auto { seed, .. } = self {
            config.seed = *seed;
        }
        let intervals = Intervals::Gaussian;
        Ok(Self::One { name: name.into(), config, shared: false, intervals })
    }

    /// Whether it is one model.
    pub(crate) fn is_one(&self) -> bool {
        matches!(self, Self::One { .. })
    }
}

/// Settings of the SKI engine only.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Ski {
    grid: Option<usize>,
    probes: Option<usize>,
    cg_tolerance: Option<f64>,
    cg_iterations: Option<usize>,
    exact_variance: Option<bool>,
}

impl Settings {
    /// The preset with the given changes.
    fn config(&self) -> PyResult<Config> {
        self.patch().and_then(|patch| patch.resolve(&self.model)).map_err(|error| match error {
            Error::EngineSetting { engine: "ski", .. } => PyValueError::new_err(
                "ski holds settings of the ski engine; give engine='ski' too.",
            ),
            Error::EngineSetting { setting, engine } => PyValueError::new_err(format!(
                "{setting} is a setting of the {engine} engine; give engine='{engine}' too."
            )),
            other => to_python(other),
        })
    }

    fn patch(&self) -> Result<ConfigPatch> {
        Ok(ConfigPatch {
            kernel: parsed(self.kernel.as_deref())?,
            degrees: parsed(self.degrees.as_deref())?,
            directions: parsed(self.directions.as_deref())?,
            ard: self.ard,
            learn_weights: self.learn_weights,
            learn_directions: self.learn_directions,
            columns_scale: parsed(Some(&self.columns_scale))?,
            target_scale: parsed(Some(&self.target_scale))?,
            noise: parsed(Some(&self.noise))?,
            prior: parsed(self.length_scale_prior.as_deref())?,
            shrinkage: parsed(Some(&self.shrinkage))?,
            engine: parsed(self.engine.as_deref())?,
            grid: self.ski.grid,
            probes: self.ski.probes,
            cg_tolerance: self.ski.cg_tolerance,
            cg_iterations: self.ski.cg_iterations,
            exact_variance: self.ski.exact_variance,
            neighbors: self.neighbors,
            prediction_neighbors: self.prediction_neighbors,
            optimizer: parsed(Some(&self.optimizer))?,
            subset: self.subset,
            max_evaluations: self.max_evaluations,
            starts: Some(self.starts),
            noise_bounds: self.noise_bounds,
            seed: Some(self.seed),
        })
    }
}

/// A setting that Python writes as text.
fn parsed<T: FromStr<Err = Error>>(text: Option<&str>) -> Result<Option<T>> {
    text.map(str::parse).transpose()
}

/// The allowed names of each setting that has names.
#[pyfunction]
pub(crate) fn names() -> HashMap<&'static str, Vec<&'static str>> {
    fn firsts<T>(all: &[(&'static str, T)]) -> Vec<&'static str> {
        all.iter().map(|(name, _)| *name).collect()
    }
    HashMap::from([
        ("model", Config::presets().map(|(name, _)| name).collect()),
        ("kernel", firsts(&SubKernel::ALL)),
        ("directions", firsts(&Directions::ALL)),
        ("engine", firsts(&EngineChoice::ALL)),
        ("columns_scale", firsts(&ColumnsScale::ALL)),
        ("target_scale", firsts(&TargetScale::ALL)),
        ("noise", firsts(&Noise::ALL)),
        ("length_scale_prior", firsts(&LengthScalePrior::ALL)),
        ("optimizer", firsts(&Optimizer::ALL)),
        ("effort", firsts(&Effort::ALL)),
        ("intervals", firsts(&Intervals::ALL)),
    ])
}

/// The smallest and the largest value of settings that have such limits.
#[pyfunction]
pub(crate) fn limits() -> HashMap<&'static str, (usize, Option<usize>)> {
    HashMap::from([
        ("n_projections", (1, Some(MAX_SUB_KERNELS))),
        ("categories", (MIN_CATEGORIES, Some(MAX_CATEGORIES))),
        ("subset", (MIN_SUBSET_ROWS, None)),
        ("distinct_rows", (MIN_FOLD_ROWS, None)),
        ("grid", (MIN_GRID_POINTS, None)),
        ("probes", (MIN_PROBES, Some(MAX_PROBES))),
        ("neighbors", (1, Some(MAX_NEIGHBORS))),
        ("prediction_neighbors", (1, Some(MAX_NEIGHBORS))),
    ])
}

/// The configuration of a preset, as JSON.
#[pyfunction]
pub(crate) fn preset(name: &str) -> PyResult<String> {
    let config = Config::preset(name).map_err(to_python)?;
    Ok(json!(config).to_string())
}
