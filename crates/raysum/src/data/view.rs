//! A borrowed matrix: in memory in any layout, or in a file.

use super::{Matrix, RowStore};
use crate::error::{Error, Result};
use std::ops::Range;

/// Approximate number of values that are passed on at a time.
const BLOCK_VALUES: usize = 1 << 18;

/// A borrowed matrix of any layout: row-major, column-major or strided; or rows in a file.
#[derive(Clone, Copy, Debug)]
pub struct MatrixRef<'a> {
    values: Values<'a>,
    rows: usize,
    columns: usize,
    chosen: Chosen<'a>,
    /// The rows that the chosen ones were chosen from.
    within: Chosen<'a>,
}

/// A selection of rows.
#[derive(Clone, Copy, Debug)]
enum Chosen<'a> {
    All,
    /// These, in this order.
    These(&'a [usize]),
    /// All but these, which are sorted and distinct.
    Others(&'a [usize]),
}

impl Chosen<'_> {
    /// The row of the others that row `i` is.
    #[inline]
    fn row(&self, i: usize) -> usize {
        match self {
            Self::All => i,
            Self::These(rows) => rows[i],
            Self::Others(left_out) => {
                // Row left_out[k] is left out where k are left out before it.
                let (mut low, mut high) = (0, left_out.len());
                while low < high {
                    let k = usize::midpoint(low, high);
                    if left_out[k] - k <= i { low = k + 1 } else { high = k }
                }
                i + low
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Values<'a> {
    Memory { data: &'a [f64], row_stride: usize, column_stride: usize },
    Stored(&'a RowStore),
}

impl<'a> MatrixRef<'a> {
    /// A view of `rows × columns` values stored row by row.
    pub fn from_row_major(rows: usize, columns: usize, data: &'a [f64]) -> Result<Self> {
        Self::strided(rows, columns, data, columns, 1)
    }

    /// A view of `rows × columns` values stored column by column.
    pub fn from_column_major(rows: usize, columns: usize, data: &'a [f64]) -> Result<Self> {
        Self::strided(rows, columns, data, 1, rows)
    }

    /// One column.
    pub fn from_column(data: &'a [f64]) -> Self {
        let values = Values::Memory { data, row_stride: 1, column_stride: 1 };
        Self { values, rows: data.len(), columns: 1, chosen: Chosen::All, within: Chosen::All }
    }

    fn strided(
        rows: usize,
        columns: usize,
        data: &'a [f64],
        row_stride: usize,
        column_stride: usize,
    ) -> Result<Self> {
        if rows.checked_mul(columns) != Some(data.len()) {
            return Err(Error::Shape { rows, columns, len: data.len() });
        }
        let values = Values::Memory { data, row_stride, column_stride };
        Ok(Self { values, rows, columns, chosen: Chosen::All, within: Chosen::All })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Copies row `i`. Of rows in a file, many at a time are much faster.
    #[inline]
    pub fn copy_row(&self, i: usize, out: &mut [f64]) -> Result<()> {
        let row = self.row(i);
        match self.values {
            Values::Memory { data, row_stride, column_stride: 1 } => {
                out.copy_from_slice(&data[row * row_stride..][..self.columns]);
            }
            Values::Memory { data, row_stride, column_stride } => {
                let values = data[row * row_stride..].iter().step_by(column_stride);
                out.iter_mut().zip(values).for_each(|(o, v)| *o = *v);
            }
            Values::Stored(store) => store.read(row, out)?,
        }
        Ok(())
    }

    /// Copies some rows.
    pub fn copy_rows(&self, rows: Range<usize>, out: &mut [f64]) -> Result<()> {
        match self.values {
            Values::Stored(store) if self.is_whole() => store.read(rows.start, out),
            Values::Stored(store) => {
                let rows: Vec<usize> = rows.map(|i| self.row(i)).collect();
                store.gather(&rows, out)
            }
            Values::Memory { .. } => {
                for (row, out) in rows.zip(out.chunks_mut(self.columns.max(1))) {
                    self.copy_row(row, out)?;
                }
                Ok(())
            }
        }
    }

    /// The row of the data that row `i` is.
    #[inline]
    fn row(&self, i: usize) -> usize {
        self.within.row(self.chosen.row(i))
    }

    /// Whether these are all rows of the data.
    fn is_whole(&self) -> bool {
        matches!((self.chosen, self.within), (Chosen::All, Chosen::All))
    }

    /// The rows with these indices, in this order.
    pub fn gather(&self, rows: &[usize]) -> Result<Matrix> {
        let mut out = Matrix::zeros(rows.len(), self.columns);
        if let Values::Stored(store) = self.values {
            let rows: Vec<usize> = rows.iter().map(|i| self.row(*i)).collect();
            store.gather(&rows, out.as_mut_slice())?;
            return Ok(out);
        }
        for (i, row) in rows.iter().enumerate() {
            self.copy_row(*row, out.row_mut(i))?;
        }
        Ok(out)
    }

    /// The rows with these indices, in this order, without a copy.
    ///
    /// # Panics
    /// If these rows were chosen from chosen rows: choices nest once.
    #[must_use]
    pub fn choose(self, rows: &'a [usize]) -> Self {
        self.narrowed(Chosen::These(rows), rows.len())
    }

    /// All rows but those with these indices, which must be in order and distinct; without a copy.
    ///
    /// # Panics
    /// If the indices are not in order, or beyond the last row; or if these rows were chosen from
    /// chosen rows: choices nest once.
    #[must_use]
    pub fn without(self, rows: &'a [usize]) -> Self {
        assert!(rows.is_sorted_by(|a, b| a < b) && rows.last().is_none_or(|r| *r < self.rows));
        self.narrowed(Chosen::Others(rows), self.rows - rows.len())
    }

    /// A choice of these rows.
    fn narrowed(self, chosen: Chosen<'a>, rows: usize) -> Self {
        let within = match (self.chosen, self.within) {
            (Chosen::All, within) => within,
            (earlier, Chosen::All) => earlier,
            _ => panic!("rows are chosen from rows that were chosen from chosen ones"),
        };
        Self { rows, chosen, within, ..self }
    }

    /// Passes on all rows in blocks and in order: the index of the first row, and
    /// their values row by row.
    pub(crate) fn in_blocks(&self, mut each: impl FnMut(usize, &[f64])) -> Result<()> {
        let size = (BLOCK_VALUES / self.columns.max(1)).max(1);
        let mut copy = Vec::new();
        for first in (0..self.rows).step_by(size) {
            let rows = first..(first + size).min(self.rows);
            if let Values::Memory { data, row_stride, column_stride: 1 } = self.values
                && row_stride == self.columns
                && self.is_whole()
            {
                each(first, &data[rows.start * row_stride..rows.end * row_stride]);
                continue;
            }
            copy.resize(rows.len() * self.columns, 0.0);
            self.copy_rows(rows, &mut copy)?;
            each(first, &copy);
        }
        Ok(())
    }

    /// Fails on the first value that is NaN or infinite.
    pub fn check_finite(&self) -> Result<()> {
        let mut bad = None;
        self.in_blocks(|first, values| {
            if bad.is_none() {
                let at = values.iter().position(|value| !value.is_finite());
                bad = at.map(|k| (first + k / self.columns, k % self.columns, values[k]));
            }
        })?;
        match bad {
            Some((row, column, value)) => Err(Error::NotFiniteX { row, column, value }),
            None => Ok(()),
        }
    }
}

impl<'a> From<&'a Matrix> for MatrixRef<'a> {
    fn from(m: &'a Matrix) -> Self {
        let values = Values::Memory { data: &m.data, row_stride: m.columns, column_stride: 1 };
        MatrixRef {
            values,
            rows: m.rows,
            columns: m.columns,
            chosen: Chosen::All,
            within: Chosen::All,
        }
    }
}

impl<'a> From<&'a RowStore> for MatrixRef<'a> {
    fn from(store: &'a RowStore) -> Self {
        let (rows, columns) = (store.rows(), store.columns());
        MatrixRef {
            values: Values::Stored(store),
            rows,
            columns,
            chosen: Chosen::All,
            within: Chosen::All,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(x: MatrixRef<'_>) -> Vec<f64> {
        let mut out = vec![0.0; x.rows() * x.columns()];
        x.copy_rows(0..x.rows(), &mut out).unwrap();
        let mut blocks = Vec::new();
        x.in_blocks(|_, values| blocks.extend_from_slice(values)).unwrap();
        assert_eq!(out, blocks);
        for i in 0..x.rows() {
            let mut row = vec![0.0; x.columns()];
            x.copy_row(i, &mut row).unwrap();
            assert_eq!(row, out[i * x.columns()..(i + 1) * x.columns()]);
        }
        out
    }

    #[test]
    fn all_layouts_read_the_same() {
        let by_row = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let by_column = [1.0, 4.0, 2.0, 5.0, 3.0, 6.0];
        let mut store = RowStore::new_in(std::env::temp_dir(), 3).unwrap();
        store.push(&by_row).unwrap();
        let a = MatrixRef::from_row_major(2, 3, &by_row).unwrap();
        let b = MatrixRef::from_column_major(2, 3, &by_column).unwrap();
        for x in [a, b, (&store).into()] {
            assert_eq!((x.rows(), x.columns()), (2, 3));
            assert_eq!(all(x), by_row);
            let chosen = x.choose(&[1, 1, 0]);
            assert_eq!(chosen.rows(), 3);
            assert_eq!(all(chosen), [4.0, 5.0, 6.0, 4.0, 5.0, 6.0, 1.0, 2.0, 3.0]);
            assert_eq!(x.gather(&[1]).unwrap().as_slice(), [4.0, 5.0, 6.0]);
            assert_eq!(all(x.without(&[0])), [4.0, 5.0, 6.0]);
            assert_eq!(all(x.without(&[])), by_row);
        }
    }

    #[test]
    fn the_others_are_those_that_are_not_left_out() {
        let column: Vec<f64> = (0..20).map(f64::from).collect();
        for left_out in [vec![0], vec![19], vec![3, 4, 5, 9], vec![0, 2, 4, 19], (0..20).collect()]
        {
            let expected = (0..20).filter(|i| !left_out.contains(i)).map(|i| i as f64);
            let x = MatrixRef::from_column(&column).without(&left_out);
            assert_eq!(all(x), expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_choice_of_chosen_rows_is_one_of_the_first_choice() {
        let column: Vec<f64> = (0..8).map(f64::from).collect();
        let mut store = RowStore::new_in(std::env::temp_dir(), 1).unwrap();
        store.push(&column).unwrap();
        for x in [MatrixRef::from_column(&column), (&store).into()] {
            let odd = x.choose(&[1, 3, 5, 7]);
            assert_eq!(all(odd.choose(&[3, 0, 3])), [7.0, 1.0, 7.0]);
            assert_eq!(all(odd.without(&[1, 2])), [1.0, 7.0]);
            assert_eq!(odd.choose(&[2]).gather(&[0, 0]).unwrap().as_slice(), [5.0, 5.0]);
            let late = x.without(&[0, 1, 2]);
            assert_eq!(all(late.choose(&[4, 0])), [7.0, 3.0]);
            assert_eq!(all(late.without(&[0, 4])), [4.0, 5.0, 6.0]);
        }
    }

    #[test]
    #[should_panic(expected = "chosen from chosen ones")]
    fn a_third_choice_is_refused() {
        let x = MatrixRef::from_column(&[1.0, 2.0, 3.0]);
        let _ = x.choose(&[2, 1]).choose(&[1]).without(&[]);
    }

    #[test]
    fn a_value_that_is_not_finite_is_found_in_any_block() {
        let columns = BLOCK_VALUES / 4;
        let mut x = Matrix::zeros(9, columns);
        x[(7, 3)] = f64::NAN;
        let error = MatrixRef::from(&x).check_finite().unwrap_err();
        assert_eq!(error.to_string(), "X holds NaN at row 7, column 3");
    }
}
