//! The arguments of `predict` and `sample`.

use super::values::{file, open_unit, whole};
use super::{OutputArgs, ReadArgs};
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// `raysum predict`.
#[derive(Debug, ClapArgs)]
pub(crate) struct PredictArgs {
    /// A model saved by `raysum fit`
    #[arg(value_parser = file())]
    pub(crate) model: PathBuf,

    /// The rows to predict: CSV (gzip and zstd too), Parquet, Arrow IPC, NumPy's .npy, or - for
    /// standard input
    #[arg(value_parser = file())]
    pub(crate) data: PathBuf,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// Probability that the interval contains a new observation
    #[arg(long, default_value = "0.95", value_parser = open_unit, allow_hyphen_values = true)]
    pub(crate) level: f64,

    /// Add a column qP for each of these probabilities P, separated by commas: the value that a new
    /// observation is below with this probability
    #[arg(
        long, value_name = "P,...", value_delimiter = ',', value_parser = open_unit,
        allow_hyphen_values = true
    )]
    pub(crate) quantiles: Vec<f64>,

    /// Add a column slope_of_mean:NAME for each input column: how much the mean changes per unit
    /// of it (a column of text has one slope per category)
    #[arg(long)]
    pub(crate) gradient: bool,

    /// Explain each prediction: add a column baseline, the prediction where all columns have their
    /// means, and contribution.NAME for each column of the table, which together add up to the mean
    #[arg(long)]
    pub(crate) explain: bool,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

/// `raysum sample`.
#[derive(Debug, ClapArgs)]
pub(crate) struct SampleArgs {
    /// A model saved by `raysum fit`
    #[arg(value_parser = file())]
    pub(crate) model: PathBuf,

    /// The rows to evaluate at: CSV (gzip and zstd too), Parquet, Arrow IPC, NumPy's .npy, or - for
    /// standard input
    #[arg(value_parser = file())]
    pub(crate) data: PathBuf,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// How many functions; the same seed gives the same ones in every run, at any rows
    #[arg(
        long, default_value_t = 10, value_name = "N", value_parser = whole(1, 10_000_u32),
        allow_hyphen_values = true
    )]
    pub(crate) functions: u32,

    /// Seed of the functions
    #[arg(
        long, default_value_t = 0, value_parser = whole(0, u64::MAX), allow_hyphen_values = true
    )]
    pub(crate) seed: u64,

    /// Draw from the prior at the fitted hyperparameters instead of the posterior
    #[arg(long)]
    pub(crate) prior: bool,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}
