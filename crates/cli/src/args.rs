//! The command line as the user types it. Names and numbers are checked here, so that an invalid one
//! ends with code 2 and the usage; files are not opened yet.

mod model;
mod neighbors;
mod online;
mod predict;
mod ski;
mod suggest;
pub mod values;

pub(crate) use model::{AUTO, ModelArgs, Recipe};
pub(crate) use online::{MergeArgs, ReportArgs, RowsArgs, StatsArgs, UpdateArgs};
pub(crate) use predict::{PredictArgs, SampleArgs};
pub(crate) use suggest::SuggestArgs;

use crate::program::ProgramArgs;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use model::{ModelList, model_list, one_model};
use raysum::limits::{DEFAULT_CATEGORIES, MAX_CATEGORIES, MIN_CATEGORIES};
use raysum::{Config, Effort, Intervals};
use std::ffi::OsString;
use std::path::PathBuf;
use values::{file, folder, model_file, whole};

/// Gaussian-process regression by sums of functions of one-dimensional projections: a prediction
/// and an interval for every row of a table.
#[derive(Debug, Parser)]
#[command(name = "raysum", version, max_term_width = 100)]
pub(crate) struct Args {
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,

    #[command(flatten)]
    pub(crate) program: ProgramArgs,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Fit a model to a table, report how well it predicts held-out rows, and save it
    Fit(FitArgs),
    /// Predict each row of a table: mean, std, lower, upper, extrapolation
    Predict(PredictArgs),
    /// Draw functions from a model and evaluate them at each row of a table: sample_0, sample_1, …
    Sample(SampleArgs),
    /// Suggest the next rows to try, where rows are experiments: low or high values of the target
    Suggest(SuggestArgs),
    /// Compare models on a table by cross-validation
    Evaluate(EvaluateArgs),
    /// Add rows to a saved model, or remove rows, without fitting again
    Update(UpdateArgs),
    /// Compute the statistics of a shard of the rows for `merge`, on any machine
    Stats(StatsArgs),
    /// Add the rows of shards to a model, from their statistics
    Merge(MergeArgs),
    /// Write a report on a model and a table: one HTML page with scores, charts and warnings
    Report(ReportArgs),
    /// Show a saved model: hyperparameters, relevance of each column, noise, origin
    Inspect(InspectArgs),
    /// Fit, score, save, predict, plot and report on a bundled table of cars
    Demo(DemoArgs),
    /// Name the program that runs the paper's experiments
    #[command(hide = true)]
    Reproduce(ReproduceArgs),
}

/// A table with a target.
#[derive(Debug, ClapArgs)]
pub(crate) struct TableArgs {
    /// The table: CSV (comma, tab or semicolon; gzip and zstd too), Parquet, Arrow IPC, NumPy's .npy,
    /// or - for standard input
    #[arg(value_parser = file())]
    pub(crate) data: PathBuf,

    /// The column to predict: its name, or its position from 0 (-1 is the last); several separated
    /// by commas
    #[arg(
        long,
        short,
        value_name = "COLUMN",
        allow_hyphen_values = true,
        required_unless_present = "y",
        conflicts_with = "y"
    )]
    pub(crate) target: Option<String>,

    /// A separate .npy file with the targets, if the table is a .npy file without them
    #[arg(long, value_name = "FILE", value_parser = file())]
    pub(crate) y: Option<PathBuf>,

    /// A column with sample weights: a row of weight 2 has half the noise variance of a row of weight
    /// 1; a common factor changes only the reported noise
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub(crate) weights: Option<String>,

    /// A column with the known standard deviation of each row's noise, in the target's units; noise
    /// that the fit estimates is added to it
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub(crate) noise_std: Option<String>,

    /// Predict from these columns only (names or positions, separated by commas)
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) columns: Vec<String>,

    /// Leave these columns out (names or positions, separated by commas)
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) drop: Vec<String>,

    /// Maximum number of categories of a text column. With more texts than that the most frequent ones
    /// are categories of their own, and all others are one
    #[arg(
        long,
        value_name = "N",
        default_value_t = DEFAULT_CATEGORIES,
        value_parser = whole(MIN_CATEGORIES, MAX_CATEGORIES),
        allow_hyphen_values = true
    )]
    pub(crate) categories: usize,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,

    /// Memory that the table may take, such as 500MB or 2GB; a larger table is put into a temporary
    /// file (in TMPDIR), with the same result [default: half of the free memory]
    #[arg(
        long, value_name = "SIZE", value_parser = crate::memory::size, allow_hyphen_values = true
    )]
    pub(crate) memory: Option<u64>,
}

/// How a table is read.
#[derive(Debug, ClapArgs)]
pub(crate) struct ReadArgs {
    /// Whether the first line names the columns [default: detected]
    #[arg(long, value_name = "YES|NO", allow_hyphen_values = true)]
    pub(crate) header: Option<YesNo>,

    /// What to do about missing values. A model that was fitted with `indicate` takes gaps in the columns
    /// that had some then, whatever is chosen here
    #[arg(long, value_enum, default_value = "error", allow_hyphen_values = true)]
    pub(crate) missing: MissingRule,

    /// The decimal mark of numbers in text files: 8,5 or 8.5 [default: detected, or as in the training
    /// table]
    #[arg(
        long,
        value_enum,
        value_name = "comma|point",
        hide_possible_values = true,
        allow_hyphen_values = true
    )]
    pub(crate) decimal: Option<Decimal>,

    /// The order of dates such as 01/02/2024 [default: detected, or as in the training table]
    #[arg(
        long,
        value_enum,
        value_name = "day-first|month-first",
        hide_possible_values = true,
        allow_hyphen_values = true
    )]
    pub(crate) dates: Option<DatesOrder>,
}

/// What to do about missing values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MissingRule {
    /// Stop and name the first one.
    Error,
    /// Leave such rows out; their predictions stay empty.
    Drop,
    /// Fill in the column's mean over the training rows; rows without a target are left out.
    Mean,
    /// In a fit, as mean, with a further column that is 1 where the cell is missing. In later tables, as
    /// error.
    Indicate,
}

/// The decimal mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Decimal {
    /// 8,5
    Comma,
    /// 8.5
    Point,
}

/// The order of day and month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DatesOrder {
    /// 31/01/2024
    DayFirst,
    /// 01/31/2024
    MonthFirst,
}

/// Where results are written.
#[derive(Debug, ClapArgs)]
pub(crate) struct OutputArgs {
    /// Where to write, or - for standard output; the extension determines the format: .csv, .tsv,
    /// .json, .jsonl (these also with .gz or .zst), .parquet, .arrow or .feather
    #[arg(long, short, value_name = "FILE", default_value = "-", value_parser = file())]
    pub(crate) output: PathBuf,

    /// Columns of the table to copy in front of the results (names or positions, separated by commas)
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) keep: Vec<String>,
}

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum YesNo {
    Yes,
    No,
}

impl YesNo {
    /// As a `bool`.
    pub(crate) fn is_yes(self) -> bool {
        self == YesNo::Yes
    }
}

/// The name of a preset or a sum, without spaces.
pub fn preset(name: &str) -> raysum::Result<String> {
    Config::preset(name).map(|_| name.split_whitespace().collect())
}

/// `raysum fit`.
#[derive(Debug, ClapArgs)]
#[command(after_help = models_help())]
pub(crate) struct FitArgs {
    #[command(flatten)]
    pub(crate) table: TableArgs,

    /// Where to save the model; without it nothing is saved
    #[arg(long, short, value_name = "FILE", value_parser = model_file())]
    pub(crate) output: Option<PathBuf>,

    /// Hold rows out for scores and calibrated intervals: every row once, in five folds, or an eighth of
    /// more than 1,500 rows. The saved model is fitted on all rows. A model that is named can do without
    #[arg(long, value_name = "YES|NO", default_value = "yes", allow_hyphen_values = true)]
    pub(crate) held_out: YesNo,

    /// Intervals: calibrated (by the errors of held-out rows, so that they hold what they say), or
    /// gaussian (as the model has them) [default: calibrated where rows are held out]
    #[arg(long, value_name = "calibrated|gaussian", allow_hyphen_values = true)]
    pub(crate) intervals: Option<Intervals>,

    /// Record the search in this file: a fit that is stopped in any way continues when the same command
    /// is run again; the file is removed when the fit is done
    #[arg(long, value_name = "FILE", value_parser = file())]
    pub(crate) checkpoint: Option<PathBuf>,

    /// Let several targets share all hyperparameters, including the ratio of noise to signal, at the
    /// cost of one search [default: one search per target]
    #[arg(long)]
    pub(crate) shared: bool,

    /// auto: a mixture of several models, which held-out rows choose. Or one model, or a sum, such as
    /// linear+gam:matern52+dpa-ard; see below
    #[arg(
        long, short, default_value = AUTO, value_parser = one_model, help_heading = "Model",
        allow_hyphen_values = true
    )]
    pub(crate) model: String,

    /// How much auto tries: quick (one good model), normal or best
    #[arg(
        long,
        value_name = "quick|normal|best",
        help_heading = "Model",
        allow_hyphen_values = true
    )]
    pub(crate) effort: Option<Effort>,

    #[command(flatten)]
    pub(crate) settings: ModelArgs,
}

/// `raysum evaluate`.
#[derive(Debug, ClapArgs)]
#[command(after_help = models_help())]
pub(crate) struct EvaluateArgs {
    #[command(flatten)]
    pub(crate) table: TableArgs,

    /// Folds of the cross-validation
    #[arg(
        long, default_value_t = 10, value_parser = whole(2, u32::MAX), allow_hyphen_values = true
    )]
    pub(crate) folds: u32,

    /// Repetitions of the cross-validation, with other folds and other directions
    #[arg(
        long, default_value_t = 1, value_parser = whole(1, u32::MAX), allow_hyphen_values = true
    )]
    pub(crate) repeats: u32,

    /// The models, separated by commas: auto, or those below
    #[arg(
        long, short, default_value = AUTO, value_parser = model_list, help_heading = "Model",
        allow_hyphen_values = true
    )]
    pub(crate) model: Vec<ModelList>,

    /// How much auto tries: quick (one good model), normal or best
    #[arg(
        long,
        value_name = "quick|normal|best",
        help_heading = "Model",
        allow_hyphen_values = true
    )]
    pub(crate) effort: Option<Effort>,

    /// Intervals: calibrated (of a model that is named, by the errors of the other folds), or gaussian
    #[arg(
        long,
        value_name = "calibrated|gaussian",
        default_value = "calibrated",
        allow_hyphen_values = true
    )]
    pub(crate) intervals: Intervals,

    #[command(flatten)]
    pub(crate) settings: ModelArgs,
}

/// `raysum inspect`.
#[derive(Debug, ClapArgs)]
pub(crate) struct InspectArgs {
    /// A model saved by `raysum fit`
    #[arg(value_parser = file())]
    pub(crate) model: PathBuf,
}

/// `raysum demo`.
#[derive(Debug, ClapArgs)]
pub(crate) struct DemoArgs {
    /// Folder for the model, the predictions, the figure and the report
    #[arg(long, short, value_name = "FOLDER", default_value = "demo", value_parser = folder())]
    pub(crate) output: PathBuf,
}

/// `raysum reproduce`, which earlier versions had.
#[derive(Debug, ClapArgs)]
pub(crate) struct ReproduceArgs {
    /// Arguments for the experiments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub(crate) words: Vec<OsString>,
}

fn models_help() -> String {
    let mut text = String::from("Models:\n");
    text += "  auto         a mixture of several of these, chosen and weighted by held-out rows\n";
    for (name, words) in Config::presets() {
        text += &format!("  {name:<12} {words}\n");
    }
    text + "Models joined by + are the terms of a sum, each with its own variance and length-scales; \
            after a\ncolon a term has another kernel, or other degrees: linear+gam:matern52+dpa-ard:40x1.\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }
}
