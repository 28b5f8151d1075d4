//! From the user's table and arguments to numbers: X and y for a fit, X for a prediction.

use crate::args::{ReadArgs, TableArgs, YesNo};
use crate::table::{self, Encoding, Missing, ReadOptions, Source};
use anyhow::{Context, Result, ensure};
use raysum::{Matrix, Model};
use std::path::Path;

/// The name under which a model keeps how its table was encoded.
pub(crate) const ATTACHMENT: &str = "table";

/// Rows to fit to, and how they were made from the table.
pub(crate) struct TrainingTable {
    pub(crate) x: Matrix,
    pub(crate) y: Vec<f64>,
    pub(crate) encoding: Encoding,
    pub(crate) notes: Vec<String>,
}

/// Rows to predict.
pub(crate) struct NewTable {
    pub(crate) x: Matrix,
    /// Which rows of the table these are.
    pub(crate) kept: Vec<usize>,
    /// Number of rows of the table.
    pub(crate) rows: usize,
    pub(crate) notes: Vec<String>,
}

fn options(reading: &ReadArgs) -> ReadOptions {
    ReadOptions { header: reading.header.map(YesNo::is_yes), ..ReadOptions::default() }
}

/// Reads a table with its target.
pub(crate) fn training(args: &TableArgs) -> Result<TrainingTable> {
    let source = Source::new(&args.data);
    let table = table::read(&source, &options(&args.reading))?;
    let target = table::find_column(&table, &args.target)?;
    encode(&table, target, &args.drop, args.reading.missing)
}

/// Encodes a table whose target is known.
pub(crate) fn encode(
    table: &table::Table,
    target: usize,
    drop: &[String],
    missing: Missing,
) -> Result<TrainingTable> {
    let encoding = Encoding::learn(table, target, drop)?;
    let encoded = encoding.apply(table, missing, true)?;
    ensure!(
        encoded.rows >= 2,
        "{}: a fit needs at least 2 rows, but there {} left",
        table.name,
        if encoded.rows == 1 { "is 1".to_string() } else { format!("are {}", encoded.rows) }
    );
    let x = Matrix::from_row_major(encoded.rows, encoded.cols, encoded.x)?;
    let y = encoded.y.context("the target was asked for")?;
    Ok(TrainingTable { x, y, encoding, notes: encoded.notes })
}

/// Reads a table to predict with `model`.
pub(crate) fn new_rows(path: &Path, reading: &ReadArgs, model: &Model) -> Result<NewTable> {
    let encoding = encoding_of(model)?;
    let table = table::read(&Source::new(path), &options(reading))?;
    let encoded = encoding.apply(&table, reading.missing, false)?;
    Ok(NewTable {
        x: Matrix::from_row_major(encoded.rows, encoded.cols, encoded.x)?,
        kept: encoded.kept,
        rows: table.rows(),
        notes: encoded.notes,
    })
}

/// How tables are encoded for this model: as when it was fitted from the command line, or else
/// one number per column, by name if it has names.
fn encoding_of(model: &Model) -> Result<Encoding> {
    let encoding = match model.attachments.get(ATTACHMENT) {
        Some(json) => {
            let encoding: Encoding = serde_json::from_value(json.clone())
                .context("the model file is damaged (description of the table)")?;
            encoding.validate().context("the model file is damaged (description of the table)")?;
            encoding
        }
        None => plain_encoding(model),
    };
    ensure!(
        encoding.expand_len() == model.columns(),
        "the model file is damaged (its table has {} columns, its model {})",
        encoding.expand_len(),
        model.columns()
    );
    Ok(encoding)
}

fn plain_encoding(model: &Model) -> Encoding {
    let means = model.scaler().x.iter().map(|s| s.mean).collect();
    match &model.column_names {
        Some(names) => Encoding::plain(true, names.clone(), means),
        None => {
            Encoding::plain(false, (0..model.columns()).map(|i| i.to_string()).collect(), means)
        }
    }
}
