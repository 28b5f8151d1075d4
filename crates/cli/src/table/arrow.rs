//! Parquet files, and Arrow's IPC files and streams: typed columns, batch by batch.

use std::cell::Cell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use anyhow::{Context, Result, anyhow, ensure};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_cast::cast;
use arrow_ipc::reader::{FileReader, StreamReader, read_footer_length};
use arrow_ipc::root_as_footer;
use arrow_schema::{DataType, Schema, TimeUnit};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::date::DAY;
use super::draft::Draft;
use super::input::{Format, Input};
use super::read::check_names;
use super::{Column, Table, words};

/// Rows of a batch of a Parquet file; the others come as they were written.
const BATCH_ROWS: usize = 8_192;

/// A file of typed columns that is being read.
pub(super) struct Batches<'a> {
    name: &'a str,
    names: Vec<String>,
    reader: Box<dyn RecordBatchReader + 'a>,
    kinds: Vec<Kind>,
    rows: u64,
}

/// What a column becomes.
enum Kind {
    Number,
    /// Dates, of which a day has so many units.
    Date(f64),
    Text,
    /// Anything else, by the name of its type.
    Other(String),
}

impl Kind {
    fn of(kind: &DataType) -> Self {
        match kind {
            DataType::Dictionary(_, values) => Self::of(values),
            DataType::Boolean | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                Kind::Text
            }
            DataType::Date32 => Kind::Date(1.0),
            DataType::Date64 => Kind::Date(1e3 * DAY),
            DataType::Timestamp(unit, _) => Kind::Date(match unit {
                TimeUnit::Second => DAY,
                TimeUnit::Millisecond => 1e3 * DAY,
                TimeUnit::Microsecond => 1e6 * DAY,
                TimeUnit::Nanosecond => 1e9 * DAY,
            }),
            DataType::Null | DataType::Decimal128(..) | DataType::Decimal256(..) => Kind::Number,
            kind if kind.is_numeric() => Kind::Number,
            other => Kind::Other(other.to_string()),
        }
    }

    fn draft(&self) -> Draft {
        match self {
            Kind::Number | Kind::Date(_) => Draft::new(false),
            Kind::Text => Draft::new(true),
            Kind::Other(kind) => Draft::other(kind),
        }
    }
}

impl<'a> Batches<'a> {
    /// Starts to read a file of this format.
    pub(super) fn new(input: &'a Input, format: Format) -> Result<Self> {
        guarded(input.name(), || Self::open(input, format))
    }

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
            Format::Csv | Format::ArrowStream => {
                let reader = StreamReader::try_new(input.stream()?, None);
                Box::new(reader.map_err(|error| broken(name, "Arrow", &error))?)
            }
        };
        let schema = reader.schema();
        let names = names(name, &schema)?;
        let kinds = schema.fields().iter().map(|field| Kind::of(field.data_type())).collect();
        Ok(Self { name, names, reader, kinds, rows: 0 })
    }

    /// The next rows; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Table>> {
        let mut drafts = self.drafts();
        // A batch may be empty.
        while let Some(batch) = self.batch()? {
            if batch.num_rows() > 0 {
                let rows = self.add(&batch, &mut drafts)?;
                return Ok(Some(self.table(drafts, rows)));
            }
        }
        Ok(None)
    }

    fn drafts(&self) -> Vec<Draft> {
        self.kinds.iter().map(Kind::draft).collect()
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        let name = self.name;
        guarded(name, || {
            let batch = self.reader.next().transpose();
            batch.map_err(|error| anyhow!("{name}: the file is damaged or cut off ({error})"))
        })
    }

    /// Adds the cells of a batch, and returns the numbers of its rows, counted from 1.
    fn add(&mut self, batch: &RecordBatch, drafts: &mut [Draft]) -> Result<Vec<u64>> {
        for (k, draft) in drafts.iter_mut().enumerate() {
            let place = || format!("{}, column {}", self.name, words::quoted(&self.names[k]));
            guarded(self.name, || add(batch.column(k).as_ref(), &self.kinds[k], draft))
                .with_context(place)?;
        }
        let first = self.rows + 1;
        self.rows += batch.num_rows() as u64;
        Ok((first..=self.rows).collect())
    }

    fn table(&self, drafts: Vec<Draft>, rows: Vec<u64>) -> Table {
        let columns = self.names.iter().cloned().zip(drafts);
        let columns: Vec<Column> = columns.filter_map(|(name, draft)| draft.finish(name)).collect();
        Table { name: self.name.to_owned(), has_header: true, columns, lines: rows, unit: "row" }
    }
}

/// Adds the cells of a column.
fn add(array: &dyn Array, kind: &Kind, draft: &mut Draft) -> Result<()> {
    match kind {
        Kind::Number => {
            let numbers = cast(array, &DataType::Float64)?;
            numbers.as_primitive::<Float64Type>().iter().for_each(|v| draft.number(v));
        }
        Kind::Date(day) => {
            let units = cast(array, &DataType::Int64)?;
            let days = |v: Option<i64>| v.map(|v| v as f64 / day);
            units.as_primitive::<Int64Type>().iter().for_each(|v| draft.date(days(v)));
        }
        Kind::Text => {
            let texts = cast(array, &DataType::Utf8)?;
            texts.as_string::<i32>().iter().for_each(|v| draft.push(v.unwrap_or("").trim()));
        }
        Kind::Other(_) => {}
    }
    Ok(())
}

fn names(file: &str, schema: &Schema) -> Result<Vec<String>> {
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    ensure!(!names.is_empty(), "{file} has no columns");
    check_names(file, &names)?;
    Ok(names)
}

/// Fails if an Arrow file claims to have more in a block than it has in all: its reader would ask for
/// so much memory.
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

/// The file to move about in; what comes through a pipe is put into one first.
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
    /// Whether a panic is expected here.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Runs code that panics on some damaged files: to the user that is an error like any other.
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
    // Nothing of what the body has touched is looked at after a panic.
    let done = panic::catch_unwind(AssertUnwindSafe(body));
    EXPECTED.set(false);
    done.unwrap_or_else(|_| Err(anyhow!("{name}: the file is damaged or cut off")))
}

fn broken(name: &str, format: &str, error: &dyn std::fmt::Display) -> anyhow::Error {
    anyhow!("{name}: the {format} file is damaged or cut off ({error})")
}

#[cfg(test)]
mod tests {
    use super::super::{Cells, Chosen, Encoding, Missing, ReadOptions, Scan, Source, from_text};
    use super::*;
    use arrow_array::{
        ArrayRef, BooleanArray, Date32Array, Float32Array, Float64Array, Int64Array, ListArray,
        StringArray, TimestampMillisecondArray, types::Int32Type,
    };
    use arrow_ipc::writer::{FileWriter, StreamWriter};
    use parquet::arrow::ArrowWriter;
    use std::path::Path;
    use std::sync::Arc;

    /// The same table as text and as a batch.
    const TEXT: &str = "n,f,flag,kind,day,time,y\n\
        1,0.5,true,red,2026-11-16,2026-11-16T06:00:00,1\n\
        ,-2.25,false,blue,2026-11-17,2026-11-16T12:00:00,2\n\
        3,,true,,2026-11-18,,3\n\
        4,1e10,,red,,2026-11-17T00:00:00,4\n";

    fn batch() -> RecordBatch {
        let day = |d: i64| (20_773 * 24 + 6 * d) * 3_600_000;
        let columns: [(&str, ArrayRef); 7] = [
            ("n", Arc::new(Int64Array::from(vec![Some(1), None, Some(3), Some(4)]))),
            ("f", Arc::new(Float64Array::from(vec![0.5, -2.25, f64::NAN, 1e10]))),
            ("flag", Arc::new(BooleanArray::from(vec![Some(true), Some(false), Some(true), None]))),
            (
                "kind",
                Arc::new(StringArray::from(vec![Some("red"), Some("blue"), None, Some("red")])),
            ),
            (
                "day",
                Arc::new(Date32Array::from(vec![Some(20_773), Some(20_774), Some(20_775), None])),
            ),
            (
                "time",
                Arc::new(TimestampMillisecondArray::from(vec![
                    Some(day(1)),
                    Some(day(2)),
                    None,
                    Some(day(4)),
                ])),
            ),
            ("y", Arc::new(Float32Array::from(vec![1.0, 2.0, 3.0, 4.0]))),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn parquet(path: &Path, batch: &RecordBatch) {
        let file = File::create(path).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(batch).unwrap();
        writer.close().unwrap();
    }

    fn ipc(path: &Path, batch: &RecordBatch) {
        let mut writer = FileWriter::try_new(File::create(path).unwrap(), &batch.schema()).unwrap();
        writer.write(batch).unwrap();
        writer.finish().unwrap();
    }

    fn stream(path: &Path, batch: &RecordBatch) {
        let file = File::create(path).unwrap();
        let mut writer = StreamWriter::try_new(file, &batch.schema()).unwrap();
        writer.write(batch).unwrap();
        writer.finish().unwrap();
    }

    fn open(path: &Path) -> Result<Table> {
        Ok(Scan::new(&Source::new(path), &ReadOptions::default(), u64::MAX)?.into_table())
    }

    #[test]
    fn every_format_is_the_table_that_the_text_is() {
        let folder = tempfile::tempdir().unwrap();
        let text = from_text(TEXT);
        let encoding = Encoding::learn(&(&text).into(), 6, &Chosen::default()).unwrap();
        let (expected, _) = encoding.apply(&text, Missing::Mean, true).unwrap();
        for write in [parquet, ipc, stream] {
            let path = folder.path().join("t");
            write(&path, &batch());
            let table = open(&path).unwrap();
            let found = Encoding::learn(&(&table).into(), 6, &Chosen::default()).unwrap();
            assert_eq!(found, encoding);
            let (encoded, _) = encoding.apply(&table, Missing::Mean, true).unwrap();
            assert_eq!(
                (encoded.x, encoded.targets),
                (expected.x.clone(), expected.targets.clone())
            );
            assert!(table.at(1, "n").ends_with("t, row 2, column 'n'"), "{}", table.at(1, "n"));
        }
    }

    #[test]
    fn parts_come_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let n = 20_000;
        let x: ArrayRef = Arc::new(Int64Array::from_iter_values(0..n));
        let batch = RecordBatch::try_from_iter([("x", x)]).unwrap();
        let path = folder.path().join("t.parquet");
        parquet(&path, &batch);
        let mut seen = Vec::new();
        let options = ReadOptions::default();
        let texts = |names: &[String], _: bool| vec![false; names.len()];
        super::super::in_parts(&Source::new(&path), &options, texts, |table| {
            let Cells::Number(values) = &table.columns[0].cells else { panic!("no numbers") };
            assert_eq!(table.lines[0] as usize, seen.len() + 1);
            seen.extend_from_slice(values);
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, (0..n).map(|v| v as f64).collect::<Vec<_>>());
    }

    #[test]
    fn what_cannot_be_used_can_be_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let lists =
            ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)]), Some([Some(2)])]);
        let x: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::INFINITY]));
        let y: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0]));
        let columns: [(&str, ArrayRef); 3] = [("l", Arc::new(lists)), ("x", x), ("y", y)];
        parquet(&path, &RecordBatch::try_from_iter(columns).unwrap());
        let table = open(&path).unwrap();
        let learn = |drop: &[&str]| {
            let drop: Vec<String> = drop.iter().map(ToString::to_string).collect();
            let chosen = Chosen { drop: &drop, ..Chosen::default() };
            Encoding::learn(&(&table).into(), 2, &chosen).map(|_| ()).map_err(|e| e.to_string())
        };
        let error = learn(&[]).unwrap_err();
        assert!(error.contains("column 'l': it holds List"), "{error}");
        assert!(error.ends_with("which is neither number nor text; use --drop l"), "{error}");
        let error = learn(&["l"]).unwrap_err();
        assert!(error.contains("row 2, column 'x': 'inf' is not a finite number"), "{error}");
        assert!(learn(&["l", "x"]).unwrap_err().contains("no columns are left"));
    }

    #[test]
    fn damaged_files_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        for write in [parquet, ipc, stream] {
            let path = folder.path().join("t");
            write(&path, &batch());
            let whole = std::fs::read(&path).unwrap();
            for length in [8, 12, whole.len() / 3, whole.len() / 2, whole.len() - 9] {
                std::fs::write(&path, &whole[..length]).unwrap();
                if let Err(error) = open(&path) {
                    assert!(error.to_string().contains("damaged or cut off"), "{length}: {error}");
                } else {
                    // A stream has no end that could be missed.
                    assert!(length + 9 == whole.len(), "{length} of {} was read", whole.len());
                }
            }
        }
    }
}
