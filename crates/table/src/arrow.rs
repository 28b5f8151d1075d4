//! Reads Parquet files, and Arrow's IPC files and streams: typed columns, batch by batch.

use crate::chunk::{
    Chunk, Column, ColumnReading, KeptCells, KeptColumn, ReadPlan, RowUnit, TableHeader,
    TableOrigin, ValueKind,
};
use crate::column_builder::ColumnBuilder;
use crate::date::{DAY_NANOS, days_of};
use crate::input::{Format, Input};
use crate::messages::{Audience, escaped};
use crate::source::check_names;
use anyhow::{Context, Result, anyhow, ensure};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader};
use arrow_cast::cast;
use arrow_ipc::reader::{FileReader, StreamReader, read_footer_length};
use arrow_ipc::root_as_footer;
use arrow_schema::{DataType, Schema, TimeUnit};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::cell::Cell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Once};

/// Rows per batch of a Parquet file; Arrow files keep the batches they were written in.
const BATCH_ROWS: usize = 8_192;

/// Reads a file of this format: `plan` decides how to read it once the columns are known, `each`
/// takes the chunks.
pub(crate) fn read(
    input: &Input,
    format: Format,
    plan: &mut dyn FnMut(&TableHeader) -> Result<ReadPlan>,
    each: &mut dyn FnMut(Chunk) -> Result<()>,
) -> Result<()> {
    let mut file = guarded(input.name(), || TypedFile::open(input, format))?;
    let plan = plan(&file.header())?;
    while let Some(batch) = file.batch()? {
        if batch.num_rows() > 0 {
            each(file.chunk(&batch, &plan)?)?;
        }
    }
    Ok(())
}

/// A reader of a file of typed columns.
struct TypedFile<'a> {
    origin: Arc<TableOrigin>,
    names: Vec<String>,
    types: Vec<ColumnType>,
    reader: Box<dyn RecordBatchReader + 'a>,
    rows: u64,
}

/// What a column becomes.
enum ColumnType {
    /// Numbers; whether a text file would write them with a point.
    Number(bool),
    /// Dates, in units of this many nanoseconds.
    Date(i128),
    Boolean,
    Text,
    /// Anything else, by the name of its type.
    Other(String),
}

impl ColumnType {
    fn of(kind: &DataType) -> Self {
        match kind {
            DataType::Dictionary(_, values) => Self::of(values),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text,
            DataType::Boolean => Self::Boolean,
            DataType::Date32 => Self::Date(DAY_NANOS),
            DataType::Date64 => Self::Date(1_000_000),
            DataType::Timestamp(unit, _) => Self::Date(match unit {
                TimeUnit::Second => 1_000_000_000,
                TimeUnit::Millisecond => 1_000_000,
                TimeUnit::Microsecond => 1_000,
                TimeUnit::Nanosecond => 1,
            }),
            DataType::Null => Self::Number(false),
            DataType::Decimal128(..) | DataType::Decimal256(..) => Self::Number(true),
            kind if kind.is_floating() => Self::Number(true),
            kind if kind.is_numeric() => Self::Number(false),
            other => Self::Other(other.to_string()),
        }
    }

    /// The column of an array.
    fn column(
        &self,
        name: Arc<str>,
        array: &dyn Array,
        reading: &ColumnReading,
        known: bool,
    ) -> Result<Column> {
        let numbers = |array: &dyn Array| -> Result<Vec<f64>> {
            let numbers = cast(array, &DataType::Float64)?;
            let numbers = numbers.as_primitive::<Float64Type>();
            Ok(numbers.iter().map(|value| value.unwrap_or(f64::NAN)).collect())
        };
        Ok(match self {
            Self::Number(fractions) => {
                Column::of_values(name, ValueKind::Number, numbers(array)?, *fractions)
            }
            Self::Boolean => Column::of_values(name, ValueKind::Boolean, numbers(array)?, false),
            Self::Date(nanos) => {
                let units = cast(array, &DataType::Int64)?;
                let units = units.as_primitive::<Int64Type>();
                let days = |v: Option<i64>| v.map_or(f64::NAN, |v| days_of(i128::from(v) * nanos));
                Column::of_values(name, ValueKind::Date, units.iter().map(days).collect(), false)
            }
            Self::Text => {
                let texts = cast(array, &DataType::Utf8)?;
                let mut builder = ColumnBuilder::texts();
                for text in texts.as_string::<i32>() {
                    builder.push(text.unwrap_or("").trim());
                }
                builder.finish(name, reading, known)
            }
            Self::Other(kind) => Column::of_other(name, kind.clone()),
        })
    }
}

impl<'a> TypedFile<'a> {
    fn open(input: &'a Input, format: Format) -> Result<Self> {
        let name = input.name();
        let reader: Box<dyn RecordBatchReader + 'a> = match format {
            Format::Parquet => {
                let builder = ParquetRecordBatchReaderBuilder::try_new(whole(input)?);
                let reader = builder.and_then(|b| b.with_batch_size(BATCH_ROWS).build());
                Box::new(reader.map_err(|error| broken(name, "Parquet", &error))?)
            }
            Format::ArrowFile => {
                let mut file = whole(input)?;
                check_blocks(&mut file).map_err(|error| broken(name, "Arrow", &error))?;
                let reader = FileReader::try_new(std::io::BufReader::new(file), None);
                Box::new(reader.map_err(|error| broken(name, "Arrow", &error))?)
            }
            Format::Csv | Format::Npy | Format::ArrowStream => {
                let reader = StreamReader::try_new(input.stream()?, None);
                Box::new(reader.map_err(|error| broken(name, "Arrow", &error))?)
            }
        };
        let schema = reader.schema();
        let names = names(name, &schema)?;
        let types = schema.fields().iter().map(|f| ColumnType::of(f.data_type())).collect();
        let origin = TableOrigin {
            name: name.to_owned(),
            rows: RowUnit::Row,
            audience: Audience::CommandLine,
            nameless: false,
        };
        Ok(Self { origin: Arc::new(origin), names, types, reader, rows: 0 })
    }

    fn header(&self) -> TableHeader {
        let guess = self.types.iter().map(|kind| match kind {
            ColumnType::Text => ColumnReading::Text,
            _ => ColumnReading::plain(),
        });
        TableHeader {
            origin: self.origin.clone(),
            names: self.names.clone(),
            named: true,
            guess: guess.collect(),
            // As in the CSV file that such a table is usually written to.
            commas_separate: true,
        }
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        let name = &self.origin.name;
        guarded(name, || {
            let batch = self.reader.next().transpose();
            batch.map_err(|error| damaged(name, &error))
        })
    }

    fn chunk(&mut self, batch: &RecordBatch, plan: &ReadPlan) -> Result<Chunk> {
        let origin = &self.origin;
        let column = |k: usize| -> Result<Column> {
            let (name, array) = (&self.names[k], batch.column(k).as_ref());
            let reading = &plan.readings[k];
            if *reading == ColumnReading::Skip {
                let skipped = ColumnBuilder::new(reading);
                return Ok(skipped.finish(name.as_str().into(), reading, plan.known));
            }
            let read = || self.types[k].column(name.as_str().into(), array, reading, plan.known);
            guarded(&origin.name, read).with_context(|| origin.column(name))
        };
        let columns = (0..self.names.len()).map(column).collect::<Result<_>>()?;
        let kept = plan.keep.iter().map(|k| KeptColumn {
            name: self.names[*k].clone(),
            cells: KeptCells::Arrow(ArrayRef::clone(batch.column(*k))),
        });
        let kept = kept.collect();
        let first = self.rows + 1;
        self.rows += batch.num_rows() as u64;
        let lines = (first..=self.rows).collect();
        Ok(Chunk { origin: self.origin.clone(), named: true, columns, lines, kept })
    }
}

fn names(file: &str, schema: &Schema) -> Result<Vec<String>> {
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    ensure!(!names.is_empty(), "{file} has no columns");
    check_names(file, &names)?;
    Ok(names)
}

/// Fails if a block of an Arrow file claims to be larger than the file: its reader would allocate
/// that much memory.
fn check_blocks(file: &mut File) -> Result<()> {
    let size = file.metadata()?.len();
    let mut end = [0; 10];
    file.seek(SeekFrom::End(-10))?;
    file.read_exact(&mut end)?;
    let length = read_footer_length(end)?;
    ensure!(length as u64 + 10 <= size, "a footer of {length} bytes");
    let mut footer = vec![0; length];
    file.seek(SeekFrom::End(-10 - length as i64))?;
    file.read_exact(&mut footer)?;
    file.rewind()?;
    let footer = root_as_footer(&footer).map_err(|error| anyhow!("{error}"))?;
    for block in [footer.dictionaries(), footer.recordBatches()].into_iter().flatten().flatten() {
        let parts = [block.offset(), i64::from(block.metaDataLength()), block.bodyLength()];
        let parts = parts.map(u64::try_from);
        let all = parts.into_iter().try_fold(0_u64, |sum, part| sum.checked_add(part.ok()?));
        ensure!(all.is_some_and(|end| end <= size), "a block beyond its end");
    }
    Ok(())
}

/// A seekable file; the content of a pipe is copied into one first.
fn whole(input: &Input) -> Result<File> {
    if let Some(file) = input.file() {
        return file.with_context(|| format!("{} cannot be read", input.name()));
    }
    let spool = || -> Result<File> {
        let mut file = tempfile::tempfile()?;
        std::io::copy(&mut input.stream()?, &mut file)?;
        file.rewind()?;
        Ok(file)
    };
    spool().with_context(|| format!("{} cannot be put into a temporary file", input.name()))
}

thread_local! {
/// Whether a panic is expected on this thread.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Runs code that panics on some damaged files, and turns a panic into an error.
fn guarded<T>(name: &str, body: impl FnOnce() -> Result<T>) -> Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !EXPECTED.get() {
                others(info);
            }
        }));
    });
    EXPECTED.set(true);
    // After a panic nothing that the body has modified is used.
    let done = panic::catch_unwind(AssertUnwindSafe(body));
    EXPECTED.set(false);
    done.unwrap_or_else(|_| Err(anyhow!("{name}: the file is damaged or cut off")))
}

fn broken(name: &str, format: &str, error: &dyn std::fmt::Display) -> anyhow::Error {
    let error = escaped(&error.to_string());
    anyhow!("{name}: the {format} file is damaged or cut off ({error})")
}

fn damaged(name: &str, error: &dyn std::fmt::Display) -> anyhow::Error {
    anyhow!("{name}: the file is damaged or cut off ({})", escaped(&error.to_string()))
}

#[cfg(test)]
mod tests;
