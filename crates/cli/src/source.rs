//! From the user's table and arguments to numbers: X and y for a fit, X for a prediction.

use crate::args::{ReadArgs, TableArgs, YesNo};
use crate::npy;
use crate::table::{self, Encoding, Missing, ReadOptions, Source};
use anyhow::{Context, Result, ensure};
use raysum::{Dataset, Matrix, MatrixRef, Model, Standard};
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

impl TrainingTable {
    /// Some rows, X without a copy.
    pub(crate) fn part<'a>(&'a self, rows: &'a [usize]) -> (MatrixRef<'a>, Vec<f64>) {
        (MatrixRef::from(&self.x).choose(rows), rows.iter().map(|&i| self.y[i]).collect())
    }
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
    if npy::is_npy(&args.data) {
        return training_arrays(args);
    }
    ensure!(args.y.is_none(), "--y is for .npy files; name the target of a table with --target");
    let source = Source::new(&args.data);
    let spec = args.target.as_deref().context("which column is the target? Give --target")?;
    let table = table::read(&source, &options(&args.reading))?;
    let target = table::find_column(&table, spec)?;
    encode(&table, target, &args.drop, args.reading.missing)
}

/// Reads X and y from two `.npy` files, or both from one.
fn training_arrays(args: &TableArgs) -> Result<TrainingTable> {
    let name = args.data.display();
    ensure!(args.drop.is_empty(), "{name}: --drop is for tables, not for .npy files");
    let all = npy::read(&args.data)?;
    let (x, y, target) = match (&args.y, &args.target) {
        (Some(path), None) => {
            let y = npy::read(path)?;
            ensure!(y.columns() == 1, "{}: y has {} columns", path.display(), y.columns());
            (all, y.as_slice().to_vec(), "y".to_string())
        }
        (None, Some(spec)) => {
            let position: Option<isize> = spec.parse().ok();
            let found = position.and_then(|p| table::from_either_end(p, all.columns()));
            let found = found.with_context(|| {
                let columns = all.columns();
                format!("{name}: no column {spec}; it has {columns} columns, counted from 0")
            })?;
            let y = (0..all.rows()).map(|i| all[(i, found)]).collect();
            (without_column(all, found)?, y, spec.clone())
        }
        _ => anyhow::bail!("{name}: give --target COLUMN, or the targets' file with --y"),
    };
    // Values are checked here, where the file's name is at hand.
    Dataset::new(&x, &y).with_context(|| format!("{name}"))?;
    let names = (0..x.columns()).map(|i| i.to_string()).collect();
    let means = Standard::of_columns((&x).into()).into_iter().map(|column| column.mean).collect();
    let mut encoding = Encoding::plain(false, names, means);
    encoding.target = target;
    Ok(TrainingTable { x, y, encoding, notes: Vec::new() })
}

/// The matrix without one column, in the same memory.
fn without_column(matrix: Matrix, column: usize) -> Result<Matrix> {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let mut index = 0;
    let mut values = matrix.into_row_major();
    values.retain(|_| {
        let keep = index % columns != column;
        index += 1;
        keep
    });
    Ok(Matrix::from_row_major(rows, columns - 1, values)?)
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
    if npy::is_npy(path) {
        let x = npy::read(path)?;
        MatrixRef::from(&x).check_finite().with_context(|| path.display().to_string())?;
        let (kept, rows) = ((0..x.rows()).collect(), x.rows());
        return Ok(NewTable { x, kept, rows, notes: Vec::new() });
    }
    let encoding = encoding_of(model)?;
    let mut options = options(reading);
    if !encoding.has_header && !encoding.has_numbers() {
        // Without a number in it, the first row would be taken for a header.
        options.header.get_or_insert(false);
    }
    let table = table::read(&Source::new(path), &options)?;
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
