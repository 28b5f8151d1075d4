//! What to fit, and how: one free configuration.

mod degrees;
mod patch;
mod presets;
mod shrinkage;

pub use degrees::Degrees;
pub use patch::ConfigPatch;
pub use shrinkage::Shrinkage;

use crate::engine::ski::SkiOptions;
use crate::error::{Error, Result};
use crate::kernel::SubKernel;
use crate::limits::MIN_SUBSET_ROWS;
use crate::named;
use crate::project::Directions;
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

/// Which engine does the algebra. The first three give the same results; the costs differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineChoice {
    /// The cheaper one, decided anew at every step.
    Auto,
    /// Cost grows with the cube of the number of rows; takes any kernel.
    Dense,
    /// Cost grows linearly with the number of rows; for sums of one-dimensional kernels.
    Weight,
    /// Structured kernel interpolation, as in the paper: linear in the rows too, for kernels of any
    /// roughness, with likelihoods that are estimated.
    Ski,
}

impl EngineChoice {
    /// Every choice with its name.
    pub const ALL: [(&'static str, EngineChoice); 4] = [
        ("auto", EngineChoice::Auto),
        ("dense", EngineChoice::Dense),
        ("weight", EngineChoice::Weight),
        ("ski", EngineChoice::Ski),
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
/// use raysum::{Config, SubKernel};
/// let mut config = Config::preset("rpa-1")?;
/// config.kernel = SubKernel::Matern52;
/// assert!(config.learn_weights && !config.ard);
/// # Ok::<(), raysum::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Config {
    /// The sub-kernel κ.
    pub kernel: SubKernel,
    /// How many sub-kernels there are, and of which degree.
    pub degrees: Degrees,
    /// How their projections are chosen.
    pub directions: Directions,
    /// Whether one length-scale per column is learned and applied before the projection. If not,
    /// one per row of every projection is learned instead: along the axes that is the same.
    pub ard: bool,
    /// Whether the weight α_j of every sub-kernel is learned; if not, it is 1/J.
    pub learn_weights: bool,
    /// Whether the directions are learned too, from those chosen. Their lengths take the place of
    /// length-scales, so `ard` must be off. L-BFGS learns them, whatever `optimizer` finds the
    /// model that they start from.
    #[serde(default)]
    pub learn_directions: bool,
    /// How length-scales are kept from following noise.
    #[serde(default = "no_shrinkage")]
    pub shrinkage: Shrinkage,
    /// Which engine does the algebra.
    pub engine: EngineChoice,
    /// How the SKI engine works, where that is the engine.
    #[serde(default)]
    pub ski: SkiOptions,
    /// How hyperparameters are searched.
    pub optimizer: Optimizer,
    /// Search on this many random rows only; the posterior is still of all rows. `None` lets the
    /// number of rows decide: above 2,000 the search starts on half of them, at most 2,000, and
    /// finishes on all.
    pub subset: Option<usize>,
    /// Most evaluations per start; `None` for the optimiser's own (200, 1000 for Adam, 800 for
    /// learned directions).
    pub max_evaluations: Option<usize>,
    /// Number of starting points; the best marginal likelihood wins.
    pub starts: u32,
    /// Noise variance (of the standardised target): never below the first, and above the second
    /// only against the smoothed box prior.
    pub noise_bounds: (f64, f64),
    /// The seed of directions and starting points.
    pub seed: u64,
}

/// Models that were saved before there was shrinkage had none.
fn no_shrinkage() -> Shrinkage {
    Shrinkage::None
}

impl Config {
    /// Fails on settings that no data could be fitted with.
    pub fn check(&self) -> Result<()> {
        Self::check_noise_bounds(self.noise_bounds)?;
        if self.learn_directions && self.ard {
            return Err(Error::TwoScales);
        }
        if self.starts == 0 {
            let rule = "1 or more".into();
            return Err(Error::OutOfRange { name: "starts", value: 0.0, rule });
        }
        if let Some(rows) = self.subset.filter(|rows| *rows < MIN_SUBSET_ROWS) {
            let rule = format!("{MIN_SUBSET_ROWS} rows or more").into();
            return Err(Error::OutOfRange { name: "the subset", value: rows as f64, rule });
        }
        self.ski.check()?;
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
        let e = Config { learn_directions: true, ..Config::default() }.check().unwrap_err();
        assert!(e.to_string().starts_with("learned directions have lengths of their own"), "{e}");
    }
}
