//! The command line as the user types it. Names and numbers are checked here, so that a wrong one
//! ends with code 2 and the usage; files are not looked at yet.

use crate::table::Missing;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use raysum::{Config, Degrees, Directions, EngineChoice, Optimizer, SubKernel};
use std::path::PathBuf;

/// Gaussian-process regression by sums of one-dimensional views of the data: a prediction and an
/// honest interval for every row of a table.
#[derive(Debug, Parser)]
#[command(name = "raysum", version, max_term_width = 100)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Threads to use; the results do not depend on it [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,

    /// Print nothing but results and errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    /// Say more on the way: the engine, its features, each evaluation
    #[arg(long, short, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,

    /// Print results as JSON, one object per line, for machines
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Fit a model to a table, report how well it predicts held-out rows, and save it
    Fit(FitArgs),
    /// Predict each row of a table: mean, std, lower, upper
    Predict(PredictArgs),
    /// Compare models on a table by cross-validation
    Evaluate(EvaluateArgs),
    /// Show what a saved model holds: hyperparameters, relevance of each column, noise, origin
    Inspect(InspectArgs),
    /// Fit, score, save, predict and draw, on a bundled table of cars
    Demo(DemoArgs),
}

/// A table with a target.
#[derive(Debug, ClapArgs)]
pub(crate) struct TableArgs {
    /// The table: CSV (comma, tab or semicolon; gzip too), NumPy's .npy, or - for standard input
    pub(crate) data: PathBuf,

    /// The column to predict: its name, or its position from 0 (-1 is the last)
    #[arg(
        long,
        short,
        value_name = "COLUMN",
        allow_hyphen_values = true,
        required_unless_present = "y",
        conflicts_with = "y"
    )]
    pub(crate) target: Option<String>,

    /// The targets as a .npy file of their own, if the table is a .npy file without them
    #[arg(long, value_name = "FILE")]
    pub(crate) y: Option<PathBuf>,

    /// Leave these columns out (names or positions, separated by commas)
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) drop: Vec<String>,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

/// How a table is read.
#[derive(Debug, ClapArgs)]
pub(crate) struct ReadArgs {
    /// Whether the first line names the columns [default: found out from the file]
    #[arg(long, value_name = "YES|NO")]
    pub(crate) header: Option<YesNo>,

    /// What to do about missing values: stop, leave the row out, or fill in the column's mean
    #[arg(long, value_enum, default_value = "error")]
    pub(crate) missing: Missing,
}

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum YesNo {
    /// Yes.
    Yes,
    /// No.
    No,
}

impl YesNo {
    /// As a truth value.
    pub(crate) fn is_yes(self) -> bool {
        self == YesNo::Yes
    }
}

/// Changes to a preset, and how to search.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// Number of one-dimensional projections, or d for one per column (short for --degrees Jx1)
    #[arg(long, short = 'J', value_name = "J", conflicts_with = "degrees", value_parser = ones)]
    pub(crate) projections: Option<Degrees>,

    /// Degrees of the sub-kernels, as number x dimensions: 20x1, dx1, 1xd, 4x1,4x2,4x3
    #[arg(long)]
    pub(crate) degrees: Option<Degrees>,

    /// Sub-kernel: rbf, cosine, matern12, matern32, matern52 or imq
    #[arg(long)]
    pub(crate) kernel: Option<SubKernel>,

    /// How directions are chosen: axes, gaussian, sphere, diverse or energy
    #[arg(long)]
    pub(crate) directions: Option<Directions>,

    /// Learn a length-scale per column and apply it before projecting
    #[arg(long, value_name = "YES|NO")]
    pub(crate) ard: Option<YesNo>,

    /// Learn a weight per sub-kernel (otherwise all weigh the same)
    #[arg(long, value_name = "YES|NO")]
    pub(crate) learn_weights: Option<YesNo>,

    /// Learn the directions too, starting from those chosen (--ard must be no)
    #[arg(long, value_name = "YES|NO")]
    pub(crate) learn_directions: Option<YesNo>,

    /// Who does the algebra: dense (any model, up to 30,000 rows), weight (linear in the rows, for
    /// sums of one-dimensional functions) or auto (the cheaper one; results are the same)
    #[arg(long, default_value = "auto")]
    pub(crate) engine: EngineChoice,

    /// Search hyperparameters on this many random rows only; the model still learns from all
    /// [default: above 20,000 rows, start on 10,000 (then 100,000 above 300,000), finish on all]
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(2..))]
    pub(crate) subset: Option<u64>,

    /// lbfgs, or adam (the paper's recipe, slower)
    #[arg(long, default_value = "lbfgs")]
    pub(crate) optimizer: Optimizer,

    /// Most evaluations of the likelihood per start [default: 200, 1000 with adam, 800 for learned
    /// directions]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_evaluations: Option<u32>,

    /// Starting points of the search; the best marginal likelihood wins
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) starts: u32,

    /// Range of the noise variance, as a share of the target's variance
    #[arg(long, value_name = "LOW,HIGH", default_value = "1e-4,10", value_parser = noise_bounds)]
    pub(crate) noise_bounds: (f64, f64),

    /// Seed of everything random
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}

impl ModelArgs {
    /// The preset with the changes that were asked for.
    pub(crate) fn config(&self, preset: &str) -> raysum::Result<Config> {
        let mut config = Config::preset(preset)?;
        if let Some(degrees) = self.projections.as_ref().or(self.degrees.as_ref()) {
            config.degrees = degrees.clone();
        }
        config.kernel = self.kernel.unwrap_or(config.kernel);
        config.directions = self.directions.unwrap_or(config.directions);
        config.ard = self.ard.map_or(config.ard, YesNo::is_yes);
        config.learn_weights = self.learn_weights.map_or(config.learn_weights, YesNo::is_yes);
        let learn = self.learn_directions.map(YesNo::is_yes);
        config.learn_directions = learn.unwrap_or(config.learn_directions);
        config.engine = self.engine;
        config.subset = self.subset.map(|rows| rows as usize);
        config.optimizer = self.optimizer;
        config.max_evaluations = self.max_evaluations.map(|n| n as usize);
        config.starts = self.starts;
        config.noise_bounds = self.noise_bounds;
        config.seed = self.seed;
        config.check()?;
        Ok(config)
    }
}

fn ones(j: &str) -> Result<Degrees, String> {
    format!("{j}x1").parse().map_err(|_| "write a number from 1, or d".to_string())
}

fn noise_bounds(text: &str) -> Result<(f64, f64), String> {
    let number = |part: &str| part.trim().parse::<f64>().ok();
    text.split_once(',')
        .and_then(|(low, high)| Some((number(low)?, number(high)?)))
        .filter(|(low, high)| *low > 0.0 && high > low && high.is_finite())
        .ok_or("write two numbers, the lower above 0: 1e-4,10".to_string())
}

fn preset(name: &str) -> raysum::Result<String> {
    Config::preset(name).map(|_| name.to_string())
}

fn open_unit(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    if value > 0.0 && value < 1.0 { Ok(value) } else { Err("must be between 0 and 1".into()) }
}

fn share(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    if (0.0..=0.9).contains(&value) { Ok(value) } else { Err("must be from 0 to 0.9".into()) }
}

/// `raysum fit`.
#[derive(Debug, ClapArgs)]
#[command(after_help = models_help())]
pub(crate) struct FitArgs {
    #[command(flatten)]
    pub(crate) table: TableArgs,

    /// Where to save the model; without it nothing is saved
    #[arg(long, short, value_name = "FILE", value_parser = model_file)]
    pub(crate) output: Option<PathBuf>,

    /// Share of the rows to hold out for scores; the saved model is fitted on all rows
    #[arg(long, default_value = "0.1", value_parser = share)]
    pub(crate) holdout: f64,

    /// The model; see below
    #[arg(long, short, default_value = "dpa-ard", value_parser = preset, help_heading = "Model")]
    pub(crate) model: String,

    #[command(flatten)]
    pub(crate) settings: ModelArgs,
}

/// `raysum predict`.
#[derive(Debug, ClapArgs)]
pub(crate) struct PredictArgs {
    /// A model saved by `raysum fit`
    pub(crate) model: PathBuf,

    /// The rows to predict: CSV (gzip too), NumPy's .npy, or - for standard input
    pub(crate) data: PathBuf,

    /// Where to write, or - for standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,

    /// Probability that an interval holds the truth
    #[arg(long, default_value = "0.95", value_parser = open_unit)]
    pub(crate) level: f64,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

/// `raysum evaluate`.
#[derive(Debug, ClapArgs)]
#[command(after_help = models_help())]
pub(crate) struct EvaluateArgs {
    #[command(flatten)]
    pub(crate) table: TableArgs,

    /// Folds of the cross-validation
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) folds: u32,

    /// How often to repeat it, with other folds and other directions
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeats: u32,

    /// The models, separated by commas; see below
    #[arg(
        long, short, default_value = "dpa-ard", value_delimiter = ',', value_parser = preset,
        help_heading = "Model"
    )]
    pub(crate) model: Vec<String>,

    #[command(flatten)]
    pub(crate) settings: ModelArgs,
}

/// `raysum inspect`.
#[derive(Debug, ClapArgs)]
pub(crate) struct InspectArgs {
    /// A model saved by `raysum fit`
    pub(crate) model: PathBuf,
}

/// `raysum demo`.
#[derive(Debug, ClapArgs)]
pub(crate) struct DemoArgs {
    /// Folder for the model, the predictions and the picture
    #[arg(long, short, value_name = "FOLDER", default_value = "demo")]
    pub(crate) output: PathBuf,
}

fn models_help() -> String {
    let mut text = String::from("Models:\n");
    for (name, words) in Config::presets() {
        text += &format!("  {name:<10} {words}\n");
    }
    text
}

/// A model is no text, so `-` for standard output is a slip.
fn model_file(path: &str) -> Result<PathBuf, String> {
    match path {
        "-" => Err("a model is saved to a file; give its name".into()),
        path => Ok(path.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    fn config(words: &str) -> Config {
        let line = format!("raysum fit x.csv --target y {words}");
        let args = Args::try_parse_from(line.split_whitespace()).unwrap();
        let Command::Fit(fit) = args.command else { panic!("not a fit") };
        fit.settings.config(&fit.model).unwrap()
    }

    #[test]
    fn every_setting_reaches_the_configuration() {
        assert_eq!(config(""), Config::default());
        let c = config(
            "--model rpa-1 --degrees 2x1,1x3 --kernel imq --directions sphere --ard yes \
             --learn-weights no --optimizer adam --max-evaluations 7 --starts 3 \
             --noise-bounds 1e-6,2 --seed 9 --engine weight --subset 500",
        );
        let expected = Config {
            kernel: SubKernel::Imq,
            degrees: "2x1,1x3".parse().unwrap(),
            directions: Directions::Sphere,
            ard: true,
            learn_weights: false,
            learn_directions: false,
            engine: EngineChoice::Weight,
            subset: Some(500),
            optimizer: Optimizer::Adam,
            max_evaluations: Some(7),
            starts: 3,
            noise_bounds: (1e-6, 2.0),
            seed: 9,
        };
        assert_eq!(c, expected);
        let learned = config("--model dpa --learn-directions yes");
        assert_eq!(learned, config("--model ppr"));
        assert_eq!(config("-J d").degrees, "dx1".parse().unwrap());
        assert_eq!(config("-J 7").degrees, "7x1".parse().unwrap());
    }

    #[test]
    fn wrong_words_are_refused_while_parsing() {
        for words in [
            "--model svm",
            "--kernel gauss",
            "--degrees 3",
            "--directions north",
            "--noise-bounds 0,1",
            "--noise-bounds 2",
            "--holdout 1.5",
            "--threads 0",
            "--starts 0",
            "--engine warp",
            "--subset 1",
            "-o -",
            "--max-evaluations 0",
            "-J many",
            "-J 3 --degrees 3x1",
            "--missing guess",
        ] {
            let line = format!("raysum fit x.csv --target y {words}");
            assert!(Args::try_parse_from(line.split_whitespace()).is_err(), "{words}");
        }
    }
}
