//! Some rows of a table as typed columns: what every reader yields.

use crate::evidence::Evidence;
use crate::messages::{Audience, escaped, quoted};
use anyhow::{Result, anyhow};
use raysum::schema::{DateOrder, NumberFormat};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// The origin of cells, with which messages about them begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOrigin {
    /// The name of the file, or another name of the table.
    pub name: String,
    /// What its rows are called.
    pub rows: RowUnit,
    /// The audience of messages.
    pub audience: Audience,
    /// Whether its columns cannot have names, as those of an array.
    pub nameless: bool,
}

/// What the rows of a table are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowUnit {
    /// The line of a file where a row begins, counted from 1.
    Line,
    /// The number of a row.
    #[default]
    Row,
}

impl TableOrigin {
    /// A row in words.
    pub(crate) fn row(&self, line: u64) -> String {
        match self.rows {
            RowUnit::Line => format!("line {line}"),
            RowUnit::Row => format!("row {line}"),
        }
    }

    /// The start of a message about one cell.
    pub(crate) fn cell(&self, line: u64, column: &str) -> String {
        format!("{}, {}, column {}", self.name, self.row(line), quoted(column))
    }

    /// The start of a message about one column.
    pub(crate) fn column(&self, column: &str) -> String {
        format!("{}, column {}", self.name, quoted(column))
    }
}

/// The columns of a table, before its rows are read.
#[derive(Clone, Debug)]
pub struct TableHeader {
    /// Where they come from.
    pub origin: Arc<TableOrigin>,
    /// Their names, or their positions as texts.
    pub names: Vec<String>,
    /// Whether the names are the table's own.
    pub named: bool,
    /// The likely reading of each column.
    pub(crate) guess: Vec<ColumnReading>,
    /// Whether fields are separated by commas, so that a comma inside one is not a decimal mark.
    pub(crate) commas_separate: bool,
}

/// How a column of texts is read. Columns stored as numbers need no reading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnReading {
    /// Not at all.
    Skip,
    /// As numbers.
    Number(NumberFormat),
    /// As dates.
    Date(DateOrder),
    /// As booleans.
    Boolean,
    /// As texts.
    Text,
}

impl ColumnReading {
    /// Numbers as computers write them.
    pub(crate) fn plain() -> Self {
        Self::Number(NumberFormat::default())
    }
}

/// How to read the columns of a table.
#[derive(Clone, Debug, Default)]
pub struct ReadPlan {
    /// How each column is read.
    pub readings: Vec<ColumnReading>,
    /// Whether the readings are those of a model. Later tables may omit units, and write dates and
    /// booleans in other ways.
    pub known: bool,
    /// The columns to copy to the output unchanged.
    pub keep: Vec<usize>,
}

/// Some rows of a table.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Where they come from.
    pub origin: Arc<TableOrigin>,
    /// Whether the names of the columns are the table's own.
    pub named: bool,
    /// The columns, in the order of the table.
    pub columns: Vec<Column>,
    /// The line or number of each row.
    pub lines: Vec<u64>,
    /// The columns to copy to the output unchanged.
    pub kept: Vec<KeptColumn>,
}

/// One column of a chunk.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name, or its position as text.
    pub name: Arc<str>,
    /// Its origin, if it differs from that of the other columns.
    pub(crate) origin: Option<Arc<TableOrigin>>,
    /// Whether it is stored as typed values, which need no reading.
    pub(crate) stored: bool,
    /// How many of its cells are missing.
    pub(crate) missing: usize,
    /// The row and the text of the first infinity. It is an error only once the column is used, so
    /// that the column can be left out.
    pub(crate) infinite: Option<(usize, String)>,
    /// The evidence on the kind of its texts.
    pub(crate) evidence: Evidence,
    /// How its texts are read.
    pub(crate) reading: ColumnReading,
    /// Its cells, one per row.
    pub(crate) cells: Cells,
}

/// The cells of a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cells {
    /// Numbers, and NaN for each missing cell; finite unless the column says otherwise.
    Values(ValueKind, Vec<f64>),
    /// Texts by their place in a list, and [`NO_TEXT`] for each missing cell.
    Texts {
        /// The distinct texts, in order of first appearance.
        texts: Vec<Arc<str>>,
        /// One per row.
        codes: Vec<u32>,
    },
    /// Cells that are not used.
    Skipped,
    /// Another type, of which only the name is kept. It is an error only if the column is used.
    Other(String),
}

/// The code of a missing cell among texts.
pub(crate) const NO_TEXT: u32 = u32::MAX;

/// What numbers stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// Themselves.
    Number,
    /// Days since the start of 1970.
    Date,
    /// 0 and 1 for false and true.
    Boolean,
}

impl ValueKind {
    /// Its name in messages.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Number => "numbers",
            Self::Date => "dates",
            Self::Boolean => "booleans",
        }
    }
}

/// A column that is copied to the output unchanged.
#[derive(Clone, Debug)]
pub struct KeptColumn {
    /// Its name, or its position as text.
    pub name: String,
    /// Its cells.
    pub cells: KeptCells,
}

impl KeptColumn {
    /// Some of its rows.
    pub(crate) fn range(&self, range: Range<usize>) -> Self {
        let cells = match &self.cells {
            KeptCells::Texts(texts) => KeptCells::Texts(texts[range].to_vec()),
            KeptCells::Numbers(numbers) => KeptCells::Numbers(numbers[range].to_vec()),
            #[cfg(feature = "arrow")]
            KeptCells::Arrow(array) => KeptCells::Arrow(array.slice(range.start, range.len())),
        };
        Self { name: self.name.clone(), cells }
    }
}

/// The cells of a column that is copied to the output.
#[derive(Clone, Debug)]
pub enum KeptCells {
    /// Fields of a text file; empty fields stay empty.
    Texts(Vec<String>),
    /// Numbers of an array.
    Numbers(Vec<f64>),
    /// A column of a typed file.
    #[cfg(feature = "arrow")]
    Arrow(arrow_array::ArrayRef),
}

impl Cells {
    pub(crate) fn is_missing(&self, row: usize) -> bool {
        match self {
            Self::Values(_, values) => values[row].is_nan(),
            Self::Texts { codes, .. } => codes[row] == NO_TEXT,
            Self::Skipped | Self::Other(_) => false,
        }
    }

    /// About how much memory they take.
    fn bytes(&self) -> usize {
        match self {
            Self::Values(_, values) => size_of_val(&values[..]),
            Self::Texts { texts, codes } => {
                let list = texts.iter().map(|text| text.len() + 3 * size_of::<usize>());
                size_of_val(&codes[..]) + list.sum::<usize>()
            }
            Self::Skipped | Self::Other(_) => 0,
        }
    }
}

impl Chunk {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.lines.len()
    }

    /// The start of a message about one cell.
    pub(crate) fn cell(&self, row: usize, column: &Column) -> String {
        let line = self.lines.get(row).copied().unwrap_or_default();
        self.origin_of(column).cell(line, &column.name)
    }

    /// Where a column comes from.
    pub(crate) fn origin_of<'a>(&'a self, column: &'a Column) -> &'a TableOrigin {
        column.origin.as_ref().unwrap_or(&self.origin)
    }

    /// An error if a column to be used contains an infinity or has an unsupported type.
    pub(crate) fn check_usable(&self, column: &Column) -> Result<()> {
        if let Cells::Other(kind) = &column.cells {
            return Err(unusable(self.origin_of(column), &column.name, kind));
        }
        let Some((row, text)) = &column.infinite else { return Ok(()) };
        let line = self.lines.get(*row).copied().unwrap_or_default();
        Err(infinite(self.origin_of(column), line, &column.name, text))
    }

    /// About how much memory it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let cells: usize = self.columns.iter().map(|column| column.cells.bytes()).sum();
        (cells + size_of_val(&self.lines[..])) as u64
    }

    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.columns.iter().map(|column| &*column.name)
    }
}

/// The error about a column of an unsupported type.
pub(crate) fn unusable(origin: &TableOrigin, column: &str, kind: &str) -> anyhow::Error {
    let (place, drop) = (origin.column(column), origin.audience.drop_column(column));
    anyhow!("{place}: it holds {}, which is neither number nor text; {drop}", escaped(kind))
}

/// The error about an infinity.
pub(crate) fn infinite(origin: &TableOrigin, line: u64, column: &str, text: &str) -> anyhow::Error {
    let (place, text) = (origin.cell(line, column), quoted(text));
    let instead = match origin.rows {
        RowUnit::Line => "leave the cell empty",
        RowUnit::Row => "write NaN or null",
    };
    anyhow!("{place}: {text} is not a finite number; {instead} if the value is missing")
}
