//! Counts what could not be taken as it was, over all parts of a table, and puts it into words.

use anyhow::{Result, bail, ensure};

use super::words::{count, every, names, quoted};

/// How many unknown categories a note lists.
const LISTED_CATEGORIES: usize = 5;

/// What was done about rows and cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    /// Rows of the table.
    pub(super) rows: usize,
    /// Rows that are left.
    pub(super) kept: usize,
    /// Why the others are not.
    pub(super) why: &'static str,
    /// Missing cells that were filled in, and the rows they are in.
    pub(super) filled: (usize, usize),
    /// The columns they are in.
    pub(super) gaps: Vec<String>,
    /// What training did not know.
    pub(super) unknown: Vec<Unknown>,
    /// Missing cells where none may be.
    pub(super) refused: Option<Refused>,
}

/// Missing cells where none may be.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Refused {
    /// Where the first one is.
    pub(super) place: String,
    /// Whether it is the only one in its row.
    pub(super) alone: bool,
    /// How many there are, and in how many rows.
    pub(super) cells: usize,
    pub(super) rows: usize,
}

/// Categories of one column that training did not know.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unknown {
    pub(super) column: String,
    pub(super) rows: usize,
    /// The first ones: one more than are listed, if there are so many.
    pub(super) first: Vec<String>,
}

impl Unknown {
    /// Counts a row with this category.
    pub(super) fn add(&mut self, category: &str) {
        self.rows += 1;
        self.list(category);
    }

    fn list(&mut self, category: &str) {
        if self.first.len() <= LISTED_CATEGORIES && self.first.iter().all(|c| c != category) {
            self.first.push(category.into());
        }
    }
}

impl Tally {
    /// Adds the count of another part of the table.
    pub(crate) fn merge(&mut self, other: Tally) {
        self.rows += other.rows;
        self.kept += other.kept;
        self.why = other.why;
        self.filled = (self.filled.0 + other.filled.0, self.filled.1 + other.filled.1);
        for name in other.gaps {
            if !self.gaps.contains(&name) {
                self.gaps.push(name);
            }
        }
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
    pub(crate) fn check_missing(&self) -> Result<()> {
        let Some(Refused { place, alone, cells, rows }) = &self.refused else { return Ok(()) };
        let more = match cells - 1 {
            0 => String::new(),
            others => {
                let rows = rows - usize::from(*alone);
                format!(" (and {} in {})", count(others, "more cell"), count(rows, "row"))
            }
        };
        bail!("{place}: the value is missing{more}; use --missing drop or --missing mean")
    }

    /// Fails if a cell is missing where none may be, or if no row is left.
    pub(crate) fn check(&self, file: &str) -> Result<()> {
        self.check_missing()?;
        let why = self.why;
        ensure!(self.kept > 0, "{file}: {why} in every row, so none is left");
        Ok(())
    }

    /// What the user should hear, in whole sentences.
    pub(crate) fn notes(&self, file: &str) -> Vec<String> {
        let mut notes = Vec::new();
        let left_out = self.rows - self.kept;
        if left_out > 0 {
            let (rows, why) = (count(self.rows, "row"), self.why);
            notes.push(format!("{file}: {left_out} of {rows} left out because {why}"));
        }
        if self.filled.0 > 0 {
            notes.push(format!(
                "{file}: {} in {} filled with the training means (columns {})",
                count(self.filled.0, "missing cell"),
                count(self.filled.1, "row"),
                names(self.gaps.iter().map(String::as_str)),
            ));
        }
        for Unknown { column, rows, first } in &self.unknown {
            let more = if first.len() > LISTED_CATEGORIES { ", …" } else { "" };
            let shown = every(first.iter().take(LISTED_CATEGORIES).map(String::as_str));
            notes.push(format!(
                "{file}, column {}: {} with categories that training did not have ({shown}{more}), \
                 taken as none of the known ones",
                quoted(column),
                count(*rows, "row"),
            ));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_whole() {
        let mut unknown = Unknown { column: "c".into(), rows: 0, first: Vec::new() };
        ["k", "l", "k", "m"].into_iter().for_each(|c| unknown.add(c));
        let gaps = vec!["a".to_string()];
        let (why, unknown) = ("the target is missing", vec![unknown]);
        let refused = Some(Refused { place: "line 3".into(), alone: true, cells: 2, rows: 2 });
        let part = Tally { rows: 5, kept: 4, why, filled: (2, 1), gaps, unknown, refused };
        let mut other = part.clone();
        other.gaps = vec!["b".into()];
        other.unknown[0].first = ["m", "n", "o", "p", "q"].map(String::from).into();
        let mut whole = Tally::default();
        whole.merge(part);
        whole.merge(other);
        assert_eq!((whole.rows, whole.kept, whole.filled), (10, 8, (4, 2)));
        let error = whole.check_missing().unwrap_err().to_string();
        assert!(error.starts_with("line 3: the value is missing (and 3 more cells in 3 rows)"));
        assert_eq!(
            whole.notes("t.csv"),
            [
                "t.csv: 2 of 10 rows left out because the target is missing",
                "t.csv: 4 missing cells in 2 rows filled with the training means (columns 'a', \
                 'b')",
                "t.csv, column 'c': 8 rows with categories that training did not have ('k', 'l', \
                 'm', 'n', 'o', …), taken as none of the known ones",
            ]
        );
    }
}
