//! From the user's table and arguments to numbers: X and targets for a fit, X for a prediction.

mod arrays;

use crate::args::{ReadArgs, TableArgs, YesNo};
use crate::inputs::{Collector, Inputs};
use crate::npy;
use crate::splits::Split;
use crate::table::{
    self, Chosen, Encoded, Encoding, Missing, ReadOptions, Roles, Scan, Source, Survey, Table,
    Tally,
};
use anyhow::{Context, Result, ensure};
use raysum::{Dataset, Matrix, MatrixRef, Model};
use std::ops::Range;
use std::path::Path;

/// The name under which a model keeps how its table was encoded.
pub(crate) const ATTACHMENT: &str = "table";
/// The name under which it keeps the name of its target.
pub(crate) const TARGET: &str = "target";

/// Rows to fit to, and how they were made from the table.
pub(crate) struct TrainingTable {
    pub(crate) x: Inputs,
    pub(crate) labels: Labels,
    pub(crate) encoding: Encoding,
    pub(crate) notes: Vec<String>,
}

/// What stands beside X in a training table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labels {
    pub(crate) targets: Vec<Vec<f64>>,
    pub(crate) weights: Option<Vec<f64>>,
    pub(crate) noise_std: Option<Vec<f64>>,
}

impl Labels {
    /// Something else in place of each list of values.
    fn each(&self, make: impl Fn(&[f64]) -> Vec<f64>) -> Labels {
        Labels {
            targets: self.targets.iter().map(|values| make(values)).collect(),
            weights: self.weights.as_deref().map(&make),
            noise_std: self.noise_std.as_deref().map(&make),
        }
    }

    /// Adds those of further rows.
    fn extend(&mut self, more: Labels) {
        if self.targets.is_empty() {
            *self = more;
            return;
        }
        self.targets.iter_mut().zip(more.targets).for_each(|(all, more)| all.extend(more));
        for (all, more) in
            [(&mut self.weights, more.weights), (&mut self.noise_std, more.noise_std)]
        {
            all.iter_mut().zip(more).for_each(|(all, more)| all.extend(more));
        }
    }

    /// Rows to learn all targets from.
    pub(crate) fn data<'a>(&'a self, x: impl Into<MatrixRef<'a>>) -> Result<Dataset<'a>> {
        self.some(x, 0..self.targets.len())
    }

    /// Rows to learn some targets from.
    pub(crate) fn some<'a>(
        &'a self,
        x: impl Into<MatrixRef<'a>>,
        targets: Range<usize>,
    ) -> Result<Dataset<'a>> {
        let targets: Vec<&[f64]> = self.targets[targets].iter().map(Vec::as_slice).collect();
        let mut data = Dataset::rows_of(x, &targets)?;
        if let Some(weights) = &self.weights {
            data = data.weighted(weights)?;
        }
        if let Some(noise_std) = &self.noise_std {
            data = data.with_noise_std(noise_std)?;
        }
        Ok(data)
    }
}

impl TrainingTable {
    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.x.rows()
    }

    /// The rows to learn from, X without a copy.
    pub(crate) fn train<'a>(&'a self, split: &'a Split) -> (MatrixRef<'a>, Labels) {
        let x = MatrixRef::from(&self.x).without(&split.test);
        (x, self.labels.each(|values| split.train_of(values)))
    }

    /// The rows to be tested on, X without a copy.
    pub(crate) fn test<'a>(&'a self, split: &'a Split) -> (MatrixRef<'a>, Labels) {
        let x = MatrixRef::from(&self.x).choose(&split.test);
        (x, self.labels.each(|values| split.test_of(values)))
    }
}

/// Some rows to predict.
pub(crate) struct NewRows {
    pub(crate) x: Matrix,
    /// The known standard deviation of each row's noise, if the table has the column for it.
    pub(crate) noise_std: Option<Vec<f64>>,
    /// Which of these rows of the table have a row of `x`.
    pub(crate) kept: Vec<usize>,
    /// Number of rows of the table.
    pub(crate) rows: usize,
}

fn options(reading: &ReadArgs) -> ReadOptions {
    ReadOptions { header: reading.header.map(YesNo::is_yes), ..ReadOptions::default() }
}

/// Reads a table with its targets.
pub(crate) fn training(args: &TableArgs) -> Result<TrainingTable> {
    if npy::is_npy(&args.data) {
        return arrays::training(args);
    }
    ensure!(args.y.is_none(), "--y is for .npy files; name the target of a table with --target");
    let source = Source::new(&args.data);
    let spec = args.target.as_deref().context("which column is the target? Give --target")?;
    let chosen = Chosen { columns: &args.columns, drop: &args.drop };
    let wanted = Wanted { chosen, missing: args.reading.missing, room: args.room() };
    table(&source, &options(&args.reading), &wanted, |survey| {
        let find = |spec: &String| table::find_column(survey, spec);
        Ok(Roles {
            targets: find_targets(survey, spec)?,
            weights: args.weights.as_ref().map(find).transpose()?,
            noise_std: args.noise_std.as_ref().map(find).transpose()?,
        })
    })
}

/// What is wanted of a table to learn from.
pub(crate) struct Wanted<'a> {
    /// The columns to predict from.
    pub(crate) chosen: Chosen<'a>,
    /// What to do about missing cells.
    pub(crate) missing: Missing,
    /// How many bytes of it may be in memory.
    pub(crate) room: u64,
}

impl Default for Wanted<'_> {
    /// All columns of a small table without gaps.
    fn default() -> Self {
        Self { chosen: Chosen::default(), missing: Missing::Error, room: u64::MAX }
    }
}

/// Reads a table whose targets are found by `roles`.
pub(crate) fn table(
    source: &Source,
    options: &ReadOptions,
    wanted: &Wanted<'_>,
    roles: impl FnOnce(&Survey) -> Result<Roles>,
) -> Result<TrainingTable> {
    let scan = Scan::new(source, options, wanted.room)?;
    let encoding = Encoding::learn(&scan.survey, roles(&scan.survey)?, &wanted.chosen)?;
    let (rows, columns) = (scan.survey.rows, encoding.expand_len());
    let mut gathered = Gathered::new(Collector::new(rows, columns, wanted.room)?);
    scan.into_parts(|part| gathered.add(encoding.apply_part(&part, wanted.missing, true)?))?;
    let table = gathered.finish(&source.name(), encoding)?;
    ensure_rows(&source.name(), table.rows())?;
    Ok(table)
}

/// A training table on its way in.
struct Gathered {
    x: Collector,
    labels: Labels,
    tally: Tally,
}

impl Gathered {
    fn new(x: Collector) -> Self {
        Self { x, labels: Labels::default(), tally: Tally::default() }
    }

    fn add(&mut self, part: Encoded) -> Result<()> {
        let Encoded { x, targets, weights, noise_std, tally, .. } = part;
        self.x.push(&x)?;
        self.labels.extend(Labels { targets, weights, noise_std });
        self.tally.merge(tally);
        Ok(())
    }

    fn finish(self, name: &str, encoding: Encoding) -> Result<TrainingTable> {
        self.tally.check(name)?;
        let mut notes = encoding.notes.clone();
        notes.extend(self.tally.notes(name));
        Ok(TrainingTable { x: self.x.finish()?, labels: self.labels, encoding, notes })
    }
}

/// The targets: one column, whose name may hold a comma, or several between commas.
fn find_targets(table: &Survey, spec: &str) -> Result<Vec<usize>> {
    match table::find_column(table, spec) {
        Ok(one) => Ok(vec![one]),
        Err(error) if !spec.contains(',') => Err(error),
        Err(_) => spec.split(',').map(|one| table::find_column(table, one.trim())).collect(),
    }
}

fn ensure_rows(name: &str, rows: usize) -> Result<()> {
    let there = if rows == 1 { "is 1".to_string() } else { format!("are {rows}") };
    ensure!(rows >= 2, "{name}: a fit needs at least 2 rows, but there {there} left");
    Ok(())
}

/// Reads a table with all that `model` was fitted on: its columns, targets, weights and noise.
pub(crate) fn more_rows(
    path: &Path,
    y: Option<&Path>,
    reading: &ReadArgs,
    model: &Model,
) -> Result<TrainingTable> {
    let encoding = encoding_of(model)?;
    if npy::is_npy(path) {
        return arrays::more_rows(path, y, encoding);
    }
    ensure!(y.is_none(), "--y is for .npy files");
    let source = Source::new(path);
    let mut gathered = Gathered::new(Collector::new(0, encoding.expand_len(), u64::MAX)?);
    in_parts(&source, reading, &encoding, |part| {
        gathered.add(encoding.apply_part(&part, reading.missing, true)?)
    })?;
    gathered.finish(&source.name(), encoding)
}

/// Reads a table some rows at a time, its columns as they were when the encoding was learned.
fn in_parts(
    source: &Source,
    reading: &ReadArgs,
    encoding: &Encoding,
    each: impl FnMut(Table) -> Result<()>,
) -> Result<()> {
    let mut options = options(reading);
    if !encoding.has_header && !encoding.has_numbers() {
        // Without a number in it, the first row would be taken for a header.
        options.header.get_or_insert(false);
    }
    table::in_parts(source, &options, |names, header| encoding.texts(names, header), each)
}

/// Reads a table to predict with `model`, some rows at a time and in order; returns what the user
/// should hear of it.
pub(crate) fn new_rows(
    path: &Path,
    reading: &ReadArgs,
    model: &Model,
    mut each: impl FnMut(&NewRows) -> Result<()>,
) -> Result<Vec<String>> {
    if npy::is_npy(path) {
        return arrays::new_rows(path, each);
    }
    let encoding = encoding_of(model)?;
    let source = Source::new(path);
    let mut tally = Tally::default();
    let mut noise_known = true;
    in_parts(&source, reading, &encoding, |table| {
        let encoded = encoding.apply_part(&table, reading.missing, false)?;
        // What was written before must not be found out to be wrong at the end.
        encoded.tally.check_missing()?;
        tally.merge(encoded.tally);
        noise_known = encoded.noise_std.is_some();
        each(&NewRows {
            x: Matrix::from_row_major(encoded.rows, encoded.cols, encoded.x)?,
            noise_std: encoded.noise_std,
            kept: encoded.kept,
            rows: table.rows(),
        })
    })?;
    let name = source.name();
    tally.check(&name)?;
    let mut notes = tally.notes(&name);
    if let (Some(column), false) = (&encoding.noise_std, noise_known) {
        notes.push(format!(
            "{name}: there is no column '{}' with known noise, so intervals hold the noise found in \
             the fit alone",
            column.name
        ));
    }
    Ok(notes)
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
