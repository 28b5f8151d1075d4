//! Dates and times as numbers: days since the start of 1970, in UTC.

use chrono::{Datelike, FixedOffset, NaiveDate, NaiveTime, Timelike};
use raysum::schema::DateOrder;

/// Nanoseconds of a day.
pub(crate) const DAY_NANOS: i128 = 86_400_000_000_000;

/// The orders of year, month and day in which a set of texts are dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Orders {
    year_first: bool,
    day_first: bool,
    month_first: bool,
}

impl Orders {
    /// Every order, as for an empty set of texts.
    pub(crate) const ALL: Self = Self { year_first: true, day_first: true, month_first: true };

    /// The orders in which this is a date; `None` if there are none.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let is = |order| days(text, order).is_some();
        let found = Self {
            year_first: is(DateOrder::YearFirst),
            day_first: is(DateOrder::DayFirst),
            month_first: is(DateOrder::MonthFirst),
        };
        (!found.are_none()).then_some(found)
    }

    /// Whether there is no possible order.
    pub(crate) fn are_none(self) -> bool {
        !(self.year_first || self.day_first || self.month_first)
    }

    /// The orders that both have.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            year_first: self.year_first && other.year_first,
            day_first: self.day_first && other.day_first,
            month_first: self.month_first && other.month_first,
        }
    }

    /// The order, if it is unique.
    pub(crate) fn only(self) -> Option<DateOrder> {
        match (self.year_first, self.day_first, self.month_first) {
            (true, false, false) => Some(DateOrder::YearFirst),
            (false, true, false) => Some(DateOrder::DayFirst),
            (false, false, true) => Some(DateOrder::MonthFirst),
            _ => None,
        }
    }

    /// Whether this order is one of them.
    pub(crate) fn has(self, order: DateOrder) -> bool {
        match order {
            DateOrder::YearFirst => self.year_first,
            DateOrder::DayFirst => self.day_first,
            DateOrder::MonthFirst => self.month_first,
        }
    }
}

/// The days since 1970 of a date in this order: `2026-11-16`, `16.11.2026`, `11/16/2026`, and with
/// a time after a blank or a `T`: `12:30`, `12:30:05.25`, each with an offset `Z` or `+01:00` or
/// none.
pub(crate) fn days(text: &str, order: DateOrder) -> Option<f64> {
    let (date, time) = match text.find(['T', ' ', 't']) {
        Some(at) => (text.get(..at)?, Some(text.get(at + 1..)?.trim_start())),
        None => (text, None),
    };
    let date = calendar_day(date, order)?;
    let whole = i128::from(date.signed_duration_since(NaiveDate::default()).num_days());
    let nanos = time.map_or(Some(0), nanos_of_day)?;
    Some(days_of(whole * DAY_NANOS + nanos))
}

/// Nanoseconds since the start of 1970 as days. The same moment gives the same number in any unit.
pub(crate) fn days_of(nanos: i128) -> f64 {
    let (whole, rest) = (nanos.div_euclid(DAY_NANOS), nanos.rem_euclid(DAY_NANOS));
    whole as f64 + rest as f64 / DAY_NANOS as f64
}

/// Days since 1970 as dates, with the time to the second if one of them is not midnight.
pub(crate) fn texts_of(days: &[f64]) -> Vec<String> {
    const SECONDS: f64 = 86_400.0;
    let seconds: Vec<i64> = days.iter().map(|days| (days * SECONDS).round() as i64).collect();
    let midnight = seconds.iter().all(|s| s.rem_euclid(SECONDS as i64) == 0);
    let text = |(seconds, days): (&i64, &f64)| {
        let Some(time) = chrono::DateTime::from_timestamp(*seconds, 0) else {
            return days.to_string();
        };
        let date = time.date_naive();
        let date = format!("{:04}-{:02}-{:02}", date.year(), date.month(), date.day());
        if midnight {
            return date;
        }
        let clock = time.time();
        format!("{date}T{:02}:{:02}:{:02}", clock.hour(), clock.minute(), clock.second())
    };
    seconds.iter().zip(days).map(text).collect()
}

fn calendar_day(text: &str, order: DateOrder) -> Option<NaiveDate> {
    let mark = ['-', '/', '.'].into_iter().find(|mark| text.contains(*mark))?;
    let mut parts = text.split(mark);
    let parts = [parts.next()?, parts.next()?, parts.next().filter(|_| parts.next().is_none())?];
    let (year, month, day) = match order {
        DateOrder::YearFirst => (parts[0], parts[1], parts[2]),
        DateOrder::DayFirst => (parts[2], parts[1], parts[0]),
        // With points the day comes first: 01.31.2024 is not in use.
        DateOrder::MonthFirst if mark == '.' => return None,
        DateOrder::MonthFirst => (parts[2], parts[0], parts[1]),
    };
    // Before a year, day and month may lack leading zeros.
    let short = if order == DateOrder::YearFirst { 2 } else { 1 };
    let number = |text: &str, least: usize, most: usize| -> Option<u32> {
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        let sound = digits && (least..=most).contains(&text.len());
        sound.then(|| text.parse().ok())?
    };
    let year = number(year, 4, 4)?.try_into().ok()?;
    NaiveDate::from_ymd_opt(year, number(month, short, 2)?, number(day, short, 2)?)
}

/// Nanoseconds since midnight in UTC.
fn nanos_of_day(text: &str) -> Option<i128> {
    let (clock, offset) = match text.find(['Z', 'z', '+', '-']) {
        Some(at) => (text.get(..at)?.trim_end(), offset(text.get(at..)?)?),
        None => (text.trim_end(), 0),
    };
    let complete = clock.bytes().all(|b| b.is_ascii_digit() || b == b':' || b == b'.')
        && clock.split(':').all(|part| part.len() >= 2 && !part.ends_with('.'));
    if !complete {
        return None;
    }
    let time = ["%H:%M", "%H:%M:%S%.f"]
        .into_iter()
        .find_map(|format| NaiveTime::parse_from_str(clock, format).ok())?;
    // A leap second can have more nanoseconds than a second.
    let seconds = i128::from(time.num_seconds_from_midnight()) - i128::from(offset);
    Some(seconds * 1_000_000_000 + i128::from(time.nanosecond()))
}

/// Seconds that a clock is ahead of UTC: `Z`, `+01:00`, `+0100`, `+01`.
fn offset(text: &str) -> Option<i32> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let hours_only = text.len() == 3;
    let offset: FixedOffset =
        if hours_only { format!("{text}:00").parse().ok()? } else { text.parse().ok()? };
    Some(offset.local_minus_utc())
}

#[cfg(test)]
mod tests;
