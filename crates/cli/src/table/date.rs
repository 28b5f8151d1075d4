//! Dates and times as numbers: days since the start of 1970, in UTC.

/// Seconds of a day.
pub(super) const DAY: f64 = 86_400.0;

/// The days that a date stands for, if it is one: `2026-11-16`, `2026/11/16`, and with a time after a
/// blank or a `T`: `12:30`, `12:30:05.25`, each with an offset `Z` or `+01:00` or none.
pub(super) fn days(text: &str) -> Option<f64> {
    let (date, time) = match text.find(['T', ' ', 't']) {
        Some(at) => (text.get(..at)?, Some(text.get(at + 1..)?.trim_start())),
        None => (text, None),
    };
    let separator = if date.contains('/') { '/' } else { '-' };
    let mut parts = date.split(separator);
    let (year, month, day) =
        (number(parts.next()?, 4)?, number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let real = (1..=12).contains(&month) && (1..=length(year, month)).contains(&day);
    if !real || parts.next().is_some() {
        return None;
    }
    let days = f64::from(days_from_civil(year, month, day));
    Some(match time {
        Some(time) => days + seconds(time)? / DAY,
        None => days,
    })
}

/// Digits only, so many of them.
fn number(text: &str, digits: usize) -> Option<i32> {
    let right = text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
    if right { text.parse().ok() } else { None }
}

/// Seconds since midnight in UTC.
fn seconds(text: &str) -> Option<f64> {
    let (clock, offset) = match text.find(['Z', 'z', '+', '-']) {
        Some(at) => (text.get(..at)?, offset(text.get(at..)?)?),
        None => (text, 0.0),
    };
    let mut parts = clock.trim_end().split(':');
    let (hour, minute) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let second = match parts.next() {
        Some(text) => {
            let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
            let fraction = !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
            number(whole, 2).filter(|_| fraction)?;
            text.parse::<f64>().ok()?
        }
        None => 0.0,
    };
    let real = hour < 24 && minute < 60 && second < 61.0 && parts.next().is_none();
    real.then(|| f64::from(hour * 3600 + minute * 60) + second - offset)
}

/// Seconds that a clock is ahead of UTC: `Z`, `+01:00`, `+0100`, `+01`.
fn offset(text: &str) -> Option<f64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0.0);
    }
    let (sign, rest) = text.split_at_checked(1)?;
    let (hours, minutes) = match rest.split_once(':') {
        Some(both) => both,
        None => rest.split_at_checked(2)?,
    };
    let minutes = if minutes.is_empty() { 0 } else { number(minutes, 2)? };
    let seconds = f64::from(number(hours, 2)? * 3600 + minutes * 60);
    Some(if sign == "-" { -seconds } else { seconds })
}

fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// The number of days of a month.
fn length(year: i32, month: i32) -> i32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since the start of 1970 in the Gregorian calendar. Years start in March here, so that the
/// leap day is the last one.
fn days_from_civil(year: i32, month: i32, day: i32) -> i32 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days_since_1970() {
        let cases = [
            ("1970-01-01", 0.0),
            ("1969-12-31", -1.0),
            ("2000-02-29", 11_016.0),
            ("2026/11/16", 20_773.0),
            ("1970-01-02T12:00", 1.5),
            ("1970-01-02 12:00:00", 1.5),
            ("1970-01-01T06:00:00.000Z", 0.25),
            ("1970-01-01 07:00:00+01:00", 0.25),
            ("1970-01-01T00:00:00-0600", 0.25),
            ("1970-01-01T06:00:21.6", 0.25025),
        ];
        for (text, expected) in cases {
            let found = days(text).unwrap_or(f64::NAN);
            assert!((found - expected).abs() < 1e-9, "{text}: {found}");
        }
        // Day by day, across every kind of year.
        let mut before = days_from_civil(1890, 1, 1) - 1;
        for year in 1890..=2110 {
            for month in 1..=12 {
                for day in 1..=length(year, month) {
                    assert_eq!(days_from_civil(year, month, day), before + 1);
                    before += 1;
                }
            }
        }
    }

    #[test]
    fn other_texts_are_no_dates() {
        for text in [
            "",
            "2026",
            "2026-11",
            "2026-13-01",
            "2026-02-29",
            "2026-2-9",
            "2026-11-16-01",
            "16-11-2026",
            "2026-11-16T",
            "2026-11-16T25:00",
            "2026-11-16T12:60",
            "2026-11-16T12:00:00.",
            "2026-11-16T12:00+1",
            "2026-11-16 noon",
            "2026-1é-16",
            "20é6-11-16",
            "+026-11-16",
        ] {
            assert_eq!(days(text), None, "{text}");
        }
    }
}
