//! Reads a file into columns, some rows at a time: numbers as they come, texts as codes into a list.

use std::collections::{HashMap, VecDeque};

use anyhow::{Result, bail, ensure};

#[cfg(feature = "arrow")]
use super::arrow::Batches;
use super::detect::{self, Cell, SAMPLE_ROWS};
use super::draft::Draft;
use super::input::{Format, Input};
use super::records::{Record, Records};
use super::words::{count, quoted};
use super::{Column, ReadOptions, Source, Table};

/// A part of a table has about so many cells, and rows between these.
const PART_CELLS: usize = 500_000;
const PART_ROWS: (usize, usize) = (256, 32_768);

/// Reads a table some rows at a time, so that its size does not matter, and hands over each part
/// with the rows in order. `texts` says which columns are texts whatever they look like, given
/// their names and whether these are the file's own.
pub(crate) fn in_parts(
    source: &Source,
    options: &ReadOptions,
    texts: impl Fn(&[String], bool) -> Vec<bool>,
    each: impl FnMut(Table) -> Result<()>,
) -> Result<()> {
    parts(&Input::once(source)?, options, |file| texts(&file.names, file.has_header), each)
}

/// The same for an open file.
pub(super) fn parts(
    input: &Input,
    options: &ReadOptions,
    texts: impl FnOnce(&Opened<'_>) -> Vec<bool>,
    mut each: impl FnMut(Table) -> Result<()>,
) -> Result<()> {
    match input.format()? {
        Format::Csv => {}
        #[cfg(feature = "arrow")]
        format => {
            let mut batches = Batches::new(input, format)?;
            while let Some(table) = batches.next()? {
                each(table)?;
            }
            return Ok(());
        }
    }
    let mut file = Opened::new(input, options)?;
    let texts = texts(&file);
    let most = (PART_CELLS / file.names.len()).clamp(PART_ROWS.0, PART_ROWS.1);
    let mut rows: Vec<Record> = Vec::new();
    loop {
        let mut found = 0;
        while found < most {
            if found == rows.len() {
                rows.push(Record::default());
            }
            if !file.next(&mut rows[found])? {
                break;
            }
            found += 1;
        }
        if found == 0 {
            return Ok(());
        }
        let rows = &rows[..found];
        let mut drafts: Vec<Draft> = texts.iter().map(|text| Draft::new(*text)).collect();
        for row in rows {
            row.fields().zip(&mut drafts).for_each(|(field, draft)| draft.push(field));
        }
        // A text among numbers: the column is read again, while its rows are still here.
        let mut again: Vec<Option<Draft>> =
            drafts.iter().map(|draft| draft.is_mixed().then(|| Draft::new(true))).collect();
        if again.iter().any(Option::is_some) {
            for row in rows {
                let wanted = row.fields().zip(&mut again);
                wanted.for_each(|(field, draft)| draft.iter_mut().for_each(|d| d.push(field)));
            }
        }
        let drafts = drafts.into_iter().zip(again).map(|(draft, again)| again.unwrap_or(draft));
        let columns = file.names.iter().cloned().zip(drafts);
        let columns = columns.filter_map(|(name, draft)| draft.finish(name)).collect();
        each(file.table(columns, rows.iter().map(|row| row.line).collect()))?;
    }
}

/// A file whose columns are known and whose rows are to come.
pub(super) struct Opened<'a> {
    name: &'a str,
    records: Records<'a>,
    /// The rows that were looked at first.
    sample: VecDeque<Record>,
    names: Vec<String>,
    has_header: bool,
    first_line: u64,
}

impl<'a> Opened<'a> {
    fn new(input: &'a Input, options: &ReadOptions) -> Result<Self> {
        let name = input.name();
        let mut records = input.records(options)?;
        let mut record = Record::default();
        let mut sample = Vec::new();
        while sample.len() <= SAMPLE_ROWS && records.next(&mut record)? {
            sample.push(record.clone());
        }
        let Some(first) = sample.first() else { bail!("{name} is empty") };
        let (width, first_line) = (first.len(), first.line);
        let has_header = options.header.unwrap_or_else(|| detect::has_header(&sample));
        let names = if has_header { header(name, first)? } else { positions(width) };
        let mut sample = VecDeque::from(sample);
        if has_header {
            sample.pop_front();
        }
        ensure!(!sample.is_empty(), "{name} has a header line but no rows");
        Ok(Self { name, records, sample, names, has_header, first_line })
    }

    /// Which columns hold texts in the rows that were looked at first.
    pub(super) fn sampled_texts(&self) -> Vec<bool> {
        let mut texts = vec![false; self.names.len()];
        for row in &self.sample {
            for (field, text) in row.fields().zip(&mut texts) {
                *text |= detect::cell(field) == Cell::Text;
            }
        }
        texts
    }

    /// Reads the next row; `false` at the end of the file.
    fn next(&mut self, row: &mut Record) -> Result<bool> {
        match self.sample.pop_front() {
            Some(first) => *row = first,
            None if !self.records.next(row)? => return Ok(false),
            None => {}
        }
        let width = self.names.len();
        ensure!(
            row.len() == width,
            "{}, line {}: found {}, expected {width} as in line {}",
            self.name,
            row.line,
            count(row.len(), "field"),
            self.first_line,
        );
        Ok(true)
    }

    fn table(&self, columns: Vec<Column>, lines: Vec<u64>) -> Table {
        Table {
            name: self.name.to_owned(),
            has_header: self.has_header,
            columns,
            lines,
            unit: "line",
        }
    }
}

fn positions(width: usize) -> Vec<String> {
    (0..width).map(|position| position.to_string()).collect()
}

/// The names in a header line; a column without one is named by its position.
fn header(file: &str, first: &Record) -> Result<Vec<String>> {
    let mut names = positions(first.len());
    for (name, field) in names.iter_mut().zip(first.fields()) {
        if !field.is_empty() {
            field.clone_into(name);
        }
    }
    check_names(&format!("{file}, line {}", first.line), &names)?;
    Ok(names)
}

/// Fails if two columns have the same name.
pub(super) fn check_names(place: &str, names: &[String]) -> Result<()> {
    let mut seen = HashMap::new();
    for (position, name) in names.iter().enumerate() {
        if let Some(earlier) = seen.insert(name, position) {
            bail!(
                "{place}: columns {earlier} and {position} (counted from 0) are both named {}",
                quoted(name),
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Cells, Delimiter, Scan};
    use super::*;

    fn parse(text: &str) -> Result<Table> {
        with(text, &ReadOptions::default())
    }

    fn with(text: &str, options: &ReadOptions) -> Result<Table> {
        Ok(Scan::of(Input::from_bytes("t.csv", text), options, u64::MAX)?.into_table())
    }

    fn numbers(table: &Table, column: usize) -> Vec<f64> {
        match &table.columns[column].cells {
            Cells::Number(values) => values.clone(),
            _ => panic!("column {column} holds no numbers"),
        }
    }

    /// The cells of a text column, with `_` for a missing one.
    fn texts(table: &Table, column: usize) -> Vec<String> {
        let Cells::Text { texts, codes } = &table.columns[column].cells else {
            panic!("column {column} holds numbers")
        };
        let text = |code: &u32| texts.get(*code as usize).map_or("_".into(), ToString::to_string);
        codes.iter().map(text).collect()
    }

    #[test]
    fn a_table_of_both_kinds() {
        let table = parse("id,colour,size\n1, red ,+2.5\n\n2,NA,1e3\n3,red,?\n").unwrap();
        assert_eq!((table.name.as_str(), table.has_header, table.rows()), ("t.csv", true, 3));
        assert_eq!(table.column_names().collect::<Vec<_>>(), ["id", "colour", "size"]);
        assert_eq!(table.lines, [2, 4, 5]);
        assert_eq!(numbers(&table, 0), [1.0, 2.0, 3.0]);
        assert_eq!(texts(&table, 1), ["red", "_", "red"]);
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
            let options = ReadOptions { header, ..ReadOptions::default() };
            let table = with(text, &options).unwrap();
            assert_eq!(table.column_names().collect::<Vec<_>>(), names, "{text}");
            assert_eq!(table.rows(), rows, "{text}");
        }
    }

    #[test]
    fn a_forced_delimiter_wins() {
        let options = ReadOptions { delimiter: Some(Delimiter::Comma), header: None };
        let table = with("a;b,c\n1;2,3\n", &options).unwrap();
        assert_eq!(table.column_names().collect::<Vec<_>>(), ["a;b", "c"]);
    }

    #[test]
    fn numbers_before_a_late_text_keep_their_spelling() {
        let numbers: Vec<String> = (0..3000).map(|row| format!("{:04}.0,{row}", row % 7)).collect();
        let text = format!("code,x\n{}\nabc,4\nnone,5\ninf,6\n", numbers.join("\n"));
        let table = parse(&text).unwrap();
        let codes = texts(&table, 0);
        assert_eq!(codes[..2], ["0000.0", "0001.0"]);
        assert_eq!(codes[2999..], ["0003.0", "abc", "_", "inf"]);
        assert_eq!(self::numbers(&table, 1).len(), 3003);
        assert_eq!(table.columns[0].missing, 1);
    }

    #[test]
    fn infinities_stay_in_number_columns() {
        for token in ["inf", "-Infinity", "INF", "1e400"] {
            let table = parse(&format!("a,b\n1,x\n{token},{token}\n")).unwrap();
            assert_eq!(numbers(&table, 0).len(), 2);
            assert_eq!(table.columns[0].infinite, Some((1, token.to_owned())));
            assert_eq!(texts(&table, 1), ["x", token]);
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
        let source = Source::new(&path);
        let open = |source: &Source| {
            Scan::new(source, &ReadOptions::default(), u64::MAX).map(Scan::into_table)
        };
        let error = open(&source).unwrap_err().to_string();
        assert_eq!(error, format!("{} does not exist", path.display()));
        std::fs::write(&path, "a\tb\n1\t2\n").unwrap();
        assert_eq!(open(&source).unwrap().columns.len(), 2);
    }
}
