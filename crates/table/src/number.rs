//! Numbers as people write them: decimal commas, groups of digits, currency and per cent signs.
//!
//! A text alone often does not say what its comma means: `1,234` may be 1.234 or 1234. So a text is
//! first *spelled*, which tells what each mark can mean ([`Spelling`]), the spellings of a whole
//! column are merged, and only then a format is found that all of its texts are read with.

use raysum::{DecimalMark, Grouping, NumberFormat};

/// What a mark between digits can mean, over one or more texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mark {
    /// It does not occur.
    #[default]
    Absent,
    /// The fraction or a group of digits: `1,234`.
    Either,
    /// The fraction: `8,5`.
    Decimal,
    /// A group of digits: `1,234,567`.
    Group,
    /// One meaning in one text, and the other in another.
    Conflict,
}

impl Mark {
    fn merge(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Mark::Absent, other) | (other, Mark::Absent) => other,
            (Mark::Conflict, _) | (_, Mark::Conflict) => Mark::Conflict,
            (Mark::Either, other) | (other, Mark::Either) => other,
            (Mark::Decimal | Mark::Group, _) => Mark::Conflict,
        }
    }
}

/// Which marks a number, or a column of them, is written with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spelling {
    pub(crate) comma: Mark,
    pub(crate) point: Mark,
    pub(crate) space: bool,
    pub(crate) apostrophe: bool,
    pub(crate) unit: Unit,
}

/// The sign beside the digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Unit {
    /// None has been looked at yet.
    #[default]
    Unknown,
    /// The same for all, or none.
    Same(Option<char>),
    /// Not the same for all.
    Mixed,
}

/// Why no format fits a column of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoFormat {
    /// Two formats do, with different values.
    Ambiguous,
    /// None does.
    Contradictory,
}

impl Spelling {
    /// How a text is written, if it is a finite number or an infinity.
    pub(crate) fn of(text: &str) -> Option<Self> {
        if text.parse::<f64>().is_ok_and(|value| !value.is_nan()) {
            return Some(Self { point: point_mark(text), ..Self::plain() });
        }
        let Parts { unit, body, .. } = Parts::of(text)?;
        let digits = Digits::of(body)?;
        Some(Self { unit: Unit::Same(unit), ..digits.spelling()? })
    }

    /// Digits alone.
    pub(crate) fn plain() -> Self {
        Self { unit: Unit::Same(None), ..Self::default() }
    }

    /// Of both.
    pub(crate) fn merge(self, other: Self) -> Self {
        Self {
            comma: self.comma.merge(other.comma),
            point: self.point.merge(other.point),
            space: self.space || other.space,
            apostrophe: self.apostrophe || other.apostrophe,
            unit: match (self.unit, other.unit) {
                (Unit::Unknown, unit) | (unit, Unit::Unknown) => unit,
                (a, b) if a == b => a,
                _ => Unit::Mixed,
            },
        }
    }

    /// The mark of the fraction, where the spelling leaves no doubt.
    pub(crate) fn decimal(self) -> Option<DecimalMark> {
        match (self.comma, self.point) {
            (Mark::Conflict, _)
            | (_, Mark::Conflict)
            | (Mark::Decimal, Mark::Decimal)
            | (Mark::Group, Mark::Group) => None,
            (Mark::Decimal, _) | (_, Mark::Group) => Some(DecimalMark::Comma),
            (_, Mark::Decimal) | (Mark::Group, _) => Some(DecimalMark::Point),
            // Groups are written with one mark only.
            (Mark::Either, Mark::Absent) if self.space || self.apostrophe => {
                Some(DecimalMark::Comma)
            }
            (Mark::Absent, Mark::Either) if self.space || self.apostrophe => {
                Some(DecimalMark::Point)
            }
            _ => None,
        }
    }

    /// The format that reads all numbers of a column. `forced` is the mark that the user names,
    /// `usual` the one of the table's other columns.
    pub(crate) fn format(
        self,
        forced: Option<DecimalMark>,
        usual: Option<DecimalMark>,
    ) -> Result<NumberFormat, NoFormat> {
        let Unit::Same(unit) = self.unit else { return Err(NoFormat::Contradictory) };
        // Amounts of money do not have three decimals.
        let money = unit.filter(|sign| *sign != '%').map(|_| DecimalMark::Point);
        let decimal = match (forced.or(self.decimal()), self.comma, self.point) {
            (Some(decimal), _, _) => decimal,
            (None, Mark::Absent, Mark::Absent) => DecimalMark::Point,
            // What plain numbers look like.
            (None, Mark::Absent, Mark::Either) => usual.unwrap_or(DecimalMark::Point),
            (None, Mark::Either, Mark::Absent | Mark::Either) => {
                usual.or(money).ok_or(NoFormat::Ambiguous)?
            }
            (None, _, _) => return Err(NoFormat::Contradictory),
        };
        let (own, other, group) = match decimal {
            DecimalMark::Point => (self.point, self.comma, Grouping::Comma),
            DecimalMark::Comma => (self.comma, self.point, Grouping::Point),
        };
        let sound = matches!(own, Mark::Absent | Mark::Either | Mark::Decimal)
            && matches!(other, Mark::Absent | Mark::Either | Mark::Group);
        let groupings = [
            (other != Mark::Absent).then_some(group),
            self.space.then_some(Grouping::Space),
            self.apostrophe.then_some(Grouping::Apostrophe),
        ];
        let mut groupings = groupings.into_iter().flatten();
        let grouping = groupings.next();
        if !sound || groupings.next().is_some() {
            return Err(NoFormat::Contradictory);
        }
        Ok(NumberFormat { decimal, grouping, unit: unit.map(String::from) })
    }
}

/// What the point of a plain number can mean.
pub(crate) fn point_mark(text: &str) -> Mark {
    let Some((lead, fraction)) = text.split_once('.') else { return Mark::Absent };
    let lead = lead.trim_start_matches(['+', '-']);
    let group = fraction.len() == 3 && fraction.bytes().all(|b| b.is_ascii_digit());
    if group && starts_groups(lead) { Mark::Either } else { Mark::Decimal }
}

/// Whether digits can stand before the first mark between groups.
fn starts_groups(lead: &str) -> bool {
    (1..=3).contains(&lead.len()) && !lead.starts_with('0')
}

/// Reads a number of a known format; infinite if it is too large. At least the unit of the format
/// has to be there unless the format is that of other tables (`known`), which also may be the first
/// to have groups of digits.
pub(crate) fn parse(text: &str, format: &NumberFormat, known: bool) -> Option<f64> {
    let expected = format.unit.as_deref().and_then(|unit| unit.chars().next());
    if format.decimal == DecimalMark::Point && (expected.is_none() || known) {
        match text.parse::<f64>() {
            Ok(value) if value.is_nan() => return None,
            Ok(value) => return Some(value),
            Err(_) => {}
        }
    }
    if let Some(infinity) = infinity(text) {
        return Some(infinity);
    }
    let Parts { negative, unit, body } = Parts::of(text)?;
    if unit != expected && !(known && unit.is_none()) {
        return None;
    }
    let spelling = Digits::of(body)?.spelling()?;
    let (own, other, group) = match format.decimal {
        DecimalMark::Point => (spelling.point, spelling.comma, Grouping::Comma),
        DecimalMark::Comma => (spelling.comma, spelling.point, Grouping::Point),
    };
    // Groups that cannot be anything else are fine in a table that follows.
    let may_group = |grouping| format.grouping == Some(grouping);
    let surely = |grouping| may_group(grouping) || (known && format.grouping.is_none());
    let sound = own != Mark::Group
        && match other {
            Mark::Absent => true,
            Mark::Either => may_group(group),
            Mark::Group => surely(group),
            Mark::Decimal | Mark::Conflict => false,
        }
        && (!spelling.space || surely(Grouping::Space))
        && (!spelling.apostrophe || surely(Grouping::Apostrophe));
    if !sound {
        return None;
    }
    let decimal = if format.decimal == DecimalMark::Point { '.' } else { ',' };
    let mut plain = String::with_capacity(body.len() + 1);
    if negative {
        plain.push('-');
    }
    for c in body.chars() {
        match c {
            c if c == decimal => plain.push('.'),
            '0'..='9' | 'e' | 'E' | '+' | '-' => plain.push(c),
            _ => {}
        }
    }
    plain.parse().ok()
}

fn infinity(text: &str) -> Option<f64> {
    // Words only: digits are read with their marks.
    let word = text.bytes().all(|b| b.is_ascii_alphabetic() || b == b'+' || b == b'-');
    text.parse::<f64>().ok().filter(|value| word && value.is_infinite())
}

/// A text without its sign and unit.
struct Parts<'a> {
    negative: bool,
    unit: Option<char>,
    body: &'a str,
}

impl<'a> Parts<'a> {
    /// Signs and a unit in front of digits, or a unit behind them: `-$5`, `$-5`, `5 €`, `3%`.
    fn of(text: &'a str) -> Option<Self> {
        let (mut sign, mut unit) = (None, None);
        let mut rest = text.trim();
        loop {
            let first = rest.chars().next()?;
            match first {
                '+' | '-' if sign.is_none() => sign = Some(first),
                c if is_currency(c) && unit.is_none() => unit = Some(c),
                _ => break,
            }
            rest = rest[first.len_utf8()..].trim_start();
        }
        if let Some(last) = rest.chars().next_back().filter(|c| is_currency(*c) || *c == '%') {
            if unit.is_some() {
                return None;
            }
            unit = Some(last);
            rest = rest[..rest.len() - last.len_utf8()].trim_end();
        }
        Some(Self { negative: sign == Some('-'), unit, body: rest })
    }
}

fn is_currency(c: char) -> bool {
    matches!(c, '$' | '¢'..='¥' | '֏' | '৳' | '฿' | '៛' | '₠'..='⃀' | '﷼' | '＄' | '￡' | '￥')
}

/// Runs of digits with marks between them.
struct Digits {
    /// Length of each run; one more than there are marks.
    runs: Vec<usize>,
    marks: Vec<char>,
    zero_first: bool,
    exponent: bool,
}

impl Digits {
    fn of(body: &str) -> Option<Self> {
        let (mantissa, exponent) = match body.find(['e', 'E']) {
            Some(at) => (&body[..at], Some(&body[at + 1..])),
            None => (body, None),
        };
        if let Some(exponent) = exponent {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            let sound = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            sound.then_some(())?;
        }
        let mut digits = Self {
            runs: vec![0],
            marks: Vec::new(),
            zero_first: mantissa.starts_with('0'),
            exponent: exponent.is_some(),
        };
        for c in mantissa.chars() {
            match c {
                '0'..='9' => *digits.runs.last_mut()? += 1,
                ',' | '.' => digits.mark(c),
                ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}' => digits.mark(' '),
                '\'' | '\u{2019}' => digits.mark('\''),
                _ => return None,
            }
        }
        digits.runs.iter().any(|run| *run > 0).then_some(digits)
    }

    fn mark(&mut self, mark: char) {
        self.marks.push(mark);
        self.runs.push(0);
    }

    /// What the marks can mean; `None` if they make no number.
    fn spelling(&self) -> Option<Spelling> {
        let mut spelling = Spelling::plain();
        let Some((&last, before)) = self.marks.split_last() else { return Some(spelling) };
        if before.is_empty() && matches!(last, ',' | '.') {
            let group = self.are_groups(&self.runs) && !self.exponent;
            let meaning = if group { Mark::Either } else { Mark::Decimal };
            spelling.set(last, meaning);
            return Some(spelling);
        }
        let first = self.marks[0];
        if self.marks.iter().all(|mark| *mark == first) {
            self.are_groups(&self.runs).then_some(())?;
            spelling.set(first, Mark::Group);
            return Some(spelling);
        }
        // Groups, then a fraction.
        let (fraction, groups) = self.runs.split_last()?;
        let sound = before.iter().all(|mark| *mark == first)
            && matches!(last, ',' | '.')
            && self.are_groups(groups)
            && *fraction > 0;
        sound.then_some(())?;
        spelling.set(first, Mark::Group);
        spelling.set(last, Mark::Decimal);
        Some(spelling)
    }

    /// Whether runs are groups of three, but for the first.
    fn are_groups(&self, runs: &[usize]) -> bool {
        let (first, rest) = (runs[0], &runs[1..]);
        (1..=3).contains(&first) && !self.zero_first && rest.iter().all(|run| *run == 3)
    }
}

impl Spelling {
    fn set(&mut self, mark: char, meaning: Mark) {
        match mark {
            ',' => self.comma = meaning,
            '.' => self.point = meaning,
            '\'' => self.apostrophe = true,
            _ => self.space = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The format of a column of these texts, alone in its table.
    fn format(texts: &[&str]) -> Result<NumberFormat, NoFormat> {
        merged(texts).expect("numbers").format(None, None)
    }

    fn merged(texts: &[&str]) -> Option<Spelling> {
        let all = texts.iter().map(|text| Spelling::of(text));
        all.into_iter().try_fold(Spelling::default(), |sum, one| Some(sum.merge(one?)))
    }

    fn read(texts: &[&str]) -> Vec<f64> {
        let format = format(texts).unwrap();
        texts.iter().map(|text| parse(text, &format, false).unwrap()).collect()
    }

    #[test]
    fn columns_of_local_numbers() {
        let cases: [(&[&str], &[f64]); 16] = [
            (&["8,8", "95", "0,7"], &[8.8, 95.0, 0.7]),
            (&["1,234", "0,5"], &[1.234, 0.5]),
            (&["1.234,5", "1.234", "7"], &[1234.5, 1234.0, 7.0]),
            (&["1.234.567", "1,5"], &[1_234_567.0, 1.5]),
            (&["1,234,567", "84,000"], &[1_234_567.0, 84_000.0]),
            (&["84,000.5", "84,000"], &[84_000.5, 84_000.0]),
            (&["1 234", "12"], &[1234.0, 12.0]),
            (&["1\u{a0}234,5", "1,234"], &[1234.5, 1.234]),
            (&["1'234.5", "1\u{2019}000"], &[1234.5, 1000.0]),
            (&["$84,000", "$5"], &[84_000.0, 5.0]),
            (&["-$84,000", "$-5.25", "$ 7"], &[-84_000.0, -5.25, 7.0]),
            (&["5,00 €", "1.234,50 €"], &[5.0, 1234.5]),
            (&["3%", "-12.5 %"], &[3.0, -12.5]),
            (&["1,5E+03", "2,25e-1"], &[1500.0, 0.225]),
            (&[",5", "5,"], &[0.5, 5.0]),
            (&["0,700", "0,123"], &[0.7, 0.123]),
        ];
        for (texts, values) in cases {
            assert_eq!(read(texts), values, "{texts:?}");
        }
    }

    #[test]
    fn plain_numbers_stay_plain() {
        for text in ["1", "-1.5", "1.234", "+.5", "5.", "1e5", "-2E-3", "007", "inf"] {
            assert_eq!(format(&[text]), Ok(NumberFormat::default()), "{text}");
            let value = parse(text, &NumberFormat::default(), false);
            assert_eq!(value, text.parse().ok(), "{text}");
        }
    }

    #[test]
    fn doubt_is_told_from_contradiction() {
        for texts in [&["1,234"][..], &["1,234", "5"], &["1,234", "1.234"], &["3%", "1,234%"]] {
            let found = merged(texts).unwrap();
            if found.unit == Unit::Mixed {
                continue;
            }
            assert_eq!(format(texts), Err(NoFormat::Ambiguous), "{texts:?}");
            for (mark, group) in
                [(DecimalMark::Comma, Grouping::Point), (DecimalMark::Point, Grouping::Comma)]
            {
                let known = found.format(None, Some(mark)).unwrap();
                assert_eq!(known.decimal, mark);
                assert_eq!(found.format(Some(mark), None).unwrap(), known);
                assert!(known.grouping.is_none_or(|g| g == group));
            }
        }
        let contradictory: [&[&str]; 6] = [
            &["8,8", "8.8"],
            &["1,234,567", "1.234.567"],
            &["1,234,567", "8,8"],
            &["1 234", "1'234"],
            &["$5", "€5"],
            &["3%", "3"],
        ];
        for texts in contradictory {
            assert_eq!(format(texts), Err(NoFormat::Contradictory), "{texts:?}");
        }
        // What the user says is taken at its word.
        let spelling = merged(&["8,8", "95"]).unwrap();
        let forced = spelling.format(Some(DecimalMark::Point), None);
        assert_eq!(forced, Err(NoFormat::Contradictory));
    }

    #[test]
    fn a_table_with_decimal_commas_has_points_between_groups() {
        let spelling = merged(&["1.234", "10.000", "95"]).unwrap();
        assert_eq!(spelling.format(None, None), Ok(NumberFormat::default()));
        let german = spelling.format(None, Some(DecimalMark::Comma)).unwrap();
        assert_eq!(parse("10.000", &german, false), Some(10_000.0));
        // A fraction that cannot be a group stays one.
        let spelling = merged(&["1.5"]).unwrap();
        assert_eq!(spelling.format(None, Some(DecimalMark::Comma)), Ok(NumberFormat::default()));
    }

    #[test]
    fn other_texts_are_no_numbers() {
        for text in [
            "",
            "abc",
            "1,2,3",
            "1.2.3",
            "12,34,567",
            "1 2",
            "1  234",
            "0x10",
            "1_000",
            "--5",
            "5 kg",
            "$",
            "%",
            "5%%",
            "$5€",
            "e5",
            "1e",
            "−5",
            "nan",
            "1,234,56",
            "0,123,456",
            "2024-01-31",
            "31.01.2024",
            "12:30",
        ] {
            assert_eq!(Spelling::of(text), None, "{text}");
            for decimal in [DecimalMark::Point, DecimalMark::Comma] {
                let format = NumberFormat { decimal, ..NumberFormat::default() };
                assert_eq!(parse(text, &format, true), None, "{text}");
            }
        }
    }

    #[test]
    fn tables_that_follow_may_leave_out_signs() {
        let euros =
            NumberFormat { decimal: DecimalMark::Comma, grouping: None, unit: Some("€".into()) };
        for (text, value) in [
            ("5,5 €", Some(5.5)),
            ("5,5", Some(5.5)),
            ("1.234,5", Some(1234.5)),
            ("1.234.567", Some(1_234_567.0)),
            ("1,234", Some(1.234)),
            // A point that may be the other notation's.
            ("1.234", None),
            ("5.5", None),
            ("5,5 $", None),
        ] {
            assert_eq!(parse(text, &euros, true), value, "{text}");
        }
        assert_eq!(parse("5,5", &euros, false), None);
        assert_eq!(parse("1,234", &NumberFormat::default(), true), None);
        assert_eq!(parse("1,234.5", &NumberFormat::default(), true), Some(1234.5));
    }

    fn texts() -> impl Strategy<Value = String> {
        let body = "[0-9]{1,4}([,. '][0-9]{3}){0,2}([,.][0-9]{0,4})?";
        prop_oneof![
            4 => body.prop_map(|text| text),
            1 => body.prop_map(|text| format!("${text}")),
            1 => body.prop_map(|text| format!("{text}%")),
            1 => body.prop_map(|text| format!("-{text}")),
            1 => any::<f64>().prop_map(|v| v.to_string()),
        ]
    }

    proptest! {
        #[test]
        fn a_format_reads_every_number_it_was_found_for(
            texts in prop::collection::vec(texts(), 1..6),
            usual in prop::option::of(prop_oneof![Just(DecimalMark::Point), Just(DecimalMark::Comma)]),
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let Some(spelling) = merged(&texts) else { return Ok(()) };
            let Ok(format) = spelling.format(None, usual) else { return Ok(()) };
            for text in texts {
                let value = parse(text, &format, false);
                prop_assert!(value.is_some(), "{text} in {format:?}");
                prop_assert_eq!(parse(text, &format, true), value);
            }
        }

        #[test]
        fn a_number_is_the_same_however_it_is_written(value in -1e9_f64..1e9) {
            let plain = format!("{value:.3}");
            let (whole, fraction) = plain.trim_start_matches('-').split_once('.').unwrap();
            let mut groups: Vec<String> = Vec::new();
            let mut rest = whole;
            while rest.len() > 3 {
                let (before, group) = rest.split_at(rest.len() - 3);
                groups.insert(0, group.into());
                rest = before;
            }
            groups.insert(0, rest.into());
            let sign = if plain.starts_with('-') { "-" } else { "" };
            for (group, mark, decimal, grouping) in [
                (".", ",", DecimalMark::Comma, Grouping::Point),
                (",", ".", DecimalMark::Point, Grouping::Comma),
                (" ", ",", DecimalMark::Comma, Grouping::Space),
                ("'", ".", DecimalMark::Point, Grouping::Apostrophe),
            ] {
                let text = format!("{sign}{}{mark}{fraction}", groups.join(group));
                let format = NumberFormat { decimal, grouping: Some(grouping), unit: None };
                let read = parse(&text, &format, false);
                prop_assert_eq!(read, plain.parse().ok(), "{}", text);
            }
        }
    }
}
