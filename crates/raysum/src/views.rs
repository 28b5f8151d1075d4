//! The scaled projection W: one row per one-dimensional projection, over the columns of X.
//!
//! Projections onto the axes are stored as one factor each: with thousands of columns a
//! matrix of them would be all zeros and most of the work. The views of several terms are stacked
//! block by block, each in its own form.

use crate::data::Matrix;
use crate::linalg::{self, Threads};
use serde::{Deserialize, Serialize};
use std::ops::{Index, Range};

/// A matrix with a row per view and a column per column of X.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Views {
    blocks: Vec<Block>,
    /// The weights that are kept, block by block and row by row.
    weights: Vec<f64>,
    columns: usize,
}

/// Views of one form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Block {
    form: Form,
    rows: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Form {
    /// Views in any direction.
    Full,
    /// View r of the block looks along column r only; there may be fewer views than columns.
    Axes,
}

/// Where a block's views and its weights are.
struct BlockRange {
    form: Form,
    rows: Range<usize>,
    weights: Range<usize>,
}

impl From<Matrix> for Views {
    fn from(matrix: Matrix) -> Self {
        let (rows, columns) = (matrix.rows(), matrix.columns());
        let blocks = vec![Block { form: Form::Full, rows }];
        Self { blocks, weights: matrix.into_row_major(), columns }
    }
}

impl Views {
    /// The first `rows` axes of as many columns or more, with weight 1.
    pub(crate) fn axes(rows: usize, columns: usize) -> Self {
        debug_assert!(rows <= columns);
        Self::along_axes(vec![1.0; rows], columns)
    }

    /// View r looks along column r, with this weight.
    pub(crate) fn along_axes(weights: Vec<f64>, columns: usize) -> Self {
        Self { blocks: vec![Block { form: Form::Axes, rows: weights.len() }], weights, columns }
    }

    /// All of these, one after another.
    pub(crate) fn stacked(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self { blocks: Vec::new(), weights: Vec::new(), columns: 0 };
        for part in parts {
            all.blocks.extend(part.blocks);
            all.weights.extend(part.weights);
            all.columns = part.columns;
        }
        all
    }

    fn places(&self) -> impl Iterator<Item = BlockRange> + '_ {
        let columns = self.columns;
        self.blocks.iter().scan((0, 0), move |(row, weight), block| {
            let count = match block.form {
                Form::Full => block.rows * columns,
                Form::Axes => block.rows,
            };
            let rows = *row..*row + block.rows;
            let weights = *weight..*weight + count;
            (*row, *weight) = (rows.end, weights.end);
            Some(BlockRange { form: block.form, rows, weights })
        })
    }

    /// Number of views.
    pub(crate) fn rows(&self) -> usize {
        self.blocks.iter().map(|block| block.rows).sum()
    }

    /// Number of columns of X.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Whether each view looks along one column only.
    pub(crate) fn are_axes(&self) -> bool {
        self.blocks.iter().all(|block| block.form == Form::Axes)
    }

    /// The weights that are kept, row by row.
    pub(crate) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The weights that are kept, to be changed.
    pub(crate) fn weights_mut(&mut self) -> &mut [f64] {
        &mut self.weights
    }

    /// The row and the column of each weight that is kept.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let width = self.columns;
        self.places().flat_map(move |place| {
            let first = place.rows.start;
            (0..place.weights.len()).map(move |k| match place.form {
                Form::Full => (first + k / width, k % width),
                Form::Axes => (first + k, k),
            })
        })
    }

    /// These views with other weights, from row, column and weight.
    #[must_use]
    pub(crate) fn map(&self, weight: impl Fn(usize, usize, f64) -> f64) -> Self {
        let entries = self.entries().zip(&self.weights);
        let weights = entries.map(|((row, column), w)| weight(row, column, *w)).collect();
        Self { blocks: self.blocks.clone(), weights, columns: self.columns }
    }

    /// Every weight, zeros included.
    pub(crate) fn to_matrix(&self) -> Matrix {
        let mut matrix = Matrix::zeros(self.rows(), self.columns);
        for ((row, column), weight) in self.entries().zip(&self.weights) {
            matrix[(row, column)] = *weight;
        }
        matrix
    }

    /// The squared length of one view.
    pub(crate) fn squared_length(&self, row: usize) -> f64 {
        let Some((place, at)) = self.place_of(row) else { return 0.0 };
        match place.form {
            Form::Full => linalg::dot(
                &self.weights[at..][..self.columns],
                &self.weights[at..][..self.columns],
            ),
            Form::Axes => self.weights[at] * self.weights[at],
        }
    }

    /// The block of a view, and the first of the weights that are kept of it.
    fn place_of(&self, row: usize) -> Option<(BlockRange, usize)> {
        let place = self.places().find(|place| place.rows.contains(&row))?;
        let inside = row - place.rows.start;
        let at = match place.form {
            Form::Full => place.weights.start + inside * self.columns,
            Form::Axes => place.weights.start + inside,
        };
        Some((place, at))
    }

    /// z = W x for every row of `x`: one contiguous run of values per view.
    pub(crate) fn project(&self, x: &Matrix, threads: Threads) -> Vec<f64> {
        let mut z = Vec::with_capacity(self.rows() * x.rows());
        for place in self.places() {
            let weights = &self.weights[place.weights];
            match place.form {
                Form::Full => {
                    let own =
                        linalg::product_transposed(x.as_slice(), weights, x.columns(), threads);
                    if z.is_empty() { z = own } else { z.extend(own) }
                }
                Form::Axes => project_axes(weights, x, &mut z),
            }
        }
        z
    }

    /// z = W x like [`Views::project`], but row by row: the bits of a row do not depend on the rows
    /// that it comes with.
    pub(crate) fn project_each(&self, x: &Matrix) -> Vec<f64> {
        let n = x.rows();
        let mut z = Vec::with_capacity(self.rows() * n);
        for place in self.places() {
            let weights = &self.weights[place.weights];
            match place.form {
                Form::Full => {
                    for view in weights.chunks(self.columns.max(1)) {
                        z.extend((0..n).map(|i| linalg::dot(view, x.row(i))));
                    }
                }
                Form::Axes => project_axes(weights, x, &mut z),
            }
        }
        z
    }

    /// ∂/∂W = (∂/∂z)'X, of the weights that are kept; `slopes` has a run of values per view.
    pub(crate) fn slopes(&self, slopes: &[f64], x: &Matrix, threads: Threads) -> Self {
        let n = x.rows();
        let mut out = self.zeros();
        for place in self.places() {
            let slopes = &slopes[place.rows.start * n..place.rows.end * n];
            let weights = &mut out.weights[place.weights];
            match place.form {
                Form::Full => {
                    let product = linalg::transposed_product(slopes, x.as_slice(), n, threads);
                    weights.copy_from_slice(&product);
                }
                Form::Axes => {
                    for ((r, w), slopes) in weights.iter_mut().enumerate().zip(slopes.chunks(n)) {
                        *w = slopes.iter().enumerate().map(|(i, s)| s * x[(i, r)]).sum();
                    }
                }
            }
        }
        out
    }

    /// Adds (∂/∂z)'X of some rows; `slopes` has a value per view, row by row.
    pub(crate) fn add_slopes(&mut self, slopes: &[f64], x: &Matrix) {
        let views = self.rows().max(1);
        let places: Vec<BlockRange> = self.places().collect();
        for place in places {
            let weights = &mut self.weights[place.weights];
            match place.form {
                Form::Full if place.rows.len() == views => {
                    linalg::add_row_major_gram(weights, slopes, x.as_slice(), x.rows());
                }
                Form::Full => {
                    let rows = slopes.chunks(views);
                    let own: Vec<f64> =
                        rows.flat_map(|row| &row[place.rows.clone()]).copied().collect();
                    linalg::add_row_major_gram(weights, &own, x.as_slice(), x.rows());
                }
                Form::Axes => {
                    for (i, slopes) in slopes.chunks(views).enumerate() {
                        let terms = slopes[place.rows.clone()].iter().zip(x.row(i));
                        weights.iter_mut().zip(terms).for_each(|(w, (s, x))| *w += s * x);
                    }
                }
            }
        }
    }

    /// Adds weight by weight; `other` has the same form.
    pub(crate) fn add(&mut self, other: &Views) {
        let pairs = self.weights_mut().iter_mut().zip(other.weights());
        pairs.for_each(|(own, other)| *own += other);
    }

    /// The same form with all weights 0.
    #[must_use]
    pub(crate) fn zeros(&self) -> Self {
        Self { weights: vec![0.0; self.weights.len()], ..self.clone() }
    }

    /// ∂/∂x = (∂/∂z) W: from slopes along the views, a row for each point, to those along columns.
    pub(crate) fn along_columns(&self, slopes: &Matrix) -> Matrix {
        let mut out = Matrix::zeros(slopes.rows(), self.columns());
        for i in 0..slopes.rows() {
            let out = out.row_mut(i);
            for place in self.places() {
                let slopes = &slopes.row(i)[place.rows];
                let weights = &self.weights[place.weights];
                match place.form {
                    Form::Full => {
                        for (slope, view) in slopes.iter().zip(weights.chunks(self.columns)) {
                            out.iter_mut().zip(view).for_each(|(g, w)| *g += slope * w);
                        }
                    }
                    Form::Axes => {
                        let each = out.iter_mut().zip(slopes).zip(weights);
                        each.for_each(|((g, slope), w)| *g += slope * w);
                    }
                }
            }
        }
        out
    }
}

/// z of views along the axes.
fn project_axes(weights: &[f64], x: &Matrix, z: &mut Vec<f64>) {
    for (r, weight) in weights.iter().enumerate() {
        z.extend((0..x.rows()).map(|i| weight * x[(i, r)]));
    }
}

impl Index<(usize, usize)> for Views {
    type Output = f64;

    fn index(&self, (row, column): (usize, usize)) -> &f64 {
        match self.place_of(row) {
            Some((BlockRange { form: Form::Full, .. }, at)) => &self.weights[at + column],
            Some((BlockRange { rows, .. }, at)) if row - rows.start == column => &self.weights[at],
            _ => &0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three views of four columns, as axes and as a matrix.
    fn both() -> [Views; 2] {
        let axes = Views::axes(3, 4).map(|r, _, w| w * (0.5 + r as f64));
        let full = Views::from(axes.to_matrix());
        [axes, full]
    }

    fn close(a: &[f64], b: &[f64]) {
        assert_eq!(a.len(), b.len());
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-14), "{a:?} and {b:?}");
    }

    #[test]
    fn axes_are_the_matrix_they_stand_for() {
        let [axes, full] = both();
        let x = Matrix::from_fn(5, 4, |i, j| (1.0 + i as f64) / (2.0 + j as f64));
        close(&axes.project(&x, Threads::One), &full.project(&x, Threads::One));
        close(&axes.project_each(&x), &full.project_each(&x));
        let by_view: Vec<f64> = (0..15).map(|k| f64::from(k).sin()).collect();
        let slopes = axes.slopes(&by_view, &x, Threads::One);
        let expected = full.slopes(&by_view, &x, Threads::One);
        let by_row = Matrix::from_fn(5, 3, |i, r| by_view[r * 5 + i]);
        let mut added = axes.zeros();
        added.add_slopes(by_row.as_slice(), &x);
        for r in 0..3 {
            close(&[slopes[(r, r)], added[(r, r)]], &[expected[(r, r)]; 2]);
            close(&[axes.squared_length(r)], &[full.squared_length(r)]);
        }
        let columns = axes.along_columns(&by_row);
        close(columns.as_slice(), full.along_columns(&by_row).as_slice());
    }

    #[test]
    fn a_stack_is_the_matrix_of_its_blocks() {
        let other = Matrix::from_fn(2, 4, |r, c| (1.0 + r as f64) / (1.5 + c as f64));
        let [axes, _] = both();
        let stack = Views::stacked([axes, other.into(), Views::axes(4, 4)]);
        let full = Views::from(stack.to_matrix());
        assert_eq!((stack.rows(), stack.columns(), stack.weights().len()), (9, 4, 15));
        let x = Matrix::from_fn(5, 4, |i, j| (1.0 + i as f64) / (2.0 + j as f64));
        close(&stack.project(&x, Threads::One), &full.project(&x, Threads::One));
        close(&stack.project_each(&x), &full.project_each(&x));
        let by_view: Vec<f64> = (0..45).map(|k| f64::from(k).sin()).collect();
        let by_row = Matrix::from_fn(5, 9, |i, r| by_view[r * 5 + i]);
        let expected = full.slopes(&by_view, &x, Threads::One);
        let slopes = stack.slopes(&by_view, &x, Threads::One);
        let mut added = stack.zeros();
        added.add_slopes(by_row.as_slice(), &x);
        for (at, (a, b)) in stack.entries().zip(slopes.weights().iter().zip(added.weights())) {
            close(&[*a, *b, stack[at]], &[expected[at], expected[at], full[at]]);
        }
        close(stack.along_columns(&by_row).as_slice(), full.along_columns(&by_row).as_slice());
        (0..9).for_each(|r| close(&[stack.squared_length(r)], &[full.squared_length(r)]));
    }

    #[test]
    fn entries_name_each_weight() {
        for views in both() {
            let mut found = 0;
            for ((row, column), weight) in views.entries().zip(views.weights()) {
                assert_eq!(views[(row, column)], *weight);
                found += 1;
            }
            assert_eq!(found, views.weights().len());
        }
        // A single column is an axis and a matrix at once.
        assert_eq!(Views::axes(1, 1).entries().collect::<Vec<_>>(), [(0, 0)]);
    }
}
