//! Counts the kinds of texts in a column, and decides how the column is read.
//!
//! The evidence of two chunks can be merged, so that the result does not depend on the chunks.

use crate::cell::CellKind;
use crate::chunk::{ColumnReading, NO_TEXT};
use crate::date::Orders;
use crate::number::{Mark, NoFormat, Spelling};
use raysum::schema::{DateOrder, DecimalMark};
use std::sync::Arc;

/// The evidence on a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Evidence {
    /// Number of cells that are numbers in some notation, dates, booleans, and anything else.
    pub(crate) numbers: usize,
    pub(crate) dates: usize,
    pub(crate) truths: usize,
    pub(crate) others: usize,
    /// How the numbers are written.
    pub(crate) spelling: Spelling,
    /// The orders of year, month and day that all dates have.
    orders: Orders,
    /// The first number that can be read in two ways, and the first such date.
    doubtful: (Option<Arc<str>>, Option<Arc<str>>),
}

/// The notation of a table, as given by the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notation {
    /// The mark of the fraction.
    pub decimal: Option<DecimalMark>,
    /// The order of day and month.
    pub dates: Option<DateOrder>,
}

/// How a column is read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    Read(ColumnReading),
    /// As numbers, but of one of two formats, such as this one.
    DoubtfulNumber(Arc<str>),
    /// As dates, but of one of two orders, such as this one.
    DoubtfulDate(Arc<str>),
}

impl Verdict {
    /// How the column is read, by the evidence so far.
    pub(crate) fn reading(&self) -> ColumnReading {
        match self {
            Self::Read(reading) => reading.clone(),
            Self::DoubtfulNumber(_) | Self::DoubtfulDate(_) => ColumnReading::Text,
        }
    }
}

impl Default for Evidence {
    fn default() -> Self {
        Self {
            numbers: 0,
            dates: 0,
            truths: 0,
            others: 0,
            spelling: Spelling::default(),
            orders: Orders::ALL,
            doubtful: (None, None),
        }
    }
}

impl Evidence {
    /// The evidence of texts, each by its index in a list of distinct ones.
    pub(crate) fn of(texts: &[Arc<str>], codes: &[u32]) -> Self {
        let mut sizes = vec![0; texts.len()];
        codes.iter().filter(|code| **code != NO_TEXT).for_each(|code| sizes[*code as usize] += 1);
        let mut evidence = Self::default();
        for (text, size) in texts.iter().zip(sizes) {
            evidence.add(text, size);
        }
        evidence
    }

    /// The evidence of plain numbers, whose points can have this meaning.
    pub(crate) fn of_numbers(count: usize, point: Mark) -> Self {
        if count == 0 {
            return Self::default();
        }
        let spelling = Spelling { point, ..Spelling::plain() };
        Self { numbers: count, spelling, ..Self::default() }
    }

    /// Adds a text that occurs `times` times.
    pub(crate) fn add(&mut self, text: &Arc<str>, times: usize) {
        match CellKind::of(text) {
            CellKind::Number(spelling) => {
                self.numbers += times;
                self.spelling = self.spelling.merge(spelling);
                if spelling.comma == Mark::Either {
                    self.doubtful.0.get_or_insert_with(|| text.clone());
                }
            }
            CellKind::Date(orders) => {
                self.dates += times;
                self.orders = self.orders.and(orders);
                if orders.only().is_none() {
                    self.doubtful.1.get_or_insert_with(|| text.clone());
                }
            }
            CellKind::Truth(_) => self.truths += times,
            CellKind::Missing => {}
            CellKind::Text => self.others += times,
        }
    }

    /// Adds the evidence of other rows.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.numbers += other.numbers;
        self.dates += other.dates;
        self.truths += other.truths;
        self.others += other.others;
        self.spelling = self.spelling.merge(other.spelling);
        self.orders = self.orders.and(other.orders);
        self.doubtful.0 = self.doubtful.0.take().or_else(|| other.doubtful.0.clone());
        self.doubtful.1 = self.doubtful.1.take().or_else(|| other.doubtful.1.clone());
    }

    /// Cells that are not missing.
    pub(crate) fn present(&self) -> usize {
        self.numbers + self.dates + self.truths + self.others
    }

    /// How a column with this evidence is read in a table of this notation.
    pub(crate) fn verdict(&self, table: TableNotation) -> Verdict {
        let all = self.present();
        if all == 0 {
            return Verdict::Read(ColumnReading::plain());
        }
        if self.numbers == all {
            return match self.spelling.format(table.forced.decimal, table.decimal) {
                Ok(format) => Verdict::Read(ColumnReading::Number(format)),
                Err(NoFormat::Contradictory) => Verdict::Read(ColumnReading::Text),
                Err(NoFormat::Ambiguous) => {
                    Verdict::DoubtfulNumber(self.doubtful.0.clone().unwrap_or_default())
                }
            };
        }
        if self.dates == all {
            let asked = [table.forced.dates, table.dates];
            let known = asked.into_iter().flatten().find(|order| self.orders.has(*order));
            return match self.orders.only().or(known) {
                Some(order) => Verdict::Read(ColumnReading::Date(order)),
                None if self.orders.are_none() => Verdict::Read(ColumnReading::Text),
                None => Verdict::DoubtfulDate(self.doubtful.1.clone().unwrap_or_default()),
            };
        }
        let reading = if self.truths == all { ColumnReading::Boolean } else { ColumnReading::Text };
        Verdict::Read(reading)
    }
}

/// The notation of a table, inferred from its unambiguous columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableNotation {
    forced: Notation,
    decimal: Option<DecimalMark>,
    dates: Option<DateOrder>,
}

impl TableNotation {
    /// Infers the notation from all columns of a table.
    pub(crate) fn of<'a>(
        columns: impl Iterator<Item = &'a Evidence> + Clone,
        forced: Notation,
        commas_separate: bool,
    ) -> Self {
        let numbers = columns.clone().filter(|c| c.numbers > 0 && c.numbers == c.present());
        let decimal = agreed(numbers.filter_map(|c| c.spelling.decimal()));
        let dates = columns.filter(|c| c.dates > 0 && c.dates == c.present());
        let local = dates.filter_map(|c| c.orders.only()).filter(|o| *o != DateOrder::YearFirst);
        Self {
            forced,
            decimal: match decimal {
                Agreed::On(mark) => Some(mark),
                // A comma inside a field of such a file must be quoted.
                Agreed::Nothing if commas_separate => Some(DecimalMark::Point),
                Agreed::Nothing | Agreed::Not => None,
            },
            dates: match agreed(local) {
                Agreed::On(order) => Some(order),
                Agreed::Nothing | Agreed::Not => None,
            },
        }
    }
}

/// Whether several columns agree.
enum Agreed<T> {
    Nothing,
    On(T),
    Not,
}

fn agreed<T: PartialEq>(all: impl Iterator<Item = T>) -> Agreed<T> {
    all.fold(Agreed::Nothing, |so_far, next| match so_far {
        Agreed::Nothing => Agreed::On(next),
        Agreed::On(first) if first == next => Agreed::On(first),
        Agreed::On(_) | Agreed::Not => Agreed::Not,
    })
}
