//! Tests of dates and their orders.

use super::*;
use DateOrder::{DayFirst, MonthFirst, YearFirst};

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
        ("1970-01-01T00:00-06", 0.25),
        ("1970-01-01T06:00:21.6", 0.25025),
    ];
    for (text, expected) in cases {
        let found = days(text, YearFirst).unwrap_or(f64::NAN);
        assert!((found - expected).abs() < 1e-9, "{text}: {found}");
    }
    // Day by day, across every kind of year.
    let mut before = days("1889-12-31", YearFirst).unwrap();
    let mut count = 0;
    for year in 1890..=2110 {
        for (month, day) in (1..=12).flat_map(|m| (1..=31).map(move |d| (m, d))) {
            if let Some(now) = days(&format!("{year}-{month:02}-{day:02}"), YearFirst) {
                assert_eq!(now, before + 1.0);
                before = now;
                count += 1;
            }
        }
    }
    assert_eq!(count, 221 * 365 + 53);
}

#[test]
fn other_orders() {
    let cases = [
        ("31/01/2024", &[DayFirst][..]),
        ("01/31/2024", &[MonthFirst]),
        ("31.01.2024", &[DayFirst]),
        ("1.2.2024", &[DayFirst]),
        ("01/02/2024", &[DayFirst, MonthFirst]),
        ("1-2-2024", &[DayFirst, MonthFirst]),
        ("2024.01.31", &[YearFirst]),
        ("13/13/2024", &[]),
        ("31/02/2024", &[]),
        ("31/01/24", &[]),
    ];
    for (text, orders) in cases {
        for order in [YearFirst, DayFirst, MonthFirst] {
            assert_eq!(days(text, order).is_some(), orders.contains(&order), "{text}");
            assert_eq!(Orders::of(text).is_some_and(|o| o.has(order)), orders.contains(&order));
        }
    }
    let iso = days("2024-01-31", YearFirst);
    for (text, order) in
        [("31/01/2024", DayFirst), ("01/31/2024", MonthFirst), ("31.1.2024", DayFirst)]
    {
        assert_eq!(days(text, order), iso, "{text}");
    }
    assert_eq!(days("31.01.2024 06:00", DayFirst), iso.map(|days| days + 0.25));
    let both = Orders::of("01/02/2024").unwrap();
    assert_eq!(both.only(), None);
    assert_eq!(both.and(Orders::of("31/01/2024").unwrap()).only(), Some(DayFirst));
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
        "2026-11-16T",
        "2026-11-16T25:00",
        "2026-11-16T12:60",
        "2026-11-16T12:00:00.",
        "2026-11-16T12:00+1",
        "2026-11-16 noon",
        "2026-1é-16",
        "20é6-11-16",
        "+026-11-16",
        "12.5",
        "1.234.567",
    ] {
        assert_eq!(Orders::of(text), None, "{text}");
    }
}

#[test]
fn a_moment_is_one_number_from_any_source() {
    let text = days("2026-11-16T06:00:21.123456789", YearFirst);
    let nanos = (20_773 * 86_400 + 6 * 3600 + 21) * 1_000_000_000_i128 + 123_456_789;
    assert_eq!(text, Some(days_of(nanos)));
    assert_eq!(days_of(-DAY_NANOS / 4), -0.25);
}
