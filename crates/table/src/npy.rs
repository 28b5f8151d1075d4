//! Reads NumPy's `.npy` files: a matrix of numbers, or a vector. NaN is a missing value.

use crate::chunk::{
    Chunk, Column, ColumnReading, KeptCells, KeptColumn, ReadPlan, RowUnit, TableHeader,
    TableOrigin, ValueKind,
};
use crate::input::Input;
use crate::messages::Audience;
use anyhow::{Context, Result, anyhow, bail, ensure};
use npyz::half::f16;
use npyz::{NpyFile, Order};
use std::io::BufRead;
use std::sync::Arc;

/// Approximate number of values that are read at a time.
const CHUNK_VALUES: usize = 500_000;
/// Maximum memory that is allocated before the values are read.
const TRUSTED_VALUES: usize = 1 << 24;

/// Reads an array: `plan` decides how to read it once the columns are known, `each` takes the
/// chunks. Arrays in Fortran order form a single chunk.
pub(crate) fn read(
    input: &Input,
    plan: &mut dyn FnMut(&TableHeader) -> Result<ReadPlan>,
    each: &mut dyn FnMut(Chunk) -> Result<()>,
) -> Result<()> {
    let name = input.name();
    // Determined first: standard input cannot be locked twice.
    let size = input.size();
    let file = NpyFile::new(input.stream()?)
        .with_context(|| format!("{name}: not a NumPy file that can be read"))?;
    let (rows, columns) = shape(name, &file, size)?;
    ensure!(columns > 0, "{name} has no columns");
    ensure!(rows > 0, "{name} has no rows");
    let origin = TableOrigin {
        name: name.to_owned(),
        rows: RowUnit::Row,
        audience: Audience::CommandLine,
        nameless: true,
    };
    let array = NpyArray { origin: Arc::new(origin), rows, columns };
    let plan = plan(&array.header())?;
    let column_major = file.order() == Order::Fortran;
    let rows_at_once = if column_major { rows } else { (CHUNK_VALUES / columns).clamp(1, rows) };
    let mut first = 0;
    values(name, file, rows_at_once * columns, |values| {
        let count = values.len() / columns;
        let value = |i: usize, j: usize| {
            if column_major { values[j * rows + i] } else { values[i * columns + j] }
        };
        each(array.chunk(first, count, value, &plan))?;
        first += count;
        Ok(())
    })?;
    ensure!(first == rows, "{name}: the file is cut off ({first} of {rows} rows)");
    Ok(())
}

/// An array whose shape is known.
struct NpyArray {
    origin: Arc<TableOrigin>,
    rows: usize,
    columns: usize,
}

impl NpyArray {
    fn header(&self) -> TableHeader {
        TableHeader {
            origin: self.origin.clone(),
            names: (0..self.columns).map(|position| position.to_string()).collect(),
            named: false,
            guess: vec![ColumnReading::plain(); self.columns],
            commas_separate: true,
        }
    }

    fn chunk(
        &self,
        first: usize,
        count: usize,
        value: impl Fn(usize, usize) -> f64,
        plan: &ReadPlan,
    ) -> Chunk {
        let values = |j: usize| (0..count).map(|i| value(i, j)).collect::<Vec<f64>>();
        let column =
            |j: usize| Column::of_values(j.to_string().into(), ValueKind::Number, values(j), true);
        let kept = plan
            .keep
            .iter()
            .map(|j| KeptColumn { name: j.to_string(), cells: KeptCells::Numbers(values(*j)) });
        let lines = first as u64 + 1..=(first + count) as u64;
        debug_assert!(first + count <= self.rows);
        Chunk {
            origin: self.origin.clone(),
            named: false,
            columns: (0..self.columns).map(column).collect(),
            lines: lines.collect(),
            kept: kept.collect(),
        }
    }
}

/// Number of rows and columns; a vector is a single column.
fn shape<R: BufRead>(name: &str, file: &NpyFile<R>, size: Option<u64>) -> Result<(usize, usize)> {
    let (rows, columns) = match *file.shape() {
        [n] => (n as usize, 1),
        [n, d] => (n as usize, d as usize),
        _ => bail!("{name}: has {} axes; a table has 2", file.shape().len()),
    };
    let count = rows.checked_mul(columns);
    let count = count.with_context(|| format!("{name}: the shape is impossible"))?;
    // Every type takes at least a byte: a shape larger than the file is refused.
    ensure!(
        size.is_none_or(|size| count as u64 <= size),
        "{name}: the file is cut off ({rows} × {columns} announced)"
    );
    Ok((rows, columns))
}

/// Reads values of any numeric type as 64-bit floats, a given number at a time.
fn values<R: BufRead>(
    name: &str,
    file: NpyFile<R>,
    count: usize,
    mut each: impl FnMut(Vec<f64>) -> Result<()>,
) -> Result<()> {
    macro_rules! attempt {
        ($file:ident, $($type:ty => $convert:expr),*) => {{
            let file = $file;
            $(let file = match file.try_data::<$type>() {
                Ok(data) => {
                    let convert: fn($type) -> f64 = $convert;
                    let mut values = Vec::with_capacity(count.min(TRUSTED_VALUES));
                    for value in data {
                        let value = value.map_err(|_| anyhow!("{name}: the file is cut off"))?;
                        values.push(convert(value));
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
            bail!("{name}: holds {}, not plain numbers", file.dtype().descr());
        }};
    }
    attempt!(
        file,
        f64 => |v| v,
        f32 => f64::from,
        f16 => f64::from,
        bool => |v| f64::from(u8::from(v)),
        i64 => |v| v as f64,
        i32 => f64::from,
        i16 => f64::from,
        i8 => f64::from,
        u64 => |v| v as f64,
        u32 => f64::from,
        u16 => f64::from,
        u8 => f64::from
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Cells;
    use crate::csv::CsvOptions;
    use crate::reader::{TableFile, WithTargets};
    use crate::source::ChunkSource;
    use npyz::WriterBuilder;

    fn bytes<T: npyz::Serialize + npyz::AutoSerialize>(
        shape: &[u64],
        order: Order,
        data: Vec<T>,
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        let options = npyz::WriteOptions::new().default_dtype().shape(shape).order(order);
        let mut writer = options.writer(&mut bytes).begin_nd().unwrap();
        writer.extend(data).unwrap();
        writer.finish().unwrap();
        bytes
    }

    fn file(name: &str, bytes: &[u8]) -> TableFile {
        TableFile::from_bytes(name, bytes, CsvOptions::default())
    }

    /// The columns of a source.
    fn columns(source: &dyn ChunkSource) -> Result<Vec<Vec<f64>>> {
        let mut all: Vec<Vec<f64>> = Vec::new();
        source.read(
            &mut |header| Ok(ReadPlan { readings: header.guess.clone(), ..ReadPlan::default() }),
            &mut |chunk| {
                all.resize(chunk.columns.len(), Vec::new());
                for (all, column) in all.iter_mut().zip(&chunk.columns) {
                    let Cells::Values(_, values) = &column.cells else { panic!("no values") };
                    all.extend(values);
                }
                Ok(())
            },
        )?;
        Ok(all)
    }

    #[test]
    fn orders_and_types_read_the_same() {
        let expected = [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]];
        let numbers = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let half = numbers.map(f16::from_f64).to_vec();
        for bytes in [
            bytes(&[2, 3], Order::C, numbers.to_vec()),
            bytes(&[2, 3], Order::Fortran, vec![1.0_f32, 4.0, 2.0, 5.0, 3.0, 6.0]),
            bytes(&[2, 3], Order::C, vec![1_i32, 2, 3, 4, 5, 6]),
            bytes(&[2, 3], Order::C, vec![1_u64, 2, 3, 4, 5, 6]),
            bytes(&[2, 3], Order::C, half),
        ] {
            assert!(file("a.npy", &bytes).is_npy().unwrap());
            assert_eq!(columns(&file("a.npy", &bytes)).unwrap(), expected);
        }
        let vector = bytes(&[3], Order::C, vec![1_u8, 2, 3]);
        assert_eq!(columns(&file("a.npy", &vector)).unwrap(), [[1.0, 2.0, 3.0]]);
        let flags = bytes(&[2], Order::C, vec![true, false]);
        assert_eq!(columns(&file("a.npy", &flags)).unwrap(), [[1.0, 0.0]]);
    }

    #[test]
    fn damaged_files_say_so() {
        let whole = bytes(&[20, 3], Order::C, vec![1.0_f64; 60]);
        for length in [8, 40, whole.len() - 5, 200] {
            let error = columns(&file("a.npy", &whole[..length])).unwrap_err().to_string();
            assert!(error.starts_with("a.npy: "), "{length}: {error}");
        }
        let cube = bytes(&[2, 2, 2], Order::C, vec![1.0_f64; 8]);
        let error = columns(&file("a.npy", &cube)).unwrap_err().to_string();
        assert_eq!(error, "a.npy: has 3 axes; a table has 2");
        for (shape, says) in [([0, 3], "a.npy has no rows"), ([3, 0], "a.npy has no columns")] {
            let empty = bytes(&shape, Order::C, Vec::<f64>::new());
            assert_eq!(columns(&file("a.npy", &empty)).unwrap_err().to_string(), says);
        }
    }

    #[test]
    fn targets_follow_the_columns() {
        let x = bytes(&[3, 2], Order::C, vec![1, 2, 3, 4, 5, 6]);
        let x = file("x.npy", &x);
        let targets = |shape: &[u64]| {
            let count = shape.iter().product::<u64>() as i32;
            file("y.npy", &bytes(shape, Order::C, (0..count).collect::<Vec<i32>>()))
        };
        let both = WithTargets::new(&x, &targets(&[3])).unwrap();
        assert_eq!(columns(&both).unwrap(), [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0], [0.0, 1.0, 2.0]]);
        assert_eq!(WithTargets::new(&x, &targets(&[3, 2])).unwrap().count(), 2);
        for rows in [2, 4] {
            let y = targets(&[rows]);
            let error = columns(&WithTargets::new(&x, &y).unwrap()).unwrap_err().to_string();
            assert_eq!(error, format!("y.npy: it has {rows} rows, but x.npy has 3"));
        }
    }
}
