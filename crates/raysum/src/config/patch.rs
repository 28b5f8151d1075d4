//! A configuration as users write it: a preset by name, and changes to it.

use super::presets::kernel_and_degrees;
use super::{
    ColumnsScale, Config, Degrees, EngineChoice, LengthScalePrior, LengthScales, Noise, Optimizer,
    Shrinkage, TargetScale,
};
use crate::engine::neighbors::{self, NeighborsOptions};
use crate::engine::ski::{self, SkiOptions};
use crate::error::{Error, Result, TermError};
use crate::kernel::{Shape, SubKernel};
use crate::project::Directions;

/// Changes to a preset; `None` keeps what the preset has. The command line and Python both fill one,
/// so that a setting means the same in both.
///
/// ```
/// use raysum::settings::ConfigPatch;
/// let patch = ConfigPatch { seed: Some(7), ..ConfigPatch::default() };
/// assert_eq!(patch.resolve("gam")?.seed, 7);
/// # Ok::<(), raysum::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigPatch {
    /// See [`Term::kernel`](super::Term::kernel).
    pub kernel: Option<SubKernel>,
    /// See [`Term::degrees`](super::Term::degrees).
    pub degrees: Option<Degrees>,
    /// See [`Term::directions`](super::Term::directions).
    pub directions: Option<Directions>,
    /// Whether there is a length-scale per column, or one per row of every projection.
    pub ard: Option<bool>,
    /// See [`Term::learn_weights`](super::Term::learn_weights).
    pub learn_weights: Option<bool>,
    /// Whether the directions are learned too, from those chosen.
    pub learn_directions: Option<bool>,
    /// See [`Config::prior`].
    pub prior: Option<LengthScalePrior>,
    /// See [`Config::columns_scale`].
    pub columns_scale: Option<ColumnsScale>,
    /// See [`Config::target_scale`].
    pub target_scale: Option<TargetScale>,
    /// See [`Config::noise`].
    pub noise: Option<Noise>,
    /// See [`Config::shrinkage`].
    pub shrinkage: Option<Shrinkage>,
    /// See [`Config::engine`].
    pub engine: Option<EngineChoice>,
    /// See [`SkiOptions::grid`].
    pub grid: Option<usize>,
    /// See [`SkiOptions::probes`].
    pub probes: Option<usize>,
    /// See [`SkiOptions::tolerance`].
    pub cg_tolerance: Option<f64>,
    /// See [`SkiOptions::iterations`].
    pub cg_iterations: Option<usize>,
    /// See [`SkiOptions::exact_variance`].
    pub exact_variance: Option<bool>,
    /// See [`NeighborsOptions::neighbors`].
    pub neighbors: Option<usize>,
    /// See [`NeighborsOptions::prediction_neighbors`].
    pub prediction_neighbors: Option<usize>,
    /// See [`Config::optimizer`].
    pub optimizer: Option<Optimizer>,
    /// See [`Config::subset`].
    pub subset: Option<usize>,
    /// See [`Config::max_evaluations`].
    pub max_evaluations: Option<usize>,
    /// See [`Config::starts`].
    pub starts: Option<u32>,
    /// See [`Config::noise_bounds`].
    pub noise_bounds: Option<(f64, f64)>,
    /// See [`Config::seed`].
    pub seed: Option<u64>,
}

impl ConfigPatch {
    /// The name of the first setting that is changed, if any is.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("kernel", self.kernel.is_some()),
            ("degrees", self.degrees.is_some()),
            ("directions", self.directions.is_some()),
            ("ard", self.ard.is_some()),
            ("learn_weights", self.learn_weights.is_some()),
            ("learn_directions", self.learn_directions.is_some()),
            ("length_scale_prior", self.prior.is_some()),
            ("columns_scale", self.columns_scale.is_some()),
            ("target_scale", self.target_scale.is_some()),
            ("noise", self.noise.is_some()),
            ("shrinkage", self.shrinkage.is_some()),
            ("engine", self.engine.is_some()),
            ("grid", self.grid.is_some()),
            ("probes", self.probes.is_some()),
            ("cg_tolerance", self.cg_tolerance.is_some()),
            ("cg_iterations", self.cg_iterations.is_some()),
            ("exact_variance", self.exact_variance.is_some()),
            ("neighbors", self.neighbors.is_some()),
            ("prediction_neighbors", self.prediction_neighbors.is_some()),
            ("optimizer", self.optimizer.is_some()),
            ("subset", self.subset.is_some()),
            ("max_evaluations", self.max_evaluations.is_some()),
            ("starts", self.starts.is_some()),
            ("noise_bounds", self.noise_bounds.is_some()),
            ("seed", self.seed.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }

    /// The preset with the changes. Fails on settings that no data could be fitted with, and on those
    /// that would have no effect.
    pub fn resolve(&self, preset: &str) -> Result<Config> {
        let name = preset;
        let mut preset = Config::preset(name)?;
        self.change_term(&mut preset)?;
        let scales = preset.terms.iter().any(|t| t.length_scales != LengthScales::Fixed);
        let of_scales =
            self.prior.is_some() || self.shrinkage.is_some_and(|s| s != Shrinkage::Auto);
        if of_scales && !scales {
            return Err(TermError::NothingToChange.into());
        }
        let (kernel, degrees) = kernel_and_degrees(name);
        let twice = [
            (kernel && self.kernel.is_some(), "two kernels"),
            (degrees && self.degrees.is_some(), "degrees twice"),
        ];
        if let Some((_, what)) = twice.into_iter().find(|(twice, _)| *twice) {
            return Err(TermError::Twice { term: name.into(), what }.into());
        }
        let config = Config {
            terms: preset.terms,
            prior: self.prior.unwrap_or(preset.prior),
            columns_scale: self.columns_scale.unwrap_or(preset.columns_scale),
            target_scale: self.target_scale.unwrap_or(preset.target_scale),
            noise: self.noise.unwrap_or(preset.noise),
            shrinkage: self.shrinkage.unwrap_or(preset.shrinkage),
            engine: self.engine.unwrap_or(preset.engine),
            ski: SkiOptions {
                grid: self.grid.or(preset.ski.grid),
                probes: self.probes.unwrap_or(preset.ski.probes),
                tolerance: self.cg_tolerance.unwrap_or(preset.ski.tolerance),
                iterations: self.cg_iterations.unwrap_or(preset.ski.iterations),
                exact_variance: self.exact_variance.unwrap_or(preset.ski.exact_variance),
            },
            neighbors: NeighborsOptions {
                neighbors: self.neighbors.unwrap_or(preset.neighbors.neighbors),
                prediction_neighbors: self
                    .prediction_neighbors
                    .unwrap_or(preset.neighbors.prediction_neighbors),
            },
            optimizer: self.optimizer.unwrap_or(preset.optimizer),
            subset: self.subset.or(preset.subset),
            max_evaluations: self.max_evaluations.or(preset.max_evaluations),
            starts: self.starts.unwrap_or(preset.starts),
            noise_bounds: self.noise_bounds.unwrap_or(preset.noise_bounds),
            seed: self.seed.unwrap_or(preset.seed),
        };
        if let (Some(setting), true) = (self.ski_setting(), config.engine != EngineChoice::Ski) {
            return Err(Error::EngineSetting { setting, engine: ski::NAME });
        }
        let chosen = matches!(config.engine, EngineChoice::Auto | EngineChoice::Neighbors);
        if let (Some(setting), false) = (self.neighbors_setting(), chosen) {
            return Err(Error::EngineSetting { setting, engine: neighbors::NAME });
        }
        config.check()?;
        Ok(config)
    }

    /// Changes what belongs to one term; a sum has several, for which of them would be meant?
    fn change_term(&self, config: &mut Config) -> Result<()> {
        let changes = [
            self.kernel.is_some(),
            self.degrees.is_some(),
            self.directions.is_some(),
            self.ard.is_some(),
            self.learn_weights.is_some(),
            self.learn_directions.is_some(),
        ];
        if !changes.contains(&true) {
            return Ok(());
        }
        let [term] = config.terms.as_mut_slice() else { return Err(TermError::SumOfTerms.into()) };
        if term.kernel == Shape::Linear {
            return Err(TermError::NothingToChange.into());
        }
        term.kernel = self.kernel.map_or(term.kernel, Shape::Stationary);
        term.degrees = self.degrees.clone().unwrap_or_else(|| term.degrees.clone());
        term.directions = self.directions.unwrap_or(term.directions);
        term.learn_weights = self.learn_weights.unwrap_or(term.learn_weights);
        *term = term.with_scales(self.ard, self.learn_directions)?;
        Ok(())
    }

    /// The first change to what only the neighbors engine has.
    fn neighbors_setting(&self) -> Option<&'static str> {
        let given = [
            ("neighbors", self.neighbors.is_some()),
            ("prediction_neighbors", self.prediction_neighbors.is_some()),
        ];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }

    /// The first change to what only the SKI engine has.
    fn ski_setting(&self) -> Option<&'static str> {
        let given = [
            ("grid", self.grid.is_some()),
            ("probes", self.probes.is_some()),
            ("cg_tolerance", self.cg_tolerance.is_some()),
            ("cg_iterations", self.cg_iterations.is_some()),
            ("exact_variance", self.exact_variance.is_some()),
        ];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_scales_per_column_cannot_be_declined_along_the_axes() {
        let declined = ConfigPatch { ard: Some(false), ..ConfigPatch::default() };
        for name in ["rbf-ard", "imq-ard", "gam"] {
            let found = declined.resolve(name);
            assert!(matches!(found, Err(Error::Terms(TermError::ArdAlongAxes))), "{name}");
            ConfigPatch { ard: Some(true), ..ConfigPatch::default() }.resolve(name).unwrap();
            ConfigPatch { learn_directions: Some(true), ..declined.clone() }.resolve(name).unwrap();
        }
        for name in ["dpa-ard", "rpa-ard", "dpa", "ppr"] {
            declined.resolve(name).unwrap();
        }
        // Those that a preset leaves out are not declined.
        let axes = ConfigPatch { directions: Some(Directions::Axes), ..ConfigPatch::default() };
        axes.resolve("dpa").unwrap();
    }

    #[test]
    fn what_length_scales_have_needs_length_scales() {
        let prior = Some(LengthScalePrior::Flat);
        let patch = ConfigPatch { prior, ..ConfigPatch::default() };
        let narrow =
            ConfigPatch { shrinkage: Some(Shrinkage::Width(1.0)), ..ConfigPatch::default() };
        for patch in [patch, narrow] {
            let found = patch.resolve("linear");
            assert!(matches!(found, Err(Error::Terms(TermError::NothingToChange))));
            patch.resolve("linear+gam").unwrap();
        }
        let usual = ConfigPatch { shrinkage: Some(Shrinkage::Auto), ..ConfigPatch::default() };
        usual.resolve("linear").unwrap();
    }

    #[test]
    fn settings_of_the_ski_engine_need_that_engine() {
        let patch = ConfigPatch { exact_variance: Some(true), ..ConfigPatch::default() };
        let e = patch.resolve("rpa-1").unwrap_err().to_string();
        assert_eq!(
            e,
            "exact_variance is a setting of the ski engine, which is not the engine chosen"
        );
        assert!(patch.resolve("rpa-1-ski").unwrap().ski.exact_variance);
        let ski = ConfigPatch { engine: Some(EngineChoice::Ski), ..patch };
        assert!(ski.resolve("rpa-1").unwrap().ski.exact_variance);
    }
}
