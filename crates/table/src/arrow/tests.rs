//! Tests of typed files: the same table as text, and what is wrong with them.

use super::*;
use crate::chunk::Cells;
use crate::csv::CsvOptions;
use crate::evidence::Notation;
use crate::infer::{ColumnChoice, SchemaOptions, infer};
use crate::input::InputPath;
use crate::missing::Missing;
use crate::reader::TableFile;
use crate::source::ChunkSource;
use crate::testing::file;
use crate::training::{ScannedTable, TrainingOptions, TrainingTable, read_training};
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
        ("kind", Arc::new(StringArray::from(vec![Some("red"), Some("blue"), None, Some("red")]))),
        ("day", Arc::new(Date32Array::from(vec![Some(20_773), Some(20_774), Some(20_775), None]))),
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

fn open(path: &Path) -> TableFile {
    TableFile::open(&InputPath::new(path), CsvOptions::default()).unwrap()
}

fn train(source: &dyn ChunkSource) -> Result<TrainingTable> {
    let schema = SchemaOptions { missing: Missing::Mean, ..SchemaOptions::default() };
    let options = TrainingOptions { schema, ..TrainingOptions::default() };
    read_training(source, &options, |stats| {
        Ok(raysum::Labels::of_targets(vec![stats.find_column("-1")?]))
    })
}

#[test]
fn every_format_is_the_table_that_the_text_is() {
    let folder = tempfile::tempdir().unwrap();
    let expected = train(&file(TEXT)).unwrap();
    let (schema, targets) = (expected.schema.clone(), expected.labels.targets.clone());
    let x = expected.x.into_matrix().unwrap();
    for write in [parquet, ipc, stream] {
        let path = folder.path().join("t");
        write(&path, &batch());
        let found = train(&open(&path)).unwrap();
        assert_eq!(found.schema, schema);
        assert_eq!(found.labels.targets, targets);
        assert_eq!(found.x.into_matrix().unwrap(), x);
        let options = TrainingOptions::default();
        let labels = |_: &_| Ok(raysum::Labels::of_targets(vec![6]));
        let error = read_training(&open(&path), &options, labels).unwrap_err().to_string();
        assert!(error.contains("t, row 2, column 'n': the value is missing"), "{error}");
    }
}

#[test]
fn texts_in_typed_files_are_read_as_in_text_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let texts = |texts: [&str; 3]| -> ArrayRef { Arc::new(StringArray::from(texts.to_vec())) };
    let y: ArrayRef = Arc::new(Float64Array::from(vec![1.5, 2.5, 4.5]));
    let columns = [
        ("code", texts(["05", "07", "11"])),
        ("price", texts(["$1,000", "$25", "$7"])),
        ("when", texts(["31/01/2024", "01/02/2024", "02/02/2024"])),
        ("flag", texts(["TRUE", "false", "True"])),
        ("y", y),
    ];
    parquet(&path, &RecordBatch::try_from_iter(columns).unwrap());
    let text = "code,price,when,flag,y\n05,\"$1,000\",31/01/2024,TRUE,1.5\n\
                07,$25,01/02/2024,false,2.5\n11,$7,02/02/2024,True,4.5\n";
    let (found, expected) = (train(&open(&path)).unwrap(), train(&file(text)).unwrap());
    assert_eq!(found.schema, expected.schema);
    assert_eq!(found.x.into_matrix().unwrap(), expected.x.into_matrix().unwrap());
}

#[test]
fn chunks_come_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let n = 20_000;
    let x: ArrayRef = Arc::new(Int64Array::from_iter_values(0..n));
    let batch = RecordBatch::try_from_iter([("x", x)]).unwrap();
    let path = folder.path().join("t.parquet");
    parquet(&path, &batch);
    let mut seen = Vec::new();
    let mut take = |chunk: Chunk| {
        let Cells::Values(_, values) = &chunk.columns[0].cells else { panic!("no numbers") };
        assert_eq!(chunk.lines[0] as usize, seen.len() + 1);
        seen.extend_from_slice(values);
        Ok(())
    };
    let readings = vec![ColumnReading::plain()];
    let plan = ReadPlan { readings, ..ReadPlan::default() };
    open(&path).read(&mut |_| Ok(plan.clone()), &mut take).unwrap();
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
    let file = open(&path);
    let stats = ScannedTable::new(&file, Notation::default(), 0).unwrap().stats;
    let learn = |drop: &[&str]| {
        let drop: Vec<String> = drop.iter().map(ToString::to_string).collect();
        let choice = ColumnChoice { drop, ..ColumnChoice::default() };
        let labels = raysum::Labels::of_targets(vec![2]);
        let options = SchemaOptions { choice, ..SchemaOptions::default() };
        infer(&stats, &labels, &options).map(|_| ()).map_err(|e| e.to_string())
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
            let file = open(&path);
            if let Err(error) = ScannedTable::new(&file, Notation::default(), 0) {
                assert!(error.to_string().contains("damaged or cut off"), "{length}: {error}");
            } else {
                // A stream has no end that could be missed.
                assert!(length + 9 == whole.len(), "{length} of {} was read", whole.len());
            }
        }
    }
}
