//! Tests of finding columns.

use super::*;
use crate::chunk::Cells;
use crate::testing::{chunk, lines, schema};

/// The first value of every feature and of the target, as they are found.
fn found(schema: &Schema, text: &str, with_labels: bool) -> Result<Vec<f64>> {
    let chunk = chunk(text);
    let matched = matched(schema, &chunk, with_labels)?;
    assert_eq!(matched.labels.targets.len(), usize::from(with_labels));
    let first = |column: &Column| match &column.cells {
        Cells::Values(_, values) => values[0],
        _ => f64::NAN,
    };
    Ok(matched.features.into_iter().flatten().chain(matched.labels.targets).map(first).collect())
}

#[test]
fn names_match_in_any_order() {
    let schema = schema("a,b,y\n1,2,3\n4,5,6\n", "y");
    let cases = [
        ("a,b,y\n1,2,3\n", true, &[1.0, 2.0, 3.0][..]),
        ("y,extra,b,a\n1,2,3,4\n", true, &[4.0, 3.0, 1.0]),
        ("b,a\n1,2\n", false, &[2.0, 1.0]),
        ("b,y,a\n1,2,3\n", false, &[3.0, 1.0]),
    ];
    for (text, with_labels, values) in cases {
        assert_eq!(found(&schema, text, with_labels).unwrap(), values, "{text}");
    }
}

#[test]
fn positions_match_with_or_without_the_target() {
    let middle = schema("1,2,3\n4,5,6\n", "1");
    let last = schema("1,2,3\n4,5,6\n", "-1");
    let cases = [
        (&middle, "7,8,9\n", true, &[7.0, 9.0, 8.0][..]),
        (&middle, "7,8,9\n", false, &[7.0, 9.0]),
        (&middle, "7,9\n", false, &[7.0, 9.0]),
        (&middle, "u,v,w\n7,8,9\n", true, &[7.0, 9.0, 8.0]),
        (&last, "7,8,9\n", true, &[7.0, 8.0, 9.0]),
        (&last, "7,8\n", false, &[7.0, 8.0]),
    ];
    for (schema, text, with_labels, values) in cases {
        assert_eq!(found(schema, text, with_labels).unwrap(), values, "{text}");
    }
}

#[test]
fn what_was_left_out_is_not_asked_for() {
    let ids = lines(20, |i| format!("no {i},{i},{}\n", i * i));
    let schema = schema(&format!("id,a,y\n{ids}"), "y");
    assert_eq!(schema.features[0].kind, FeatureKind::Identifier);
    assert_eq!(found(&schema, "a\n5\n", false).unwrap(), [5.0]);
}

#[test]
fn errors() {
    let named = schema("a,b,c,y\n1,2,3,4\n4,5,6,7\n", "y");
    let bare = schema("1,2,3\n4,5,6\n", "1");
    let cases = [
        (
            &named,
            "b,x\n1,2\n",
            false,
            "t.csv: the model needs 2 columns that are not there: 'a', 'c' (columns there: \
             'b', 'x')",
        ),
        (
            &named,
            "c,b,a\n1,2,3\n",
            true,
            "t.csv: the model needs 1 column that is not there: 'y' (columns there: 'c', \
             'b', 'a')",
        ),
        (
            &named,
            "1,2,3\n",
            false,
            "t.csv: the file seems to have no header line, but the model needs one that \
             names the columns 'a', 'b', 'c'",
        ),
        (
            &bare,
            "1,2,3,4\n",
            false,
            "t.csv: found 4 columns, expected 3 as in the training file, or 2 without the \
             target",
        ),
        (
            &bare,
            "1\n",
            false,
            "t.csv: found 1 column, expected 3 as in the training file, or 2 without the \
             target",
        ),
        (&bare, "1,2\n", true, "t.csv: found 2 columns, expected 3 as in the training file"),
    ];
    for (schema, text, with_labels, message) in cases {
        let error = found(schema, text, with_labels).unwrap_err().to_string();
        assert_eq!(error, message, "{text}");
    }
}
