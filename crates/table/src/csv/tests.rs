//! Tests of the CSV reader: what a file looks like to the rest of the crate.

use super::*;
use crate::chunk::{Cells, Column, NO_TEXT, ValueKind};
use crate::input::InputPath;
use crate::reader::TableFile;
use crate::testing::{chunk, lines, try_chunk};
use crate::training::ScannedTable;
use flate2::write::GzEncoder;
use raysum::schema::DecimalMark;
use std::io::Write;

fn parse(text: &str) -> Result<Chunk> {
    try_chunk(text, CsvOptions::default())
}

fn numbers(chunk: &Chunk, column: usize) -> Vec<f64> {
    match &chunk.columns[column].cells {
        Cells::Values(_, values) => values.clone(),
        _ => panic!("column {column} holds no numbers"),
    }
}

/// The cells of a text column, with `_` for a missing one.
fn texts(column: &Column) -> Vec<String> {
    let Cells::Texts { texts, codes } = &column.cells else { panic!("it holds numbers") };
    let text = |code: &u32| match *code {
        NO_TEXT => "_".to_string(),
        code => texts[code as usize].to_string(),
    };
    codes.iter().map(text).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn all(bytes: impl AsRef<[u8]>) -> Result<Vec<Vec<String>>> {
    let input = Input::from_bytes("t.csv", bytes);
    let (mut records, _) = records(&input)?;
    let mut record = CsvRecord::default();
    let mut all = Vec::new();
    while records.next(&mut record)? {
        all.push(record.fields().map(str::to_owned).collect());
    }
    Ok(all)
}

#[test]
fn every_kind_of_file_reads_the_same() {
    let plain = b"a,b\n1,2\n";
    let twice = [gzip(b"a,b\n"), gzip(b"1,2\n")].concat();
    let zstd = zstd::encode_all(&plain[..], 3).unwrap();
    let cases: [&[u8]; 8] = [
        plain,
        b"\xef\xbb\xbfa,b\n1,2\n",
        b"\xef\xbb\xbf\"a\",b\r\n1,2\r\n",
        b"a,b\r1,2\r",
        &gzip(plain),
        &gzip(b"\xef\xbb\xbfa,b\r\n1,2\r\n"),
        &twice,
        &zstd,
    ];
    for bytes in cases {
        assert_eq!(all(bytes).unwrap(), [["a", "b"], ["1", "2"]]);
    }
}

#[test]
fn lines_run_on_across_the_end_of_the_head() {
    let text = "123,456\n".repeat(200_000);
    assert!(text.len() as u64 > HEAD_BYTES);
    let records = all(&text).unwrap();
    assert_eq!(records.len(), 200_000);
    assert!(records.iter().all(|record| record == &["123", "456"]));
    // A first line that does not end within the head.
    let wide = vec!["7"; 1 << 20].join(";");
    assert_eq!(all(&wide).unwrap()[0].len(), 1 << 20);
}

#[test]
fn damaged_gzip_streams() {
    // Text that hardly compresses, so that the damage lies behind the head.
    let mut state = 1_u32;
    let mut text = String::new();
    while text.len() < 1 << 21 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        text.push_str(&state.to_string());
        text.push('\n');
    }
    let whole = gzip(text.as_bytes());
    let small = gzip(b"a\n1\n");
    let mut wrong_sum = small.clone();
    let sum_at = small.len() - 8;
    wrong_sum[sum_at] ^= 1;
    let cases: [&[u8]; 6] = [
        &whole[..whole.len() / 10],
        &whole[..whole.len() * 9 / 10],
        &small[..small.len() - 3],
        &small[..5],
        &wrong_sum,
        &[small.clone(), b"trailing".to_vec()].concat(),
    ];
    for bytes in cases {
        let error = all(bytes).unwrap_err().to_string();
        assert!(
            error.starts_with("t.csv: the compressed data is cut off or damaged after line "),
            "{error}"
        );
    }
}

#[test]
fn binary_files_are_refused() {
    let message = "t.csv does not look like a CSV file: it holds NUL bytes, as binary and \
                   UTF-16 files do";
    let cases: [&[u8]; 3] = [b"\x7fELF\x00\x00", b"a,b\n\xff\xfe\n\x00", &gzip(b"\x00")];
    for bytes in cases {
        assert_eq!(all(bytes).unwrap_err().to_string(), message);
    }
}

#[test]
fn a_table_of_both_kinds() {
    let table = parse("id,colour,size\n1, red ,+2.5\n\n2,NA,1e3\n3,red,?\n").unwrap();
    assert_eq!((table.origin.name.as_str(), table.named, table.rows()), ("t.csv", true, 3));
    assert_eq!(table.names().collect::<Vec<_>>(), ["id", "colour", "size"]);
    assert_eq!(table.lines, [2, 4, 5]);
    assert_eq!(numbers(&table, 0), [1.0, 2.0, 3.0]);
    assert_eq!(texts(&table.columns[1]), ["red", "_", "red"]);
    assert_eq!(numbers(&table, 2)[..2], [2.5, 1000.0]);
    assert!(numbers(&table, 2)[2].is_nan());
    assert_eq!(table.columns.iter().map(|c| c.missing).collect::<Vec<_>>(), [0, 1, 1]);
}

#[test]
fn headers_found_and_forced() {
    let cases = [
        ("1,2\n3,4\n", None, &["0", "1"][..], 2),
        ("1,2\n3,4\n", Some(true), &["1", "2"], 1),
        ("a,b\n3,4\n", None, &["a", "b"], 1),
        ("a,b\nc,d\n", Some(false), &["0", "1"], 2),
        (",b\n3,4\n", None, &["0", "b"], 1),
    ];
    for (text, header, names, rows) in cases {
        let options = CsvOptions { header, ..CsvOptions::default() };
        let table = try_chunk(text, options).unwrap();
        assert_eq!(table.names().collect::<Vec<_>>(), names, "{text}");
        assert_eq!(table.rows(), rows, "{text}");
    }
}

#[test]
fn numbers_before_a_late_text_keep_their_spelling() {
    let numbers: Vec<String> = (0..3000).map(|row| format!("{:04}.0,{row}", row % 7)).collect();
    let text = format!("code,x\n{}\nabc,4\nnone,5\ninf,6\n", numbers.join("\n"));
    let table = parse(&text).unwrap();
    let codes = texts(&table.columns[0]);
    assert_eq!(codes[..2], ["0000.0", "0001.0"]);
    assert_eq!(codes[2999..], ["0003.0", "abc", "_", "inf"]);
    assert_eq!(super::tests::numbers(&table, 1).len(), 3003);
    assert_eq!(table.columns[0].missing, 1);
}

#[test]
fn infinities_stay_in_number_columns() {
    for token in ["inf", "-Infinity", "INF", "1e400"] {
        let table = parse(&format!("a,b\n1,x\n{token},{token}\n")).unwrap();
        assert_eq!(numbers(&table, 0).len(), 2);
        assert_eq!(table.columns[0].infinite, Some((1, token.to_owned())));
        assert_eq!(texts(&table.columns[1]), ["x", token]);
        assert_eq!(table.columns[1].infinite, None);
    }
}

#[test]
fn errors() {
    let cases = [
        ("", "t.csv is empty"),
        ("\u{feff}", "t.csv is empty"),
        ("\n \r\n", "t.csv is empty"),
        ("a,b\n", "t.csv has a header line but no rows"),
        ("a,b\n\n", "t.csv has a header line but no rows"),
        (
            "a,b,c,a\n1,2,3,4\n",
            "t.csv, line 1: columns 0 and 3 (counted from 0) are both named 'a'",
        ),
        ("a,b\n1,2\n3\n", "t.csv, line 3: found 1 field, expected 2 as in line 1"),
        ("\na,b\n1,2\n3,4,5\n", "t.csv, line 4: found 3 fields, expected 2 as in line 2"),
    ];
    for (text, message) in cases {
        assert_eq!(parse(text).unwrap_err().to_string(), message, "{text}");
    }
    // Damage after the rows that are looked at first.
    let rows = "1,2\n".repeat(5000);
    let error = parse(&format!("{rows}3\n")).unwrap_err().to_string();
    assert_eq!(error, "t.csv, line 5001: found 1 field, expected 2 as in line 1");
}

#[test]
fn files_and_missing_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let place = InputPath::new(&path);
    let open = |place: &InputPath| -> Result<usize> {
        let file = TableFile::open(place, CsvOptions::default())?;
        let scan = ScannedTable::new(&file, Notation::default(), u64::MAX)?;
        Ok(scan.stats.columns.len())
    };
    let error = open(&place).unwrap_err().to_string();
    assert_eq!(error, format!("{} does not exist", path.display()));
    std::fs::write(&path, "a\tb\n1\t2\n").unwrap();
    assert_eq!(open(&place).unwrap(), 2);
}

#[test]
fn local_numbers_and_dates() {
    let text =
        "Preis;Menge;am;Anteil;ok\n8,8;1.234;31.01.2024;3%;TRUE\n0,7;95;01.02.2024;4%;false\n";
    let table = parse(text).unwrap();
    assert_eq!(numbers(&table, 0), [8.8, 0.7]);
    // Points are between groups where others have decimal commas.
    assert_eq!(numbers(&table, 1), [1234.0, 95.0]);
    assert_eq!(numbers(&table, 2), [19_753.0, 19_754.0]);
    assert_eq!(numbers(&table, 3), [3.0, 4.0]);
    assert_eq!(numbers(&table, 4), [1.0, 0.0]);
    let kinds: Vec<_> = table
        .columns
        .iter()
        .map(|column| match &column.cells {
            Cells::Values(kind, _) => Some(*kind),
            _ => None,
        })
        .collect();
    let number = Some(ValueKind::Number);
    assert_eq!(kinds, [number, number, Some(ValueKind::Date), number, Some(ValueKind::Boolean)]);
    // In a file of commas they are between groups, too.
    let table = parse("a,b\n\"84,000\",x\n\"5,000\",y\n").unwrap();
    assert_eq!(numbers(&table, 0), [84_000.0, 5000.0]);
    // In other files they are ambiguous, unless the user decides.
    let text = "a;b\n1,234;x\n5,000;y\n";
    assert_eq!(texts(&parse(text).unwrap().columns[0]), ["1,234", "5,000"]);
    for (decimal, values) in
        [(DecimalMark::Comma, [1.234, 5.0]), (DecimalMark::Point, [1234.0, 5000.0])]
    {
        let notation = Notation { decimal: Some(decimal), dates: None };
        let options = CsvOptions { notation, ..CsvOptions::default() };
        assert_eq!(numbers(&try_chunk(text, options).unwrap(), 0), values);
    }
    let text = "a;b\n1,234;0.5\n5,000;2\n";
    assert_eq!(numbers(&parse(text).unwrap(), 0), [1234.0, 5000.0]);
    let text = "a;b\n1,234;0,5\n5,000;2\n";
    assert_eq!(numbers(&parse(text).unwrap(), 0), [1.234, 5.0]);
}

#[test]
fn late_rows_decide_how_all_are_read() {
    let rows = |last: &str| {
        let many = lines(3000, |i| format!("{},{:03};{i}\n", i % 7 + 1, i % 1000));
        format!("a;b\n{many}{last};0\n")
    };
    assert_eq!(numbers(&parse(&rows("0,5")).unwrap(), 0)[..2], [1.0, 2.001]);
    assert_eq!(numbers(&parse(&rows("1,000,000")).unwrap(), 0)[..2], [1000.0, 2001.0]);
    let plain = lines(3000, |i| format!("{i};{i}\n"));
    let table = parse(&format!("a;b\n{plain}0,5;0\n")).unwrap();
    assert_eq!(numbers(&table, 0)[2998..], [2998.0, 2999.0, 0.5]);
}

#[test]
fn one_chunk_for_a_small_table() {
    assert_eq!(chunk("a\n1\n").rows(), 1);
}
