//! The gradient of a model's variance, beside that of its mean.

use super::{Model, join, require};
use crate::data::{Matrix, MatrixRef};
use crate::error::Result;
use crate::scale::Power;

impl Model {
    /// Gradient of the variance of f with respect to each column of X, one row per row of `x`, in
    /// the target's units squared per unit of the column.
    pub fn variance_gradient<'a>(&self, x: impl Into<MatrixRef<'a>>) -> Result<Matrix> {
        self.check_untransformed("gradients of the variance")?;
        self.function_variance_gradient(self.check(x)?)
    }

    /// The same in the unit in which functions add up.
    fn function_variance_gradient(&self, x: MatrixRef<'_>) -> Result<Matrix> {
        require(x, "gradients", &[&[x.rows(), x.columns(), 2]])?;
        let unit = self.scaler.unit();
        let variance =
            self.ability(self.posterior.variance_slopes(), "gradients of the variance")?;
        let blocks = self.by_block(x, |rows| {
            let slopes = variance.slopes_of_variance(rows);
            self.prior().kernel.views.along_columns(&slopes).into_row_major()
        })?;
        let gradient = Matrix::from_row_major(x.rows(), x.columns(), blocks.concat())?;
        self.per_unit(gradient, x, |slope, along| slope * unit * (unit * along))
    }

    /// The gradient of the mean of a transformed target, from that of its transformed function: the
    /// mean changes with the mean and with the spread of what is transformed. The spread is multiplied by
    /// a factor.
    pub(super) fn gradient_through(
        &self,
        (power, factor): (&Power, f64),
        mut gradient: Matrix,
        x: MatrixRef<'_>,
    ) -> Result<Matrix> {
        let f = join(self.by_block(x, |rows| self.posterior.marginals(rows))?);
        let of_variance = self.function_variance_gradient(x)?;
        let levels = self.noise_levels(x)?;
        let varying = self.noise.as_ref().zip(levels.as_deref());
        let of_log_level =
            varying.map(|(noise, levels)| noise.log_slopes(x, levels)).transpose()?;
        for i in 0..x.rows() {
            let noise = self.noise_variance(levels.as_deref(), i);
            let std = (f.variance[i] + noise).sqrt();
            let (by_mean, by_std) = power.mean_slopes(f.mean[i], factor * std);
            for (c, slope) in gradient.row_mut(i).iter_mut().enumerate() {
                let of_noise = of_log_level.as_ref().map_or(0.0, |log| noise * log[(i, c)]);
                let of_std = (of_variance[(i, c)] + of_noise) / (2.0 * std);
                let slope_of_mean = by_mean * *slope + by_std * factor * of_std;
                *slope = slope_of_mean.clamp(f64::MIN, f64::MAX);
            }
        }
        Ok(gradient)
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
