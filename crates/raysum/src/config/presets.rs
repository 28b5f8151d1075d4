//! The paper's models and their relatives, as named presets over the configuration.

use super::{Config, Degrees, EngineChoice, Optimizer, Shrinkage};
use crate::engine::ski::SkiOptions;
use crate::error::Result;
use crate::kernel::SubKernel;
use crate::named;
use crate::project::Directions;

/// What is learned beside one scale and the noise.
#[derive(Clone, Copy)]
enum Learned {
    /// A length-scale per column.
    Ard,
    /// A length-scale and a weight per sub-kernel.
    Weights,
    /// Weights, and the directions.
    Directions,
}

/// A model with a name.
#[derive(Clone, Copy)]
struct Preset {
    name: &'static str,
    kernel: SubKernel,
    degrees: &'static str,
    directions: Directions,
    learned: Learned,
    engine: EngineChoice,
    about: &'static str,
}

impl Preset {
    const fn new(
        name: &'static str,
        degrees: &'static str,
        directions: Directions,
        learned: Learned,
        about: &'static str,
    ) -> Self {
        let (kernel, engine) = (SubKernel::Rbf, EngineChoice::Auto);
        Self { name, kernel, degrees, directions, learned, engine, about }
    }

    /// The same by the paper's own scalable inference, along the paper's 20 directions.
    const fn ski(self, name: &'static str, about: &'static str) -> Self {
        Self { name, degrees: "20x1", engine: EngineChoice::Ski, about, ..self }
    }

    const fn with(self, kernel: SubKernel) -> Self {
        Self { kernel, ..self }
    }
}

const PRESETS: [Preset; 13] = {
    use Directions::{Axes, Diverse, Gaussian};
    use Learned::{Ard, Weights};
    let dpa_ard = Preset::new(
        "dpa-ard",
        "20..100x1",
        Diverse,
        Ard,
        "20 to 100 diverse directions, one per column, and a length-scale per column",
    );
    let rpa_1 = Preset::new(
        "rpa-1",
        "20x1",
        Gaussian,
        Weights,
        "20 random directions, each with its own length-scale",
    );
    [
        dpa_ard,
        Preset::new(
            "ppr",
            "20x1",
            Diverse,
            Learned::Directions,
            "20 learned directions, started from those of dpa-ard",
        ),
        Preset::new(
            "rpa-ard",
            "20x1",
            Gaussian,
            Ard,
            "20 random directions, a length-scale per column",
        ),
        Preset::new(
            "dpa",
            "20x1",
            Diverse,
            Weights,
            "20 diverse directions, each with its own length-scale",
        ),
        rpa_1,
        Preset::new(
            "rpa-2",
            "4x1,4x2,4x3",
            Gaussian,
            Weights,
            "random projections to 1, 2 and 3 dimensions",
        ),
        Preset::new(
            "rpa-3",
            "3x1,3x2,3x3,2x4,2x5,1x6",
            Gaussian,
            Weights,
            "random projections to 1 to 6 dimensions",
        ),
        Preset::new("single-rp", "1x1", Gaussian, Weights, "one random direction (a baseline)"),
        Preset::new("gam", "dx1", Axes, Ard, "one function per column"),
        Preset::new(
            "rbf-ard",
            "1xd",
            Axes,
            Ard,
            "the usual Gaussian process, all columns in one kernel",
        ),
        Preset::new("imq-ard", "1xd", Axes, Ard, "the limit of rpa-ard with ever more directions")
            .with(SubKernel::Imq),
        dpa_ard.ski("dpa-ard-ski", "dpa-ard by the paper's own inference (--engine ski)"),
        rpa_1.ski("rpa-1-ski", "rpa-1 by the paper's own inference (--engine ski)"),
    ]
};

impl Config {
    /// The configuration with this name.
    pub fn preset(name: &str) -> Result<Self> {
        let all = PRESETS.map(|p| (p.name, p));
        let Preset { kernel, degrees, directions, learned, engine, .. } =
            named::find("model", &all, name)?;
        Ok(Self {
            kernel,
            degrees: degrees.parse()?,
            directions,
            ard: matches!(learned, Learned::Ard),
            learn_weights: !matches!(learned, Learned::Ard),
            learn_directions: matches!(learned, Learned::Directions),
            shrinkage: Shrinkage::Auto,
            engine,
            ski: SkiOptions::default(),
            optimizer: Optimizer::Lbfgs,
            subset: None,
            max_evaluations: None,
            starts: 1,
            noise_bounds: (1e-4, 10.0),
            seed: 0,
        })
    }

    /// The paper's own form of a preset: no shrinkage, and 20 directions whatever the columns.
    pub fn paper(name: &str) -> Result<Self> {
        let preset = Self::preset(name)?;
        let degrees = match name {
            "dpa-ard" => Degrees::ones(20),
            _ => preset.degrees,
        };
        Ok(Self { degrees, shrinkage: Shrinkage::None, ..preset })
    }

    /// The presets with a few words on each.
    pub fn presets() -> impl Iterator<Item = (&'static str, &'static str)> {
        PRESETS.iter().map(|p| (p.name, p.about))
    }
}

impl Default for Config {
    fn default() -> Self {
        // The default's name is in the table above, which a test checks.
        Self::preset("dpa-ard").expect("dpa-ard is a preset")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_readable() {
        let names: Vec<_> = Config::presets().map(|p| p.0).collect();
        for name in
            "rbf-ard imq-ard gam single-rp rpa-1 rpa-2 rpa-3 dpa rpa-ard dpa-ard ppr rpa-1-ski \
             dpa-ard-ski"
                .split_whitespace()
        {
            assert!(names.contains(&name));
            Config::preset(name).unwrap().check().unwrap();
        }
        assert_eq!(Config::default(), Config::preset("dpa-ard").unwrap());
        let e = Config::preset("svm").unwrap_err().to_string();
        assert!(e.starts_with("unknown model 'svm'; known are: dpa-ard, "), "{e}");
    }
}
