//! Decides what a cell is, what separates the fields, and whether the first line is a header.

use std::collections::HashSet;

use super::records::{Record, Records};
use super::{Delimiter, date};

/// How many rows are looked at to decide whether the first one is a header.
pub(super) const SAMPLE_ROWS: usize = 1000;
/// How many records are looked at to find what separates the fields.
const SNIFFED: usize = 100;
/// What people write where a value is missing; `nan` is read as a number first.
const MISSING: [&str; 8] = ["", "na", "n/a", "null", "none", "?", "-", "."];

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell {
    /// A finite number.
    Number(f64),
    /// A date, as days since the start of 1970.
    Date(f64),
    /// Nothing.
    Missing,
    /// An infinity, or a number too large for a float.
    Infinite,
    /// Anything else.
    Text,
}

/// Reads a field without blanks around it.
pub(super) fn cell(field: &str) -> Cell {
    match field.parse::<f64>() {
        Ok(value) if value.is_finite() => Cell::Number(value),
        Ok(value) if value.is_nan() => Cell::Missing,
        Ok(_) => Cell::Infinite,
        Err(_) if MISSING.iter().any(|token| field.eq_ignore_ascii_case(token)) => Cell::Missing,
        Err(_) => date::days(field).map_or(Cell::Text, Cell::Date),
    }
}

/// The number a text stands for, if it is one.
pub(super) fn number(text: &str) -> Option<f64> {
    match cell(text) {
        Cell::Number(value) => Some(value),
        _ => None,
    }
}

/// Finds what separates the fields from the start of a file.
///
/// A delimiter that splits all lines alike is right. Where several do, the comma is least likely:
/// next to semicolons it is a decimal comma.
pub(super) fn delimiter(head: &[u8], terminator: u8) -> Delimiter {
    let candidates = [Delimiter::Tab, Delimiter::Semicolon, Delimiter::Comma];
    let widths = candidates.map(|delimiter| {
        let mut records = Records::new(Box::new(head), "", delimiter, terminator);
        let mut record = Record::default();
        let mut widths = Vec::new();
        while widths.len() < SNIFFED && matches!(records.next(&mut record), Ok(true)) {
            widths.push(record.len());
        }
        widths
    });
    let mut found = candidates.into_iter().zip(&widths);
    let even = |(_, widths): &(Delimiter, &Vec<usize>)| {
        widths.first().is_some_and(|first| *first > 1 && widths.iter().all(|w| w == first))
    };
    let most =
        || candidates.into_iter().zip(&widths).max_by_key(|(_, widths)| widths.first().copied());
    found.find(even).or_else(most).map_or(Delimiter::Comma, |(delimiter, _)| delimiter)
}

/// Whether the first of these records names the columns.
///
/// It does if a column of numbers starts with a text, or if all its fields are different texts.
pub(super) fn has_header(sample: &[Record]) -> bool {
    let Some((first, rest)) = sample.split_first() else { return false };
    let is_text: Vec<bool> = first.fields().map(|field| cell(field) == Cell::Text).collect();
    let mut unique = HashSet::new();
    if is_text.iter().all(|text| *text) && first.fields().all(|field| unique.insert(field)) {
        return true;
    }
    let mut has_number = vec![false; is_text.len()];
    let mut has_text = vec![false; is_text.len()];
    for record in rest {
        for ((field, number), text) in record.fields().zip(&mut has_number).zip(&mut has_text) {
            match cell(field) {
                Cell::Number(_) | Cell::Date(_) | Cell::Infinite => *number = true,
                Cell::Text => *text = true,
                Cell::Missing => {}
            }
        }
    }
    let below = has_number.into_iter().zip(has_text);
    is_text.into_iter().zip(below).any(|(title, (number, text))| title && number && !text)
}

/// Whether a text is a truth value.
pub(super) fn is_truth(text: &str) -> bool {
    ["true", "false"].iter().any(|word| word.eq_ignore_ascii_case(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells() {
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
        for (field, value) in numbers {
            assert_eq!(cell(field), Cell::Number(value), "{field}");
        }
        for field in ["", "na", "NA", "N/A", "nan", "NaN", "-nan", "NULL", "None", "?", "-", "."] {
            assert_eq!(cell(field), Cell::Missing, "{field}");
        }
        for field in ["inf", "-Inf", "+INFINITY", "infinity", "1e400", "-1e400"] {
            assert_eq!(cell(field), Cell::Infinite, "{field}");
        }
        for field in ["abc", "1,5", "1 000", "0x10", "1_000", "--", "..", "1.2.3", "−5", "e5"] {
            assert_eq!(cell(field), Cell::Text, "{field}");
        }
    }

    #[test]
    fn delimiters() {
        use Delimiter::{Comma, Semicolon, Tab};
        let cases = [
            ("a,b\n1,2\n", Comma),
            ("a;b\n1;2\n", Semicolon),
            ("a\tb\n1\t2\n", Tab),
            ("a\n1\n", Comma),
            ("", Comma),
            ("1,5;2,5\n3,5;4,5\n", Semicolon),
            ("a;b\n1,5;2\n", Semicolon),
            ("note,x\n\"a;b\",1\n\"c;d\",2\n", Comma),
            ("\"a;b\";x\n\"c,d\";1\n", Semicolon),
            ("a,b,c\n1,2\n", Comma),
            ("a b\tc d\n1,2\t3\n", Tab),
        ];
        for (head, delimiter) in cases {
            assert_eq!(super::delimiter(head.as_bytes(), b'\n'), delimiter, "{head}");
        }
    }

    #[test]
    fn headers() {
        let cases = [
            ("a,b\n1,2\n", true),
            ("1,2\n3,4\n", false),
            ("a,2\n1,2\n", true),
            ("a,b\nx,y\n", true),
            ("red,red\nx,y\n", false),
            ("red,1\nblue,2\n", false),
            ("name,1\nblue,2\n", false),
            ("name,age\nblue,2\n", true),
            (",name,age\n0,blue,2\n", true),
            ("name,,city\nx,,y\n", false),
            ("a,b\n", true),
            ("1,2\n", false),
            ("x,b\nNA,u\n3,w\n", true),
            ("NA,1\n2,3\n", false),
            ("inf,1\n2,3\n", false),
            ("a,1\nNA,3\n", false),
            ("2019,2020\n1,2\n", false),
        ];
        for (text, expected) in cases {
            let mut records = Records::new(Box::new(text.as_bytes()), "", Delimiter::Comma, b'\n');
            let mut sample = Vec::new();
            let mut record = Record::default();
            while records.next(&mut record).unwrap() {
                sample.push(record.clone());
            }
            assert_eq!(has_header(&sample), expected, "{text}");
        }
    }
}
