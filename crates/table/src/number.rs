//! Numbers as people write them: decimal commas, groups of digits, currency and per cent signs.
//!
//! A single text is often ambiguous: `1,234` may be 1.234 or 1234. Each text therefore first gives
//! a [`Spelling`], the possible meanings of each mark. The spellings of a whole column are merged,
//! and a format is chosen that reads all of its texts.

use raysum::schema::{DecimalMark, Grouping, NumberFormat};

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
    pub(crate) unit: NumberUnit,
}

/// The sign beside the digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum NumberUnit {
    /// No number has been seen yet.
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
    /// Two formats fit, with different values.
    Ambiguous,
    /// No format fits.
    Contradictory,
}

impl Spelling {
    /// The spelling of a text, if it is a finite number or an infinity.
    pub(crate) fn of(text: &str) -> Option<Self> {
        if text.parse::<f64>().is_ok_and(|value| !value.is_nan()) {
            return Some(Self { point: point_mark(text), ..Self::plain() });
        }
        let Parts { unit, body, .. } = Parts::of(text)?;
        let digits = Digits::of(body)?;
        Some(Self { unit: NumberUnit::Same(unit), ..digits.spelling()? })
    }

    /// Digits alone.
    pub(crate) fn plain() -> Self {
        Self { unit: NumberUnit::Same(None), ..Self::default() }
    }

    /// The merged spelling of two sets of texts.
    pub(crate) fn merge(self, other: Self) -> Self {
        Self {
            comma: self.comma.merge(other.comma),
            point: self.point.merge(other.point),
            space: self.space || other.space,
            apostrophe: self.apostrophe || other.apostrophe,
            unit: match (self.unit, other.unit) {
                (NumberUnit::Unknown, unit) | (unit, NumberUnit::Unknown) => unit,
                (a, b) if a == b => a,
                _ => NumberUnit::Mixed,
            },
        }
    }

    /// The decimal mark, if it is unambiguous.
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

    /// The format that reads all numbers of a column. `forced` is the decimal mark given by the
    /// user, `usual` that of the table's other columns.
    pub(crate) fn format(
        self,
        forced: Option<DecimalMark>,
        usual: Option<DecimalMark>,
    ) -> Result<NumberFormat, NoFormat> {
        let NumberUnit::Same(unit) = self.unit else { return Err(NoFormat::Contradictory) };
        // Amounts of money do not have three decimals.
        let money = unit.filter(|sign| *sign != '%').map(|_| DecimalMark::Point);
        let decimal = match (forced.or(self.decimal()), self.comma, self.point) {
            (Some(decimal), _, _) => decimal,
            (None, Mark::Absent, Mark::Absent) => DecimalMark::Point,
            // The format of plain numbers.
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

/// Reads a number of a known format; infinite if it is too large. The unit of the format is
/// required unless the format is that of an earlier table (`known`); then groups of digits are
/// accepted, too.
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
    // Unambiguous groups are accepted in later tables.
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

    /// The possible meanings of the marks; `None` if the text is not a number.
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

    /// Whether all runs but the first have three digits.
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
mod tests;
