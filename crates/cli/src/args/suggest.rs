//! The arguments of `raysum suggest`.

use super::values::{file, whole};
use clap::Args as ClapArgs;
use raysum::limits::MAX_SUGGESTIONS;
use raysum_table::ColumnRange;
use std::path::PathBuf;

/// `raysum suggest`.
#[derive(Debug, ClapArgs)]
pub(crate) struct SuggestArgs {
    /// A model saved by `raysum fit`
    #[arg(value_parser = file())]
    pub(crate) model: PathBuf,

    /// The values that a column may have: temperature=20:90 for numbers and dates, cycles=1..10 for
    /// whole numbers, solvent=water|ethanol, or a single value; several separated by commas. A column
    /// without bounds may have what it had in training
    #[arg(
        long, value_name = "COLUMN=RANGE", value_delimiter = ',', value_parser = bounds,
        allow_hyphen_values = true
    )]
    pub(crate) bounds: Vec<(String, ColumnRange)>,

    /// How many rows to suggest: they are meant to be tried at once
    #[arg(
        long, short = 'n', default_value_t = 8, value_name = "N",
        value_parser = whole(1, MAX_SUGGESTIONS), allow_hyphen_values = true
    )]
    pub(crate) count: usize,

    /// Look for high values of the target in place of low ones
    #[arg(long)]
    pub(crate) maximize: bool,

    /// The target, if the model has several
    #[arg(long, short, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) target: Option<String>,

    /// Where to write, or - for standard output; the extension determines the format, as for `predict`
    #[arg(long, short, value_name = "FILE", default_value = "-", value_parser = file())]
    pub(crate) output: PathBuf,

    /// Seed: another one gives other rows
    #[arg(
        long, default_value_t = 0, value_parser = whole(0, u64::MAX), allow_hyphen_values = true
    )]
    pub(crate) seed: u64,
}

/// A column and its range.
fn bounds(text: &str) -> Result<(String, ColumnRange), String> {
    // A name may have an equals sign; ranges have none.
    let (name, range) = text.rsplit_once('=').ok_or(
        "write COLUMN=RANGE, such as temperature=20:90, cycles=1..10 or solvent=water|ethanol",
    )?;
    Ok((name.trim().to_string(), ColumnRange::parse(range)?))
}
