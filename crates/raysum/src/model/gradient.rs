//! The gradient of a model's variance, beside that of its mean.

use super::{Model, require};
use crate::data::{Matrix, MatrixRef};
use crate::error::Result;

impl Model {
    /// Gradient of the variance of f with respect to each column of X, one row per row of `x`, in
    /// the target's units squared per unit of the column.
    pub fn variance_gradient<'a>(&self, x: impl Into<MatrixRef<'a>>) -> Result<Matrix> {
        let x = self.check(x)?;
        require(x, "gradients", &[&[x.rows(), x.columns(), 2]])?;
        let unit = self.scaler.y.std;
        let variance =
            self.ability(self.posterior.variance_slopes(), "gradients of the variance")?;
        let blocks = self.by_block(x, |rows| {
            let slopes = variance.slopes_of_variance(rows);
            let mut gradient = self.prior().kernel.views.along_columns(&slopes);
            for i in 0..gradient.rows() {
                for (slope, column) in gradient.row_mut(i).iter_mut().zip(&self.scaler.x) {
                    let flat = column.std == 0.0 || *slope == 0.0;
                    // Slopes beyond the largest number are cut to it.
                    let scaled = *slope * unit * (unit / column.std);
                    *slope = if flat { 0.0 } else { scaled.clamp(f64::MIN, f64::MAX) };
                }
            }
            gradient.into_row_major()
        })?;
        Matrix::from_row_major(x.rows(), x.columns(), blocks.concat())
    }
}
