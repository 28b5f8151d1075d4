//! The arguments of `update`, `stats` and `merge`.

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

    /// The rows, with the columns the model was fitted on and its target: CSV, .npy, or - for
    /// standard input
    #[arg(value_parser = file())]
    pub(crate) data: PathBuf,

    /// The targets as a .npy file of their own, if the rows are a .npy file without them
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

    /// Where to save the new model [default: in place of the old one, which is replaced atomically]
    #[arg(long, short, value_name = "FILE", value_parser = model_file())]
    pub(crate) output: Option<PathBuf>,

    /// Take the rows out: they were part of the fit, or came with an update
    #[arg(long)]
    pub(crate) remove: bool,
}

/// `raysum stats`.
#[derive(Debug, ClapArgs)]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    pub(crate) rows: RowsArgs,

    /// Where to save it
    #[arg(long, short, value_name = "FILE", value_parser = model_file())]
    pub(crate) output: PathBuf,
}

/// `raysum merge`.
#[derive(Debug, ClapArgs)]
pub(crate) struct MergeArgs {
    /// The model that the shards were taken for
    #[arg(value_parser = file())]
    pub(crate) model: PathBuf,

    /// What `raysum stats` saved
    #[arg(required = true, value_parser = file())]
    pub(crate) parts: Vec<PathBuf>,

    /// Where to save the new model
    #[arg(long, short, value_name = "FILE", value_parser = model_file())]
    pub(crate) output: PathBuf,

    /// Forget the rows that the model was fitted on: for a fit on a sample of the shards
    #[arg(long)]
    pub(crate) only_parts: bool,

    /// Count rows as often as they come. Without it a part that is given twice, or was merged into
    /// the model before, is an error
    #[arg(long)]
    pub(crate) allow_duplicates: bool,
}
