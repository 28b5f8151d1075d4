//! The wording that messages about tables share: places, names, lists and counts.

/// How many names a message lists before it says how many more there are.
const LISTED: usize = 12;
/// How many characters of a user's text a message repeats.
const SHOWN: usize = 40;

/// The start of a message about one cell.
pub(super) fn at(file: &str, unit: &str, line: u64, column: &str) -> String {
    format!("{file}, {unit} {line}, column {}", quoted(column))
}

/// A user's text in quotes, short and on one line.
pub(super) fn quoted(text: &str) -> String {
    let mut shown: String =
        text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    format!("'{shown}'")
}

/// The first names in quotes, and how many more there are.
pub(super) fn names<'a>(all: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = all.len().saturating_sub(LISTED);
    let listed = every(all.take(LISTED));
    if more == 0 { listed } else { format!("{listed} and {more} more") }
}

/// All names in quotes.
pub(super) fn every<'a>(all: impl Iterator<Item = &'a str>) -> String {
    all.map(quoted).collect::<Vec<_>>().join(", ")
}

/// A number of things, in the plural where it should be.
pub(super) fn count(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// An option with its value, as a shell would take it.
pub(super) fn option(flag: &str, value: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        format!("{flag} {value}")
    } else {
        format!("{flag} '{}'", value.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_shortened_and_kept_on_one_line() {
        assert_eq!(quoted("abc"), "'abc'");
        assert_eq!(quoted("a\nb"), "'a b'");
        assert_eq!(quoted(&"é".repeat(40)), format!("'{}'", "é".repeat(40)));
        assert_eq!(quoted(&"é".repeat(41)), format!("'{}…'", "é".repeat(40)));
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
