//! Detects the delimiter of a CSV file, and whether its first line is a header.

use super::Delimiter;
use super::records::{CsvRecord, Records};
use crate::cell::CellKind;
use std::collections::HashSet;

/// Number of rows from which a header is detected.
pub(crate) const SAMPLE_ROWS: usize = 1000;
/// Number of records from which the delimiter is detected.
const SNIFFED: usize = 100;

/// Detects the delimiter from the start of a file.
///
/// The delimiter is one that splits all lines into the same number of fields. Of several, the comma
/// is the least likely: next to semicolons it is a decimal comma.
pub(crate) fn delimiter(head: &[u8], terminator: u8) -> Delimiter {
    let candidates = [Delimiter::Tab, Delimiter::Semicolon, Delimiter::Comma];
    let widths = candidates.map(|delimiter| {
        let mut records = Records::new(Box::new(head), "", delimiter, terminator);
        let mut record = CsvRecord::default();
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
pub(crate) fn has_header(sample: &[CsvRecord]) -> bool {
    let Some((first, rest)) = sample.split_first() else { return false };
    let is_text: Vec<bool> = first.fields().map(is_title).collect();
    let mut unique = HashSet::new();
    if is_text.iter().all(|text| *text) && first.fields().all(|field| unique.insert(field)) {
        return true;
    }
    let mut has_number = vec![false; is_text.len()];
    let mut has_text = vec![false; is_text.len()];
    for record in rest {
        for ((field, number), text) in record.fields().zip(&mut has_number).zip(&mut has_text) {
            match CellKind::of(field) {
                CellKind::Number(_) | CellKind::Date(_) => *number = true,
                CellKind::Text | CellKind::Truth(_) => *text = true,
                CellKind::Missing => {}
            }
        }
    }
    let below = has_number.into_iter().zip(has_text);
    is_text.into_iter().zip(below).any(|(title, (number, text))| title && number && !text)
}

/// Whether a field can be the title of a column.
fn is_title(field: &str) -> bool {
    matches!(CellKind::of(field), CellKind::Text | CellKind::Truth(_))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let mut record = CsvRecord::default();
            while records.next(&mut record).unwrap() {
                sample.push(record.clone());
            }
            assert_eq!(has_header(&sample), expected, "{text}");
        }
    }
}
