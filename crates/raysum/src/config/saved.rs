//! Configurations as model files have them, those of earlier versions included.

use super::{
    ColumnsScale, Config, Degrees, EngineChoice, LengthScalePrior, LengthScales, Noise, Optimizer,
    Shrinkage, TargetScale, Term,
};
use crate::engine::neighbors::NeighborsOptions;
use crate::engine::ski::SkiOptions;
use crate::kernel::{Shape, SubKernel};
use crate::project::Directions;
use serde::Deserialize;

/// Files of format 2 and 3 have the settings of their only term where later ones have `terms`.
#[derive(Deserialize)]
#[serde(untagged)]
enum SavedTerms {
    Several { terms: Vec<Term> },
    One(Box<OnlyTerm>),
}

#[derive(Deserialize)]
struct OnlyTerm {
    kernel: SubKernel,
    degrees: Degrees,
    directions: Directions,
    ard: bool,
    learn_weights: bool,
    #[serde(default)]
    learn_directions: bool,
}

#[derive(Deserialize)]
pub(super) struct SavedConfig {
    #[serde(flatten)]
    terms: SavedTerms,
    #[serde(default)]
    prior: LengthScalePrior,
    #[serde(default)]
    columns_scale: ColumnsScale,
    #[serde(default)]
    target_scale: TargetScale,
    #[serde(default)]
    noise: Noise,
    #[serde(default = "no_shrinkage")]
    shrinkage: Shrinkage,
    engine: EngineChoice,
    #[serde(default)]
    ski: SkiOptions,
    #[serde(default)]
    neighbors: NeighborsOptions,
    optimizer: Optimizer,
    subset: Option<usize>,
    max_evaluations: Option<usize>,
    starts: u32,
    noise_bounds: (f64, f64),
    seed: u64,
}

/// Models that were saved before there was shrinkage had none.
fn no_shrinkage() -> Shrinkage {
    Shrinkage::None
}

impl From<OnlyTerm> for Term {
    fn from(only: OnlyTerm) -> Self {
        let length_scales = match (only.learn_directions, only.ard) {
            (true, _) => LengthScales::Directions,
            (false, true) => LengthScales::Columns,
            (false, false) => LengthScales::Projections,
        };
        let OnlyTerm { kernel, degrees, directions, learn_weights, .. } = only;
        let kernel = Shape::Stationary(kernel);
        Term { kernel, degrees, directions, length_scales, learn_weights }
    }
}

impl From<SavedConfig> for Config {
    fn from(saved: SavedConfig) -> Self {
        let terms = match saved.terms {
            SavedTerms::Several { terms } => terms,
            SavedTerms::One(only) => vec![(*only).into()],
        };
        let SavedConfig {
            prior,
            columns_scale,
            target_scale,
            noise,
            shrinkage,
            engine,
            ski,
            neighbors,
            optimizer,
            ..
        } = saved;
        let SavedConfig { subset, max_evaluations, starts, noise_bounds, seed, .. } = saved;
        Self {
            terms,
            prior,
            columns_scale,
            target_scale,
            noise,
            shrinkage,
            engine,
            ski,
            neighbors,
            optimizer,
            subset,
            max_evaluations,
            starts,
            noise_bounds,
            seed,
        }
    }
}
