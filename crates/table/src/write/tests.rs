//! Tests of written tables: all formats have the same content, and this crate reads them back.

use super::*;
use crate::chunk::KeptCells;
use crate::csv::CsvOptions;
use crate::infer::SchemaOptions;
use crate::reader::TableFile;
use crate::training::{TrainingOptions, read_training};
use raysum::Labels;

fn chunk(first: usize, rows: usize) -> AnswerChunk {
    let texts =
        (first..first + rows).map(|i| if i == 2 { String::new() } else { format!("a, {i}") });
    let kept = vec![
        KeptColumn { name: "id".into(), cells: KeptCells::Texts(texts.collect()) },
        KeptColumn {
            name: "n".into(),
            cells: KeptCells::Numbers((first..first + rows).map(|i| i as f64).collect()),
        },
    ];
    let mut chunk = AnswerChunk::new(rows, kept);
    let present: Vec<usize> = (0..rows).filter(|i| first + i != 1).collect();
    let values = present.iter().map(|i| (first + i) as f64 + 0.1);
    chunk.add("mean".into(), &present, values);
    chunk
}

fn written(format: OutputFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = TableWriter::new(format, &mut bytes).unwrap();
    writer.write(&chunk(0, 2)).unwrap();
    writer.write(&chunk(2, 2)).unwrap();
    writer.finish().unwrap();
    bytes
}

fn of(name: &str) -> OutputFormat {
    OutputFormat::of(Path::new(name)).unwrap().unwrap()
}

#[test]
fn endings_stand_for_formats() {
    assert_eq!(of("a/b.CSV"), OutputFormat::CSV);
    assert_eq!(of("b.jsonl"), OutputFormat::JSON_LINES);
    for name in ["a.csv.gz", "a.tsv", "a.tsv.zst", "a.json", "a.parquet", "a.feather", "a.arrow"] {
        of(name);
    }
    for name in ["-", "out", "dir.csv/out", ".csv"] {
        assert_eq!(OutputFormat::of(Path::new(name)).unwrap(), None, "{name}");
    }
    for (name, says) in [
        (
            "a.xlsx",
            "cannot write a.xlsx: the extension .xlsx is not that of a known format (.csv, ",
        ),
        ("a.csv.bak", "the extension .bak is not that of a known format"),
        ("a.gz", "its extension gives the compression, but not the format"),
        ("a.parquet.gz", ".parquet files are compressed internally; omit the last extension"),
    ] {
        let error = OutputFormat::of(Path::new(name)).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn texts() {
    let csv = "id,n,mean\n\"a, 0\",0,0.1\n\"a, 1\",1,\n,2,2.1\n\"a, 3\",3,3.1\n";
    assert_eq!(String::from_utf8(written(OutputFormat::CSV)).unwrap(), csv);
    let tsv = "id\tn\tmean\na, 0\t0\t0.1\na, 1\t1\t\n\t2\t2.1\na, 3\t3\t3.1\n";
    assert_eq!(String::from_utf8(written(of("t.tsv"))).unwrap(), tsv);
    let lines = concat!(
        r#"{"id":"a, 0","n":0.0,"mean":0.1}"#,
        "\n",
        r#"{"id":"a, 1","n":1.0,"mean":null}"#,
        "\n",
        r#"{"id":null,"n":2.0,"mean":2.1}"#,
        "\n",
        r#"{"id":"a, 3","n":3.0,"mean":3.1}"#,
        "\n",
    );
    assert_eq!(String::from_utf8(written(OutputFormat::JSON_LINES)).unwrap(), lines);
    let list: serde_json::Value = serde_json::from_slice(&written(of("t.json"))).unwrap();
    let each: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(list, serde_json::Value::Array(each));
}

#[test]
fn every_format_is_read_back() {
    let read = |bytes: &[u8]| {
        let file = TableFile::from_bytes("t", bytes, CsvOptions::default());
        let schema = SchemaOptions { missing: crate::Missing::Mean, ..SchemaOptions::default() };
        let options = TrainingOptions { schema, ..TrainingOptions::default() };
        let labels =
            |stats: &crate::TableStats| Ok(Labels::of_targets(vec![stats.find_column("mean")?]));
        let table = read_training(&file, &options, labels).unwrap();
        (table.schema.encoded_names(), table.labels.targets, table.x.into_matrix().unwrap())
    };
    let expected = read(&written(OutputFormat::CSV));
    assert_eq!(expected.1, [[0.1, 2.1, 3.1]]);
    let names =
        ["t.csv.gz", "t.tsv", "t.tsv.zst", "t.csv.zst", "t.parquet", "t.arrow", "t.feather"];
    for name in names {
        assert_eq!(read(&written(of(name))), expected, "{name}");
    }
}
