//! Rows in a temporary file, for tables that are larger than memory.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

/// Rows with at most this many bytes between them are read in one piece.
const GAP: usize = 1 << 14;
/// Values that are turned into bytes at a time.
const PIECE: usize = 1 << 13;

/// Rows of numbers in an unnamed file: the system removes it when the process ends, in
/// any way.
///
/// ```
/// # fn main() -> raysum::Result<()> {
/// use raysum::{Config, Dataset, RowStore};
///
/// let mut x = RowStore::new_in(std::env::temp_dir(), 2)?;
/// let mut y = Vec::new();
/// for i in 0..100 {
///     let (a, b) = (f64::from(i) / 10.0, f64::from(i % 7));
///     x.push(&[a, b])?;
///     y.push(a.sin() + b);
/// }
/// let model = Config::default().fit(&Dataset::new(&x, &y)?)?;
/// # assert_eq!(model.columns(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RowStore {
    file: File,
    folder: PathBuf,
    rows: usize,
    columns: usize,
}

impl RowStore {
    /// No rows yet, in a file in this folder.
    pub fn new_in(folder: impl Into<PathBuf>, columns: usize) -> Result<Self> {
        let folder = folder.into();
        match tempfile::tempfile_in(&folder) {
            Ok(file) => Ok(Self { file, folder, rows: 0, columns }),
            Err(reason) => Err(Error::Store { folder, reason }),
        }
    }

    /// Adds rows, given in row-major order.
    pub fn push(&mut self, values: &[f64]) -> Result<()> {
        let (columns, len) = (self.columns, values.len());
        if columns == 0 || len % columns != 0 {
            return Err(Error::Shape { rows: len.div_ceil(columns.max(1)), columns, len });
        }
        for piece in values.chunks(PIECE) {
            let bytes: Vec<u8> = piece.iter().flat_map(|value| value.to_le_bytes()).collect();
            let written = self.file.write_all(&bytes);
            written.map_err(|reason| Error::Store { folder: self.folder.clone(), reason })?;
        }
        self.rows += len / columns;
        Ok(())
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Reads rows that follow one another.
    pub(super) fn read(&self, first: usize, out: &mut [f64]) -> Result<()> {
        assert!(first * self.columns + out.len() <= self.rows * self.columns);
        let mut bytes = vec![0; size_of_val(out)];
        let at = (first * self.columns * size_of::<f64>()) as u64;
        read_at(&self.file, &mut bytes, at)
            .map_err(|reason| Error::Store { folder: self.folder.clone(), reason })?;
        for (value, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
            *value = f64::from_le_bytes(*bytes);
        }
        Ok(())
    }

    /// Reads rows in any order; those near one another together with what is between them.
    pub(super) fn gather(&self, rows: &[usize], out: &mut [f64]) -> Result<()> {
        let columns = self.columns;
        let near =
            |a: &usize, b: &usize| *a < *b && (*b - *a - 1) * columns * size_of::<f64>() <= GAP;
        let mut piece = Vec::new();
        let mut rest = out;
        for run in rows.chunk_by(near) {
            let (first, last) = (run[0], run[run.len() - 1]);
            piece.resize((last + 1 - first) * columns, 0.0);
            self.read(first, &mut piece)?;
            let (here, after) = rest.split_at_mut(run.len() * columns);
            for (row, out) in run.iter().zip(here.chunks_mut(columns)) {
                out.copy_from_slice(&piece[(row - first) * columns..][..columns]);
            }
            rest = after;
        }
        Ok(())
    }
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(windows)]
fn read_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    use std::os::windows::fs::FileExt;
    while !bytes.is_empty() {
        match file.seek_read(bytes, at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                bytes = &mut bytes[read..];
                at += read as u64;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Dataset, Matrix, MatrixRef};
    use super::*;
    use crate::engine::auto::{Auto, Choice};
    use crate::engine::neighbors::NeighborsOptions;
    use crate::engine::ski::{Ski, SkiOptions};
    use crate::engine::weight::Weight;
    use crate::engine::{Engine, Observations};
    use crate::scale::StandardRows;
    use crate::settings::EngineChoice;
    use crate::{Config, Fit};
    use std::io::Seek;

    fn store(x: &Matrix) -> RowStore {
        let mut store = RowStore::new_in(std::env::temp_dir(), x.columns()).unwrap();
        x.as_slice().chunks(7 * x.columns()).for_each(|rows| store.push(rows).unwrap());
        store
    }

    #[test]
    fn rows_come_back_in_any_order() {
        let x = Matrix::from_fn(3000, 3, |i, j| (i * 3 + j) as f64 / 7.0);
        let stored = store(&x);
        assert_eq!((stored.rows(), stored.columns()), (3000, 3));
        let orders: [Vec<usize>; 4] = [
            (0..3000).filter(|i| i % 10 != 3).collect(),
            (0..3000).step_by(997).collect(),
            vec![5, 4, 4, 2999, 0],
            vec![],
        ];
        for rows in &orders {
            let chosen = MatrixRef::from(&stored).choose(rows);
            let mut out = vec![f64::NAN; rows.len() * 3];
            chosen.copy_rows(0..rows.len(), &mut out).unwrap();
            assert_eq!(out, x.gather(rows).as_slice());
        }
    }

    #[test]
    fn half_a_row_is_refused() {
        let mut store = RowStore::new_in(std::env::temp_dir(), 2).unwrap();
        assert!(matches!(store.push(&[1.0; 3]), Err(Error::Shape { .. })));
        assert_eq!(store.rows(), 0);
        let error = RowStore::new_in("no such folder", 2).unwrap_err().to_string();
        assert!(error.starts_with("no such folder: rows cannot be kept"), "{error}");
    }

    fn assert_unread<T>(answer: Result<T>, what: &str) {
        match answer {
            Err(Error::Store { .. }) => {}
            Err(error) => panic!("{what}: {error}"),
            Ok(_) => panic!("{what}: rows were not read, and nobody noticed"),
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_an_error_and_not_zeros() {
        let x = Matrix::from_fn(50, 2, |i, j| (i + j) as f64);
        let stored = store(&x);
        stored.file.set_len(160).unwrap();
        assert_unread(Dataset::new(&stored, &[1.0; 50]), "a data set");
        let rows = MatrixRef::from(&stored);
        let mut out = vec![0.0; 100];
        assert_unread(rows.copy_rows(0..50, &mut out), "rows");
        assert_unread(rows.copy_row(49, &mut out[..2]), "a row");
        assert_unread(rows.gather(&[3, 40]), "some rows");
        assert_unread(rows.choose(&[3, 40]).copy_rows(0..2, &mut out[..4]), "chosen rows");
        assert_unread(rows.without(&[3, 40]).copy_rows(40..48, &mut out[..16]), "other rows");
        // What is still there can be read.
        rows.copy_row(9, &mut out[..2]).unwrap();
        assert_eq!(out[..2], *x.row(9));
    }

    #[test]
    fn every_engine_notices_rows_that_can_no_longer_be_read() {
        let x = Matrix::from_fn(120, 2, |i, j| ((i * (7 + 4 * j)) % 31) as f64);
        let y: Vec<f64> = (0..120).map(|i| x[(i, 0)].sin() + 0.1 * x[(i, 1)]).collect();
        for (name, engine) in EngineChoice::ALL {
            let config = Config { engine, max_evaluations: Some(2), ..Config::default() }
                .with_terms(|term| term.degrees = "3x1".parse().unwrap());
            let mut model = config.fit(&Dataset::new(&x, &y).unwrap()).unwrap();
            let stored = store(&x);
            let data = Dataset::new(&stored, &y).unwrap();
            stored.file.set_len(160).unwrap();
            assert_unread(config.fit(&data), name);
            let h = model.hyperparameters().clone();
            assert_unread(Fit::new(&config).condition(&data, &h), name);
            assert_unread(model.predict(&stored), name);
            assert_unread(model.predict_mean(&stored), name);
            assert_unread(model.joint(&stored), name);
            assert_unread(model.extrapolation(&stored), name);
            assert_unread(model.leave_one_out(&data), name);
            assert_unread(model.shard(&data), name);
            assert_unread(model.update(&data), name);
            assert_unread(model.remove(&data), name);
            // A failure does not outlive its cause.
            (&stored.file).seek(io::SeekFrom::Start(0)).unwrap();
            for value in x.as_slice() {
                (&stored.file).write_all(&value.to_le_bytes()).unwrap();
            }
            assert_eq!(model.predict(&stored).unwrap(), model.predict(&x).unwrap(), "{name}");
        }
    }

    #[test]
    fn an_engine_notices_while_it_reads() {
        let x = Matrix::from_fn(120, 2, |i, j| ((i * (7 + 4 * j)) % 31) as f64);
        let y: Vec<f64> = (0..120).map(|i| x[(i, 0)].sin() + 0.1 * x[(i, 1)]).collect();
        let model = Config::default().fit(&Dataset::new(&x, &y).unwrap()).unwrap();
        let (prior, scaler) = (model.prior(), &model.scaler);
        let observations = Observations::from(scaler.apply_y(&y));
        let stored = store(&x);
        let rows = || StandardRows::new((&stored).into(), scaler);
        let options = SkiOptions::default();
        let choice = Choice { all_rows: 120, neighbors: NeighborsOptions::default(), seed: 0 };
        let mut engines: [(&str, Box<dyn Engine + '_>); 3] = [
            ("auto", Box::new(Auto::new(rows(), &observations, choice))),
            ("weight", Box::new(Weight::new(rows(), &observations))),
            ("ski", Box::new(Ski::new(rows(), observations.clone(), options, 0))),
        ];
        for (_, engine) in &mut engines {
            engine.evaluate(prior).unwrap();
        }
        stored.file.set_len(1600).unwrap();
        for (name, engine) in &mut engines {
            assert_unread(engine.check(prior), name);
            assert_unread(engine.evaluate(prior), name);
            assert_unread(engine.posteriors(prior), name);
        }
    }
}
