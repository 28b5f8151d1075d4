//! Matrices and data sets, checked for shape and finiteness when they are made.

mod distinct;
mod labels;
mod store;
mod view;

pub(crate) use distinct::{Copies, Distinct};
pub use labels::Labels;
pub use store::RowStore;
pub use view::MatrixRef;

use crate::error::{Error, Result};

/// An owned matrix of `f64`, stored row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    data: Vec<f64>,
    rows: usize,
    columns: usize,
}

impl Matrix {
    /// A matrix of `rows × columns` from values stored row by row.
    pub fn from_row_major(rows: usize, columns: usize, data: Vec<f64>) -> Result<Self> {
        if rows.checked_mul(columns) != Some(data.len()) {
            return Err(Error::Shape { rows, columns, len: data.len() });
        }
        Ok(Self { data, rows, columns })
    }

    /// A matrix whose entry `(i, j)` is `f(i, j)`.
    pub fn from_fn(rows: usize, columns: usize, mut f: impl FnMut(usize, usize) -> f64) -> Self {
        let mut data = Vec::with_capacity(rows * columns);
        for i in 0..rows {
            data.extend((0..columns).map(|j| f(i, j)));
        }
        Self { data, rows, columns }
    }

    /// A matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { data: vec![0.0; rows * columns], rows, columns }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.columns..(i + 1) * self.columns]
    }

    /// Row `i`, to write to.
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.data[i * self.columns..(i + 1) * self.columns]
    }

    /// Consumes the matrix and returns its values, row by row.
    pub fn into_row_major(self) -> Vec<f64> {
        self.data
    }

    /// All values, row by row.
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// All values, row by row, to write to.
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// These rows, and below them those of another matrix with as many columns.
    #[must_use]
    pub(crate) fn stacked(mut self, below: &Matrix) -> Matrix {
        debug_assert_eq!(self.columns, below.columns);
        self.data.extend_from_slice(&below.data);
        self.rows += below.rows;
        self
    }

    /// The rows with these indices, in this order.
    #[must_use]
    pub fn gather(&self, rows: &[usize]) -> Matrix {
        let mut data = Vec::with_capacity(rows.len() * self.columns);
        for &i in rows {
            data.extend_from_slice(self.row(i));
        }
        Matrix { data, rows: rows.len(), columns: self.columns }
    }
}

impl std::ops::Index<(usize, usize)> for Matrix {
    type Output = f64;
    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        debug_assert!(j < self.columns);
        &self.data[i * self.columns + j]
    }
}

impl std::ops::IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        debug_assert!(j < self.columns);
        &mut self.data[i * self.columns + j]
    }
}

/// Rows to learn from: X (n × d) and its labels (one or several targets, sample weights and known
/// noise), borrowed and checked.
#[derive(Clone, Debug)]
pub struct Dataset<'a> {
    x: MatrixRef<'a>,
    labels: Labels<&'a [f64]>,
    groups: Option<&'a [usize]>,
    /// Whether each target is above 0 in all rows, those included that these are a part of.
    above_zero: Vec<bool>,
}

impl<'a> Dataset<'a> {
    /// Takes X and y after checking that their lengths agree, that there are at least two rows
    /// and one column, and that every value is finite.
    pub fn new(x: impl Into<MatrixRef<'a>>, y: &'a [f64]) -> Result<Self> {
        Self::with_targets(x, &[y])
    }

    /// Like [`Dataset::new`], with several targets.
    pub fn with_targets(x: impl Into<MatrixRef<'a>>, targets: &[&'a [f64]]) -> Result<Self> {
        Self::labelled(x, Labels::of_targets(targets.to_vec()))
    }

    /// Like [`Dataset::new`], with all that belongs to the rows.
    pub fn labelled(x: impl Into<MatrixRef<'a>>, labels: Labels<&'a [f64]>) -> Result<Self> {
        let x = x.into();
        if let Some(y) = labels.targets.iter().find(|y| y.len() != x.rows()) {
            return Err(Error::TargetLength { rows: x.rows(), targets: y.len() });
        }
        if x.rows() < 2 {
            return Err(Error::TooFewRows { rows: x.rows() });
        }
        if x.columns() == 0 {
            return Err(Error::NoColumns);
        }
        Self::labelled_rows(x, labels)
    }

    /// Rows to add to a model, or to take out of it: like [`Dataset::with_targets`], but a single
    /// row is enough.
    pub fn rows_of(x: impl Into<MatrixRef<'a>>, targets: &[&'a [f64]]) -> Result<Self> {
        Self::labelled_rows(x, Labels::of_targets(targets.to_vec()))
    }

    /// Like [`Dataset::rows_of`], with all that belongs to the rows.
    pub fn labelled_rows(x: impl Into<MatrixRef<'a>>, labels: Labels<&'a [f64]>) -> Result<Self> {
        let x = x.into();
        let Labels { targets, sample_weights, noise } = labels;
        if targets.is_empty() {
            return Err(Error::NoTargets);
        }
        x.check_finite()?;
        for y in &targets {
            if x.rows() != y.len() {
                return Err(Error::TargetLength { rows: x.rows(), targets: y.len() });
            }
            if let Some(row) = y.iter().position(|v| !v.is_finite()) {
                return Err(Error::NotFiniteY { row, value: y[row] });
            }
        }
        let above_zero = targets.iter().map(|y| y.iter().all(|v| *v > 0.0)).collect();
        let labels = Labels::of_targets(targets);
        let mut data = Self { x, labels, groups: None, above_zero };
        if let Some(weights) = sample_weights {
            data = data.weighted(weights)?;
        }
        if let Some(noise_std) = noise {
            data = data.with_noise_std(noise_std)?;
        }
        Ok(data)
    }

    /// The same rows, of which row i has the noise variance σ²/`weights[i]`. A factor common to all
    /// weights has no effect on predictions.
    pub fn weighted(mut self, weights: &'a [f64]) -> Result<Self> {
        check_rows(self.rows(), "weight", weights, |w| w > 0.0, "finite and above 0")?;
        self.labels.sample_weights = Some(weights);
        Ok(self)
    }

    /// The same rows, with known standard deviations of each row's noise, in the target's units.
    /// Noise that the fit estimates is added to it.
    pub fn with_noise_std(mut self, noise_std: &'a [f64]) -> Result<Self> {
        check_noise_std(self.rows(), noise_std)?;
        if self.labels.targets.len() > 1 {
            return Err(Error::NoiseOfTargets);
        }
        self.labels.noise = Some(noise_std);
        Ok(self)
    }

    /// The same rows, where columns with the same number in `groups` belong together, such as those
    /// of one category. The numbers count from 0 and are in order.
    pub fn grouped(self, groups: &'a [usize]) -> Result<Self> {
        let (expected, found) = (self.columns(), groups.len());
        if found != expected {
            return Err(Error::HyperparameterCount { name: "groups", expected, found });
        }
        let in_order = groups.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == pair[0] + 1);
        if groups.first() != Some(&0) || !in_order {
            return Err(Error::Groups);
        }
        Ok(Self { groups: Some(groups), ..self })
    }

    /// The same rows as a part of others, with what these say about columns and targets as a whole.
    pub(crate) fn part_of(self, all: &Dataset<'a>) -> Self {
        Self { groups: all.groups, above_zero: all.above_zero.clone(), ..self }
    }

    /// Whether each target is above 0 in all rows, those included that these are a part of.
    pub(crate) fn above_zero(&self) -> &[bool] {
        &self.above_zero
    }

    /// The numbers of groups that columns belong to, if they were given.
    pub fn groups(&self) -> Option<&'a [usize]> {
        self.groups
    }

    /// The inputs.
    pub fn x(&self) -> MatrixRef<'a> {
        self.x
    }

    /// The target, or the first of several.
    pub fn y(&self) -> &'a [f64] {
        self.labels.targets[0]
    }

    /// The same rows with target number `k` alone.
    ///
    /// # Panics
    /// If there is no such target.
    #[must_use]
    pub fn one_target(&self, k: usize) -> Self {
        let above_zero = vec![self.above_zero[k]];
        Self { labels: self.labels.some_targets(k..k + 1), above_zero, ..*self }
    }

    /// All that belongs to the rows.
    pub(crate) fn labels(&self) -> &Labels<&'a [f64]> {
        &self.labels
    }

    /// All targets.
    pub fn targets(&self) -> &[&'a [f64]] {
        &self.labels.targets
    }

    /// Fails unless there are this many targets.
    pub(crate) fn check_targets(&self, expected: usize) -> Result<()> {
        let found = self.labels.targets.len();
        if found == expected { Ok(()) } else { Err(Error::TargetCount { expected, found }) }
    }

    /// The rows' weights, if they have any.
    pub fn weights(&self) -> Option<&'a [f64]> {
        self.labels.sample_weights
    }

    /// The known standard deviations of the rows' noise.
    pub fn noise_std(&self) -> Option<&'a [f64]> {
        self.labels.noise
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.x.rows()
    }

    /// Number of columns of X.
    pub fn columns(&self) -> usize {
        self.x.columns()
    }
}

/// Fails unless there is a standard deviation of the noise for each of this number of rows.
pub(crate) fn check_noise_std(rows: usize, noise_std: &[f64]) -> Result<()> {
    check_rows(rows, "noise std", noise_std, |s| s >= 0.0, "finite and at least 0")
}

fn check_rows(
    expected: usize,
    name: &'static str,
    values: &[f64],
    good: impl Fn(f64) -> bool,
    rule: &'static str,
) -> Result<()> {
    let found = values.len();
    if found != expected {
        return Err(Error::RowValues { name, expected, found });
    }
    let bad = values.iter().position(|v| !(v.is_finite() && good(*v)));
    match bad {
        Some(row) => Err(Error::RowValue { name, row, value: values[row], rule }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_set_names_the_first_bad_value() {
        let x = Matrix::from_row_major(2, 2, vec![1.0, 2.0, 3.0, f64::NAN]).unwrap();
        let e = Dataset::new(&x, &[1.0, 2.0]).unwrap_err();
        assert_eq!(e.to_string(), "X holds NaN at row 1, column 1");
        let x = Matrix::zeros(2, 1);
        let e = Dataset::new(&x, &[1.0, f64::INFINITY]).unwrap_err();
        assert_eq!(e.to_string(), "y holds inf at row 1");
    }

    #[test]
    fn shapes_are_checked() {
        assert!(Matrix::from_row_major(2, 2, vec![0.0; 3]).is_err());
        assert!(Matrix::from_row_major(usize::MAX, 2, vec![0.0; 3]).is_err());
        let x = Matrix::zeros(3, 1);
        assert!(matches!(
            Dataset::new(&x, &[0.0; 2]),
            Err(Error::TargetLength { rows: 3, targets: 2 })
        ));
        let x = Matrix::zeros(1, 1);
        assert!(matches!(Dataset::new(&x, &[0.0]), Err(Error::TooFewRows { rows: 1 })));
        let x = Matrix::zeros(2, 0);
        assert!(matches!(Dataset::new(&x, &[0.0; 2]), Err(Error::NoColumns)));
    }
}
