//! X on its way in: kept in memory, or in a temporary file if it is larger than it may be there.

use anyhow::Result;
use raysum::{Matrix, MatrixRef, RowStore};

/// Rows of numbers, wherever they are.
pub(crate) enum Inputs {
    /// In memory.
    Memory(Matrix),
    /// In a temporary file.
    Stored(RowStore),
}

impl Inputs {
    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        MatrixRef::from(self).rows()
    }

    /// Number of columns.
    pub(crate) fn columns(&self) -> usize {
        MatrixRef::from(self).columns()
    }

    /// All of them in memory.
    pub(crate) fn into_matrix(self) -> Result<Matrix> {
        Ok(match self {
            Self::Memory(x) => x,
            Self::Stored(store) => {
                let rows: Vec<usize> = (0..store.rows()).collect();
                let x = MatrixRef::from(&store);
                let all = x.gather(&rows);
                x.check_read()?;
                all
            }
        })
    }
}

impl<'a> From<&'a Inputs> for MatrixRef<'a> {
    fn from(inputs: &'a Inputs) -> Self {
        match inputs {
            Inputs::Memory(x) => x.into(),
            Inputs::Stored(store) => store.into(),
        }
    }
}

/// Rows that come one after another.
pub(crate) enum Collector {
    Memory { values: Vec<f64>, columns: usize },
    Stored(RowStore),
}

impl Collector {
    /// For at most so many rows, of which so many bytes may be in memory.
    pub(crate) fn new(rows: usize, columns: usize, room: u64) -> Result<Self> {
        let values = rows.saturating_mul(columns);
        if values.saturating_mul(size_of::<f64>()) as u64 <= room {
            return Ok(Self::Memory { values: Vec::with_capacity(values), columns });
        }
        Ok(Self::Stored(RowStore::new_in(std::env::temp_dir(), columns)?))
    }

    /// Adds rows, given one after another.
    pub(crate) fn push(&mut self, rows: &[f64]) -> Result<()> {
        match self {
            Self::Memory { values, .. } => values.extend_from_slice(rows),
            Self::Stored(store) => store.push(rows)?,
        }
        Ok(())
    }

    /// All rows.
    pub(crate) fn finish(self) -> Result<Inputs> {
        Ok(match self {
            Self::Memory { values, columns } => {
                let rows = values.len() / columns.max(1);
                Inputs::Memory(Matrix::from_row_major(rows, columns, values)?)
            }
            Self::Stored(store) => Inputs::Stored(store),
        })
    }
}
