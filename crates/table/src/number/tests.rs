//! Tests of numbers as people write them.

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
        if found.unit == NumberUnit::Mixed {
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
    // The user's option takes precedence.
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
