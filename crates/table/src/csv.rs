//! Reads CSV files in chunks.

mod records;
mod sniff;
#[cfg(test)]
mod tests;

pub(crate) use records::read_error;

use crate::chunk::{
    Chunk, ColumnReading, KeptCells, KeptColumn, ReadPlan, RowUnit, TableHeader, TableOrigin,
};
use crate::column_builder::ColumnBuilder;
use crate::evidence::{Evidence, Notation, TableNotation};
use crate::input::Input;
use crate::messages::{Audience, count};
use crate::source::check_names;
use anyhow::{Result, bail, ensure};
use records::{CsvRecord, Records, line_ends, not_csv};
use std::collections::VecDeque;
use std::io::{Cursor, Read};
use std::sync::Arc;

/// Number of bytes at the start of a file from which its delimiter is detected.
const HEAD_BYTES: u64 = 1 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Approximate number of cells of a chunk, and bounds on its rows.
const CHUNK_CELLS: usize = 500_000;
const CHUNK_ROWS: (usize, usize) = (256, 32_768);

/// The delimiter of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delimiter {
    /// `,`
    Comma,
    /// A tab character.
    Tab,
    /// `;`
    Semicolon,
}

impl Delimiter {
    fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Tab => b'\t',
            Self::Semicolon => b';',
        }
    }
}

/// Options of the user; `None` is detected from the file.
#[derive(Clone, Copy, Debug, Default)]
pub struct CsvOptions {
    /// Whether the first line names the columns.
    pub header: Option<bool>,
    /// How numbers and dates are written.
    pub notation: Notation,
}

/// Reads a file: `plan` decides how to read it once the columns are known, `each` takes the chunks.
pub(crate) fn read(
    input: &Input,
    options: CsvOptions,
    plan: &mut dyn FnMut(&TableHeader) -> Result<ReadPlan>,
    each: &mut dyn FnMut(Chunk) -> Result<()>,
) -> Result<()> {
    let mut file = CsvFile::open(input, options)?;
    let plan = plan(&file.header(options.notation))?;
    let most = (CHUNK_CELLS / file.names.len()).clamp(CHUNK_ROWS.0, CHUNK_ROWS.1);
    let mut rows: Vec<CsvRecord> = Vec::new();
    loop {
        let mut found = 0;
        while found < most {
            if found == rows.len() {
                rows.push(CsvRecord::default());
            }
            if !file.next(&mut rows[found])? {
                break;
            }
            found += 1;
        }
        if found == 0 {
            return Ok(());
        }
        each(file.chunk(&rows[..found], &plan))?;
    }
}

/// Opens the records of a file and detects their delimiter.
fn records(input: &Input) -> Result<(Records<'_>, Delimiter)> {
    let name = input.name();
    let mut stream = input.stream()?;
    let mut head = Vec::new();
    let read = stream.by_ref().take(HEAD_BYTES).read_to_end(&mut head);
    read.map_err(|error| read_error(name, line_ends(&head, b'\n'), &error))?;
    if head.contains(&0) {
        return Err(not_csv(name));
    }
    if head.starts_with(BYTE_ORDER_MARK) {
        head.drain(..BYTE_ORDER_MARK.len());
    }
    let terminator = if head.contains(&b'\r') && !head.contains(&b'\n') { b'\r' } else { b'\n' };
    // The last line may be incomplete, unless it is the only one.
    let whole = head.iter().rposition(|byte| *byte == terminator);
    let delimiter = sniff::delimiter(whole.map_or(&head[..], |end| &head[..=end]), terminator);
    let all = Box::new(Cursor::new(head).chain(stream));
    Ok((Records::new(all, name, delimiter, terminator), delimiter))
}

/// A file whose columns are known and whose rows are not read yet.
struct CsvFile<'a> {
    origin: Arc<TableOrigin>,
    records: Records<'a>,
    delimiter: Delimiter,
    /// The first rows, which were read to detect the columns.
    sample: VecDeque<CsvRecord>,
    names: Vec<String>,
    named: bool,
    first_line: u64,
}

impl<'a> CsvFile<'a> {
    fn open(input: &'a Input, options: CsvOptions) -> Result<Self> {
        let name = input.name();
        let (mut records, delimiter) = records(input)?;
        let mut record = CsvRecord::default();
        let mut sample = Vec::new();
        while sample.len() <= sniff::SAMPLE_ROWS && records.next(&mut record)? {
            sample.push(record.clone());
        }
        let Some(first) = sample.first() else { bail!("{name} is empty") };
        let (width, first_line) = (first.len(), first.line);
        let named = options.header.unwrap_or_else(|| sniff::has_header(&sample));
        let names = if named { titles(name, first)? } else { positions(width) };
        let mut sample = VecDeque::from(sample);
        if named {
            sample.pop_front();
        }
        ensure!(!sample.is_empty(), "{name} has a header line but no rows");
        let origin = TableOrigin {
            name: name.to_owned(),
            rows: RowUnit::Line,
            audience: Audience::CommandLine,
            nameless: false,
        };
        let origin = Arc::new(origin);
        Ok(Self { origin, records, delimiter, sample, names, named, first_line })
    }

    /// The columns, with their likely reading according to the first rows.
    fn header(&self, notation: Notation) -> TableHeader {
        let mut evidence = vec![Evidence::default(); self.names.len()];
        for row in &self.sample {
            for (field, evidence) in row.fields().zip(&mut evidence) {
                evidence.add(&field.into(), 1);
            }
        }
        let commas_separate = self.delimiter == Delimiter::Comma;
        let table = TableNotation::of(evidence.iter(), notation, commas_separate);
        TableHeader {
            origin: self.origin.clone(),
            names: self.names.clone(),
            named: self.named,
            guess: evidence.iter().map(|column| column.verdict(table).reading()).collect(),
            commas_separate,
        }
    }

    /// Reads the next row; `false` at the end of the file.
    fn next(&mut self, row: &mut CsvRecord) -> Result<bool> {
        match self.sample.pop_front() {
            Some(first) => *row = first,
            None if !self.records.next(row)? => return Ok(false),
            None => {}
        }
        let width = self.names.len();
        ensure!(
            row.len() == width,
            "{}, line {}: found {}, expected {width} as in line {}",
            self.origin.name,
            row.line,
            count(row.len(), "field"),
            self.first_line,
        );
        Ok(true)
    }

    fn chunk(&self, rows: &[CsvRecord], plan: &ReadPlan) -> Chunk {
        let mut builders: Vec<ColumnBuilder> =
            plan.readings.iter().map(ColumnBuilder::new).collect();
        for row in rows {
            row.fields().zip(&mut builders).for_each(|(field, builder)| builder.push(field));
        }
        // A text among numbers: the column is rebuilt from the rows of this chunk.
        let mut again: Vec<Option<ColumnBuilder>> =
            builders.iter().map(|b| b.has_failed().then(ColumnBuilder::texts)).collect();
        if again.iter().any(Option::is_some) {
            for row in rows {
                let wanted = row.fields().zip(&mut again);
                wanted.for_each(|(field, b)| b.iter_mut().for_each(|b| b.push(field)));
            }
        }
        let builders = builders.into_iter().zip(again).map(|(b, again)| again.unwrap_or(b));
        let columns = self.names.iter().zip(builders).zip(&plan.readings);
        let column = |((name, builder), reading): ((&String, ColumnBuilder), &ColumnReading)| {
            builder.finish(name.as_str().into(), reading, plan.known)
        };
        let kept = plan.keep.iter().map(|position| KeptColumn {
            name: self.names[*position].clone(),
            cells: KeptCells::Texts(rows.iter().map(|row| row.field(*position).into()).collect()),
        });
        Chunk {
            origin: self.origin.clone(),
            named: self.named,
            columns: columns.map(column).collect(),
            lines: rows.iter().map(|row| row.line).collect(),
            kept: kept.collect(),
        }
    }
}

fn positions(width: usize) -> Vec<String> {
    (0..width).map(|position| position.to_string()).collect()
}

/// The names in a header line; a column without one is named by its position.
fn titles(file: &str, first: &CsvRecord) -> Result<Vec<String>> {
    let mut names = positions(first.len());
    for (name, field) in names.iter_mut().zip(first.fields()) {
        if !field.is_empty() {
            field.clone_into(name);
        }
    }
    check_names(&format!("{file}, line {}", first.line), &names)?;
    Ok(names)
}
