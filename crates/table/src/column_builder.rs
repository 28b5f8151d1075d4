//! Builds a column cell by cell.

use crate::cell;
use crate::chunk::{Cells, Column, ColumnReading, NO_TEXT, ValueKind};
use crate::date;
use crate::evidence::Evidence;
use crate::number::{self, Mark, Spelling};
use raysum::schema::DateOrder;
use std::collections::HashMap;
use std::sync::Arc;

/// Texts that become a column.
pub(crate) struct ColumnBuilder {
    missing: usize,
    content: Collected,
}

enum Collected {
    /// Plain numbers, parsed directly.
    Numbers {
        values: Vec<f64>,
        infinite: Option<(usize, String)>,
        spelling: Spelling,
    },
    Texts {
        places: HashMap<Arc<str>, u32>,
        texts: Vec<Arc<str>>,
        codes: Vec<u32>,
    },
    /// The column is not used.
    Skipped,
    /// A text occurred among plain numbers: the cells must be added again as texts.
    Failed,
}

impl ColumnBuilder {
    /// A column to be read in this way.
    pub(crate) fn new(reading: &ColumnReading) -> Self {
        match reading {
            ColumnReading::Skip => Self { missing: 0, content: Collected::Skipped },
            reading if *reading == ColumnReading::plain() => {
                let spelling = Spelling::default();
                let content = Collected::Numbers { values: Vec::new(), infinite: None, spelling };
                Self { missing: 0, content }
            }
            _ => Self::texts(),
        }
    }

    /// A column whose texts are kept until the chunk is complete.
    pub(crate) fn texts() -> Self {
        let (places, texts, codes) = (HashMap::new(), Vec::new(), Vec::new());
        Self { missing: 0, content: Collected::Texts { places, texts, codes } }
    }

    /// Adds a text without surrounding blanks.
    pub(crate) fn push(&mut self, text: &str) {
        match &mut self.content {
            Collected::Numbers { values, infinite, spelling } => match text.parse::<f64>() {
                Ok(value) if !value.is_nan() => {
                    if value.is_infinite() {
                        infinite.get_or_insert_with(|| (values.len(), text.to_owned()));
                    }
                    if spelling.point != Mark::Decimal {
                        let point = number::point_mark(text);
                        *spelling = spelling.merge(Spelling { point, ..Spelling::plain() });
                    }
                    values.push(value);
                }
                _ if cell::is_missing(text) => {
                    values.push(f64::NAN);
                    self.missing += 1;
                }
                _ => self.content = Collected::Failed,
            },
            Collected::Texts { places, texts, codes } => {
                if let Some(code) = places.get(text) {
                    codes.push(*code);
                } else if cell::is_missing(text) {
                    codes.push(NO_TEXT);
                    self.missing += 1;
                } else {
                    // Memory runs out long before the codes do.
                    let code = texts.len() as u32;
                    let text: Arc<str> = text.into();
                    texts.push(Arc::clone(&text));
                    places.insert(text, code);
                    codes.push(code);
                }
            }
            Collected::Skipped | Collected::Failed => {}
        }
    }

    /// Adds a missing cell.
    pub(crate) fn push_missing(&mut self) {
        self.push("");
    }

    /// Whether the cells must be added again, as texts.
    #[cfg(feature = "files")]
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.content, Collected::Failed)
    }

    /// The column, read in this way if all of its texts can be.
    pub(crate) fn finish(self, name: Arc<str>, reading: &ColumnReading, known: bool) -> Column {
        let missing = self.missing;
        let (evidence, cells) = match self.content {
            Collected::Numbers { values, infinite, spelling } => {
                let evidence = Evidence::of_numbers(values.len() - missing, spelling.point);
                let cells = Cells::Values(ValueKind::Number, values);
                let (origin, stored, reading) = (None, false, reading.clone());
                return Column {
                    name,
                    origin,
                    stored,
                    missing,
                    infinite,
                    evidence,
                    reading,
                    cells,
                };
            }
            Collected::Texts { texts, codes, .. } => {
                (Evidence::of(&texts, &codes), Cells::Texts { texts, codes })
            }
            Collected::Skipped | Collected::Failed => (Evidence::default(), Cells::Skipped),
        };
        let (origin, stored, infinite, text) = (None, false, None, ColumnReading::Text);
        let column =
            Column { name, origin, stored, missing, infinite, evidence, reading: text, cells };
        column.read_as(reading, known)
    }
}

/// The number that a text stands for in this reading, if it does.
pub(crate) fn value_of(text: &str, reading: &ColumnReading, known: bool) -> Option<f64> {
    match reading {
        ColumnReading::Number(format) => number::parse(text, format, known),
        ColumnReading::Date(order) => {
            let iso = || date::days(text, DateOrder::YearFirst).filter(|_| known);
            date::days(text, *order).or_else(iso)
        }
        ColumnReading::Boolean => {
            let digit = || cell::plain_number(text).filter(|v| known && (*v == 0.0 || *v == 1.0));
            cell::truth(text).map(f64::from).or_else(digit)
        }
        ColumnReading::Text | ColumnReading::Skip => None,
    }
}

impl Column {
    /// The same column with its texts read in this way, if all of them can be.
    pub(crate) fn read_as(mut self, reading: &ColumnReading, known: bool) -> Self {
        if !self.stored {
            self.reading = reading.clone();
        }
        let kind = match reading {
            ColumnReading::Number(_) => ValueKind::Number,
            ColumnReading::Date(_) => ValueKind::Date,
            ColumnReading::Boolean => ValueKind::Boolean,
            ColumnReading::Text | ColumnReading::Skip => return self,
        };
        let Cells::Texts { texts, codes } = &self.cells else { return self };
        let values: Option<Vec<f64>> =
            texts.iter().map(|text| value_of(text, reading, known)).collect();
        let Some(values) = values else { return self };
        let is_infinite = |code: &u32| values.get(*code as usize).is_some_and(|v| v.is_infinite());
        self.infinite = codes
            .iter()
            .position(is_infinite)
            .map(|row| (row, texts[codes[row] as usize].to_string()));
        let value = |code: &u32| values.get(*code as usize).copied().unwrap_or(f64::NAN);
        self.cells = Cells::Values(kind, codes.iter().map(value).collect());
        self
    }

    /// A column that is stored as numbers, with NaN for a missing cell. `fractions` is whether a
    /// text file would write them with a point.
    pub(crate) fn of_values(
        name: Arc<str>,
        kind: ValueKind,
        values: Vec<f64>,
        fractions: bool,
    ) -> Self {
        let missing = values.iter().filter(|value| value.is_nan()).count();
        let infinite = values.iter().position(|value| value.is_infinite());
        let infinite = infinite.map(|row| (row, values[row].to_string()));
        let present = values.len() - missing;
        let evidence = match kind {
            ValueKind::Number => {
                let point = if fractions { Mark::Decimal } else { Mark::Absent };
                Evidence::of_numbers(present, point)
            }
            // Typed values give no evidence on notation, except for plain numbers.
            ValueKind::Date | ValueKind::Boolean => Evidence::default(),
        };
        let (origin, stored, reading) = (None, true, ColumnReading::plain());
        let cells = Cells::Values(kind, values);
        Self { name, origin, stored, missing, infinite, evidence, reading, cells }
    }

    /// A column of an unsupported type.
    pub(crate) fn of_other(name: Arc<str>, kind: String) -> Self {
        let (evidence, cells) = (Evidence::default(), Cells::Other(kind));
        let (origin, stored, infinite, reading) = (None, true, None, ColumnReading::plain());
        Self { name, origin, stored, missing: 0, infinite, evidence, reading, cells }
    }
}
