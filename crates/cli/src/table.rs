//! Reads users' CSV files into typed columns and encodes them as the numbers a model works on.

mod apply;
#[cfg(feature = "arrow")]
mod arrow;
mod date;
mod detect;
mod draft;
mod encode;
mod input;
mod learn;
mod locate;
mod missing;
mod read;
mod records;
mod scan;
mod survey;
mod tally;
mod words;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};

pub(crate) use apply::Encoded;
pub(crate) use encode::{Encoding, Place, Roles};
use encode::{Feature, Kind, MAX_CATEGORIES};
pub(crate) use learn::Chosen;
pub(crate) use missing::Missing;
pub(crate) use read::in_parts;
pub(crate) use scan::Scan;
pub(crate) use survey::Survey;
pub(crate) use tally::Tally;
use words::{count, names, quoted};

/// Where a table comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A file.
    Path(PathBuf),
    /// Standard input.
    Stdin,
}

impl Source {
    /// A path as given on the command line, where `-` is standard input.
    pub(crate) fn new(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        if path == Path::new("-") { Self::Stdin } else { Self::Path(path.to_owned()) }
    }

    /// How messages call it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Stdin => "standard input".to_owned(),
        }
    }
}

/// What stands between two fields.
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

/// What the user knows about a file; whatever is `None` is detected.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadOptions {
    /// What stands between two fields.
    pub(crate) delimiter: Option<Delimiter>,
    /// Whether the first line names the columns.
    pub(crate) header: Option<bool>,
}

/// Some rows of a file, or all, column by column.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// How messages call the file.
    pub(crate) name: String,
    /// Whether the column names come from the file; otherwise they are positions from 0.
    pub(crate) has_header: bool,
    /// The columns, in the order of the file.
    pub(crate) columns: Vec<Column>,
    /// The line of the file each row starts at, counted from 1; in a file without lines, the row.
    pub(crate) lines: Vec<u64>,
    /// Which of both it is.
    pub(crate) unit: &'static str,
}

/// One column of a table.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// Its name in the header, or its position from 0.
    pub(crate) name: String,
    /// How many of its cells are missing.
    pub(crate) missing: usize,
    /// Whether its numbers are dates: days since the start of 1970.
    pub(crate) dates: bool,
    /// The row and the text of the first infinity in a column of numbers. It is an error only
    /// once the column is used, so that the column can be dropped.
    pub(crate) infinite: Option<(usize, String)>,
    /// Its cells, one per row.
    pub(crate) cells: Cells,
}

/// The cells of a column.
#[derive(Clone, Debug)]
pub(crate) enum Cells {
    /// Numbers, and NaN for each missing cell; finite unless the column's `infinite` says else.
    Number(Vec<f64>),
    /// Each cell's place in the list of distinct texts, and [`NO_TEXT`] for each missing cell.
    Text {
        /// The distinct texts, in order of first appearance.
        texts: Vec<Arc<str>>,
        /// One per row.
        codes: Vec<u32>,
    },
    /// Something else, of which the type's name is all that is kept. It is an error only once the
    /// column is used.
    Other(String),
}

/// The code of a missing cell in a text column.
pub(crate) const NO_TEXT: u32 = u32::MAX;

impl Cells {
    fn is_missing(&self, row: usize) -> bool {
        match self {
            Self::Number(values) => values[row].is_nan(),
            Self::Text { codes, .. } => codes[row] == NO_TEXT,
            Self::Other(_) => false,
        }
    }
}

impl Table {
    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.lines.len()
    }

    /// The start of a message about one cell.
    fn at(&self, row: usize, column: &str) -> String {
        let line = self.lines.get(row).copied().unwrap_or_default();
        words::at(&self.name, self.unit, line, column)
    }

    /// An error if a column that is to be used holds an infinity, or nothing that can be used.
    fn check_usable(&self, column: &Column) -> Result<()> {
        if let Cells::Other(kind) = &column.cells {
            return Err(unusable(&self.name, &column.name, kind));
        }
        let Some((row, text)) = &column.infinite else { return Ok(()) };
        Err(infinite(&self.at(*row, &column.name), text))
    }

    /// About how much memory it takes.
    fn bytes(&self) -> u64 {
        let cell = |column: &Column| match &column.cells {
            Cells::Number(_) => size_of::<f64>(),
            Cells::Text { .. } => size_of::<u32>(),
            Cells::Other(_) => 0,
        };
        let row = size_of::<u64>() + self.columns.iter().map(cell).sum::<usize>();
        (self.rows() * row) as u64
    }

    fn column_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }
}

/// What to say of a column that holds this kind of thing.
fn unusable(file: &str, column: &str, kind: &str) -> anyhow::Error {
    let drop = words::option("--drop", column);
    let place = format!("{file}, column {}", quoted(column));
    anyhow!("{place}: it holds {kind}, which is neither number nor text; use {drop}")
}

/// What to say of an infinity.
fn infinite(place: &str, text: &str) -> anyhow::Error {
    let text = quoted(text);
    anyhow!("{place}: {text} is not a finite number; leave the cell empty if the value is missing")
}

/// Finds a column by its exact name, or else by its position from 0 (negative: from the end).
pub(crate) fn find_column(table: &Survey, spec: &str) -> Result<usize> {
    let width = table.columns.len();
    if let Some(index) = table.columns.iter().position(|column| column.name == spec) {
        return Ok(index);
    }
    if let Ok(position) = spec.parse::<isize>() {
        return from_either_end(position, width).with_context(|| {
            format!(
                "{}: there is no column {position}: the file has {}, counted from 0",
                table.name,
                count(width, "column"),
            )
        });
    }
    let hint = match nearest(table, spec) {
        Some(name) => format!("; did you mean {}?", quoted(name)),
        None => String::new(),
    };
    let listed = names(table.column_names());
    if table.has_header {
        bail!("{}: there is no column {}{hint} (columns: {listed})", table.name, quoted(spec));
    }
    bail!(
        "{}: there is no column {}: the file has no header line, so its columns are named by \
         position ({listed})",
        table.name,
        quoted(spec),
    )
}

/// The index of a position among `width`, where negative ones count from the end.
pub(crate) fn from_either_end(position: isize, width: usize) -> Option<usize> {
    let start = if position < 0 { width } else { 0 };
    start.checked_add_signed(position).filter(|index| *index < width)
}

/// The column name a user most likely meant: one or two slips away, and not a different word.
fn nearest<'a>(table: &'a Survey, spec: &str) -> Option<&'a str> {
    let wanted: Vec<char> = spec.to_lowercase().chars().collect();
    let allowed = if wanted.len() < 5 { 1 } else { 2 };
    table
        .column_names()
        .map(|name| {
            (edit_distance(&wanted, &name.to_lowercase().chars().collect::<Vec<_>>()), name)
        })
        .filter(|&(distance, _)| distance <= allowed && distance < wanted.len())
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

/// The number of single-character insertions, deletions and replacements between two words.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// Reads a table from text, as if it were the file `t.csv`.
#[cfg(test)]
fn from_text(text: &str) -> Table {
    Scan::from_memory("t.csv", text).expect("a well-formed table").into_table()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survey(text: &str) -> Survey {
        (&from_text(text)).into()
    }

    #[test]
    fn a_dash_is_standard_input() {
        assert_eq!(Source::new("-"), Source::Stdin);
        assert_eq!(Source::new("-").name(), "standard input");
        assert_eq!(Source::new("a/b.csv").name(), "a/b.csv");
    }

    #[test]
    fn columns_are_found_by_name_then_by_position() {
        let table = survey("a,1,price\n5,6,7\n8,9,10\n");
        for (spec, index) in [("price", 2), ("1", 1), ("0", 0), ("2", 2), ("-1", 2), ("-3", 0)] {
            assert_eq!(find_column(&table, spec).unwrap(), index, "{spec}");
        }
        // A name wins over a position.
        let table = survey("2,x,y\n5,6,7\n8,9,10\n");
        assert_eq!(find_column(&table, "2").unwrap(), 0);
    }

    #[test]
    fn an_unknown_column_is_an_error_that_helps() {
        let named = survey("age,price\n1,2\n");
        let bare = survey("1,2\n3,4\n");
        let header: Vec<String> = (0..15).map(|i| format!("column_{i:02}")).collect();
        let row = vec!["1"; 15].join(",");
        let wide = survey(&format!("{}\n{row}\n", header.join(",")));
        let cases = [
            (
                &named,
                "prcie",
                "t.csv: there is no column 'prcie'; did you mean 'price'? \
                 (columns: 'age', 'price')",
            ),
            (
                &named,
                "AGE",
                "t.csv: there is no column 'AGE'; did you mean 'age'? \
                 (columns: 'age', 'price')",
            ),
            (&named, "weight", "t.csv: there is no column 'weight' (columns: 'age', 'price')"),
            (&named, "2", "t.csv: there is no column 2: the file has 2 columns, counted from 0"),
            (&named, "-3", "t.csv: there is no column -3: the file has 2 columns, counted from 0"),
            (
                &bare,
                "price",
                "t.csv: there is no column 'price': the file has no header line, so \
                 its columns are named by position ('0', '1')",
            ),
            (
                &wide,
                "z",
                "t.csv: there is no column 'z' (columns: 'column_00', 'column_01', \
                 'column_02', 'column_03', 'column_04', 'column_05', 'column_06', 'column_07', \
                 'column_08', 'column_09', 'column_10', 'column_11' and 3 more)",
            ),
        ];
        for (table, spec, message) in cases {
            assert_eq!(find_column(table, spec).unwrap_err().to_string(), message, "{spec}");
        }
    }

    #[test]
    fn edit_distances() {
        let cases = [("", "", 0), ("abc", "", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2)];
        for (a, b, distance) in cases {
            let [a, b] = [a, b].map(|word| word.chars().collect::<Vec<_>>());
            assert_eq!(edit_distance(&a, &b), distance);
            assert_eq!(edit_distance(&b, &a), distance);
        }
    }
}
