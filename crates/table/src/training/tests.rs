//! Tests of whole tables: read once or twice, from any format, in any chunks.

use super::*;
use crate::chunk::{Cells, KeptCells, KeptColumn, NO_TEXT};
use crate::csv::CsvOptions;
use crate::frame::Frame;
use crate::input::InputPath;
use crate::messages::Audience;
use crate::reader::TableFile;
use crate::testing::file;
use crate::write::{AnswerChunk, OutputFormat, TableWriter};
use proptest::prelude::*;
use raysum::schema::FeatureKind;

/// The cells of the first column as texts.
fn cells(scan: ScannedTable<'_>) -> Vec<String> {
    let mut all = Vec::new();
    let take = |chunk: Chunk| {
        all.extend(match &chunk.columns[0].cells {
            Cells::Values(_, values) => values.iter().map(ToString::to_string).collect::<Vec<_>>(),
            Cells::Texts { texts, codes } => {
                let text = |c: &u32| if *c == NO_TEXT { "" } else { &texts[*c as usize] };
                codes.iter().map(|code| text(code).to_string()).collect()
            }
            other => panic!("{other:?}"),
        });
        Ok(())
    };
    scan.into_chunks(take).unwrap();
    all
}

#[test]
fn a_file_that_changes_between_two_looks_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let again = |change: &dyn Fn()| {
        std::fs::write(&path, "a,b\n1,2\n3,4\n").unwrap();
        let file = TableFile::open(&InputPath::new(&path), CsvOptions::default()).unwrap();
        let scan = ScannedTable::new(&file, Notation::default(), 0).unwrap();
        change();
        scan.into_chunks(|_| Ok(())).unwrap_err().to_string()
    };
    let name = path.display();
    let error = again(&|| std::fs::write(&path, "a,b\n1,2\n").unwrap());
    assert_eq!(error, format!("{name} was changed while it was read (2 rows, then 1)"));
    let error = again(&|| std::fs::remove_file(&path).unwrap());
    assert!(error.starts_with(&format!("{name} cannot be read: No such file")), "{error}");
}

#[test]
fn a_table_read_twice_is_the_table_kept() {
    // More rows than a chunk holds, and a text at the very end.
    let numbers: Vec<String> = (0..70_000).map(|i| format!("0{i},1")).collect();
    let numbers = format!("a,b\n{}\n", numbers.join("\n"));
    let late = format!("{numbers}x,2\n");
    for text in [&numbers, &late] {
        let file = file(text);
        let scan = |room| ScannedTable::new(&file, Notation::default(), room).unwrap();
        let (kept, again) = (scan(u64::MAX), scan(100_000));
        assert!(kept.kept.as_ref().is_some_and(|chunks| chunks.len() > 2));
        assert!(again.kept.is_none());
        let (kept, again) = (cells(kept), cells(again));
        assert_eq!(kept, again);
        assert_eq!(kept[7], if text == &late { "07" } else { "7" });
    }
}

/// Reads a table whose last column is the target.
fn train(source: &dyn ChunkSource, missing: Missing, room: u64) -> Result<TrainingTable> {
    // Few categories, so that some tables have others.
    let schema = SchemaOptions { missing, categories: 4, ..SchemaOptions::default() };
    let options = TrainingOptions { schema, room, ..TrainingOptions::default() };
    read_training(source, &options, |stats| Ok(Labels::of_targets(vec![stats.columns.len() - 1])))
}

/// A table as a frame has it: every column as texts.
fn frame(names: &[String], rows: &[Vec<String>]) -> Frame {
    let mut frame = Frame::new("t.csv", Audience::CommandLine, true, rows.len());
    for (k, name) in names.iter().enumerate() {
        frame.push_texts(name, rows.iter().map(|row| Some(row[k].as_str())));
    }
    frame
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

fn csv(names: &[String], rows: &[Vec<String>], delimiter: &str) -> TableFile {
    let line = |row: &[String]| {
        row.iter().map(|field| quoted(field)).collect::<Vec<_>>().join(delimiter) + "\n"
    };
    let body: String = rows.iter().map(|row| line(row)).collect();
    file(&(line(names) + &body))
}

type TableSummary = (Vec<f64>, Vec<f64>, Schema, Vec<Note>);

/// The same table, written by this crate.
fn written(names: &[String], rows: &[Vec<String>], ending: &str) -> TableFile {
    let column = |k: usize| KeptColumn {
        name: names[k].clone(),
        cells: KeptCells::Texts(rows.iter().map(|row| row[k].clone()).collect()),
    };
    let last = names.len() - 1;
    let mut chunk = AnswerChunk::new(rows.len(), (0..last).map(column).collect());
    let all: Vec<usize> = (0..rows.len()).collect();
    chunk.add(names[last].clone(), &all, rows.iter().map(|row| row[last].parse().unwrap()));
    let mut bytes = Vec::new();
    let format = OutputFormat::of(ending.as_ref()).unwrap().unwrap();
    let mut writer = TableWriter::new(format, &mut bytes).unwrap();
    writer.write(&chunk).unwrap();
    writer.finish().unwrap();
    TableFile::from_bytes("t.csv", bytes, CsvOptions::default())
}

/// Rows and schema, to compare.
fn summary(table: Result<TrainingTable>) -> Result<TableSummary, String> {
    let table = table.map_err(|error| {
        // A frame counts its rows from 0, a file its lines from 1.
        let text = error.to_string();
        text.split(": ").skip(1).collect::<Vec<_>>().join(": ")
    })?;
    let y = table.labels.targets[0].clone();
    let notes = table.notes.clone().into_iter().filter(|note| matches!(note, Note::Remark(_)));
    let notes = notes.collect();
    Ok((table.x.into_matrix().unwrap().into_row_major(), y, table.schema, notes))
}

#[test]
fn everything_that_a_column_can_be() {
    let names = ["price", "when", "flag", "city", "id", "size", "y"].map(String::from);
    let rows: Vec<Vec<String>> = (0..30)
        .map(|i| {
            vec![
                format!("${},{:03}.50", i + 1, i * 31 % 1000),
                format!("{:02}/{:02}/2024", i % 28 + 1, i % 12 + 1),
                ["TRUE", "False"][i % 2].into(),
                ["Lima", "05", "Oslo"][i % 3].into(),
                format!("row {i}"),
                if i == 7 { String::new() } else { (i * i).to_string() },
                (i as f64 / 3.0).to_string(),
            ]
        })
        .collect();
    let table = train(&frame(&names, &rows), Missing::Mean, u64::MAX).unwrap();
    let kinds: Vec<&FeatureKind> = table.schema.features.iter().map(|f| &f.kind).collect();
    assert!(matches!(kinds[0], FeatureKind::Number(format) if format.unit.as_deref() == Some("$")));
    assert!(matches!(kinds[1], FeatureKind::Date { order: raysum::schema::DateOrder::DayFirst }));
    assert_eq!(kinds[2], &FeatureKind::Boolean);
    let categories = ["05", "Lima", "Oslo"].map(String::from).to_vec();
    assert_eq!(kinds[3], &FeatureKind::Category { categories, others: false });
    assert_eq!(kinds[4], &FeatureKind::Identifier);
    let notes: Vec<&str> = table.notes.iter().map(Note::text).collect();
    assert_eq!(
        notes,
        [
            "t.csv, row 0, column 'city': 'Lima' is not a number, so the whole column is taken as \
             categories",
            "t.csv, column 'id': it is left out, because its 30 texts are all different",
            "t.csv: dates are read as day, month, year in 'when'",
            "t.csv: taken as categories: 'city' (3 categories)",
            "t.csv: 1 missing cell in 1 row filled with the training means (column 'size')",
        ]
    );
    // The same from a file, of commas or semicolons.
    let from_frame = summary(Ok(table)).unwrap();
    for delimiter in [",", ";", "\t"] {
        let table = train(&csv(&names, &rows, delimiter), Missing::Mean, u64::MAX);
        assert_eq!(summary(table).unwrap(), from_frame);
    }
}

fn field() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[0-9]{1,3}(\\.[0-9]{1,3})?",
        2 => "[1-9][0-9]{0,2},[0-9]{3}",
        1 => "[0-9]{1,2},[0-9]{1,2}",
        1 => "\\$[0-9]{1,2}",
        1 => "(0[1-9]|1[0-9]|2[0-8])/(0[1-9]|1[0-2])/2024",
        1 => "2024-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])",
        1 => prop_oneof![Just("true".to_string()), Just("FALSE".to_string())],
        1 => prop_oneof![Just(String::new()), Just("NA".to_string())],
        1 => "[a-c]",
    ]
}

/// Columns that are mostly of one kind, and a target of numbers.
fn table() -> impl Strategy<Value = (Vec<String>, Vec<Vec<String>>)> {
    let column = prop_oneof![
        2 => prop::collection::vec("[0-9]{1,3}(\\.[0-9]{1,3})?", 24),
        1 => prop::collection::vec("[1-9][0-9]{0,2},[0-9]{3}", 24),
        1 => prop::collection::vec("[0-9]{1,2},[0-9]{1,2}", 24),
        1 => prop::collection::vec("(0[1-9]|1[0-9]|2[0-8])/(0[1-9]|1[0-2])/2024", 24),
        1 => prop::collection::vec("[a-c]{1,2}", 24),
        1 => prop::collection::vec(prop_oneof![Just("true".to_string()), Just("False".into())], 24),
        2 => prop::collection::vec(field(), 24),
    ];
    let rows = 2..24_usize;
    (prop::collection::vec(column, 1..5), rows).prop_map(|(columns, rows)| {
        let mut names: Vec<String> = (0..columns.len()).map(|k| format!("column {k}")).collect();
        names.push("y".into());
        let row = |i: usize| {
            let mut row: Vec<String> = columns.iter().map(|column| column[i].clone()).collect();
            row.push(format!("{}.5", i * i));
            row
        };
        (names, (0..rows).map(row).collect())
    })
}

fn rule() -> impl Strategy<Value = Missing> {
    prop_oneof![Just(Missing::Drop), Just(Missing::Mean), Just(Missing::Indicate)]
}

proptest! {
    #[test]
    fn frames_and_files_are_the_same_table((names, rows) in table(), missing in rule()) {
        let from_frame = summary(train(&frame(&names, &rows), missing, u64::MAX));
        let from_file = summary(train(&csv(&names, &rows, ","), missing, u64::MAX));
        prop_assert_eq!(&from_frame, &from_file);
        for ending in ["t.parquet", "t.arrow", "t.tsv.gz"] {
            let written = written(&names, &rows, ending);
            prop_assert_eq!(&from_frame, &summary(train(&written, missing, u64::MAX)));
        }
        let again = summary(train(&csv(&names, &rows, ","), missing, 0));
        prop_assert_eq!(&from_file, &again);
    }

    #[test]
    fn chunks_are_encoded_as_the_whole_is(
        (names, rows) in table(), cut in 1..23_usize, indicate in any::<bool>()
    ) {
        let whole = frame(&names, &rows);
        let missing = if indicate { Missing::Indicate } else { Missing::Mean };
        let Ok(table) = train(&whole, missing, u64::MAX) else { return Ok(()) };
        let (schema, x) = (table.schema.clone(), table.x.into_matrix().unwrap());
        schema.validate().unwrap();
        let cut = cut.min(rows.len() - 1);
        let mut joined = Vec::new();
        for part in [&rows[..cut], &rows[cut..]] {
            let more = read_more(&frame(&names, part), &schema, missing, Notation::default());
            // A chunk may have no complete row.
            let Ok(more) = more else { return Ok(()) };
            joined.extend(more.x.into_matrix().unwrap().into_row_major());
        }
        prop_assert_eq!(joined, x.into_row_major());
    }
}
