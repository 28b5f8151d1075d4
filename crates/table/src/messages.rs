//! Common wording of messages about tables: locations, names, lists, counts and hints.

use std::fmt::Write;

/// Maximum number of names that a message lists.
const LISTED: usize = 12;
/// Maximum number of characters that a message quotes from a user's text.
const SHOWN: usize = 40;

/// The audience of messages, which determines their hints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// Users of the command line, with options.
    #[default]
    CommandLine,
    /// Callers of functions, with keyword arguments.
    Python,
}

impl Audience {
    /// How to leave a column out.
    pub(crate) fn drop_column(self, column: &str) -> String {
        match self {
            Self::CommandLine => format!("use {}", option("--drop", column)),
            Self::Python => "drop the column".into(),
        }
    }

    /// What to do about missing values, in a table to fit or in a later one.
    pub(crate) fn allow_missing(self, fitting: bool) -> &'static str {
        match (self, fitting) {
            (Self::CommandLine, true) => "use --missing indicate, --missing mean or --missing drop",
            (Self::CommandLine, false) => "use --missing drop or --missing mean",
            (Self::Python, true) => "use missing='indicate', missing='mean' or missing='drop'",
            (Self::Python, false) => "use missing='mean', or leave such rows out",
        }
    }

    /// How to keep more categories of a text column.
    pub(crate) fn keep_categories(self) -> &'static str {
        match self {
            Self::CommandLine => "use --categories N to keep more",
            Self::Python => "use categories=N to keep more",
        }
    }

    /// How to leave out rows without a target, weight or noise, which cannot be filled in.
    pub(crate) fn drop_rows(self) -> &'static str {
        match self {
            Self::CommandLine => "use --missing drop to leave out such rows",
            Self::Python => "use missing='drop' to leave out such rows",
        }
    }

    /// How to say which mark separates the fraction.
    pub(crate) fn say_decimal(self) -> &'static str {
        match self {
            Self::CommandLine => "use --decimal comma or --decimal point",
            Self::Python => "turn the texts into numbers first",
        }
    }

    /// How to say in which order day and month stand.
    pub(crate) fn say_dates(self) -> &'static str {
        match self {
            Self::CommandLine => "use --dates day-first or --dates month-first",
            Self::Python => "turn the texts into dates first",
        }
    }
}

/// A remark on a table that was read successfully.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Information about what was done.
    Remark(String),
    /// A warning about a possibly unintended result.
    Caution(String),
}

impl Note {
    /// The sentence.
    pub fn text(&self) -> &str {
        match self {
            Self::Remark(text) | Self::Caution(text) => text,
        }
    }
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text())
    }
}

/// A text that is safe to print: control characters, and those that reorder or hide text, are
/// escaped.
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|c| push_escaped(&mut shown, c));
    shown
}

fn push_escaped(shown: &mut String, c: char) {
    match c {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        c if is_obeyed(c) => write!(shown, "\\u{{{:x}}}", c as u32).unwrap_or_default(),
        c => shown.push(c),
    }
}

/// Whether a terminal interprets a character instead of showing it: control characters, and those
/// that reorder or hide text.
pub fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
        )
}

/// A user's text in quotes, short, escaped and on one line.
pub(crate) fn quoted(text: &str) -> String {
    let mut shown = String::from("'");
    text.chars().take(SHOWN).for_each(|c| push_escaped(&mut shown, c));
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown.push('\'');
    shown
}

/// The first names in quotes, and how many more there are.
pub(crate) fn names<'a>(all: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = all.len().saturating_sub(LISTED);
    let listed = every(all.take(LISTED));
    if more == 0 { listed } else { format!("{listed} and {more} more") }
}

/// All names in quotes.
pub(crate) fn every<'a>(all: impl Iterator<Item = &'a str>) -> String {
    all.map(quoted).collect::<Vec<_>>().join(", ")
}

/// A count with its noun, in the plural unless it is 1.
pub(crate) fn count(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// An option with its value, quoted for a shell.
fn option(flag: &str, value: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        format!("{flag} {value}")
    } else {
        format!("{flag} '{}'", escaped(value).replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_shortened_and_kept_on_one_line() {
        assert_eq!(quoted("abc"), "'abc'");
        assert_eq!(quoted("a\nb\t"), r"'a\nb\t'");
        assert_eq!(quoted(&"é".repeat(40)), format!("'{}'", "é".repeat(40)));
        assert_eq!(quoted(&"é".repeat(41)), format!("'{}…'", "é".repeat(40)));
    }

    #[test]
    fn no_text_speaks_to_the_terminal() {
        assert_eq!(escaped("\u{1b}[31mred\u{7}"), r"\u{1b}[31mred\u{7}");
        assert_eq!(escaped("\u{9b}2J"), r"\u{9b}2J");
        assert_eq!(escaped("\u{202e}cod\u{200b}"), r"\u{202e}cod\u{200b}");
        assert_eq!(escaped("Größe, 日本, €"), "Größe, 日本, €");
    }

    #[test]
    fn lists_and_counts() {
        assert_eq!(names(["a", "b"].into_iter()), "'a', 'b'");
        assert!(names(vec!["x"; 13].into_iter()).ends_with("'x' and 1 more"));
        assert_eq!(count(1, "row"), "1 row");
        assert_eq!(count(0, "row"), "0 rows");
    }

    #[test]
    fn option_values_survive_a_shell() {
        let cases = [("age", "--drop age"), ("my age", "--drop 'my age'"), ("", "--drop ''")];
        for (value, written) in cases {
            assert_eq!(option("--drop", value), written);
        }
        assert_eq!(option("--drop", "it's"), r"--drop 'it'\''s'");
    }
}
