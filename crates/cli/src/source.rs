//! From the user's table and arguments to numbers: X and targets for a fit, X for a prediction.

use crate::args::{ReadArgs, TableArgs, YesNo};
use crate::inputs::{Collector, Inputs};
use crate::npy;
use crate::splits::Split;
use crate::table::{
    self, Chosen, Encoded, Encoding, Missing, Place, ReadOptions, Roles, Scan, Source, Survey,
    Tally,
};
use anyhow::{Context, Result, ensure};
use raysum::{Dataset, Error, Matrix, MatrixRef, Model, Standard};
use std::collections::HashSet;
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
        return training_arrays(args);
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

/// Reads X and y from two `.npy` files, or both from one.
fn training_arrays(args: &TableArgs) -> Result<TrainingTable> {
    let name = args.data.display();
    ensure!(args.drop.is_empty(), "{name}: --drop is for tables, not for .npy files");
    ensure!(args.columns.is_empty(), "{name}: --columns is for tables, not for .npy files");
    let (rows, width) = npy::shape(&args.data)?;
    let find = |spec: &str| -> Result<usize> {
        let position: Option<isize> = spec.trim().parse().ok();
        let found = position.and_then(|p| table::from_either_end(p, width));
        found.with_context(|| {
            format!("{name}: no column {spec}; it has {width} columns, counted from 0")
        })
    };
    let roles = Roles {
        targets: match &args.target {
            Some(spec) => spec.split(',').map(find).collect::<Result<_>>()?,
            None => Vec::new(),
        },
        weights: args.weights.as_deref().map(find).transpose()?,
        noise_std: args.noise_std.as_deref().map(find).transpose()?,
    };
    let left_out: HashSet<usize> = roles.all().collect();
    ensure!(left_out.len() == roles.all().count(), "{name}: a column has two roles");
    let mut x = Collector::new(rows, width - left_out.len(), args.room())?;
    let mut labels = Labels::default();
    npy::in_parts(&args.data, |_, part| {
        let column = |j: usize| (0..part.rows()).map(|i| part[(i, j)]).collect::<Vec<f64>>();
        labels.extend(Labels {
            targets: roles.targets.iter().map(|j| column(*j)).collect(),
            weights: roles.weights.map(column),
            noise_std: roles.noise_std.map(column),
        });
        x.push(without_columns(part, &left_out)?.as_slice())
    })?;
    let x = x.finish()?;
    let mut places: Vec<Place> = roles.targets.iter().map(|j| place(*j)).collect();
    match (&args.y, &args.target) {
        (Some(path), None) => (labels.targets, places) = read_targets(path, width)?,
        (None, Some(_)) => {}
        _ => anyhow::bail!("{name}: give --target COLUMN, or the targets' file with --y"),
    }
    // Values are checked here, where the file's name is at hand.
    labels.data(&x).with_context(|| format!("{name}"))?;
    ensure_rows(&name.to_string(), x.rows())?;
    ensure!(x.columns() > 0, "{name}: no columns are left to predict from");
    let kept: Vec<usize> = (0..width).filter(|j| !left_out.contains(j)).collect();
    let means = Standard::of_columns((&x).into()).into_iter().map(|column| column.mean).collect();
    let mut encoding =
        Encoding::plain(false, kept.iter().map(ToString::to_string).collect(), means);
    for (feature, position) in encoding.features.iter_mut().zip(&kept) {
        feature.position = *position;
    }
    encoding.width = places.iter().map(|p| p.position + 1).fold(width, usize::max);
    encoding.targets = places;
    encoding.weights = roles.weights.map(place);
    encoding.noise_std = roles.noise_std.map(place);
    Ok(TrainingTable { x, labels, encoding, notes: Vec::new() })
}

/// A column of an array, whose name is its position.
fn place(position: usize) -> Place {
    Place { name: position.to_string(), position }
}

/// Targets from a file of their own: one per column. In a table they would follow the others.
fn read_targets(path: &Path, width: usize) -> Result<(Vec<Vec<f64>>, Vec<Place>)> {
    let y = npy::read(path)?;
    ensure!(y.columns() > 0, "{}: y has no columns", path.display());
    let column = |j: usize| (0..y.rows()).map(|i| y[(i, j)]).collect();
    let name = |j: usize| if y.columns() == 1 { "y".into() } else { format!("y{j}") };
    let place = |j: usize| Place { name: name(j), position: width + j };
    Ok(((0..y.columns()).map(column).collect(), (0..y.columns()).map(place).collect()))
}

/// The matrix without some columns, in the same memory.
fn without_columns(matrix: Matrix, left_out: &HashSet<usize>) -> Result<Matrix> {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    if left_out.is_empty() {
        return Ok(matrix);
    }
    let mut index = 0;
    let mut values = matrix.into_row_major();
    values.retain(|_| {
        let keep = !left_out.contains(&(index % columns));
        index += 1;
        keep
    });
    Ok(Matrix::from_row_major(rows, columns - left_out.len(), values)?)
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
        return more_arrays(path, y, encoding);
    }
    ensure!(y.is_none(), "--y is for .npy files");
    let source = Source::new(path);
    let mut gathered = Gathered::new(Collector::new(0, encoding.expand_len(), u64::MAX)?);
    let texts = |names: &[String], has_header| encoding.texts(names, has_header);
    table::in_parts(&source, &options_for(reading, &encoding), texts, |part| {
        gathered.add(encoding.apply_part(&part, reading.missing, true)?)
    })?;
    gathered.finish(&source.name(), encoding)
}

fn more_arrays(path: &Path, y: Option<&Path>, encoding: Encoding) -> Result<TrainingTable> {
    let name = path.display();
    let all = npy::read(path)?;
    let column = |p: &Place| -> Result<Vec<f64>> {
        let found = (p.position < all.columns()).then_some(p.position);
        let j = found.with_context(|| format!("{name}: there is no column {}", p.position))?;
        Ok((0..all.rows()).map(|i| all[(i, j)]).collect())
    };
    let targets = match y {
        Some(path) => read_targets(path, 0)?.0,
        None => encoding.targets.iter().map(column).collect::<Result<_>>()?,
    };
    let found = targets.len();
    ensure!(
        found == encoding.targets.len(),
        "{name}: the model predicts {} targets, but there are {found}",
        encoding.targets.len()
    );
    let labels = Labels {
        targets,
        weights: encoding.weights.as_ref().map(column).transpose()?,
        noise_std: encoding.noise_std.as_ref().map(column).transpose()?,
    };
    let features: HashSet<usize> = encoding.features.iter().map(|f| f.position).collect();
    let left_out = (0..all.columns()).filter(|j| !features.contains(j)).collect();
    let x = without_columns(all, &left_out)?;
    labels.data(&x).with_context(|| format!("{name}"))?;
    Ok(TrainingTable { x: Inputs::Memory(x), labels, encoding, notes: Vec::new() })
}

fn options_for(reading: &ReadArgs, encoding: &Encoding) -> ReadOptions {
    let mut options = options(reading);
    if !encoding.has_header && !encoding.has_numbers() {
        // Without a number in it, the first row would be taken for a header.
        options.header.get_or_insert(false);
    }
    options
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
        let name = || path.display().to_string();
        npy::in_parts(path, |first, x| {
            MatrixRef::from(&x)
                .check_finite()
                .map_err(|error| after(first, error))
                .with_context(name)?;
            let (kept, rows) = ((0..x.rows()).collect(), x.rows());
            each(&NewRows { x, noise_std: None, kept, rows })
        })?;
        return Ok(Vec::new());
    }
    let encoding = encoding_of(model)?;
    let source = Source::new(path);
    let mut tally = Tally::default();
    let mut noise_known = true;
    let texts = |names: &[String], has_header| encoding.texts(names, has_header);
    table::in_parts(&source, &options_for(reading, &encoding), texts, |table| {
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

/// An error about some rows that follow `first` others.
fn after(first: usize, error: Error) -> Error {
    match error {
        Error::NotFiniteX { row, column, value } => {
            Error::NotFiniteX { row: first + row, column, value }
        }
        other => other,
    }
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
