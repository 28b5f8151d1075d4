//! Splits a stream of bytes into CSV records, and locates damaged ones by line.
//!
//! The csv crate is not used for reading because it accepts a file that is cut off inside quotes,
//! and because users need the true line of every row, past blank lines and either line ending.

use super::Delimiter;
use anyhow::{Result, anyhow, bail};
use std::io::{BufRead, ErrorKind};

/// One record: its fields, and the line it starts at.
#[derive(Clone, Debug, Default)]
pub(crate) struct CsvRecord {
    /// The fields without their quotes, separated by one byte.
    text: String,
    /// Where each field ends in `text`.
    ends: Vec<usize>,
    /// The line of the file the record starts at, counted from 1.
    pub(crate) line: u64,
}

impl CsvRecord {
    /// The number of fields.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The fields, without surrounding blanks.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        self.ends.iter().scan(0, |start, &end| {
            let field = self.text.get(*start..end).unwrap_or_default();
            *start = end + 1;
            Some(field.trim())
        })
    }
}

impl CsvRecord {
    /// One field, without surrounding blanks.
    pub(crate) fn field(&self, position: usize) -> &str {
        let start = position.checked_sub(1).and_then(|p| self.ends.get(p)).map_or(0, |end| end + 1);
        let end = self.ends.get(position).copied().unwrap_or_default();
        self.text.get(start..end).unwrap_or_default().trim()
    }
}

/// The state of the reader of quoted fields.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first character of a field that is not a blank.
    Start,
    /// Outside quotes.
    Plain,
    /// Inside quotes.
    Quoted,
    /// After a quote inside quotes: it closes the field unless another one follows.
    Closing,
}

/// Reads records one after the other.
pub(crate) struct Records<'a> {
    input: Box<dyn BufRead + 'a>,
    name: &'a str,
    delimiter: u8,
    terminator: u8,
    line: u64,
    raw: Vec<u8>,
}

impl<'a> Records<'a> {
    /// `terminator` is the last byte of every line, `name` what messages call the file.
    pub(crate) fn new(
        input: Box<dyn BufRead + 'a>,
        name: &'a str,
        delimiter: Delimiter,
        terminator: u8,
    ) -> Self {
        Self { input, name, delimiter: delimiter.byte(), terminator, line: 0, raw: Vec::new() }
    }

    /// Reads the next record that is not a blank line; `false` at the end of the file.
    pub(crate) fn next(&mut self, record: &mut CsvRecord) -> Result<bool> {
        loop {
            if !self.read_line()? {
                return Ok(false);
            }
            // A line of tabs between tab-separated fields is a row of missing values.
            let blank = |b: &u8| b.is_ascii_whitespace() && *b != self.delimiter;
            if !self.raw.iter().all(blank) {
                break;
            }
        }
        record.line = self.line;
        record.ends.clear();
        let mut text = std::mem::take(&mut record.text).into_bytes();
        text.clear();
        if self.raw.contains(&b'"') {
            self.split_quoted(&mut text, &mut record.ends)?;
        } else {
            text.extend_from_slice(&self.raw);
            let is_delimiter = |(_, b): &(usize, &u8)| **b == self.delimiter;
            record.ends.extend(text.iter().enumerate().filter(is_delimiter).map(|(at, _)| at));
        }
        record.ends.push(text.len());
        record.text = String::from_utf8(text).map_err(|error| {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = record.line + line_ends(valid, self.terminator);
            anyhow!("{}, line {line}: this is not UTF-8 text; save the file as UTF-8", self.name)
        })?;
        Ok(true)
    }

    /// Splits the line in `raw`, and following lines while a quoted field continues.
    fn split_quoted(&mut self, text: &mut Vec<u8>, ends: &mut Vec<usize>) -> Result<()> {
        let mut state = State::Start;
        let mut opened = self.line;
        loop {
            for &byte in &self.raw {
                state = match (state, byte) {
                    (State::Quoted, b'"') => State::Closing,
                    (State::Closing, b'"') | (State::Quoted, _) => {
                        text.push(byte);
                        State::Quoted
                    }
                    (_, byte) if byte == self.delimiter => {
                        ends.push(text.len());
                        text.push(byte);
                        State::Start
                    }
                    (State::Start, b'"') => {
                        opened = self.line;
                        State::Quoted
                    }
                    (State::Start, b' ' | b'\t') => State::Start,
                    _ => {
                        text.push(byte);
                        State::Plain
                    }
                };
            }
            if state != State::Quoted {
                return Ok(());
            }
            if !self.read_line()? {
                bail!(
                    "{}, line {opened}: a quoted field is opened here and never closed; the file \
                     may be cut off",
                    self.name
                );
            }
        }
    }

    /// Reads one line, including its terminator, into `raw`; `false` at the end of the file.
    fn read_line(&mut self) -> Result<bool> {
        self.raw.clear();
        let read = self.input.read_until(self.terminator, &mut self.raw);
        let found = read.map_err(|error| read_error(self.name, self.line, &error))? > 0;
        self.line += u64::from(found);
        if self.raw.contains(&0) {
            return Err(not_csv(self.name));
        }
        Ok(found)
    }
}

/// The number of lines that end in these bytes.
pub(crate) fn line_ends(bytes: &[u8], terminator: u8) -> u64 {
    bytes.split(|byte| *byte == terminator).count() as u64 - 1
}

/// The error of a read that fails after `line`; a damaged gzip stream gives these kinds.
pub(crate) fn read_error(name: &str, line: u64, error: &std::io::Error) -> anyhow::Error {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::InvalidInput => {
            anyhow!("{name}: the compressed data is cut off or damaged after line {line}")
        }
        _ => anyhow!("{name}: cannot read on after line {line}: {error}"),
    }
}

/// What a file with NUL bytes in it is.
pub(crate) fn not_csv(name: &str) -> anyhow::Error {
    anyhow!(
        "{name} does not look like a CSV file: it holds NUL bytes, as binary and UTF-16 files do"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &[u8], delimiter: Delimiter) -> Result<Vec<(u64, Vec<String>)>> {
        let mut records = Records::new(Box::new(text), "t.csv", delimiter, b'\n');
        let mut record = CsvRecord::default();
        let mut all = Vec::new();
        while records.next(&mut record)? {
            let fields: Vec<String> = record.fields().map(str::to_owned).collect();
            let each: Vec<&str> = (0..record.len()).map(|i| record.field(i)).collect();
            assert_eq!(fields, each);
            all.push((record.line, fields));
        }
        Ok(all)
    }

    #[test]
    fn records_of_one_line() {
        let cases: [(&str, &[&str]); 16] = [
            ("a,b", &["a", "b"]),
            ("a,b\n", &["a", "b"]),
            ("a,b\r\n", &["a", "b"]),
            (" a , b c ", &["a", "b c"]),
            ("a,,", &["a", "", ""]),
            (",", &["", ""]),
            ("é,日本", &["é", "日本"]),
            (r#""a","b""#, &["a", "b"]),
            ("\"a\",\"b\"\r\n", &["a", "b"]),
            (r#""a,b",c"#, &["a,b", "c"]),
            (r#""say ""hi""",c"#, &[r#"say "hi""#, "c"]),
            (r#"1, "a,b" ,2"#, &["1", "a,b", "2"]),
            (r#""",x"#, &["", "x"]),
            (r#"5" pipe,6" pipe"#, &[r#"5" pipe"#, r#"6" pipe"#]),
            (r#""a"b,c"#, &["ab", "c"]),
            ("a;b\t,c", &["a;b", "c"]),
        ];
        for (text, fields) in cases {
            let all = split(text.as_bytes(), Delimiter::Comma).unwrap();
            assert_eq!(all.len(), 1, "{text}");
            assert_eq!(all[0].1, fields, "{text}");
        }
    }

    #[test]
    fn rows_keep_their_true_lines() {
        let text = "\n  \na,b\r\n\r\n\"x\ny\",2\n,\n3,4";
        let all = split(text.as_bytes(), Delimiter::Comma).unwrap();
        let lines: Vec<u64> = all.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [3, 5, 7, 8]);
        assert_eq!(all[1].1, ["x\ny", "2"]);
    }

    #[test]
    fn a_line_of_tabs_is_blank_only_between_other_delimiters() {
        assert_eq!(split(b"a\tb\n\t\n", Delimiter::Tab).unwrap().len(), 2);
        assert_eq!(split(b"a,b\n\t\n", Delimiter::Comma).unwrap().len(), 1);
    }

    #[test]
    fn damage_is_named_with_its_line() {
        let utf8 = "t.csv, line 3: this is not UTF-8 text; save the file as UTF-8";
        let cut = "t.csv, line 3: a quoted field is opened here and never closed; the file may be \
                   cut off";
        let binary = "t.csv does not look like a CSV file: it holds NUL bytes, as binary and \
                      UTF-16 files do";
        let cases: [(&[u8], &str); 6] = [
            (b"a\n1\n\xff\n", utf8),
            (b"a\n\"1\n\xff\"\n", utf8),
            (b"a,b\n1,2\n3,\"x", cut),
            (b"a,b\n1,2\n3,\"x\n4,5\n", cut),
            (b"a,b\n1,\"2\n3\",\"x\n4,5\n", cut),
            (b"a,b\n\x00,2\n", binary),
        ];
        for (text, message) in cases {
            let error = split(text, Delimiter::Comma).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }
}
