//! Counts missing cells, dropped rows and unknown categories over the chunks of a table, and
//! describes them in notes.

use crate::messages::{Note, count, every, names, quoted};
use anyhow::{Result, bail, ensure};

/// How many unknown categories a note lists.
const LISTED_CATEGORIES: usize = 5;

/// What was done about rows and cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EncodeReport {
    /// Rows of the table.
    pub(crate) rows: usize,
    /// Rows that are left.
    pub(crate) kept: usize,
    /// Why the others were dropped.
    pub(crate) why: &'static str,
    /// Missing cells that were filled in.
    pub(crate) filled: GapCount,
    /// Missing cells of columns with an indicator.
    pub(crate) indicated: GapCount,
    /// Unknown categories.
    pub(crate) unknown: Vec<Unknown>,
    /// Missing cells that are not allowed.
    pub(crate) refused: Option<Refused>,
}

/// Missing cells that were dealt with.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GapCount {
    pub(crate) cells: usize,
    /// How many rows they are in.
    pub(crate) rows: usize,
    /// The columns they are in.
    pub(crate) columns: Vec<String>,
}

impl GapCount {
    fn merge(&mut self, other: GapCount) {
        self.cells += other.cells;
        self.rows += other.rows;
        for name in other.columns {
            if !self.columns.contains(&name) {
                self.columns.push(name);
            }
        }
    }

    /// A note, if there are any; `what` was done about them.
    fn note(&self, file: &str, what: &str) -> Option<Note> {
        let Self { cells, rows, columns } = self;
        let listed = names(columns.iter().map(String::as_str));
        let (cells, rows) = (count(*cells, "missing cell"), count(*rows, "row"));
        let noun = if columns.len() == 1 { "column" } else { "columns" };
        let note = format!("{file}: {cells} in {rows} {what} ({noun} {listed})");
        (self.cells > 0).then_some(Note::Remark(note))
    }
}

/// Missing cells that are not allowed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refused {
    /// Where the first one is.
    pub(crate) place: String,
    /// Whether it is the only one in its row.
    pub(crate) alone: bool,
    /// How many there are, and in how many rows.
    pub(crate) cells: usize,
    pub(crate) rows: usize,
    /// What to do about it.
    pub(crate) advice: &'static str,
}

/// Unknown categories of one column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unknown {
    pub(crate) column: String,
    pub(crate) rows: usize,
    /// The first ones, at most one more than are listed.
    pub(crate) first: Vec<String>,
}

impl Unknown {
    /// Counts a row with this category.
    pub(crate) fn add(&mut self, category: &str) {
        self.rows += 1;
        self.list(category);
    }

    fn list(&mut self, category: &str) {
        if self.first.len() <= LISTED_CATEGORIES && self.first.iter().all(|c| c != category) {
            self.first.push(category.into());
        }
    }
}

impl EncodeReport {
    /// Adds the report on another chunk of the table.
    pub fn merge(&mut self, other: EncodeReport) {
        self.rows += other.rows;
        self.kept += other.kept;
        self.why = other.why;
        self.filled.merge(other.filled);
        self.indicated.merge(other.indicated);
        match (&mut self.refused, other.refused) {
            (Some(first), Some(more)) => {
                first.cells += more.cells;
                first.rows += more.rows;
            }
            (none, more) => *none = none.take().or(more),
        }
        for new in other.unknown {
            match self.unknown.iter_mut().find(|known| known.column == new.column) {
                Some(known) => {
                    known.rows += new.rows;
                    new.first.iter().for_each(|category| known.list(category));
                }
                None => self.unknown.push(new),
            }
        }
    }

    /// Fails if a cell is missing where none may be.
    pub fn check_missing(&self) -> Result<()> {
        let Some(Refused { place, alone, cells, rows, advice }) = &self.refused else {
            return Ok(());
        };
        let more = match cells - 1 {
            0 => String::new(),
            others => {
                let rows = rows - usize::from(*alone);
                format!(" (and {} in {})", count(others, "more cell"), count(rows, "row"))
            }
        };
        bail!("{place}: the value is missing{more}; {advice}")
    }

    /// Fails if a cell is missing where none may be, or if no row is left.
    pub fn check(&self, file: &str) -> Result<()> {
        self.check_missing()?;
        let why = self.why;
        ensure!(self.kept > 0, "{file}: {why} in every row, so none is left");
        Ok(())
    }

    /// Notes for the user, in whole sentences.
    pub fn notes(&self, file: &str) -> Vec<Note> {
        let mut notes = Vec::new();
        let left_out = self.rows - self.kept;
        if left_out > 0 {
            let (rows, why) = (count(self.rows, "row"), self.why);
            let text = format!("{file}: {left_out} of {rows} left out because {why}");
            notes.push(Note::Remark(text));
        }
        notes.extend(self.filled.note(file, "filled with the training means"));
        notes.extend(self.indicated.note(file, "marked in indicator columns"));
        for Unknown { column, rows, first } in &self.unknown {
            let more = if first.len() > LISTED_CATEGORIES { ", …" } else { "" };
            let shown = every(first.iter().take(LISTED_CATEGORIES).map(String::as_str));
            notes.push(Note::Caution(format!(
                "{file}, column {}: {} with categories that training did not have ({shown}{more}), \
                 taken as none of the known ones",
                quoted(column),
                count(*rows, "row"),
            )));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_add_up_to_the_whole() {
        let mut unknown = Unknown { column: "c".into(), rows: 0, first: Vec::new() };
        ["k", "l", "k", "m"].into_iter().for_each(|c| unknown.add(c));
        let filled = GapCount { cells: 2, rows: 1, columns: vec!["a".into()] };
        let indicated = GapCount { cells: 1, rows: 1, columns: vec!["d".into()] };
        let (why, unknown) = ("the target is missing", vec![unknown]);
        let advice = "see";
        let refused =
            Some(Refused { place: "line 3".into(), alone: true, cells: 2, rows: 2, advice });
        let part = EncodeReport { rows: 5, kept: 4, why, filled, indicated, unknown, refused };
        let mut other = part.clone();
        other.filled.columns = vec!["b".into()];
        other.unknown[0].first = ["m", "n", "o", "p", "q"].map(String::from).into();
        let mut whole = EncodeReport::default();
        whole.merge(part);
        whole.merge(other);
        assert_eq!((whole.rows, whole.kept), (10, 8));
        assert_eq!((whole.filled.cells, whole.filled.rows), (4, 2));
        let error = whole.check_missing().unwrap_err().to_string();
        assert!(error.starts_with("line 3: the value is missing (and 3 more cells in 3 rows)"));
        let notes = whole.notes("t.csv");
        assert!(matches!(notes[3], Note::Caution(_)));
        assert_eq!(
            notes.iter().map(Note::text).collect::<Vec<_>>(),
            [
                "t.csv: 2 of 10 rows left out because the target is missing",
                "t.csv: 4 missing cells in 2 rows filled with the training means (columns 'a', \
                 'b')",
                "t.csv: 2 missing cells in 2 rows marked in indicator columns (column 'd')",
                "t.csv, column 'c': 8 rows with categories that training did not have ('k', 'l', \
                 'm', 'n', 'o', …), taken as none of the known ones",
            ]
        );
    }
}
