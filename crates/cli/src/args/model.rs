//! The settings of a model and of its search, as changes to a preset.

use super::neighbors::NeighborsArgs;
use super::ski::SkiArgs;
use super::values::{noise_bounds, whole};
use super::{YesNo, preset};
use anyhow::{anyhow, bail, ensure};
use clap::Args as ClapArgs;
use raysum::limits::{MAX_SUB_KERNELS, MIN_SUBSET_ROWS};
use raysum::settings::{
    ColumnsScale, ConfigPatch, Degrees, Directions, EngineChoice, LengthScalePrior, Noise,
    Optimizer, Shrinkage, SubKernel, TargetScale,
};
use raysum::{Config, Effort, Error};

/// The model that is a mixture of several.
pub(crate) const AUTO: &str = "auto";

/// `auto`, or the name of a preset.
pub(super) fn auto_or_preset(name: &str) -> raysum::Result<String> {
    let name = name.trim();
    if name == AUTO { Ok(name.into()) } else { preset(name) }
}

/// One model, where a list of them is a likely mistake.
pub(super) fn one_model(text: &str) -> anyhow::Result<String> {
    auto_or_preset(text).map_err(|error| match model_list(text) {
        Ok(ModelList(names)) if names.len() > 1 => anyhow!(
            "these are {} models, and a fit takes one: their sum is {}, and `raysum evaluate` compares \
             several",
            names.len(),
            names.join("+")
        ),
        _ => error.into(),
    })
}

/// Models separated by commas.
#[derive(Clone, Debug)]
pub(crate) struct ModelList(pub(crate) Vec<String>);

pub(super) fn model_list(text: &str) -> raysum::Result<ModelList> {
    let mut models: Vec<String> = Vec::new();
    for part in text.split(',') {
        // No model begins with a digit: these are further degrees of the last one, as in rpa-1:4x1,4x2.
        let further = part.trim_start().starts_with(|first: char| first.is_ascii_digit());
        match models.last_mut().filter(|_| further) {
            Some(last) => *last += &format!(",{part}"),
            None => models.push(part.into()),
        }
    }
    Ok(ModelList(models.iter().map(|name| auto_or_preset(name)).collect::<raysum::Result<_>>()?))
}

/// What is fitted.
#[derive(Clone, Debug)]
pub(crate) enum Recipe {
    /// A mixture of models.
    Auto(Effort),
    /// One model.
    One(Box<Config>),
}

/// Changes to a preset, and how to search.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// Number of one-dimensional projections, or d for one per column (short for --degrees Jx1)
    #[arg(
        long, short = 'J', value_name = "J", conflicts_with = "degrees", value_parser = ones,
        allow_hyphen_values = true
    )]
    pub(crate) projections: Option<Degrees>,

    /// Degrees of the sub-kernels, as number x dimensions: 20x1, dx1, 1xd, 4x1,4x2,4x3
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) degrees: Option<Degrees>,

    /// Sub-kernel: rbf, cosine, matern12, matern32, matern52, imq or laplace
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) kernel: Option<SubKernel>,

    /// How directions are chosen: axes, gaussian, sphere, diverse or energy
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) directions: Option<Directions>,

    /// Learn a length-scale per column, applied before projecting; `no` learns one per projection
    /// (for projections onto the axes both are the same, and `no` is an error)
    #[arg(long, value_name = "YES|NO", allow_hyphen_values = true)]
    pub(crate) ard: Option<YesNo>,

    /// Learn a mixing weight per sub-kernel, if there are several (otherwise all are equal)
    #[arg(long, value_name = "YES|NO", allow_hyphen_values = true)]
    pub(crate) learn_weights: Option<YesNo>,

    /// Learn the directions too, starting from those chosen (--ard must be no)
    #[arg(long, value_name = "YES|NO", allow_hyphen_values = true)]
    pub(crate) learn_directions: Option<YesNo>,

    /// How columns are scaled: standard (to mean 0 and standard deviation 1), robust (the same, with
    /// values beyond ten standard deviations drawn in), ranks (by their ranks to normal scores, for heavy
    /// tails and outliers), or cuts (by where boosted trees cut them, for steps and thresholds)
    /// [default: standard]
    #[arg(long, value_name = "standard|robust|ranks|cuts", allow_hyphen_values = true)]
    pub(crate) columns_scale: Option<ColumnsScale>,

    /// How the target is scaled: none (to mean 0 and standard deviation 1), or yeo-johnson (by a power, or
    /// the logarithm of a target above 0, for skewed targets) [default: none]
    #[arg(long, value_name = "none|yeo-johnson", allow_hyphen_values = true)]
    pub(crate) target_scale: Option<TargetScale>,

    /// Noise: constant, or columns (its level depends on the columns, and a second model predicts it)
    /// [default: constant]
    #[arg(long, value_name = "constant|columns", allow_hyphen_values = true)]
    pub(crate) noise: Option<Noise>,

    /// Prior of the length-scales: flat, or log-normal, around a value that grows with the square root of
    /// the number of columns [default: flat for the paper's models, log-normal for the others and for sums]
    #[arg(long, value_name = "flat|log-normal", allow_hyphen_values = true)]
    pub(crate) length_scale_prior: Option<LengthScalePrior>,

    /// How length-scales are shrunk towards each other where rows are few: auto (below 20 rows per
    /// length-scale held-out rows choose), none (the paper's objective), or the width of the prior that
    /// ties them to their mean, where 0 makes them all equal
    #[arg(long, value_name = "auto|none|WIDTH", allow_hyphen_values = true)]
    pub(crate) shrinkage: Option<Shrinkage>,

    /// Inference engine: dense (any model, up to 30,000 rows), weight (weight space: linear in the
    /// rows, for sums of one-dimensional functions), neighbors (any model, linear in the rows: each row is
    /// conditioned on its nearest), auto (the cheaper of dense and weight, whose results are the same;
    /// neighbors above 4,000 rows where the model has no form in weight space) or ski (the paper's: grids,
    /// conjugate gradients, estimates; for rough kernels on many rows)
    /// [default: auto, or that of the model]
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) engine: Option<EngineChoice>,

    /// Search hyperparameters on this many random rows only; the posterior still uses all rows
    /// [default: above 2,000 rows, start on half of them, at most 2,000 (then 10,000 above 20,000,
    /// and 100,000 above 300,000), finish on all]
    #[arg(
        long, value_name = "ROWS", value_parser = whole(MIN_SUBSET_ROWS as u64, u64::MAX),
        allow_hyphen_values = true
    )]
    pub(crate) subset: Option<u64>,

    /// Optimiser: lbfgs, or adam (the paper's recipe, slower) [default: lbfgs]
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) optimizer: Option<Optimizer>,

    /// Maximum number of evaluations of the likelihood per start [default: 200, 1000 with adam, 800 for learned
    /// directions]
    #[arg(
        long, value_name = "N", value_parser = whole(1, u32::MAX), allow_hyphen_values = true
    )]
    pub(crate) max_evaluations: Option<u32>,

    /// Starting points of the search; the one with the highest marginal likelihood is kept. A search in
    /// stages compares them on the rows of the next stage [default: 1]
    #[arg(long, value_name = "N", value_parser = whole(1, u32::MAX), allow_hyphen_values = true)]
    pub(crate) starts: Option<u32>,

    /// Range of the noise variance, relative to the target's variance: never below the first, and above the
    /// second only against a steep prior [default: 1e-4,10 for the paper's models, 1e-7,10 for the others and
    /// for sums]
    #[arg(
        long, value_name = "LOW,HIGH", value_parser = noise_bounds, allow_hyphen_values = true
    )]
    pub(crate) noise_bounds: Option<(f64, f64)>,

    /// Seed of everything random
    #[arg(
        long, default_value_t = 0, value_parser = whole(0, u64::MAX), allow_hyphen_values = true
    )]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) neighbors: NeighborsArgs,

    #[command(flatten)]
    pub(crate) ski: SkiArgs,
}

impl ModelArgs {
    /// What is fitted: one model with the given changes, or a mixture, which takes none.
    pub(crate) fn recipe(&self, model: &str, effort: Option<Effort>) -> anyhow::Result<Recipe> {
        if model != AUTO {
            ensure!(effort.is_none(), "--effort applies to --model auto alone, not to {model}");
            return Ok(Recipe::One(Box::new(self.config(model)?)));
        }
        let patch = ConfigPatch { seed: None, ..self.patch() };
        match patch.first_given() {
            Some(setting) => bail!(
                "--model auto chooses by itself; leave --{} out, or name a model",
                setting.replace('_', "-")
            ),
            None => Ok(Recipe::Auto(effort.unwrap_or_default())),
        }
    }

    /// The preset with the given changes.
    fn config(&self, preset: &str) -> anyhow::Result<Config> {
        self.patch().resolve(preset).map_err(|error| match error {
            Error::EngineSetting { setting, engine } => {
                let option = setting.replace('_', "-");
                anyhow!("--{option} is a setting of the {engine} engine; add --engine {engine}")
            }
            other => other.into(),
        })
    }

    fn patch(&self) -> ConfigPatch {
        ConfigPatch {
            kernel: self.kernel,
            degrees: self.projections.as_ref().or(self.degrees.as_ref()).cloned(),
            directions: self.directions,
            ard: self.ard.map(YesNo::is_yes),
            learn_weights: self.learn_weights.map(YesNo::is_yes),
            learn_directions: self.learn_directions.map(YesNo::is_yes),
            columns_scale: self.columns_scale,
            target_scale: self.target_scale,
            noise: self.noise,
            prior: self.length_scale_prior,
            shrinkage: self.shrinkage,
            engine: self.engine,
            neighbors: self.neighbors.neighbors,
            prediction_neighbors: self.neighbors.prediction_neighbors,
            optimizer: self.optimizer,
            subset: self.subset.map(|rows| rows as usize),
            max_evaluations: self.max_evaluations.map(|n| n as usize),
            starts: self.starts,
            noise_bounds: self.noise_bounds,
            seed: Some(self.seed),
            ..self.ski.patch()
        }
    }
}

fn ones(j: &str) -> Result<Degrees, String> {
    let rule = |_| format!("write a number from 1 to {MAX_SUB_KERNELS}, or d");
    format!("{j}x1").parse().map_err(rule)
}

#[cfg(test)]
mod tests {
    use super::super::{Args, Command};
    use super::*;
    use clap::{CommandFactory, Parser};
    use raysum::limits::{MAX_DENSE_ROWS, MIN_GRID_POINTS, written};
    use raysum::settings::{LengthScales, SkiOptions};

    fn config(words: &str) -> Config {
        let line = format!("raysum fit x.csv --target y {words}");
        let args = Args::try_parse_from(line.split_whitespace()).unwrap();
        let Command::Fit(fit) = args.command else { panic!("not a fit") };
        fit.settings.config(&fit.model).unwrap()
    }

    /// Doc comments cannot name constants.
    #[test]
    fn the_limits_in_the_help_are_those_of_the_library() {
        let args = Args::command();
        let help = |option: &str| {
            let fit = args.find_subcommand("fit").unwrap();
            let found = fit.get_arguments().find(|argument| argument.get_long() == Some(option));
            found.and_then(|argument| argument.get_help()).unwrap().to_string()
        };
        let rows = format!("up to {} rows", written(MAX_DENSE_ROWS));
        assert!(help("engine").contains(&rows), "{}", help("engine"));
        let points = format!("from {MIN_GRID_POINTS} ");
        assert!(help("grid").contains(&points), "{}", help("grid"));
    }

    #[test]
    fn every_setting_reaches_the_configuration() {
        assert_eq!(config("--model dpa-ard"), Config::default());
        let c = config(
            "--model rpa-1 --degrees 2x1,1x3 --kernel imq --directions sphere --ard yes \
             --learn-weights no --columns-scale ranks --target-scale yeo-johnson --noise columns \
             --length-scale-prior log-normal --optimizer adam --max-evaluations 7 --starts 3 \
             --shrinkage 0.5 --noise-bounds 1e-6,2 --seed 9 --engine ski --subset 500 \
             --grid 64 --probes 9 --cg-tolerance 1e-4 --cg-iterations 50 --exact-variance",
        );
        let mut expected = Config::default();
        expected.terms[0].kernel = SubKernel::Imq.into();
        expected.terms[0].degrees = "2x1,1x3".parse().unwrap();
        expected.terms[0].directions = Directions::Sphere;
        expected.terms[0].length_scales = LengthScales::Columns;
        expected.terms[0].learn_weights = false;
        expected.columns_scale = ColumnsScale::Ranks;
        expected.target_scale = TargetScale::YeoJohnson;
        expected.noise = Noise::Columns;
        expected.prior = LengthScalePrior::LogNormal;
        expected.shrinkage = Shrinkage::Width(0.5);
        expected.engine = EngineChoice::Ski;
        expected.ski = SkiOptions {
            grid: Some(64),
            probes: 9,
            tolerance: 1e-4,
            iterations: 50,
            exact_variance: true,
        };
        expected.subset = Some(500);
        expected.optimizer = Optimizer::Adam;
        expected.max_evaluations = Some(7);
        expected.starts = 3;
        expected.noise_bounds = (1e-6, 2.0);
        expected.seed = 9;
        assert_eq!(c, expected);
        let learned = config("--model dpa --learn-directions yes");
        assert_eq!(learned, config("--model ppr"));
        assert_eq!(config("--model rpa-1-ski"), config("--model rpa-1 --engine ski"));
        assert_eq!(config("--model dpa-ard -J d").terms[0].degrees, "dx1".parse().unwrap());
        assert_eq!(config("--model dpa-ard -J 7").terms[0].degrees, "7x1".parse().unwrap());
        config("--model gam --ard no --learn-directions yes");
    }
}
