//! The views of the data, stacked: a row of weights for each, over the columns of X.
//!
//! Views along the axes have one weight each. They are kept as that: with thousands of columns a
//! matrix of them would be all zeros and most of the work.

use crate::data::Matrix;
use crate::linalg::{self, Threads};
use std::ops::Index;

/// A matrix with a row per view and a column per column of X.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Views {
    /// Views in any direction.
    Full(Matrix),
    /// View r looks along column r only; there may be fewer views than columns.
    Axes {
        /// The weight of column r in view r.
        weights: Vec<f64>,
        /// Columns of X.
        columns: usize,
    },
}

impl From<Matrix> for Views {
    fn from(matrix: Matrix) -> Self {
        Views::Full(matrix)
    }
}

impl Views {
    /// The first `rows` axes of as many columns or more, with weight 1.
    pub(crate) fn axes(rows: usize, columns: usize) -> Self {
        debug_assert!(rows <= columns);
        Views::Axes { weights: vec![1.0; rows], columns }
    }

    /// Number of views.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Views::Full(matrix) => matrix.rows(),
            Views::Axes { weights, .. } => weights.len(),
        }
    }

    /// Number of columns of X.
    pub(crate) fn columns(&self) -> usize {
        match self {
            Views::Full(matrix) => matrix.columns(),
            Views::Axes { columns, .. } => *columns,
        }
    }

    /// The weights that are kept, row by row.
    pub(crate) fn weights(&self) -> &[f64] {
        match self {
            Views::Full(matrix) => matrix.as_slice(),
            Views::Axes { weights, .. } => weights,
        }
    }

    /// The weights that are kept, to be changed.
    pub(crate) fn weights_mut(&mut self) -> &mut [f64] {
        match self {
            Views::Full(matrix) => matrix.as_mut_slice(),
            Views::Axes { weights, .. } => weights,
        }
    }

    /// The row and the column of each weight that is kept.
    pub(crate) fn places(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let width = match self {
            Views::Full(matrix) => Some(matrix.columns()),
            Views::Axes { .. } => None,
        };
        (0..self.weights().len()).map(move |k| width.map_or((k, k), |w| (k / w, k % w)))
    }

    /// These views with other weights, from row, column and weight.
    #[must_use]
    pub(crate) fn map(&self, weight: impl Fn(usize, usize, f64) -> f64) -> Self {
        let mut views = self.clone();
        let places = self.places();
        for (w, (row, column)) in views.weights_mut().iter_mut().zip(places) {
            *w = weight(row, column, *w);
        }
        views
    }

    /// Every weight, zeros included.
    pub(crate) fn to_matrix(&self) -> Matrix {
        match self {
            Views::Full(matrix) => matrix.clone(),
            Views::Axes { .. } => {
                Matrix::from_fn(self.rows(), self.columns(), |row, column| self[(row, column)])
            }
        }
    }

    /// The squared length of one view.
    pub(crate) fn squared_length(&self, row: usize) -> f64 {
        match self {
            Views::Full(matrix) => linalg::dot(matrix.row(row), matrix.row(row)),
            Views::Axes { weights, .. } => weights[row] * weights[row],
        }
    }

    /// z = W x for every row of `x`: one contiguous run of values per view.
    pub(crate) fn project(&self, x: &Matrix, threads: Threads) -> Vec<f64> {
        match self {
            Views::Full(matrix) => {
                linalg::product_transposed(x.as_slice(), matrix.as_slice(), x.columns(), threads)
            }
            Views::Axes { .. } => self.project_each(x),
        }
    }

    /// z = W x like [`Views::project`], but row by row: the bits of a row do not depend on the rows
    /// that it comes with.
    pub(crate) fn project_each(&self, x: &Matrix) -> Vec<f64> {
        let n = x.rows();
        let mut z = Vec::with_capacity(self.rows() * n);
        match self {
            Views::Full(matrix) => {
                for r in 0..matrix.rows() {
                    z.extend((0..n).map(|i| linalg::dot(matrix.row(r), x.row(i))));
                }
            }
            Views::Axes { weights, .. } => {
                for (r, weight) in weights.iter().enumerate() {
                    z.extend((0..n).map(|i| weight * x[(i, r)]));
                }
            }
        }
        z
    }

    /// ∂/∂W = (∂/∂z)'X, of the weights that are kept; `slopes` has a run of values per view.
    pub(crate) fn slopes(&self, slopes: &[f64], x: &Matrix, threads: Threads) -> Self {
        let n = x.rows();
        let mut out = self.clone();
        match &mut out {
            Views::Full(matrix) => {
                let product = linalg::transposed_product(slopes, x.as_slice(), n, threads);
                matrix.as_mut_slice().copy_from_slice(&product);
            }
            Views::Axes { weights, .. } => {
                for ((r, w), slopes) in weights.iter_mut().enumerate().zip(slopes.chunks(n)) {
                    *w = slopes.iter().enumerate().map(|(i, s)| s * x[(i, r)]).sum();
                }
            }
        }
        out
    }

    /// Adds (∂/∂z)'X of some rows; `slopes` has a value per view, row by row.
    pub(crate) fn add_slopes(&mut self, slopes: &[f64], x: &Matrix) {
        match self {
            Views::Full(matrix) => {
                linalg::add_row_major_gram(matrix.as_mut_slice(), slopes, x.as_slice(), x.rows());
            }
            Views::Axes { weights, .. } => {
                let views = weights.len().max(1);
                for (i, slopes) in slopes.chunks(views).enumerate() {
                    let terms = slopes.iter().zip(x.row(i)).map(|(s, x)| s * x);
                    weights.iter_mut().zip(terms).for_each(|(w, term)| *w += term);
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
        let mut zeros = self.clone();
        zeros.weights_mut().fill(0.0);
        zeros
    }

    /// ∂/∂x = (∂/∂z) W: from slopes along the views, a row for each point, to those along columns.
    pub(crate) fn along_columns(&self, slopes: &Matrix) -> Matrix {
        let mut out = Matrix::zeros(slopes.rows(), self.columns());
        for i in 0..slopes.rows() {
            let out = out.row_mut(i);
            match self {
                Views::Full(matrix) => {
                    for (r, slope) in slopes.row(i).iter().enumerate() {
                        out.iter_mut().zip(matrix.row(r)).for_each(|(g, w)| *g += slope * w);
                    }
                }
                Views::Axes { weights, .. } => {
                    let each = out.iter_mut().zip(slopes.row(i)).zip(weights);
                    each.for_each(|((g, slope), w)| *g = slope * w);
                }
            }
        }
        out
    }
}

impl Index<(usize, usize)> for Views {
    type Output = f64;

    fn index(&self, (row, column): (usize, usize)) -> &f64 {
        match self {
            Views::Full(matrix) => &matrix[(row, column)],
            Views::Axes { weights, .. } if row == column => &weights[row],
            Views::Axes { .. } => &0.0,
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
    fn places_name_each_weight() {
        for views in both() {
            let mut found = 0;
            for ((row, column), weight) in views.places().zip(views.weights()) {
                assert_eq!(views[(row, column)], *weight);
                found += 1;
            }
            assert_eq!(found, views.weights().len());
        }
        // A single column is an axis and a matrix at once.
        assert_eq!(Views::axes(1, 1).places().collect::<Vec<_>>(), [(0, 0)]);
    }
}
