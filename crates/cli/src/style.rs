//! Formats numbers and tables for a terminal.

use raysum_table::escaped;

/// A number with four significant digits, without an exponent where that is readable.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".into();
    }
    if !(1e-3..1e6).contains(&size) {
        return format!("{value:.3e}");
    }
    let decimals = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.decimals$}")
}

/// Rows of cells in aligned columns: the first left-aligned, the others right-aligned.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    // Cells may contain names of the user's columns.
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| escaped(cell)).collect()).collect();
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |k: usize| {
        let cells = rows.iter().filter_map(|row| row.get(k));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::from(" ");
        for (k, cell) in row.iter().enumerate() {
            let gap = " ".repeat(widths[k].saturating_sub(cell.chars().count()));
            line += &if k == 0 { format!(" {cell}{gap}") } else { format!("  {gap}{cell}") };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// A bar of at most `width` characters for a share between 0 and 1.
pub(crate) fn bar(share: f64, width: usize) -> String {
    "█".repeat((share.clamp(0.0, 1.0) * width as f64).round() as usize)
}

/// A number of seconds in a unit that suits it.
pub fn seconds(value: f64) -> String {
    if value < 0.1 {
        format!("{:.0} ms", value * 1e3)
    } else if value < 90.0 {
        format!("{value:.1} s")
    } else {
        format!("{:.1} min", value / 60.0)
    }
}

/// "1 row", "2 rows".
pub(crate) fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_four_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1.000"),
            (-0.012_346, "-0.01235"),
            (123.456, "123.5"),
            (98765.4, "98765"),
            (1.5e9, "1.500e9"),
            (2.5e-7, "2.500e-7"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn tables_line_up() {
        let rows = [vec!["a".into(), "10".into()], vec!["bcd".into(), "9".into()]];
        assert_eq!(columns(&rows), "  a    10\n  bcd   9\n");
        let rows = [vec!["a\n\u{1b}[1m".into(), "1".into()]];
        assert_eq!(columns(&rows), "  a\\n\\u{1b}[1m  1\n");
    }
}
