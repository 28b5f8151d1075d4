//! Statistics of the columns of a table, gathered in one pass over its chunks: all that schema
//! inference needs, for any number of rows.

use crate::cell::CellKind;
use crate::chunk::{
    Cells, Chunk, Column, ColumnReading, NO_TEXT, TableOrigin, ValueKind, infinite, unusable,
};
use crate::evidence::{Evidence, Notation, TableNotation, Verdict};
use anyhow::Result;
use std::collections::HashMap;
use std::sync::Arc;

/// Number of distinct texts that are counted; a column with more cannot be categories.
pub(crate) const MOST_TEXTS: usize = 10_000;

/// The statistics of a whole table.
#[derive(Clone, Debug, Default)]
pub struct TableStats {
    /// Where it comes from.
    pub(crate) origin: Arc<TableOrigin>,
    /// Whether the names of the columns are the table's own.
    pub(crate) named: bool,
    /// Number of rows.
    pub(crate) rows: usize,
    /// The columns, in the order of the table.
    pub(crate) columns: Vec<ColumnStats>,
}

/// The statistics of one column.
#[derive(Clone, Debug)]
pub(crate) struct ColumnStats {
    pub(crate) name: Arc<str>,
    /// Its origin, if it differs from that of the other columns.
    pub(crate) origin: Option<Arc<TableOrigin>>,
    pub(crate) stored: bool,
    pub(crate) missing: usize,
    /// The line and the text of the first infinity.
    pub(crate) infinite: Option<(u64, String)>,
    pub(crate) evidence: Evidence,
    pub(crate) content: Content,
    /// How the column is read, by the evidence of all of its texts; set after the last row.
    pub(crate) verdict: Option<Verdict>,
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// All cells are missing.
    Nothing,
    Values(ValueKind, ValueStats),
    Texts(TextStats),
    /// Typed values in one chunk and texts in another.
    Mixed,
    /// An unsupported type, by its name.
    Other(String),
}

/// Mean of values, and whether they are all the same.
#[derive(Clone, Debug)]
pub(crate) struct ValueStats {
    pub(crate) mean: f64,
    pub(crate) count: usize,
    pub(crate) first: f64,
    pub(crate) same: bool,
    /// Whether each value is one more than the one before.
    pub(crate) counting: bool,
}

impl ValueStats {
    fn new() -> Self {
        Self { mean: 0.0, count: 0, first: 0.0, same: true, counting: true }
    }

    fn add(&mut self, value: f64) {
        if self.count == 0 {
            self.first = value;
        }
        self.counting &= value == self.first + self.count as f64;
        self.count += 1;
        self.same &= value == self.first;
        // Dividing first keeps it finite for large numbers.
        let count = self.count as f64;
        self.mean += value / count - self.mean / count;
    }

    /// Whether the values are the numbers of the rows, from 0 or 1.
    pub(crate) fn number_rows(&self) -> bool {
        self.counting && self.count > 1 && (self.first == 0.0 || self.first == 1.0)
    }

    /// The only value, if there is no other.
    pub(crate) fn constant(&self) -> Option<f64> {
        (self.same && self.count > 0).then_some(self.first)
    }
}

/// How often each text occurs.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextStats {
    pub(crate) sizes: HashMap<Arc<str>, usize>,
    /// Whether there are more texts than are counted.
    pub(crate) more: bool,
    /// Whether a counted text occurs twice.
    pub(crate) repeated: bool,
    /// The line and the text of the first cell.
    pub(crate) first: Option<(u64, Arc<str>)>,
    /// The same of the first cell that is not a number in any notation, and of the first that is
    /// not a date.
    pub(crate) first_no_number: Option<(u64, Arc<str>)>,
    pub(crate) first_no_date: Option<(u64, Arc<str>)>,
}

impl TextStats {
    fn add(&mut self, texts: &[Arc<str>], codes: &[u32], lines: &[u64]) {
        let mut sizes = vec![0; texts.len()];
        codes.iter().filter(|code| **code != NO_TEXT).for_each(|code| sizes[*code as usize] += 1);
        let find = |wanted: &dyn Fn(&str) -> bool| {
            let wanted: Vec<bool> = texts.iter().map(|text| wanted(text)).collect();
            let row = codes.iter().position(|c| *c != NO_TEXT && wanted[*c as usize])?;
            Some((lines[row], texts[codes[row] as usize].clone()))
        };
        let no_number = |text: &str| !matches!(CellKind::of(text), CellKind::Number(_));
        let no_date = |text: &str| !matches!(CellKind::of(text), CellKind::Date(_));
        self.first = self.first.take().or_else(|| find(&|_| true));
        self.first_no_number = self.first_no_number.take().or_else(|| find(&no_number));
        self.first_no_date = self.first_no_date.take().or_else(|| find(&no_date));
        for (text, size) in texts.iter().zip(sizes) {
            if let Some(sum) = self.sizes.get_mut(text) {
                *sum += size;
                self.repeated = true;
            } else if self.sizes.len() < MOST_TEXTS {
                self.sizes.insert(text.clone(), size);
                self.repeated |= size > 1;
            } else {
                self.more = true;
            }
        }
    }

    /// The distinct texts, sorted, with how often they occur.
    pub(crate) fn sizes(&self) -> Vec<(&str, usize)> {
        let mut sizes: Vec<(&str, usize)> =
            self.sizes.iter().map(|(text, size)| (&**text, *size)).collect();
        sizes.sort_unstable();
        sizes
    }

    /// Number of distinct texts.
    pub(crate) fn distinct(&self) -> usize {
        self.sizes.len()
    }

    /// The same in words.
    pub(crate) fn count(&self) -> String {
        if self.more { format!("more than {MOST_TEXTS}") } else { self.sizes.len().to_string() }
    }

    /// Whether no text occurs twice, as far as they are counted.
    pub(crate) fn all_distinct(&self) -> bool {
        !self.repeated
    }

    /// The line and the text of the first cell that is no number, or else of the first.
    pub(crate) fn first_no_number(&self) -> (u64, &str) {
        place(self.first_no_number.as_ref().or(self.first.as_ref()))
    }

    /// The line and the text of the first cell that is no date, or else of the first.
    pub(crate) fn first_no_date(&self) -> (u64, &str) {
        place(self.first_no_date.as_ref().or(self.first.as_ref()))
    }
}

fn place(first: Option<&(u64, Arc<str>)>) -> (u64, &str) {
    first.map_or((0, ""), |(line, text)| (*line, text))
}

impl TableStats {
    /// Adds the next rows.
    pub fn add(&mut self, chunk: &Chunk) {
        if self.columns.is_empty() {
            self.origin = chunk.origin.clone();
            self.named = chunk.named;
            self.columns = chunk.columns.iter().map(ColumnStats::new).collect();
        }
        self.rows += chunk.rows();
        for (stats, column) in self.columns.iter_mut().zip(&chunk.columns) {
            stats.add(column, &chunk.lines);
        }
    }

    /// Decides how each column is read, after the last row.
    pub(crate) fn decide(&mut self, forced: Notation, commas_separate: bool) -> Vec<ColumnReading> {
        let evidence = self.columns.iter().map(|column| &column.evidence);
        let notation = TableNotation::of(evidence, forced, commas_separate);
        let decide = |column: &mut ColumnStats| {
            if column.stored {
                return ColumnReading::plain();
            }
            let verdict = column.evidence.verdict(notation);
            let reading = verdict.reading();
            column.verdict = Some(verdict);
            reading
        };
        self.columns.iter_mut().map(decide).collect()
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// Where a column comes from.
    pub(crate) fn origin_of<'a>(&'a self, column: &'a ColumnStats) -> &'a TableOrigin {
        column.origin.as_ref().unwrap_or(&self.origin)
    }

    /// The start of a message about one cell.
    pub(crate) fn cell(&self, line: u64, column: &ColumnStats) -> String {
        self.origin_of(column).cell(line, &column.name)
    }

    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.columns.iter().map(|column| &*column.name)
    }

    /// An error if a column to be used contains an infinity or has an unsupported type.
    pub(crate) fn check_usable(&self, column: &ColumnStats) -> Result<()> {
        if let Content::Other(kind) = &column.content {
            return Err(unusable(self.origin_of(column), &column.name, kind));
        }
        let Some((line, text)) = &column.infinite else { return Ok(()) };
        Err(infinite(self.origin_of(column), *line, &column.name, text))
    }
}

impl ColumnStats {
    fn new(column: &Column) -> Self {
        Self {
            name: column.name.clone(),
            origin: column.origin.clone(),
            stored: column.stored,
            missing: 0,
            infinite: None,
            evidence: Evidence::default(),
            content: Content::Nothing,
            verdict: None,
        }
    }

    fn add(&mut self, column: &Column, lines: &[u64]) {
        self.missing += column.missing;
        self.evidence.merge(&column.evidence);
        if let (None, Some((row, text))) = (&self.infinite, &column.infinite) {
            self.infinite = Some((lines[*row], text.clone()));
        }
        let nothing = column.missing == lines.len();
        match (&column.cells, &mut self.content) {
            (Cells::Other(kind), content) => *content = Content::Other(kind.clone()),
            _ if nothing => {}
            (Cells::Values(kind, values), content) => {
                if matches!(content, Content::Nothing) {
                    *content = Content::Values(*kind, ValueStats::new());
                }
                match content {
                    Content::Values(so_far, stats) if so_far == kind => {
                        values.iter().filter(|v| v.is_finite()).for_each(|v| stats.add(*v));
                    }
                    _ => *content = Content::Mixed,
                }
            }
            (Cells::Texts { texts, codes }, content) => {
                if matches!(content, Content::Nothing) {
                    *content = Content::Texts(TextStats::default());
                }
                match content {
                    Content::Texts(all) => all.add(texts, codes, lines),
                    _ => *content = Content::Mixed,
                }
            }
            (Cells::Skipped, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{chunk, stats};

    fn added(parts: &[&str]) -> TableStats {
        let mut stats = TableStats::default();
        parts.iter().for_each(|part| stats.add(&chunk(part)));
        stats
    }

    #[test]
    fn chunks_are_as_good_as_the_whole() {
        let whole = added(&["a,b,c\n1,u,\n,v,\n4,u,2\n5,,3\n"]);
        let parts = added(&["a,b,c\n1,u,\n,v,\n", "a,b,c\n4,u,2\n5,,3\n"]);
        assert_eq!((whole.rows, parts.rows), (4, 4));
        for (whole, parts) in whole.columns.iter().zip(&parts.columns) {
            assert_eq!((&whole.name, whole.missing), (&parts.name, parts.missing));
            assert_eq!(whole.evidence, parts.evidence);
            match (&whole.content, &parts.content) {
                (Content::Values(_, a), Content::Values(_, b)) => {
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
        let mut seen = added(&[&first, &late]);
        let readings = seen.decide(Notation::default(), true);
        let text = ColumnReading::Text;
        assert_eq!(readings, [text.clone(), text.clone(), ColumnReading::plain(), text]);
        let mut seen = added(&[&first, &first]);
        let plain = ColumnReading::plain;
        let date = ColumnReading::Date(raysum::schema::DateOrder::YearFirst);
        assert_eq!(seen.decide(Notation::default(), true), [plain(), date, plain(), plain()]);
    }

    #[test]
    fn texts_without_end_are_not_kept() {
        let rows: Vec<String> = (0..MOST_TEXTS + 5).map(|i| format!("no {i},1")).collect();
        let seen = stats(&format!("a,y\n{}\n", rows.join("\n")));
        let Content::Texts(texts) = &seen.columns[0].content else { panic!("texts") };
        assert_eq!(texts.count(), "more than 10000");
        assert_eq!((texts.distinct(), texts.all_distinct()), (MOST_TEXTS, true));
        assert_eq!(seen.columns[0].evidence.others, MOST_TEXTS + 5);
    }

    #[test]
    fn the_first_of_each_kind_is_known() {
        let seen = stats("a,b\n,1\n\"8,8\",2\n2024-01-31,3\nx,4\n");
        let Content::Texts(texts) = &seen.columns[0].content else { panic!("texts") };
        assert_eq!(texts.first_no_number(), (4, "2024-01-31"));
        assert_eq!(texts.first_no_date(), (3, "8,8"));
    }
}
