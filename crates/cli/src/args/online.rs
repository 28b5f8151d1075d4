//! The arguments of commands that take a model and rows with targets: `update`, `stats`, `merge` and
//! `report`.

use super::ReadArgs;
use super::values::{file, model_file};
use clap::Args as ClapArgs;
use std::path::{Path, PathBuf};

/// More rows of the kind a model was fitted on.
#[derive(Debug, ClapArgs)]
pub(crate) struct RowsArgs {
    /// A model saved by `raysum fit`
    #[arg(value_parser = file())]
    pub(crate) model: PathBuf,

    /// The rows, with the columns the model was fitted on and its target: CSV, Parquet, Arrow IPC,
    /// NumPy's .npy, or - for standard input
    #[arg(value_parser = file())]
    pub(crate) data: PathBuf,

    /// A separate .npy file with the targets, if the rows are a .npy file without them
    #[arg(long, value_name = "FILE", value_parser = file())]
    pub(crate) y: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

impl RowsArgs {
    /// The files that the rows are read from.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Path> {
        [Some(&self.data), self.y.as_ref()].into_iter().flatten().map(PathBuf::as_path)
    }
}

/// `raysum update`.
#[derive(Debug, ClapArgs)]
pub(crate) struct UpdateArgs {
    #[command(flatten)]
    pub(crate) rows: RowsArgs,

    /// Where to save the new model [default: replace the old one, atomically]
    #[arg(long, short, value_name = "FILE", value_parser = model_file())]
    pub(crate) output: Option<PathBuf>,

    /// Remove the rows, which the model was fitted on or updated with
    #[arg(long)]
    pub(crate) remove: bool,
}

/// `raysum stats`.
#[derive(Debug, ClapArgs)]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    pub(crate) rows: RowsArgs,

    /// Where to save the statistics
    #[arg(long, short, value_name = "FILE", value_parser = model_file())]
    pub(crate) output: PathBuf,
}

/// `raysum merge`.
#[derive(Debug, ClapArgs)]
pub(crate) struct MergeArgs {
    /// The model that the statistics were computed for
    #[arg(value_parser = file())]
    pub(crate) model: PathBuf,

    /// Files saved by `raysum stats`
    #[arg(required = true, value_parser = file())]
    pub(crate) shards: Vec<PathBuf>,

    /// Where to save the new model
    #[arg(long, short, value_name = "FILE", value_parser = model_file())]
    pub(crate) output: PathBuf,

    /// Drop the rows that the model was fitted on, if it was fitted on a sample of the shards
    #[arg(long, alias = "only-parts")]
    pub(crate) only_shards: bool,

    /// Count repeated rows every time. Without it a shard that is given twice, or was already merged
    /// into the model, is an error
    #[arg(long)]
    pub(crate) allow_duplicates: bool,
}

/// `raysum report`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) rows: RowsArgs,

    /// Where to write the page, or - for standard output
    #[arg(long, short, value_name = "FILE", default_value = "report.html", value_parser = file())]
    pub(crate) output: PathBuf,
}
