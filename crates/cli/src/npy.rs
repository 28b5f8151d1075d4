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

/// A matrix; a vector becomes a single column.
pub(crate) fn read(path: &Path) -> Result<Matrix> {
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
    let column_major = file.order() == Order::Fortran;
    let values = values(file, count).with_context(|| format!("{name}"))?;
    if column_major {
        return Ok(Matrix::from_fn(rows, columns, |i, j| values[j * rows + i]));
    }
    Ok(Matrix::from_row_major(rows, columns, values)?)
}

/// All values as 64-bit floats, whatever number type the file has.
fn values<R: Read>(file: NpyFile<R>, count: usize) -> Result<Vec<f64>> {
    macro_rules! attempt {
        ($file:ident, $($type:ty),*) => {{
            let file = $file;
            $(let file = match file.try_data::<$type>() {
                Ok(data) => {
                    let mut values = Vec::with_capacity(count);
                    for value in data {
                        #[allow(clippy::cast_lossless, reason = "one line for every type")]
                        values.push(value.context("the file is cut off")? as f64);
                    }
                    return Ok(values);
                }
                Err(file) => file,
            };)*
            bail!("holds {}, not plain numbers", file.dtype().descr());
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
