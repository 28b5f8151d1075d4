//! The arguments of `raysum sample`.

use super::values::{file, whole};
use super::{OutputArgs, ReadArgs};
use clap::Args as ClapArgs;
use std::path::PathBuf;

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
