//! The configuration of a model and its fit.

mod degrees;
mod noise;
mod patch;
mod presets;
mod saved;
mod scales;
mod shrinkage;
mod term;

pub use degrees::Degrees;
pub use noise::Noise;
pub use patch::ConfigPatch;
pub use scales::{ColumnsScale, TargetScale};
pub use shrinkage::Shrinkage;
pub use term::{LengthScalePrior, LengthScales, Term};

use crate::engine::neighbors::NeighborsOptions;
use crate::engine::ski::SkiOptions;
use crate::error::{Error, Result, TermError};
use crate::limits::MIN_SUBSET_ROWS;
use crate::named;
use saved::SavedConfig;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// How hyperparameters are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Optimizer {
    /// L-BFGS, about 50 evaluations.
    Lbfgs,
    /// Adam with the paper's recipe, up to 1000 iterations.
    Adam,
}

impl Optimizer {
    /// Every optimiser with its name.
    pub const ALL: [(&'static str, Optimizer); 2] =
        [("lbfgs", Optimizer::Lbfgs), ("adam", Optimizer::Adam)];
}

impl FromStr for Optimizer {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        named::find("optimizer", &Self::ALL, name)
    }
}

/// Inference engine. Dense and weight space give the same results at different costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineChoice {
    /// The cheaper of dense and weight space, chosen at every step; neighbours where the rows are
    /// many and the kernel has no form in weight space.
    Auto,
    /// Cost grows with the cube of the number of rows; takes any kernel.
    Dense,
    /// Cost grows linearly with the number of rows; for sums of one-dimensional kernels.
    Weight,
    /// Structured kernel interpolation, as in the paper: linear in the rows too, for kernels of any
    /// roughness, with likelihoods that are estimated.
    Ski,
    /// Conditions each row on its nearest neighbours: linear in the rows, for any kernel, close to
    /// the exact results.
    Neighbors,
}

impl EngineChoice {
    /// Every choice with its name.
    pub const ALL: [(&'static str, EngineChoice); 5] = [
        ("auto", EngineChoice::Auto),
        ("dense", EngineChoice::Dense),
        ("weight", EngineChoice::Weight),
        ("ski", EngineChoice::Ski),
        ("neighbors", EngineChoice::Neighbors),
    ];
}

impl FromStr for EngineChoice {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        named::find("engine", &Self::ALL, name)
    }
}

/// What to fit and how. The default is the preset `dpa-ard`.
///
/// ```
/// use raysum::settings::Shrinkage;
/// use raysum::Config;
/// let mut config = Config::preset("linear+rpa-1:matern52")?;
/// config.shrinkage = Shrinkage::None;
/// assert!(!config.terms[0].learn_weights && config.terms[1].learn_weights);
/// # Ok::<(), raysum::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "SavedConfig")]
#[non_exhaustive]
pub struct Config {
    /// The terms that are added up, each with a variance of its own. L-BFGS learns directions,
    /// whatever `optimizer` finds the model that they start from.
    pub terms: Vec<Term>,
    /// The prior of length-scales.
    pub prior: LengthScalePrior,
    /// How columns are scaled.
    pub columns_scale: ColumnsScale,
    /// How targets are scaled.
    pub target_scale: TargetScale,
    /// What the noise depends on.
    pub noise: Noise,
    /// Shrinkage of length-scales.
    pub shrinkage: Shrinkage,
    /// Inference engine.
    pub engine: EngineChoice,
    /// Settings of the SKI engine.
    pub ski: SkiOptions,
    /// Settings of the neighbors engine.
    pub neighbors: NeighborsOptions,
    /// How hyperparameters are searched.
    pub optimizer: Optimizer,
    /// Search on this many random rows only; the posterior is still of all rows. `None` lets the
    /// number of rows decide: above 2,000 the search starts on half of them, at most 2,000, and
    /// finishes on all.
    pub subset: Option<usize>,
    /// Maximum number of evaluations per start; `None` for the default (200, 1000 for Adam, 800 for
    /// learned directions).
    pub max_evaluations: Option<usize>,
    /// Number of starting points; the one with the best marginal likelihood is kept.
    pub starts: u32,
    /// Noise variance (of the standardised target): never below the first, and above the second
    /// only against the smoothed box prior.
    pub noise_bounds: (f64, f64),
    /// The seed of directions and starting points.
    pub seed: u64,
}

impl Config {
    /// Fails on invalid settings.
    pub fn check(&self) -> Result<()> {
        Self::check_noise_bounds(self.noise_bounds)?;
        if self.terms.is_empty() {
            return Err(TermError::NoTerms.into());
        }
        self.terms.iter().try_for_each(Term::check)?;
        if self.starts == 0 {
            let rule = "1 or more".into();
            return Err(Error::OutOfRange { name: "starts", value: 0.0, rule });
        }
        if let Some(rows) = self.subset.filter(|rows| *rows < MIN_SUBSET_ROWS) {
            let rule = format!("{MIN_SUBSET_ROWS} rows or more").into();
            return Err(Error::OutOfRange { name: "the subset", value: rows as f64, rule });
        }
        self.ski.check()?;
        self.neighbors.check()?;
        if self.max_evaluations == Some(0) {
            let rule = "1 or more".into();
            return Err(Error::OutOfRange { name: "the limit of evaluations", value: 0.0, rule });
        }
        Ok(())
    }

    /// Fails unless these can be [`Config::noise_bounds`].
    pub fn check_noise_bounds((low, high): (f64, f64)) -> Result<()> {
        if !(low > 0.0 && low.is_finite()) {
            let rule = "above 0".into();
            return Err(Error::OutOfRange { name: "the lower noise bound", value: low, rule });
        }
        if !(high > low && high.is_finite()) {
            let rule = "finite and above the lower one".into();
            return Err(Error::OutOfRange { name: "the upper noise bound", value: high, rule });
        }
        Ok(())
    }

    /// Whether the directions of some term are learned.
    pub fn learns_directions(&self) -> bool {
        self.terms.iter().any(Term::learns_directions)
    }

    /// The model that learned directions start from.
    pub(crate) fn plain(&self) -> Self {
        Self { terms: self.terms.iter().map(Term::plain).collect(), ..self.clone() }
    }

    /// The configuration after a change to each of its terms.
    ///
    /// ```
    /// use raysum::settings::Degrees;
    /// use raysum::Config;
    /// let config = Config::preset("rpa-1")?.with_terms(|term| term.degrees = Degrees::ones(5));
    /// assert_eq!(config.terms[0].degrees.to_string(), "5x1");
    /// # Ok::<(), raysum::Error>(())
    /// ```
    #[must_use]
    pub fn with_terms(mut self, change: impl FnMut(&mut Term)) -> Self {
        self.terms.iter_mut().for_each(change);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_settings_are_refused() {
        let bad = |noise_bounds| Config { noise_bounds, ..Config::default() }.check().is_err();
        assert!(
            bad((0.0, 1.0))
                && bad((1.0, 0.5))
                && bad((f64::NAN, 1.0))
                && bad((1e-4, f64::INFINITY))
        );
        assert!(Config { starts: 0, ..Config::default() }.check().is_err());
        assert!(Config { terms: Vec::new(), ..Config::default() }.check().is_err());
        let mut config = Config::default();
        config.terms[0].length_scales = LengthScales::Fixed;
        assert!(matches!(config.check(), Err(Error::Terms(TermError::FixedScales))));
    }
}
