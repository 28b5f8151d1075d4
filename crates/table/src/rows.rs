//! Stores X while it is read: in memory, or in a temporary file if it is too large.

use anyhow::Result;
use raysum::{Matrix, MatrixRef, RowStore};

/// Rows of numbers, in memory or in a temporary file.
#[derive(Debug)]
pub enum StoredRows {
    /// In memory.
    Memory(Matrix),
    /// In a temporary file.
    File(RowStore),
}

impl StoredRows {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        MatrixRef::from(self).rows()
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        MatrixRef::from(self).columns()
    }

    /// All of them in memory.
    pub fn into_matrix(self) -> Result<Matrix> {
        Ok(match self {
            Self::Memory(x) => x,
            Self::File(store) => {
                let rows: Vec<usize> = (0..store.rows()).collect();
                MatrixRef::from(&store).gather(&rows)?
            }
        })
    }
}

impl<'a> From<&'a StoredRows> for MatrixRef<'a> {
    fn from(rows: &'a StoredRows) -> Self {
        match rows {
            StoredRows::Memory(x) => x.into(),
            StoredRows::File(store) => store.into(),
        }
    }
}

/// Collects rows.
pub(crate) enum RowCollector {
    Memory { values: Vec<f64>, columns: usize },
    File(RowStore),
}

impl RowCollector {
    /// For at most this many rows, with a limit on the bytes in memory.
    pub(crate) fn new(rows: usize, columns: usize, room: u64) -> Result<Self> {
        let values = rows.saturating_mul(columns);
        if values.saturating_mul(size_of::<f64>()) as u64 <= room {
            return Ok(Self::Memory { values: Vec::with_capacity(values), columns });
        }
        Ok(Self::File(RowStore::new_in(std::env::temp_dir(), columns)?))
    }

    /// Adds rows, given in row-major order.
    pub(crate) fn push(&mut self, rows: &[f64]) -> Result<()> {
        match self {
            Self::Memory { values, .. } => values.extend_from_slice(rows),
            Self::File(store) => store.push(rows)?,
        }
        Ok(())
    }

    /// All rows.
    pub(crate) fn finish(self) -> Result<StoredRows> {
        Ok(match self {
            Self::Memory { values, columns } => {
                let rows = values.len() / columns.max(1);
                StoredRows::Memory(Matrix::from_row_major(rows, columns, values)?)
            }
            Self::File(store) => StoredRows::File(store),
        })
    }
}
