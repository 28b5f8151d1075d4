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
            self.prior().kernel.views.along_columns(&slopes).into_row_major()
        })?;
        let gradient = Matrix::from_row_major(x.rows(), x.columns(), blocks.concat())?;
        self.per_unit(gradient, x, |slope, along| slope * unit * (unit * along))
    }

    /// A gradient per unit of each column, from one per unit of the standardised columns: `scaled`
    /// multiplies it by the slope of the column's scale. Slopes beyond the largest number are cut to
    /// it.
    pub(super) fn per_unit(
        &self,
        mut gradient: Matrix,
        x: MatrixRef<'_>,
        scaled: impl Fn(f64, f64) -> f64,
    ) -> Result<Matrix> {
        x.in_blocks(|first, values| {
            for (k, row) in values.chunks(x.columns().max(1)).enumerate() {
                for ((c, slope), value) in
                    gradient.row_mut(first + k).iter_mut().enumerate().zip(row)
                {
                    let along = self.scaler.slope(c, *value);
                    let flat = along == 0.0 || *slope == 0.0;
                    let scaled = scaled(*slope, along);
                    *slope = if flat { 0.0 } else { scaled.clamp(f64::MIN, f64::MAX) };
                }
            }
        })?;
        Ok(gradient)
    }
}
