//! The distance of rows from the range of the training rows.

use super::Model;
use crate::data::MatrixRef;
use crate::error::Result;

impl Model {
    /// The distance of each row of `x` from the range of the training rows: the largest over
    /// its columns, in standard deviations of the column; 0 inside. Predictions far outside fall
    /// back to the mean, with the prior's uncertainty, or follow a trend where nothing supports it.
    ///
    /// Constant columns do not count, and neither do models saved by versions before 0.2, which do
    /// not know their ranges.
    pub fn extrapolation<'a>(&self, x: impl Into<MatrixRef<'a>>) -> Result<Vec<f64>> {
        let x = self.check(x)?;
        let mut all = Vec::with_capacity(x.rows());
        x.in_blocks(|_, values| {
            for row in values.chunks(self.columns()) {
                let beyond = row.iter().zip(&self.scaler.x).map(|(v, column)| column.beyond(*v));
                all.push(beyond.fold(0.0, f64::max));
            }
        })?;
        Ok(all)
    }
}
