//! Keyword arguments to a configuration: a preset, and changes to it.

use crate::error::to_python;
use pyo3::prelude::*;
use raysum::{Config, Directions, EngineChoice, Optimizer, Result, SkiOptions, SubKernel};
use serde_json::json;
use std::collections::HashMap;

/// What a fit is asked for; `None` leaves the preset's own.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    pub(crate) model: String,
    degrees: Option<String>,
    kernel: Option<String>,
    directions: Option<String>,
    ard: Option<bool>,
    learn_weights: Option<bool>,
    learn_directions: Option<bool>,
    shrinkage: String,
    engine: Option<String>,
    optimizer: String,
    max_evaluations: Option<usize>,
    subset: Option<usize>,
    starts: u32,
    noise_bounds: (f64, f64),
    seed: u64,
    ski: Ski,
    /// Whether several targets share their hyperparameters.
    pub(crate) shared: bool,
}

/// What only the SKI engine has.
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
    /// The preset with the changes that were asked for.
    pub(crate) fn config(&self) -> PyResult<Config> {
        self.changed().map_err(to_python)
    }

    fn changed(&self) -> Result<Config> {
        fn read<T: std::str::FromStr<Err = raysum::Error>>(
            text: Option<&String>,
            otherwise: T,
        ) -> Result<T> {
            text.map_or(Ok(otherwise), |text| text.parse())
        }
        let mut config = Config::preset(&self.model)?;
        config.kernel = read::<SubKernel>(self.kernel.as_ref(), config.kernel)?;
        config.degrees = read(self.degrees.as_ref(), config.degrees)?;
        config.directions = read::<Directions>(self.directions.as_ref(), config.directions)?;
        config.ard = self.ard.unwrap_or(config.ard);
        config.learn_weights = self.learn_weights.unwrap_or(config.learn_weights);
        config.learn_directions = self.learn_directions.unwrap_or(config.learn_directions);
        config.shrinkage = self.shrinkage.parse()?;
        config.engine = read::<EngineChoice>(self.engine.as_ref(), config.engine)?;
        let ski = SkiOptions::default();
        config.ski = SkiOptions {
            grid: self.ski.grid.or(ski.grid),
            probes: self.ski.probes.unwrap_or(ski.probes),
            tolerance: self.ski.cg_tolerance.unwrap_or(ski.tolerance),
            iterations: self.ski.cg_iterations.unwrap_or(ski.iterations),
            exact_variance: self.ski.exact_variance.unwrap_or(ski.exact_variance),
        };
        config.optimizer = self.optimizer.parse::<Optimizer>()?;
        config.subset = self.subset;
        config.max_evaluations = self.max_evaluations;
        config.starts = self.starts;
        config.noise_bounds = self.noise_bounds;
        config.seed = self.seed;
        config.check()?;
        config.check_ard(self.ard)?;
        Ok(config)
    }
}

/// The names that a setting can have, for each setting that has names.
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
        ("optimizer", firsts(&Optimizer::ALL)),
    ])
}

/// The configuration of a preset, as JSON.
#[pyfunction]
pub(crate) fn preset(name: &str) -> PyResult<String> {
    let config = Config::preset(name).map_err(to_python)?;
    Ok(json!(config).to_string())
}
