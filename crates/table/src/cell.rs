//! Classifies a single cell of text: a number, a date, a boolean, missing, or other text.

use crate::date::Orders;
use crate::number::Spelling;

/// Common markers of missing values; `nan` is read as a number first.
const MISSING: [&str; 13] =
    ["", "na", "n/a", "null", "none", "?", "-", ".", "#n/a", "#na", "<na>", "nat", "--"];

/// The kind of a cell, in any notation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CellKind {
    /// A number, or an infinity.
    Number(Spelling),
    /// A date in some orders of year, month and day.
    Date(Orders),
    /// `true` or `false`.
    Truth(bool),
    /// A missing value.
    Missing,
    /// Anything else.
    Text,
}

impl CellKind {
    /// Classifies a text without surrounding blanks.
    pub(crate) fn of(text: &str) -> Self {
        if is_missing(text) {
            return Self::Missing;
        }
        if let Some(spelling) = Spelling::of(text) {
            return Self::Number(spelling);
        }
        if let Some(orders) = Orders::of(text) {
            return Self::Date(orders);
        }
        truth(text).map_or(Self::Text, Self::Truth)
    }
}

/// Whether a text stands for a missing value.
pub(crate) fn is_missing(text: &str) -> bool {
    match text.parse::<f64>() {
        Ok(value) => value.is_nan(),
        Err(_) => MISSING.iter().any(|token| text.eq_ignore_ascii_case(token)),
    }
}

/// The boolean that a text stands for.
pub(crate) fn truth(text: &str) -> Option<bool> {
    match text {
        text if text.eq_ignore_ascii_case("true") => Some(true),
        text if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// The finite number that a text is in plain notation.
pub(crate) fn plain_number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_numbers() {
        let numbers = [
            ("1", 1.0),
            ("+1.5", 1.5),
            ("1e5", 1e5),
            ("-2E-3", -2e-3),
            (".5", 0.5),
            ("5.", 5.0),
            ("007", 7.0),
            ("1e-400", 0.0),
        ];
        for (text, value) in numbers {
            assert_eq!(plain_number(text), Some(value), "{text}");
            assert!(matches!(CellKind::of(text), CellKind::Number(_)), "{text}");
        }
        for text in ["inf", "-Inf", "+INFINITY", "infinity", "1e400", "-1e400"] {
            assert_eq!(plain_number(text), None, "{text}");
            assert!(matches!(CellKind::of(text), CellKind::Number(_)), "{text}");
        }
    }

    #[test]
    fn other_cells() {
        let of_people = ["", "na", "NA", "N/A", "NULL", "None", "?", "-", "--", "."];
        let of_programs = ["nan", "NaN", "-nan", "#N/A", "#NA", "<NA>", "NaT"];
        for text in of_people.into_iter().chain(of_programs) {
            assert_eq!(CellKind::of(text), CellKind::Missing, "{text}");
        }
        for text in ["abc", "0x10", "1_000", "---", "..", "1.2.3", "−5", "e5", "yes"] {
            assert_eq!(CellKind::of(text), CellKind::Text, "{text}");
        }
        for text in ["1,5", "1 000", "$5", "3%"] {
            assert!(matches!(CellKind::of(text), CellKind::Number(_)), "{text}");
        }
        for text in ["2026-11-16", "16.11.2026 12:30"] {
            assert!(matches!(CellKind::of(text), CellKind::Date(_)), "{text}");
        }
        assert_eq!(CellKind::of("TRUE"), CellKind::Truth(true));
        assert_eq!(CellKind::of("False"), CellKind::Truth(false));
    }
}
