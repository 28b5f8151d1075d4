//! What the columns of a table hold, gathered while its rows go by: all that learning an encoding
//! needs, however many rows there are.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Result;

use super::{Cells, Column, NO_TEXT, Table, detect, infinite, unusable, words};

/// Texts of a column that are told apart; of more than that none is a category.
const MOST_TEXTS: usize = 10_000;

/// A table of which all rows have gone by.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    /// How messages call the file.
    pub(super) name: String,
    /// Whether the column names come from the file; otherwise they are positions from 0.
    pub(super) has_header: bool,
    /// What a row is called: the line of a file, or the row.
    pub(super) unit: &'static str,
    /// Number of rows.
    pub(crate) rows: usize,
    /// The columns, in the order of the file.
    pub(super) columns: Vec<Seen>,
}

/// A column of which all cells have gone by.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) name: String,
    pub(super) missing: usize,
    /// The line and the text of the first infinity.
    infinite: Option<(u64, String)>,
    pub(super) content: Content,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    /// No cell that is not missing.
    Nothing,
    Numbers(Numbers),
    Texts(Texts),
    /// Numbers, then dates or texts. The spelling of the first is gone: the column has to be read
    /// again, as texts.
    Mixed,
    /// Something of no use, by the name of its type.
    Other(String),
}

#[derive(Clone, Debug)]
pub(super) struct Numbers {
    pub(super) dates: bool,
    pub(super) mean: f64,
    count: usize,
    first: f64,
    same: bool,
}

impl Numbers {
    fn new(dates: bool) -> Self {
        Self { dates, mean: 0.0, count: 0, first: 0.0, same: true }
    }

    fn add(&mut self, value: f64) {
        if self.count == 0 {
            self.first = value;
        }
        self.count += 1;
        self.same &= value == self.first;
        // Dividing first keeps it finite for large numbers.
        let count = self.count as f64;
        self.mean += value / count - self.mean / count;
    }

    /// The only value, if there is no other.
    pub(super) fn constant(&self) -> Option<f64> {
        (self.same && self.count > 0).then_some(self.first)
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Texts {
    /// How many cells hold each text.
    sizes: HashMap<Arc<str>, usize>,
    /// Whether there are more texts than are told apart.
    more: bool,
    /// Cells that could be numbers, and others.
    pub(super) numbers: usize,
    pub(super) others: usize,
    /// The line and the text of the first cell that is not a number, or else of the first.
    first: (u64, String),
}

impl Texts {
    fn add(&mut self, texts: &[Arc<str>], codes: &[u32], lines: &[u64]) {
        let mut sizes = vec![0; texts.len()];
        codes.iter().filter(|code| **code != NO_TEXT).for_each(|code| sizes[*code as usize] += 1);
        let is_number: Vec<bool> =
            texts.iter().map(|text| detect::number(text).is_some()).collect();
        let find = |wanted: &dyn Fn(usize) -> bool| {
            let row = codes.iter().position(|c| *c != NO_TEXT && wanted(*c as usize))?;
            Some((lines[row], texts[codes[row] as usize].to_string()))
        };
        if self.others == 0 {
            let any = || find(&|_| true).filter(|_| self.numbers == 0);
            if let Some(first) = find(&|code| !is_number[code]).or_else(any) {
                self.first = first;
            }
        }
        for ((text, size), is_number) in texts.iter().zip(sizes).zip(is_number) {
            *(if is_number { &mut self.numbers } else { &mut self.others }) += size;
            if let Some(known) = self.sizes.get_mut(text) {
                *known += size;
            } else if self.sizes.len() < MOST_TEXTS {
                self.sizes.insert(Arc::clone(text), size);
            } else {
                self.more = true;
            }
        }
    }

    /// The distinct texts, sorted, and how many cells hold each.
    pub(super) fn sizes(&self) -> Vec<(&str, usize)> {
        let mut sorted: Vec<_> = self.sizes.iter().map(|(text, size)| (&**text, *size)).collect();
        sorted.sort_unstable();
        sorted
    }

    /// The number of distinct texts, in words.
    pub(super) fn count(&self) -> String {
        let more = if self.more { "more than " } else { "" };
        format!("{more}{}", self.sizes.len())
    }
}

impl Survey {
    /// Takes in some rows.
    pub(super) fn add(&mut self, part: &Table) {
        if self.columns.is_empty() {
            self.name.clone_from(&part.name);
            (self.has_header, self.unit) = (part.has_header, part.unit);
            self.columns = part.columns.iter().map(Seen::new).collect();
        }
        self.rows += part.rows();
        for (seen, column) in self.columns.iter_mut().zip(&part.columns) {
            seen.add(column, &part.lines);
        }
    }

    /// Marks the columns that have to be read as texts; whether there are any that were not known.
    pub(super) fn mark_texts(&self, texts: &mut Vec<bool>) -> bool {
        let known = texts.iter().filter(|text| **text).count();
        texts.resize(self.columns.len(), false);
        for (column, text) in self.columns.iter().zip(texts.iter_mut()) {
            *text |= matches!(column.content, Content::Mixed | Content::Texts(_));
        }
        let mixed = self.columns.iter().any(|c| matches!(c.content, Content::Mixed));
        mixed && texts.iter().filter(|text| **text).count() > known
    }

    /// The start of a message about one cell.
    pub(super) fn at(&self, line: u64, column: &str) -> String {
        words::at(&self.name, self.unit, line, column)
    }

    pub(super) fn column_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// An error if a column that is to be used holds an infinity, or nothing that can be used.
    pub(super) fn check_usable(&self, column: &Seen) -> Result<()> {
        if let Content::Other(kind) = &column.content {
            return Err(unusable(&self.name, &column.name, kind));
        }
        let Some((line, text)) = &column.infinite else { return Ok(()) };
        Err(infinite(&self.at(*line, &column.name), text))
    }
}

impl From<&Table> for Survey {
    fn from(table: &Table) -> Self {
        let mut survey = Self::default();
        survey.add(table);
        survey
    }
}

impl Seen {
    /// Where the first text is, and what it says: one that is not a number, if there is one.
    pub(super) fn first_text(&self) -> Option<(u64, &str)> {
        match &self.content {
            Content::Texts(texts) => Some((texts.first.0, &texts.first.1)),
            _ => None,
        }
    }

    fn new(column: &Column) -> Self {
        let name = column.name.clone();
        Self { name, missing: 0, infinite: None, content: Content::Nothing }
    }

    fn add(&mut self, column: &Column, lines: &[u64]) {
        self.missing += column.missing;
        if let (None, Some((row, text))) = (&self.infinite, &column.infinite) {
            self.infinite = Some((lines[*row], text.clone()));
        }
        let nothing = column.missing == lines.len();
        match (&column.cells, &mut self.content) {
            _ if nothing => {}
            (Cells::Number(values), content) => {
                if matches!(content, Content::Nothing) {
                    *content = Content::Numbers(Numbers::new(column.dates));
                }
                match content {
                    Content::Numbers(numbers) if numbers.dates == column.dates => {
                        values.iter().filter(|v| v.is_finite()).for_each(|v| numbers.add(*v));
                    }
                    _ => *content = Content::Mixed,
                }
            }
            (Cells::Text { texts, codes }, content) => {
                if matches!(content, Content::Nothing) {
                    *content = Content::Texts(Texts::default());
                }
                match content {
                    Content::Texts(all) => all.add(texts, codes, lines),
                    _ => *content = Content::Mixed,
                }
            }
            (Cells::Other(kind), content) => *content = Content::Other(kind.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::from_text;
    use super::*;

    fn survey(parts: &[&str]) -> Survey {
        let mut survey = Survey::default();
        parts.iter().for_each(|part| survey.add(&from_text(part)));
        survey
    }

    #[test]
    fn parts_are_as_good_as_the_whole() {
        let whole = survey(&["a,b,c\n1,u,\n,v,\n4,u,2\n5,,3\n"]);
        let parts = survey(&["a,b,c\n1,u,\n,v,\n", "a,b,c\n4,u,2\n5,,3\n"]);
        assert_eq!((whole.rows, parts.rows), (4, 4));
        for (whole, parts) in whole.columns.iter().zip(&parts.columns) {
            assert_eq!((&whole.name, whole.missing), (&parts.name, parts.missing));
            match (&whole.content, &parts.content) {
                (Content::Numbers(a), Content::Numbers(b)) => {
                    assert_eq!((a.mean, a.constant()), (b.mean, b.constant()));
                }
                (Content::Texts(a), Content::Texts(b)) => assert_eq!(a.sizes(), b.sizes()),
                (a, b) => panic!("{a:?} is not {b:?}"),
            }
        }
    }

    #[test]
    fn what_changes_its_kind_is_read_again_as_texts() {
        let header = "a,b,c,d\n";
        let first = format!("{header}1,2001-01-01,3,\n2,2001-01-02,4,\n");
        let late = format!("{header}x,5,5,x\n3,6,6,y\n");
        let seen = survey(&[&first, &late]);
        let mut texts = Vec::new();
        assert!(seen.mark_texts(&mut texts));
        assert_eq!(texts, [true, true, false, true]);
        // Once is enough.
        assert!(!seen.mark_texts(&mut texts));
        let mut none = Vec::new();
        assert!(!survey(&[&first, &first]).mark_texts(&mut none));
    }

    #[test]
    fn texts_without_end_are_not_kept() {
        let rows: Vec<String> = (0..MOST_TEXTS + 5).map(|i| format!("no {i},1")).collect();
        let seen = survey(&[&format!("a,y\n{}\n", rows.join("\n"))]);
        let Content::Texts(texts) = &seen.columns[0].content else { panic!("texts") };
        assert_eq!(texts.count(), "more than 10000");
        assert_eq!((texts.others, texts.sizes.len()), (MOST_TEXTS + 5, MOST_TEXTS));
    }
}
