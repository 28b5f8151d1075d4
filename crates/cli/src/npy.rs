//! Reads NumPy's `.npy` files: a matrix of numbers, or a vector.

use anyhow::{Context, Result, bail, ensure};
use npyz::{NpyFile, Order};
use raysum::Matrix;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Whether the file starts like one of NumPy's.
pub(crate) fn is_npy(path: &Path) -> bool {
    let mut start = [0; 6];
    // Only ordinary files: reading from a pipe would take bytes away from whoever reads it next.
    let read =
        path.is_file() && File::open(path).and_then(|mut f| f.read_exact(&mut start)).is_ok();
    read && start == MAGIC
}

/// About so many values are read at a time.
const PART_VALUES: usize = 500_000;

/// A matrix; a vector becomes a single column.
pub(crate) fn read(path: &Path) -> Result<Matrix> {
    let mut whole = None;
    read_parts(path, usize::MAX, |_, part| {
        whole = Some(part);
        Ok(())
    })?;
    whole.with_context(|| format!("{}: it has no rows", path.display()))
}

/// Number of rows and columns; a vector is a single column.
pub(crate) fn shape(path: &Path) -> Result<(usize, usize)> {
    open(path).map(|(_, rows, columns)| (rows, columns))
}

/// Hands over some rows at a time, with the number of the first one. Arrays that are stored column
/// by column come whole.
pub(crate) fn in_parts(path: &Path, each: impl FnMut(usize, Matrix) -> Result<()>) -> Result<()> {
    read_parts(path, PART_VALUES, each)
}

fn read_parts(
    path: &Path,
    most: usize,
    mut each: impl FnMut(usize, Matrix) -> Result<()>,
) -> Result<()> {
    let (file, rows, columns) = open(path)?;
    let count = rows * columns;
    if count == 0 {
        return each(0, Matrix::zeros(rows, columns));
    }
    let column_major = file.order() == Order::Fortran;
    let part = if column_major { rows } else { (most / columns).clamp(1, rows) };
    let mut first = 0;
    let matrix = |values: Vec<f64>| {
        if column_major {
            return Ok(Matrix::from_fn(rows, columns, |i, j| values[j * rows + i]));
        }
        Matrix::from_row_major(values.len() / columns, columns, values)
    };
    values(path, file, part * columns, |values| {
        let matrix = matrix(values)?;
        let at = first;
        first += matrix.rows();
        each(at, matrix)
    })
}

/// The file after its header, and its rows and columns.
fn open(path: &Path) -> Result<(NpyFile<BufReader<File>>, usize, usize)> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("{name}"))?;
    let size = file.metadata().with_context(|| format!("{name}"))?.len();
    let file = NpyFile::new(BufReader::with_capacity(1 << 20, file))
        .with_context(|| format!("{name}: not a NumPy file that can be read"))?;
    let (rows, columns) = match *file.shape() {
        [n] => (n as usize, 1),
        [n, d] => (n as usize, d as usize),
        _ => bail!("{name}: has {} axes; a table has 2", file.shape().len()),
    };
    let count = rows.checked_mul(columns).context("the shape is impossible")?;
    // Every type takes a byte at least: a shape that the file cannot hold is not believed.
    ensure!(count as u64 <= size, "{name}: the file is cut off ({rows} × {columns} announced)");
    Ok((file, rows, columns))
}

/// The values as 64-bit floats, so many at a time, whatever number type the file has.
fn values<R: Read>(
    path: &Path,
    file: NpyFile<R>,
    count: usize,
    mut each: impl FnMut(Vec<f64>) -> Result<()>,
) -> Result<()> {
    let cut_off = || format!("{}: the file is cut off", path.display());
    macro_rules! attempt {
        ($file:ident, $($type:ty),*) => {{
            let file = $file;
            $(let file = match file.try_data::<$type>() {
                Ok(data) => {
                    let mut values = Vec::with_capacity(count);
                    for value in data {
                        #[allow(clippy::cast_lossless, reason = "one line for every type")]
                        values.push(value.with_context(cut_off)? as f64);
                        if values.len() == count {
                            each(std::mem::take(&mut values))?;
                        }
                    }
                    if !values.is_empty() {
                        each(values)?;
                    }
                    return Ok(());
                }
                Err(file) => file,
            };)*
            bail!("{}: holds {}, not plain numbers", path.display(), file.dtype().descr());
        }};
    }
    attempt!(file, f64, f32, i64, i32, i16, i8, u64, u32, u16, u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use npyz::WriterBuilder;

    fn write<T: npyz::Serialize + npyz::AutoSerialize>(
        path: &Path,
        shape: &[u64],
        order: Order,
        data: Vec<T>,
    ) {
        let file = File::create(path).unwrap();
        let options = npyz::WriteOptions::new().default_dtype().shape(shape).order(order);
        let mut writer = options.writer(file).begin_nd().unwrap();
        writer.extend(data).unwrap();
        writer.finish().unwrap();
    }

    #[test]
    fn orders_and_types_read_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let expected = Matrix::from_row_major(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        write(&path, &[2, 3], Order::C, vec![1.0_f64, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert!(is_npy(&path));
        assert_eq!(read(&path).unwrap(), expected);
        write(&path, &[2, 3], Order::Fortran, vec![1.0_f32, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(read(&path).unwrap(), expected);
        write(&path, &[2, 3], Order::C, vec![1_i32, 2, 3, 4, 5, 6]);
        assert_eq!(read(&path).unwrap(), expected);
        write(&path, &[3], Order::C, vec![1_u8, 2, 3]);
        assert_eq!(read(&path).unwrap().columns(), 1);
    }

    #[test]
    fn damaged_files_say_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        write(&path, &[20, 3], Order::C, vec![1.0_f64; 60]);
        let whole = std::fs::read(&path).unwrap();
        for length in [8, 40, whole.len() - 5, 200] {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(read(&path).is_err(), "{length}");
        }
        write(&path, &[2, 2, 2], Order::C, vec![1.0_f64; 8]);
        assert!(read(&path).unwrap_err().to_string().contains("has 3 axes"));
    }
}
