//! Tests of chunks to numbers.

use super::*;
use crate::evidence::Notation;
use crate::infer::SchemaOptions;
use crate::testing::{chunk, encode as encode_all, inferred, inferred_with, plan_and_read, schema};
use raysum::schema::{DecimalMark, NumberFormat};

/// Learns from a table whose last column is the target.
fn learn(text: &str) -> Schema {
    schema(text, "-1")
}

/// Reads and encodes another table.
fn apply(schema: &Schema, text: &str) -> Result<(EncodedChunk, Vec<String>)> {
    with(schema, text, Notation::default())
}

fn with(schema: &Schema, text: &str, notation: Notation) -> Result<(EncodedChunk, Vec<String>)> {
    let chunk = plan_and_read(schema, text, false, notation)?;
    let encoded = encode(schema, &chunk, EncodeOptions::default())?;
    encoded.report.check("t.csv")?;
    let notes = encoded.report.notes("t.csv");
    Ok((encoded, notes.iter().map(ToString::to_string).collect()))
}

fn message(schema: &Schema, text: &str) -> String {
    apply(schema, text).unwrap_err().to_string()
}

#[test]
fn numbers_and_categories() {
    let schema = learn("a,c,y\n1,u,5\n2,v,6\n");
    let table = chunk("c,y,a\nv,1,7\n\nu,2,8\n");
    let (encoded, notes) = encode_all(&schema, &table, Missing::Error, true).unwrap();
    assert_eq!((encoded.x.rows(), encoded.x.columns()), (2, 3));
    assert_eq!(encoded.x.as_slice(), [7.0, 0.0, 1.0, 8.0, 1.0, 0.0]);
    assert_eq!(encoded.labels.targets, [[1.0, 2.0]]);
    assert_eq!(encoded.kept, [0, 1]);
    assert!(notes.is_empty());
    assert!(apply(&schema, "c,a\nv,1\n").unwrap().0.labels.targets.is_empty());
}

#[test]
fn categories_that_are_numbers() {
    let schema = learn("c,y\n4,1\n05,2\nred,3\n");
    let cases = [
        // A column of nothing but numbers, and one of both.
        ("c\n4\n5\n05\n", &[[0, 1, 0], [1, 0, 0], [1, 0, 0]]),
        ("c\n4.0\n05\nred\n", &[[0, 1, 0], [1, 0, 0], [0, 0, 1]]),
    ];
    for (text, rows) in cases {
        let (encoded, notes) = apply(&schema, text).unwrap();
        let expected: Vec<f64> = rows.concat().into_iter().map(f64::from).collect();
        assert_eq!(encoded.x.as_slice(), expected);
        assert!(notes.is_empty(), "{notes:?}");
    }
}

#[test]
fn truth_values_match_however_they_are_spelled() {
    let schema = learn("c,y\nTrue,1\nFalse,2\n");
    assert_eq!(schema.features[0].kind, FeatureKind::Boolean);
    let (encoded, _) = apply(&schema, "c\ntrue\nFALSE\n1\n0\n").unwrap();
    assert_eq!(encoded.x.as_slice(), [1.0, 0.0, 1.0, 0.0]);
    let says = "t.csv, line 3, column 'c': 'no' is neither true nor false, but the model was \
                trained on booleans here";
    assert_eq!(message(&schema, "c\ntrue\nno\n"), says);
    let says = "t.csv, line 3, column 'c': '2' is neither true nor false";
    assert!(message(&schema, "c\n1\n2\n").starts_with(says));
    // Among other texts they are categories.
    let schema = learn("c,y\nTrue,1\nFalse,2\nmaybe,3\n");
    let (encoded, _) = apply(&schema, "c\nTRUE\nfalse\n").unwrap();
    assert_eq!(encoded.x.as_slice(), [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]);
    // Other texts are case-sensitive.
    let (encoded, _) = apply(&learn("c,y\nRed,1\nred,2\n"), "c\nRED\n").unwrap();
    assert_eq!(encoded.x.as_slice(), [0.0, 0.0]);
}

#[test]
fn dates_stay_dates() {
    let schema = learn("when,y\n1970-01-03,1\n1970-01-05,2\n");
    let (encoded, _) = apply(&schema, "when\n1970-01-02T12:00\n").unwrap();
    assert_eq!(encoded.x.as_slice(), [1.5]);
    let says = "t.csv, column 'when': it holds numbers, but the model was trained on dates here";
    assert_eq!(message(&schema, "when\n3\n"), says);
    let says = "t.csv, line 2, column 'when': 'soon' is not a date, but the model was trained \
                on dates here";
    assert_eq!(message(&schema, "when\nsoon\n"), says);
    let error = message(&learn("x,y\n1,1\n2,2\n"), "x\n1970-01-02\n");
    assert!(error.contains("it holds dates, but the model was trained on numbers"), "{error}");
}

#[test]
fn tables_that_follow_are_read_in_the_notation_of_training() {
    let schema = learn("p;when;y\n1.234,5 €;31/01/1970;1\n7 €;01/02/1970;2\n");
    let (encoded, _) = apply(&schema, "p;when\n1.000 €;02/01/1970\n2,5;1970-01-02\n").unwrap();
    assert_eq!(encoded.x.as_slice(), [1000.0, 1.0, 2.5, 1.0]);
    let says = "t.csv, line 2, column 'p': '2.5' is not in the number notation of the training \
                table; if this file has another one, use --decimal comma or --decimal point";
    assert_eq!(message(&schema, "p;when\n2.5;02/01/1970\n"), says);
    let says = "t.csv, line 2, column 'p': '$5' has a sign that the numbers of the training table did \
                not have here";
    assert_eq!(message(&schema, "p;when\n$5;02/01/1970\n"), says);
    let says = "t.csv, line 2, column 'when': '01/31/1970' is not in the date notation of";
    assert!(message(&schema, "p;when\n2;01/31/1970\n").starts_with(says));
    // The user's option takes precedence.
    let point = Notation {
        decimal: Some(DecimalMark::Point),
        dates: Some(raysum::schema::DateOrder::MonthFirst),
    };
    let (encoded, _) = with(&schema, "p;when\n1,000.5;01/31/1970\n", point).unwrap();
    assert_eq!(encoded.x.as_slice(), [1000.5, 30.0]);
    // A comma means nothing in a column of plain numbers.
    let plain = learn("a,y\n1.5,1\n2,2\n");
    assert_eq!(plain.features[0].kind, FeatureKind::Number(NumberFormat::default()));
    assert!(message(&plain, "a;b\n1,234;1\n").contains("'1,234' is not in the number notation"));
    let comma = Notation { decimal: Some(DecimalMark::Comma), dates: None };
    let (encoded, _) = with(&plain, "a;b\n1,234;1\n", comma).unwrap();
    assert_eq!(encoded.x.as_slice(), [1.234]);
}

#[test]
fn unknown_categories_are_zeros_and_a_note() {
    let schema = learn("a,c,y\n1,u,1\n2,v,2\n");
    let cases = [
        ("a,c\n1,w\n2,u\n3,w\n4,z\n", "3 rows", "'w', 'z'"),
        ("a,c\n1,7\n", "1 row", "'7'"),
        ("a,c\n1,k\n1,l\n1,m\n1,n\n1,o\n1,p\n", "6 rows", "'k', 'l', 'm', 'n', 'o', …"),
    ];
    for (text, rows, listed) in cases {
        let (encoded, notes) = apply(&schema, text).unwrap();
        assert_eq!(encoded.x.as_slice()[..3], [1.0, 0.0, 0.0]);
        let note = format!(
            "t.csv, column 'c': {rows} with categories that training did not have \
             ({listed}), taken as none of the known ones"
        );
        assert_eq!(notes, [note]);
    }
}

#[test]
fn notes_of_training_come_once() {
    let (schema, notes) = inferred("a,b,y\n1,1,1\n1,2,2\n", "y", &[]).unwrap();
    let note = "t.csv, column 'a': every value is '1', so nothing can be learned from it";
    assert_eq!(notes, [note]);
    assert!(apply(&schema, "a,b\n1,2\n").unwrap().1.is_empty());
}

#[test]
fn errors() {
    let schema = learn("a,b,y\n1,2,1\n2,3,2\n");
    let finite = "is not a finite number; leave the cell empty if the value is missing";
    let number = "is not a number, but the model was trained on numbers here";
    let cases = [
        ("a,b,y\n1,2,3\n2,abc,4\n", format!("t.csv, line 3, column 'b': 'abc' {number}")),
        ("a,b,y\n1,2,3\n2,3,low\n", format!("t.csv, line 3, column 'y': 'low' {number}")),
        ("a,b,y\n1,Inf,3\n", format!("t.csv, line 2, column 'b': 'Inf' {finite}")),
        ("a,b,y\n1,2,1e999\n", format!("t.csv, line 2, column 'y': '1e999' {finite}")),
    ];
    for (text, message) in cases {
        let chunk = plan_and_read(&schema, text, true, Notation::default()).unwrap();
        let error = encode_all(&schema, &chunk, Missing::Mean, true).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    // Unused columns are ignored.
    apply(&schema, "a,b,y,z\n1,2,low,3\n3,4,5,inf\n").unwrap();
}

#[test]
fn texts_outside_the_categories_are_others_where_there_are_others() {
    let text = "c,y\nu,1\nu,2\nothers,3\nothers,4\nw,5\n";
    let options = SchemaOptions { categories: 3, ..SchemaOptions::default() };
    let (mut schema, _) = inferred_with(text, &options).unwrap();
    let new = chunk("c,y\nw,1\nnever seen,1\nothers,1\nu,1\n,1\n");
    let (encoded, notes) = encode_all(&schema, &new, Missing::Mean, false).unwrap();
    // All three texts are categories; a text named like the others is one of its own.
    assert_eq!(schema.encoded_names(), ["c=others", "c=u", "c=w"]);
    assert!(notes[1].contains("1 row with categories that training did not have"), "{notes:?}");
    assert_eq!(encoded.x.row(1), [0.0; 3]);
    let options = SchemaOptions { categories: 2, ..SchemaOptions::default() };
    (schema, _) = inferred_with(text, &options).unwrap();
    assert_eq!(schema.encoded_names(), ["c=others", "c (others)"]);
    let (encoded, notes) = encode_all(&schema, &new, Missing::Mean, false).unwrap();
    let expected = [0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.4, 0.6];
    assert_eq!(encoded.x.as_slice(), expected);
    assert_eq!(
        notes,
        ["t.csv: 1 missing cell in 1 row filled with the training means (column 'c')"]
    );
}
