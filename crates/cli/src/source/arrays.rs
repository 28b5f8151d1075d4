//! NumPy's arrays as tables: no names, no texts, no missing values.

use super::{Labels, NewRows, TrainingTable, ensure_rows};
use crate::args::TableArgs;
use crate::inputs::{Collector, Inputs};
use crate::npy;
use crate::table::{self, Encoding, Place, Roles};
use anyhow::{Context, Result, ensure};
use raysum::{Error, Matrix, MatrixRef, Standard};
use std::collections::HashSet;
use std::path::Path;

/// Reads X and y from two `.npy` files, or both from one.
pub(super) fn training(args: &TableArgs) -> Result<TrainingTable> {
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
    ensure!(left_out.len() < width, "{name}: no columns are left to predict from");
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

/// Reads X with all that a model was fitted on, targets from a file of their own if there is one.
pub(super) fn more_rows(
    path: &Path,
    y: Option<&Path>,
    encoding: Encoding,
) -> Result<TrainingTable> {
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

/// Reads rows to predict, some at a time and in order.
pub(super) fn new_rows(
    path: &Path,
    mut each: impl FnMut(&NewRows) -> Result<()>,
) -> Result<Vec<String>> {
    let name = || path.display().to_string();
    npy::in_parts(path, |first, x| {
        MatrixRef::from(&x)
            .check_finite()
            .map_err(|error| after(first, error))
            .with_context(name)?;
        let (kept, rows) = ((0..x.rows()).collect(), x.rows());
        each(&NewRows { x, noise_std: None, kept, rows })
    })?;
    Ok(Vec::new())
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
