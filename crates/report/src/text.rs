//! Text of the page: escaped names, numbers and percentages.

use raysum_table::escaped;

/// Characters that are shown of a name.
const SHOWN: usize = 32;
/// Characters of a name that are kept for a closer look.
const KEPT: usize = 200;

/// Text that HTML shows and never interprets.
pub(crate) fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A text of the user's in a sentence or a label: on one line, short, escaped.
pub(crate) fn short(text: &str) -> String {
    html(&cut(text, SHOWN))
}

/// A text of the user's that may be longer.
pub(crate) fn long(text: &str) -> String {
    html(&cut(text, KEPT))
}

/// The name of a column or a target, isolated from the direction of the text around it, with more of it
/// where it is cut.
pub(crate) fn name(text: &str) -> String {
    if text.chars().count() <= SHOWN {
        return format!("<bdi>{}</bdi>", short(text));
    }
    format!("<bdi title=\"{}\">{}</bdi>", long(text), short(text))
}

fn cut(text: &str, most: usize) -> String {
    // Isolates would be escaped if they came from the user.
    let mut shown: String = text.chars().take(most).collect();
    if text.chars().nth(most).is_some() {
        shown.pop();
        shown.push('…');
    }
    escaped(&shown)
}

/// The same for SVG, which has no element to isolate text.
pub(crate) fn label(text: &str, most: usize) -> String {
    format!("\u{2068}{}\u{2069}", html(&cut(text, most)))
}

/// A number with about four significant digits.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".into();
    }
    if !value.is_finite() {
        return "–".into();
    }
    if !(1e-3..1e7).contains(&size) {
        return minus(&format!("{value:.3e}"));
    }
    let decimals = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        grouped(&text)
    };
    minus(&text)
}

/// A count, with thousands apart.
pub(crate) fn count(value: usize) -> String {
    grouped(&value.to_string())
}

fn grouped(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let mut out = String::from(sign);
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) && digits.len() > 4 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn minus(text: &str) -> String {
    text.replace('-', "−")
}

/// A share in per cent, without decimals where it is large.
pub(crate) fn percent(share: f64) -> String {
    let value = 100.0 * share;
    match value.abs() {
        v if v >= 9.95 => minus(&format!("{value:.0} %")),
        _ => minus(&format!("{value:.1} %")),
    }
}

/// "1 row", "2 rows".
pub(crate) fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{} {noun}s", count(number)) }
}

/// Items of a sentence: "a", "a and b", "a, b and c".
pub(crate) fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_and_never_interpreted() {
        assert_eq!(name("<b>'&\""), "<bdi>&lt;b&gt;&#39;&amp;&quot;</bdi>");
        assert_eq!(name("a\u{202e}b"), "<bdi>a\\u{202e}b</bdi>");
        let long = "x".repeat(10_000);
        assert!(name(&long).len() < 300 && name(&long).contains('…'));
        assert!(label(&long, 12).chars().count() == 14);
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 1234.5678, -0.001_234_6, 1e9, 12_345_678.0, 20.0, 123_456.0].map(number);
        let expected = ["0", "1235", "−0.001235", "1.000e9", "1.235e7", "20", "123,456"];
        assert_eq!(shown, expected);
        assert_eq!((percent(0.056), percent(0.95)), ("5.6 %".into(), "95 %".into()));
        assert_eq!(
            (counted(1, "row"), counted(12_000, "row")),
            ("1 row".into(), "12,000 rows".into())
        );
        assert_eq!(listed(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    }
}
