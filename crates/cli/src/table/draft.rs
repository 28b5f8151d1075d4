//! A column while it is being read, cell by cell.

use std::collections::HashMap;
use std::sync::Arc;

use super::detect::{self, Cell};
use super::{Cells, Column, NO_TEXT};

/// A column that is being read.
pub(super) struct Draft {
    missing: usize,
    content: Content,
}

enum Content {
    Number {
        values: Vec<f64>,
        /// Whether they are dates; not known before the first one.
        dates: Option<bool>,
        /// The row and the text of the first infinity.
        infinite: Option<(usize, String)>,
    },
    Text {
        places: HashMap<Arc<str>, u32>,
        texts: Vec<Arc<str>>,
        codes: Vec<u32>,
    },
    /// Numbers, then a text: the column is not kept and has to be read again as text.
    Mixed,
    /// Cells of a type that is of no use.
    Other(String),
}

impl Draft {
    /// A column of texts, or of numbers until a text turns up.
    pub(super) fn new(text: bool) -> Self {
        let content = if text {
            Content::Text { places: HashMap::new(), texts: Vec::new(), codes: Vec::new() }
        } else {
            Content::Number { values: Vec::new(), dates: None, infinite: None }
        };
        Self { missing: 0, content }
    }

    /// Takes a field of a CSV file.
    pub(super) fn push(&mut self, field: &str) {
        match &mut self.content {
            Content::Number { values, dates, infinite } => match detect::cell(field) {
                Cell::Number(value) if !*dates.get_or_insert(false) => values.push(value),
                Cell::Date(value) if *dates.get_or_insert(true) => values.push(value),
                Cell::Missing => {
                    values.push(f64::NAN);
                    self.missing += 1;
                }
                Cell::Infinite => {
                    infinite.get_or_insert_with(|| (values.len(), field.to_owned()));
                    values.push(f64::INFINITY);
                }
                Cell::Number(_) | Cell::Date(_) | Cell::Text => self.content = Content::Mixed,
            },
            Content::Text { places, texts, codes } => {
                if detect::cell(field) == Cell::Missing {
                    codes.push(NO_TEXT);
                    self.missing += 1;
                } else if let Some(code) = places.get(field) {
                    codes.push(*code);
                } else {
                    // Memory runs out long before the codes do.
                    let code = texts.len() as u32;
                    let text: Arc<str> = field.into();
                    texts.push(Arc::clone(&text));
                    places.insert(text, code);
                    codes.push(code);
                }
            }
            Content::Mixed | Content::Other(_) => {}
        }
    }

    /// A column of another type than numbers and texts.
    #[cfg(feature = "arrow")]
    pub(super) fn other(kind: &str) -> Self {
        Self { missing: 0, content: Content::Other(kind.into()) }
    }

    /// Takes a number; NaN is missing, too.
    #[cfg(feature = "arrow")]
    pub(super) fn number(&mut self, value: Option<f64>) {
        self.value(value, false);
    }

    /// Takes a date as days since the start of 1970.
    #[cfg(feature = "arrow")]
    pub(super) fn date(&mut self, value: Option<f64>) {
        self.value(value, true);
    }

    #[cfg(feature = "arrow")]
    fn value(&mut self, value: Option<f64>, date: bool) {
        let Content::Number { values, dates, infinite } = &mut self.content else { return };
        dates.get_or_insert(date);
        let value = value.unwrap_or(f64::NAN);
        if value.is_infinite() {
            infinite.get_or_insert_with(|| (values.len(), value.to_string()));
        }
        self.missing += usize::from(value.is_nan());
        values.push(value);
    }

    /// Whether the column has to be read again.
    pub(super) fn is_mixed(&self) -> bool {
        matches!(self.content, Content::Mixed)
    }

    /// The column, unless it has to be read again.
    pub(super) fn finish(self, name: String) -> Option<Column> {
        let (dates, infinite, cells) = match self.content {
            Content::Number { values, dates, infinite } => {
                (dates == Some(true), infinite, Cells::Number(values))
            }
            Content::Text { texts, codes, .. } => (false, None, Cells::Text { texts, codes }),
            Content::Mixed => return None,
            Content::Other(kind) => (false, None, Cells::Other(kind)),
        };
        Some(Column { name, missing: self.missing, dates, infinite, cells })
    }
}
