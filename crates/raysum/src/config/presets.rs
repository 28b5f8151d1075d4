//! The paper's models and their relatives as named terms, and sums of them.

use super::{
    ColumnsScale, Config, Degrees, EngineChoice, LengthScalePrior, LengthScales, Noise, Optimizer,
    Shrinkage, TargetScale, Term,
};
use crate::engine::neighbors::NeighborsOptions;
use crate::engine::ski::SkiOptions;
use crate::error::{Result, TermError};
use crate::kernel::{Shape, SubKernel};
use crate::named;
use crate::project::Directions;

/// The lower bound of the noise variance of the paper's models, relative to the target's variance, and
/// that of others: targets without noise, such as the result of a computation, are predicted far
/// better below the paper's bound.
const PAPER_NOISE: f64 = 1e-4;
const LEAST_NOISE: f64 = 1e-7;

/// The directions of `dpa-ard` as a term of a sum. Other terms have the straight lines and the
/// functions of single columns there, and interactions are left, which take more directions: with 80
/// in place of 20 the error of `linear+gam+dpa-ard` is lower on nearly every table that was tried
/// (`bench/README.md`).
const DIRECTIONS_IN_SUM: &str = "80..100x1";
/// Those of `dpa-ard` alone.
const DIRECTIONS: &str = "20..100x1";

/// What users call a mixture of models, which is none of the presets.
const AUTO: &str = "auto";

/// A term with a name.
#[derive(Clone, Copy)]
struct Preset {
    name: &'static str,
    kernel: Shape,
    degrees: &'static str,
    /// Its degrees as one of several terms.
    degrees_in_sum: &'static str,
    directions: Directions,
    length_scales: LengthScales,
    engine: EngineChoice,
    /// Whether the paper has it: then length-scales have no prior.
    paper: bool,
    about: &'static str,
}

impl Preset {
    const fn new(
        name: &'static str,
        degrees: &'static str,
        directions: Directions,
        length_scales: LengthScales,
        about: &'static str,
    ) -> Self {
        let (kernel, engine) = (Shape::Stationary(SubKernel::Rbf), EngineChoice::Auto);
        Self {
            name,
            kernel,
            degrees,
            degrees_in_sum: degrees,
            directions,
            length_scales,
            engine,
            paper: true,
            about,
        }
    }

    /// All columns in one kernel: beyond the paper, which has `rbf-ard` and `imq-ard`.
    const fn full(
        name: &'static str,
        kernel: SubKernel,
        length_scales: LengthScales,
        about: &'static str,
    ) -> Self {
        let preset = Self::new(name, "1xd", Directions::Axes, length_scales, about);
        Self { paper: false, ..preset.with(kernel) }
    }

    /// The same by the paper's own scalable inference, along the paper's 20 directions.
    const fn ski(self, name: &'static str, about: &'static str) -> Self {
        Self { name, degrees: "20x1", engine: EngineChoice::Ski, about, ..self }
    }

    const fn with(self, kernel: SubKernel) -> Self {
        Self { kernel: Shape::Stationary(kernel), ..self }
    }

    fn term(self, in_sum: bool) -> Result<Term> {
        let Self { kernel, directions, length_scales, .. } = self;
        let learned = [LengthScales::Projections, LengthScales::Directions];
        Ok(Term {
            kernel,
            degrees: if in_sum { self.degrees_in_sum } else { self.degrees }.parse()?,
            directions,
            length_scales,
            learn_weights: learned.contains(&length_scales),
        })
    }
}

const PRESETS: [Preset; 24] = {
    use Directions::{Axes, Diverse, Gaussian};
    use LengthScales::{Columns, Common, Projections};
    use SubKernel::{Imq, Laplace, Matern12, Matern32, Matern52, Rbf};
    let dpa_ard = Preset {
        degrees_in_sum: DIRECTIONS_IN_SUM,
        ..Preset::new(
            "dpa-ard",
            DIRECTIONS,
            Diverse,
            Columns,
            "20 to 100 diverse directions, one per column (80 or more in a sum), and a length-scale per column",
        )
    };
    let rpa_1 = Preset::new(
        "rpa-1",
        "20x1",
        Gaussian,
        Projections,
        "20 random directions, each with its own length-scale",
    );
    let linear = Preset {
        kernel: Shape::Linear,
        paper: false,
        ..Preset::new("linear", "dx1", Axes, LengthScales::Fixed, "ridge regression")
    };
    [
        dpa_ard,
        Preset::new(
            "ppr",
            "20x1",
            Diverse,
            LengthScales::Directions,
            "20 learned directions, started from those of dpa-ard",
        ),
        Preset::new(
            "rpa-ard",
            "20x1",
            Gaussian,
            Columns,
            "20 random directions, a length-scale per column",
        ),
        Preset::new(
            "dpa",
            "20x1",
            Diverse,
            Projections,
            "20 diverse directions, each with its own length-scale",
        ),
        rpa_1,
        Preset::new(
            "rpa-2",
            "4x1,4x2,4x3",
            Gaussian,
            Projections,
            "random projections to 1, 2 and 3 dimensions",
        ),
        Preset::new(
            "rpa-3",
            "3x1,3x2,3x3,2x4,2x5,1x6",
            Gaussian,
            Projections,
            "random projections to 1 to 6 dimensions",
        ),
        Preset::new("single-rp", "1x1", Gaussian, Projections, "one random direction (a baseline)"),
        Preset::new("gam", "dx1", Axes, Columns, "one function per column"),
        Preset::new(
            "rbf-ard",
            "1xd",
            Axes,
            Columns,
            "the usual Gaussian process, all columns in one kernel",
        ),
        Preset::new(
            "imq-ard",
            "1xd",
            Axes,
            Columns,
            "the limit of rpa-ard with ever more directions",
        )
        .with(Imq),
        linear,
        Preset::full("rbf", Rbf, Common, "all columns in one smooth kernel, one length-scale"),
        Preset::full("matern12", Matern12, Common, "the same with a rough kernel"),
        Preset::full("matern32", Matern32, Common, "the same with a less rough kernel"),
        Preset::full("matern52", Matern52, Common, "the same with a rather smooth kernel"),
        Preset::full("imq", Imq, Common, "the same with a kernel of long tails"),
        Preset::full("laplace", Laplace, Common, "the same with a kernel of steps along columns"),
        Preset::full("matern12-ard", Matern12, Columns, "rbf-ard with a rough kernel"),
        Preset::full("matern32-ard", Matern32, Columns, "rbf-ard with a less rough kernel"),
        Preset::full("matern52-ard", Matern52, Columns, "rbf-ard with a rather smooth kernel"),
        Preset::full(
            "laplace-ard",
            Laplace,
            Columns,
            "rbf-ard with a kernel of steps along columns",
        ),
        dpa_ard.ski("dpa-ard-ski", "dpa-ard by the paper's own inference (--engine ski)"),
        rpa_1.ski("rpa-1-ski", "rpa-1 by the paper's own inference (--engine ski)"),
    ]
};

/// A term as users write it: the name of a preset, and behind colons the kernel and the degrees that
/// it takes in place of its own.
struct WrittenTerm {
    preset: Preset,
    degrees: Option<Degrees>,
}

impl WrittenTerm {
    fn read(text: &str) -> Result<Self> {
        let mut parts = text.split(':').map(str::trim);
        let name = parts.next().unwrap_or_default();
        if name == AUTO {
            return Err(TermError::AutoIsNoTerm.into());
        }
        let mut preset: Preset = named::find("model", &PRESETS.map(|p| (p.name, p)), name)?;
        let (mut kernel, mut degrees) = (None, None);
        for part in parts {
            if part.is_empty() {
                return Err(TermError::EmptyPart { term: text.into() }.into());
            }
            if preset.kernel == Shape::Linear {
                return Err(TermError::LinearHasNoParts { term: text.into() }.into());
            }
            let (earlier, what) = if is_degrees(part) {
                (degrees.replace(part.parse()?).is_some(), "degrees twice")
            } else {
                (kernel.replace(part.parse()?).is_some(), "two kernels")
            };
            if earlier {
                return Err(TermError::Twice { term: text.into(), what }.into());
            }
        }
        if let Some(kernel) = kernel {
            preset = preset.with(kernel);
        }
        Ok(Self { preset, degrees })
    }

    fn term(self, in_sum: bool) -> Result<Term> {
        let term = self.preset.term(in_sum)?;
        Ok(Term { degrees: self.degrees.unwrap_or(term.degrees), ..term })
    }
}

/// Whether this part of a term is meant as degrees, such as `80x1` or `dx1`: no kernel has an x in its
/// name, or begins with a digit.
fn is_degrees(part: &str) -> bool {
    part.contains('x') || part.starts_with(|first: char| first.is_ascii_digit())
}

/// Whether a model's name has a kernel of its own behind a colon, and whether it has degrees.
pub(super) fn kernel_and_degrees(name: &str) -> (bool, bool) {
    let parts = || name.split(':').skip(1).map(str::trim);
    (parts().any(|part| !is_degrees(part)), parts().any(is_degrees))
}

impl Config {
    /// The configuration with this name: a preset, or several joined by `+`, which are the terms of
    /// a sum. Behind a colon a term has a kernel of its own, or degrees.
    ///
    /// ```
    /// use raysum::Config;
    /// let config = Config::preset("linear+gam:matern52+dpa-ard:40x1")?;
    /// assert_eq!(config.terms[2].degrees.to_string(), "40x1");
    /// # Ok::<(), raysum::Error>(())
    /// ```
    pub fn preset(name: &str) -> Result<Self> {
        if name.split('+').any(|term| term.trim().is_empty()) {
            return Err(TermError::EmptyTerm { model: name.into() }.into());
        }
        let written = name.split('+').map(|term| WrittenTerm::read(term.trim()));
        let written = written.collect::<Result<Vec<WrittenTerm>>>()?;
        let presets: Vec<Preset> = written.iter().map(|term| term.preset).collect();
        let paper = matches!(presets.as_slice(), [preset] if preset.paper);
        let engine = match presets.as_slice() {
            [preset] => preset.engine,
            several => match several.iter().find(|preset| preset.engine == EngineChoice::Ski) {
                Some(preset) => return Err(TermError::SkiInSum { term: preset.name }.into()),
                None => EngineChoice::Auto,
            },
        };
        let in_sum = written.len() > 1;
        Ok(Self {
            terms: written.into_iter().map(|term| term.term(in_sum)).collect::<Result<_>>()?,
            prior: if paper { LengthScalePrior::Flat } else { LengthScalePrior::LogNormal },
            columns_scale: ColumnsScale::Standard,
            target_scale: TargetScale::None,
            noise: Noise::Constant,
            shrinkage: Shrinkage::Auto,
            engine,
            ski: SkiOptions::default(),
            neighbors: NeighborsOptions::default(),
            optimizer: Optimizer::Lbfgs,
            subset: None,
            max_evaluations: None,
            starts: 1,
            noise_bounds: (if paper { PAPER_NOISE } else { LEAST_NOISE }, 10.0),
            seed: 0,
        })
    }

    /// The paper's form of a preset: no shrinkage, and 20 directions for any number of columns.
    pub fn paper(name: &str) -> Result<Self> {
        let mut preset = Self::preset(name)?;
        if name == "dpa-ard" {
            preset.terms[0].degrees = Degrees::ones(20);
        }
        Ok(Self { shrinkage: Shrinkage::None, ..preset })
    }

    /// The presets with a short description of each.
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

impl Config {
    /// The same model with fewer directions in terms that have as many as `dpa-ard` has in a sum;
    /// `None` where no term has more of them than `dpa-ard` alone.
    pub(crate) fn with_fewer_directions(&self, columns: usize) -> Result<Option<Self>> {
        let (many, few): (Degrees, Degrees) = (DIRECTIONS_IN_SUM.parse()?, DIRECTIONS.parse()?);
        if many.resolve(columns).len() == few.resolve(columns).len() {
            return Ok(None);
        }
        let fewer = |term: &Term| {
            let degrees = if term.degrees == many { &few } else { &term.degrees };
            Term { degrees: degrees.clone(), ..term.clone() }
        };
        let terms: Vec<Term> = self.terms.iter().map(fewer).collect();
        Ok((terms != self.terms).then(|| Self { terms, ..self.clone() }))
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
             dpa-ard-ski linear rbf matern12 matern32 matern52 imq matern12-ard matern32-ard \
             matern52-ard laplace laplace-ard linear+gam linear+gam:matern12+ppr"
                .split_whitespace()
        {
            assert!(name.contains('+') || names.contains(&name));
            Config::preset(name).unwrap().check().unwrap();
        }
        assert_eq!(Config::default(), Config::preset("dpa-ard").unwrap());
        let e = Config::preset("svm").unwrap_err().to_string();
        assert!(e.starts_with("unknown model 'svm'; known are: dpa-ard, "), "{e}");
    }

    #[test]
    fn a_term_has_its_own_kernel_and_degrees() {
        let degrees = |name: &str| {
            let terms = Config::preset(name).unwrap().terms;
            terms.iter().map(|term| term.degrees.to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(degrees("dpa-ard"), "20..100x1");
        assert_eq!(degrees("linear+gam+dpa-ard"), "dx1 dx1 80..100x1");
        assert_eq!(degrees("gam+dpa-ard:40x1:matern32"), "dx1 40x1");
        assert_eq!(degrees("rpa-1:matern12:dx2+rpa-1"), "dx2 20x1");
        let kernels = ["dpa-ard:40x1:matern32", "dpa-ard:matern32:40x1", "dpa-ard:matern32"];
        for terms in kernels.map(|name| Config::preset(name).unwrap().terms) {
            assert_eq!(terms[0].kernel, Shape::Stationary(SubKernel::Matern32));
        }
    }

    #[test]
    fn only_the_directions_of_a_sum_become_fewer() {
        let fewer = |name: &str, columns| {
            let config = Config::preset(name).unwrap();
            let terms = config.with_fewer_directions(columns).unwrap()?.terms;
            Some(terms.iter().map(|t| t.degrees.to_string()).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(fewer("linear+gam+dpa-ard", 79).unwrap(), "dx1 dx1 20..100x1");
        assert_eq!(fewer("linear+gam+dpa-ard", 80), None);
        assert_eq!(fewer("gam+dpa-ard:40x1", 8), None);
        assert_eq!(fewer("dpa-ard", 8), None);
    }

    #[test]
    fn terms_are_told_what_is_wrong_with_them() {
        for (name, expected) in [
            ("gam+svm", "unknown model 'svm'"),
            ("gam+", "a term of the model 'gam+' is empty"),
            ("gam:spline", "unknown kernel 'spline'"),
            ("gam:80", "'80' does not describe degrees"),
            ("gam:-1x1", "'-1x1' does not describe degrees"),
            ("gam:", "nothing follows a colon in the term 'gam:'"),
            ("linear+auto", "auto is a mixture of models"),
            ("gam:rbf:imq", "the term 'gam:rbf:imq' has two kernels; keep one"),
            ("dpa-ard:4x1:rbf:8x1", "the term 'dpa-ard:4x1:rbf:8x1' has degrees twice"),
            ("linear:rbf", "the term 'linear:rbf' has no kernel"),
            ("linear:4x1", "the term 'linear:4x1' has no kernel"),
            ("linear+dpa-ard-ski", "dpa-ard-ski is a model of its own"),
        ] {
            let e = Config::preset(name).unwrap_err().to_string();
            assert!(e.starts_with(expected), "{name}: {e}");
        }
    }
}
