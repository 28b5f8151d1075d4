//! The command line of the experiments.

use clap::{Args as ClapArgs, Parser, Subcommand};
use raysum_cli::args::preset;
use raysum_cli::args::values::{folder, whole};
use raysum_cli::program::ProgramArgs;
use std::path::PathBuf;

/// The experiments of Delbridge, Bindel and Wilson (ICML 2020), with results beside the paper's
/// numbers.
#[derive(Debug, Parser)]
#[command(name = "raysum-experiments", version, max_term_width = 100)]
pub(crate) struct Args {
    /// The experiment to run.
    #[command(subcommand)]
    pub(crate) experiment: Experiment,

    #[command(flatten)]
    pub(crate) program: ProgramArgs,
}

/// The experiments of the paper.
#[derive(Debug, Subcommand)]
pub(crate) enum Experiment {
    /// The table of the 16 UCI sets: every model, by cross-validation
    Uci(UciArgs),
    /// RMSE against the number of projections, with RBF-ARD and IMQ-ARD as lines
    Projections(ProjectionsArgs),
    /// Additive, XOR-like, rotation-invariant and half irrelevant functions, 10 to 5,120 rows
    Synthetic(RunArgs),
    /// The orientation of faces, over 1,000 columns
    Faces(WithData),
    /// CoEPrA's peptides, over 5,000 columns
    Peptides(PeptidesArgs),
    /// Seconds per step and per fit against the number of rows, for every engine
    Scaling(RunArgs),
    /// Kernels in the plane, and how fast they converge to their limit
    Kernels(RunArgs),
    /// Everything above; without --data only what needs none
    All(AllArgs),
}

/// Options of every experiment.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// Folder for results, figures and the page; an interrupted run continues there
    #[arg(
        long, short, value_name = "FOLDER", default_value = "reproduction",
        value_parser = folder()
    )]
    pub(crate) output: PathBuf,

    /// Run a reduced version, in about a minute
    #[arg(long)]
    pub(crate) quick: bool,

    /// Seed of folds, directions and synthetic data
    #[arg(
        long, default_value_t = 0, value_parser = whole(0, u64::MAX), allow_hyphen_values = true
    )]
    pub(crate) seed: u64,
}

/// Options of experiments on real data.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct WithData {
    #[command(flatten)]
    pub(crate) run: RunArgs,

    /// The folder with the data: uci/NAME/data.csv.gz (no header) and extra/NAME/data.csv.gz (with
    /// a header), the target in the last column
    #[arg(long, value_name = "FOLDER", env = "RAYSUM_DATA", value_parser = folder())]
    pub(crate) data: PathBuf,
}

/// Options of cross-validation.
#[derive(Clone, Copy, Debug, ClapArgs)]
pub(crate) struct FoldsArgs {
    /// Folds of the cross-validation [default: 10, with --quick 3]
    #[arg(
        long, value_name = "N", value_parser = whole(2, u32::MAX), allow_hyphen_values = true
    )]
    pub(crate) folds: Option<u32>,

    /// Repetitions, with other folds and other directions [default: 2 as in the paper; 1 for the
    /// peptides and with --quick]
    #[arg(
        long, value_name = "N", value_parser = whole(1, 1000), allow_hyphen_values = true
    )]
    pub(crate) repeats: Option<u32>,
}

/// Arguments of `uci`.
#[derive(Debug, ClapArgs)]
pub(crate) struct UciArgs {
    #[command(flatten)]
    pub(crate) data: WithData,

    #[command(flatten)]
    pub(crate) folds: FoldsArgs,

    /// These sets only, by the names of their folders [default: the paper's]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) sets: Vec<String>,

    /// These models only [default: the paper's]
    #[arg(
        long, value_name = "NAMES", value_delimiter = ',', value_parser = preset,
        allow_hyphen_values = true
    )]
    pub(crate) models: Vec<String>,

    /// Also run the other sets in the folder: one fold of those above 5,000 rows, with the models
    /// that are linear in the rows
    #[arg(long)]
    pub(crate) larger: bool,
}

/// Arguments of `projections`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ProjectionsArgs {
    #[command(flatten)]
    pub(crate) data: WithData,

    #[command(flatten)]
    pub(crate) folds: FoldsArgs,

    /// These UCI sets [default: concrete, autos and housing]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) sets: Vec<String>,
}

/// Arguments of `peptides`.
#[derive(Debug, ClapArgs)]
pub(crate) struct PeptidesArgs {
    #[command(flatten)]
    pub(crate) data: WithData,

    #[command(flatten)]
    pub(crate) folds: FoldsArgs,
}

/// Arguments of `all`.
#[derive(Debug, ClapArgs)]
pub(crate) struct AllArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,

    /// The folder with the data, as for the single experiments
    #[arg(long, value_name = "FOLDER", env = "RAYSUM_DATA", value_parser = folder())]
    pub(crate) data: Option<PathBuf>,
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
