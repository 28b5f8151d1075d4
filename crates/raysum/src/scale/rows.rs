//! Rows that are standardised as they are read.

use super::{ColumnMap, FAR, Scaler, Standard};
use crate::data::{Matrix, MatrixRef};
use crate::error::Result;
use std::ops::Range;

/// Rows that are standardised as they are read, block by block.
#[derive(Clone, Debug)]
pub(crate) struct StandardRows<'a> {
    x: MatrixRef<'a>,
    columns: Vec<Standard>,
    maps: Option<Vec<ColumnMap>>,
    means: Vec<f64>,
    /// 1/std, or 0 for a constant column.
    inverses: Vec<f64>,
}

impl<'a> StandardRows<'a> {
    /// The rows of `x` under this scaler.
    pub(crate) fn new(x: MatrixRef<'a>, scaler: &Scaler) -> Self {
        let inverse = |c: &Standard| if c.std == 0.0 { 0.0 } else { 1.0 / c.std };
        Self {
            x,
            columns: scaler.x.clone(),
            maps: scaler.maps.clone(),
            means: scaler.x.iter().map(|c| c.mean).collect(),
            inverses: scaler.x.iter().map(inverse).collect(),
        }
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.x.rows()
    }

    /// Some rows without standardisation, in this order.
    pub(crate) fn gather(&self, rows: &[usize]) -> Result<Matrix> {
        self.x.gather(rows)
    }

    /// Other rows under the same scaler.
    #[must_use]
    pub(crate) fn same_scale<'b>(&self, x: &'b Matrix) -> StandardRows<'b> {
        StandardRows {
            x: x.into(),
            columns: self.columns.clone(),
            maps: self.maps.clone(),
            means: self.means.clone(),
            inverses: self.inverses.clone(),
        }
    }

    /// Whether there are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A standardised copy of some rows.
    pub(crate) fn block(&self, range: Range<usize>) -> Result<Matrix> {
        let mut out = Matrix::zeros(range.len(), self.columns.len());
        self.x.copy_rows(range, out.as_mut_slice())?;
        let rows = out.as_mut_slice().chunks_mut(self.columns.len().max(1));
        rows.for_each(|row| self.standardise(row));
        Ok(out)
    }

    fn standardise(&self, row: &mut [f64]) {
        if let Some(maps) = &self.maps {
            row.iter_mut().zip(maps).for_each(|(v, map)| *v = map.apply(*v));
            return;
        }
        let widest = row.iter().zip(&self.means).fold(0.0_f64, |w, (v, m)| w.max((v - m).abs()));
        if widest.is_finite() {
            for ((v, mean), inverse) in row.iter_mut().zip(&self.means).zip(&self.inverses) {
                *v = ((*v - mean) * inverse).clamp(-FAR, FAR);
            }
        } else {
            row.iter_mut().zip(&self.columns).for_each(|(v, column)| *v = column.apply(*v));
        }
    }
}
