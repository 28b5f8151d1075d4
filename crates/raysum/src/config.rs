//! What to fit: one free configuration, and the paper's models as named presets over it.

use crate::engine::ski::SkiOptions;
use crate::error::{Error, Result};
use crate::kernel::SubKernel;
use crate::named;
use crate::project::Directions;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A number, or the number of columns of X.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    Number(usize),
    Columns,
}

impl Count {
    fn resolve(self, columns: usize) -> usize {
        match self {
            Count::Number(n) => n,
            Count::Columns => columns,
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Count::Number(n) => write!(f, "{n}"),
            Count::Columns => write!(f, "d"),
        }
    }
}

/// The degrees of the sub-kernels, as `J x D` groups: `20x1`, `4x1,4x2,4x3`; `d` stands for the
/// number of columns: `dx1` is one sub-kernel per column, `1xd` one over all of them.
///
/// ```
/// use raysum::Degrees;
/// let degrees: Degrees = "2x1,1xd".parse()?;
/// assert_eq!(degrees.resolve(5), [1, 1, 5]);
/// # Ok::<(), raysum::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Degrees(Vec<(Count, Count)>);

impl Degrees {
    /// `j` one-dimensional sub-kernels.
    pub fn ones(j: usize) -> Self {
        Self(vec![(Count::Number(j), Count::Number(1))])
    }

    /// The degree of each sub-kernel for data with this many columns.
    pub fn resolve(&self, columns: usize) -> Vec<usize> {
        let groups = self.0.iter().map(|(j, d)| (j.resolve(columns), d.resolve(columns)));
        groups.flat_map(|(j, d)| std::iter::repeat_n(d, j)).collect()
    }
}

impl FromStr for Degrees {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        // A model of a million sub-kernels is a typing error; refuse it before it fills memory.
        const MOST: usize = 1_000_000;
        let count = |part: &str| match part.trim() {
            "d" => Some(Count::Columns),
            number => number.parse().ok().filter(|n| (1..=MOST).contains(n)).map(Count::Number),
        };
        let group = |part: &str| {
            let (j, d) = part.split_once('x')?;
            let (j, d) = (count(j)?, count(d)?);
            (j.resolve(1) * d.resolve(1) <= MOST).then_some((j, d))
        };
        let groups: Option<Vec<_>> = text.split(',').map(group).collect();
        groups.map(Self).ok_or_else(|| Error::Degrees { text: text.into() })
    }
}

impl fmt::Display for Degrees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups: Vec<_> = self.0.iter().map(|(j, d)| format!("{j}x{d}")).collect();
        f.write_str(&groups.join(","))
    }
}

impl TryFrom<String> for Degrees {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Degrees> for String {
    fn from(degrees: Degrees) -> String {
        degrees.to_string()
    }
}

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
/// let config = Config { kernel: SubKernel::Matern52, ..Config::preset("rpa-1")? };
/// assert!(config.learn_weights && !config.ard);
/// # Ok::<(), raysum::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

    /// The same by the paper's own scalable inference.
    const fn ski(self, name: &'static str, about: &'static str) -> Self {
        Self { name, engine: EngineChoice::Ski, about, ..self }
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
        "20x1",
        Diverse,
        Ard,
        "20 diverse directions, a length-scale per column",
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

    /// The presets with a few words on each.
    pub fn presets() -> impl Iterator<Item = (&'static str, &'static str)> {
        PRESETS.iter().map(|p| (p.name, p.about))
    }

    /// Fails on settings that no data could be fitted with.
    pub fn check(&self) -> Result<()> {
        let (low, high) = self.noise_bounds;
        if !(low > 0.0 && low.is_finite()) {
            let rule = "above 0";
            return Err(Error::OutOfRange { name: "the lower noise bound", value: low, rule });
        }
        if !(high > low && high.is_finite()) {
            let rule = "finite and above the lower one";
            return Err(Error::OutOfRange { name: "the upper noise bound", value: high, rule });
        }
        if self.learn_directions && self.ard {
            return Err(Error::TwoScales);
        }
        if self.starts == 0 {
            return Err(Error::OutOfRange { name: "starts", value: 0.0, rule: "1 or more" });
        }
        if let Some(rows @ 0..=1) = self.subset {
            let rule = "2 rows or more";
            return Err(Error::OutOfRange { name: "the subset", value: rows as f64, rule });
        }
        self.ski.check()?;
        if self.max_evaluations == Some(0) {
            let rule = "1 or more";
            return Err(Error::OutOfRange { name: "the limit of evaluations", value: 0.0, rule });
        }
        Ok(())
    }

    /// Fails if a user asks for [`Config::ard`] to be off where that changes nothing: along the
    /// axes, unless directions are learned from there.
    pub fn check_ard(&self, asked: Option<bool>) -> Result<()> {
        let along_axes = self.directions == Directions::Axes && !self.learn_directions;
        if asked == Some(false) && along_axes { Err(Error::ArdAlongAxes) } else { Ok(()) }
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

    #[test]
    fn degrees_read_back_as_written() {
        for text in ["20x1", "dx1", "1xd", "4x1,4x2,4x3", "dxd"] {
            let degrees: Degrees = text.parse().unwrap();
            assert_eq!(degrees.to_string(), text);
        }
        for text in
            ["", "20", "x", "0x1", "1x0", "1x1,", "-1x1", "99999999x1", "999999x999999", "2X1"]
        {
            assert!(text.parse::<Degrees>().is_err(), "{text}");
        }
        assert_eq!("2x1,1x3".parse::<Degrees>().unwrap().resolve(9), [1, 1, 3]);
    }

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
