//! Tests of inference: the kind of each column, and notes about it.

use super::*;
use crate::testing::{inferred, inferred_with, lines, stats};

fn learn(text: &str, target: &str, drop: &[&str]) -> Result<Schema> {
    inferred(text, target, drop).map(|(schema, _)| schema)
}

#[test]
fn columns_are_learned() {
    let text = "x,colour,y,z\n1,red,5,3\n2,blue,6,4\n,red,7,8\n6,,8,9\n";
    let (schema, notes) = inferred(text, "y", &["z"]).unwrap();
    let format = NumberFormat::default();
    let target = LabelColumn { name: "y".into(), position: 2, format };
    assert_eq!(schema.labels, Labels::of_targets(vec![target]));
    assert_eq!((schema.named, schema.width), (true, 4));
    assert_eq!(schema.encoded_names(), ["x", "colour=blue", "colour=red"]);
    assert_eq!(schema.features[0].means, [3.0]);
    assert_eq!(schema.features[1].means, [1.0 / 3.0, 2.0 / 3.0]);
    assert_eq!(schema.features.iter().map(|f| f.position).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(notes, ["t.csv: taken as categories: 'colour' (2 categories)"]);
}

#[test]
fn dates_are_days() {
    let schema = learn("when,y\n1970-01-03,1\n,2\n1970-01-05,3\n", "y", &[]).unwrap();
    let date = FeatureKind::Date { order: DateOrder::YearFirst };
    assert_eq!((&schema.features[0].kind, schema.features[0].means[0]), (&date, 3.0));
    let error = learn("x,y\n1,1970-01-03\n2,1970-01-04\n", "y", &[]).unwrap_err();
    let says = "t.csv: the target 'y' holds dates, but it must be numbers";
    assert!(error.to_string().starts_with(says), "{error}");
    // A date among numbers is a typo, and so is a number among dates.
    let mut rows: Vec<String> = (1..40).map(|i| format!("{i},{i}")).collect();
    rows.push("1970-01-03,4".into());
    let error = learn(&format!("x,y\n{}\n", rows.join("\n")), "y", &[]).unwrap_err();
    assert!(error.to_string().contains("'1970-01-03' is not a number"), "{error}");
    let mut rows: Vec<String> = (1..40).map(|i| format!("2024-01-{:02},{i}", i % 28 + 1)).collect();
    rows.push("31/31/2024,4".into());
    let error = learn(&format!("x,y\n{}\n", rows.join("\n")), "y", &[]).unwrap_err().to_string();
    let says = "t.csv, line 41, column 'x': '31/31/2024' is not a date (the column's other 39 \
                values are); fix it, or use --drop x";
    assert_eq!(error, says);
}

#[test]
fn columns_are_chosen() {
    let table = stats("a,b,c,y\n1,2,3,4\n5,6,7,8\n");
    let features = |columns: &[&str], drop: &[&str]| {
        let own = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (columns, drop) = (own(columns), own(drop));
        let choice = ColumnChoice { columns, drop };
        let options = SchemaOptions { choice, ..SchemaOptions::default() };
        let schema = infer(&table, &Labels::of_targets(vec![3]), &options);
        schema.map(|(schema, _)| schema.encoded_names().join(" "))
    };
    assert_eq!(features(&["c", "0"], &[]).unwrap(), "a c");
    assert_eq!(features(&["c", "a", "y"], &["a"]).unwrap(), "c");
    assert_eq!(features(&[], &["a"]).unwrap(), "b c");
    assert!(features(&["d"], &[]).is_err());
    assert!(features(&["y"], &[]).unwrap_err().to_string().contains("no columns are left"));
}

#[test]
fn notes() {
    let cases = [
        (
            "x,y\n1,2\n,3\n1,4\n",
            "t.csv, column 'x': every value is '1', so nothing can be \
             learned from it",
        ),
        (
            "x,y\na,2\n,3\na,4\n",
            "t.csv, column 'x': every value is 'a', so nothing can be \
             learned from it",
        ),
        (
            "x,y\n4,2\na,3\n4,4\n",
            "t.csv, line 3, column 'x': 'a' is not a number, so the whole \
             column is taken as categories",
        ),
    ];
    for (text, note) in cases {
        assert_eq!(inferred(text, "y", &[]).unwrap().1[0], note);
    }
}

#[test]
fn large_numbers_have_a_finite_mean() {
    let schema = learn("x,y\n1.5e308,1\n1.5e308,2\n1.5e308,3\n", "y", &[]).unwrap();
    assert!(schema.features[0].means[0] > 1.4e308);
}

/// A header, then rows of the column `age` and a counter.
fn ages(cells: impl Iterator<Item = String>) -> String {
    let rows: Vec<String> = cells.enumerate().map(|(row, cell)| format!("{cell},{row}")).collect();
    format!("age,y\n{}\n", rows.join("\n"))
}

#[test]
fn slips_and_floods_of_text() {
    let numbers = |n: usize| (0..n).map(|i| i.to_string());
    let slips = |n: usize| vec!["abc".to_owned(); n].into_iter();
    let cases = [
        (
            ages(numbers(15).chain(slips(1)).chain(numbers(15))),
            "t.csv, line 17, column 'age': 'abc' is not a number (the column's other 30 values \
             are); fix it, or use --drop age",
        ),
        (
            ages(numbers(100).chain(slips(3))),
            "t.csv, line 102, column 'age': 'abc' is not a number, nor are 2 other cells (the \
             column's other 100 values are); fix them, or use --drop age",
        ),
        (
            ages(slips(30).chain(numbers(101))),
            "t.csv, line 2, column 'age': 'abc' is not a number, nor are 29 other cells (the \
             column's other 101 values are); fix them, or use --drop age",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(learn(&text, "y", &[]).unwrap_err().to_string(), message);
    }
    let taken = [
        ages((0..101).map(|i| format!("no {}", i % 100))),
        ages(slips(1).chain(numbers(19))),
        ages(slips(21).chain((0..500).map(|i| (i % 50).to_string()))),
    ];
    for text in taken {
        learn(&text, "y", &[]).unwrap();
    }
}

#[test]
fn errors() {
    let cases = [
        (
            "x,y\n1,2\n2,abc\n",
            "y",
            &[][..],
            "t.csv: the target 'y' holds text ('abc' at line 3): raysum predicts numbers",
        ),
        ("x,y\n1,\n2,\n", "y", &[], "t.csv: the target 'y' has no values"),
        ("x,y\n1,2\n", "y", &["x"], "t.csv: no columns are left to predict 'y' from"),
        ("y\n1\n", "y", &[], "t.csv: no columns are left to predict 'y' from"),
        ("x,y\n1,2\n", "y", &["y"], "t.csv: the target 'y' cannot be dropped"),
        ("x,y\n1,2\n", "y", &["who"], "t.csv: there is no column 'who' (columns: 'x', 'y')"),
        (
            "x,my z,y\n1,,2\n1,NA,3\n",
            "y",
            &[],
            "t.csv, column 'my z': it has no values; use --drop 'my z'",
        ),
        (
            "x,y\n1,2\n-inf,3\n",
            "y",
            &[],
            "t.csv, line 3, column 'x': '-inf' is not a finite number; leave the cell empty \
             if the value is missing",
        ),
        (
            "x,y\n1,2\n2,1e400\n",
            "y",
            &[],
            "t.csv, line 3, column 'y': '1e400' is not a finite number; leave the cell empty \
             if the value is missing",
        ),
    ];
    for (text, target, drop, message) in cases {
        assert_eq!(learn(text, target, drop).unwrap_err().to_string(), message);
    }
    // A column that cannot be used can still be dropped.
    learn("x,z,y\n1,2,3\n2,inf,5\n", "y", &["z"]).unwrap();
}

#[test]
fn texts_that_are_all_different_identify_rows() {
    let rows = |n: usize| (0..n).map(|i| format!("no {i},{i},{}", i % 7)).collect::<Vec<_>>();
    for n in [10, 90, 150, 10_100] {
        let text = format!("id,a,y\n{}\n", rows(n).join("\n"));
        let (schema, notes) = inferred(&text, "y", &[]).unwrap();
        assert_eq!(schema.features[0].kind, FeatureKind::Identifier);
        assert_eq!(schema.encoded_names(), ["a"]);
        let count = if n > 10_000 { "more than 10000".into() } else { n.to_string() };
        let note = "it is left out, because its";
        assert_eq!(notes, [format!("t.csv, column 'id': {note} {count} texts are all different")]);
    }
    // Few rows may differ by chance, and one repetition is a category.
    let few = format!("id,a,y\n{}\n", rows(9).join("\n"));
    assert_eq!(learn(&few, "y", &[]).unwrap().features[0].means.len(), 9);
    let twice = format!("id,a,y\n{}\nno 3,1,2\n", rows(20).join("\n"));
    let (schema, notes) = inferred(&twice, "y", &[]).unwrap();
    assert_eq!(schema.features[0].means.len(), 20);
    assert_eq!(notes, ["t.csv: taken as categories: 'id' (20 categories)"]);
    // Nothing but identifiers is nothing to predict from.
    let alone = lines(20, |i| format!("no {i},{i}\n"));
    let error = learn(&format!("id,y\n{alone}"), "y", &[]).unwrap_err().to_string();
    assert_eq!(error, "t.csv: no columns are left to predict 'y' from ('id' only identifies rows)");
    // A column that the user names is used.
    let stats = stats(&format!("id,y\n{alone}"));
    let choice = ColumnChoice { columns: vec!["id".into()], drop: Vec::new() };
    let options = SchemaOptions { choice, ..SchemaOptions::default() };
    let (schema, _) = infer(&stats, &Labels::of_targets(vec![1]), &options).unwrap();
    assert_eq!(schema.encoded_columns(), 20);
}

#[test]
fn the_index_of_a_frame_is_left_out() {
    let cases = [
        (",a,y\n0,5,1\n1,6,2\n2,7,4\n", true),
        (",a,y\n1,5,1\n2,6,2\n3,7,4\n", true),
        ("__index_level_0__,a,y\n5,5,1\n2,6,2\n7,7,4\n", true),
        (",a,y\n0,5,1\n1,6,2\n3,7,4\n", false),
        ("n,a,y\n0,5,1\n1,6,2\n2,7,4\n", false),
        ("0,5,1\n1,6,2\n2,7,4\n", false),
    ];
    for (text, left_out) in cases {
        let (schema, notes) = inferred(text, "-1", &[]).unwrap();
        assert_eq!(schema.encoded_columns(), if left_out { 1 } else { 2 }, "{text}");
        let note = "it is left out, because it has no name of its own and numbers the rows";
        assert_eq!(notes.iter().any(|n| n.ends_with(note)), left_out, "{notes:?}");
    }
    // A column that the user names is used.
    let stats = stats(cases[0].0);
    let choice = ColumnChoice { columns: vec!["0".into(), "a".into()], drop: Vec::new() };
    let options = SchemaOptions { choice, ..SchemaOptions::default() };
    let (schema, _) = infer(&stats, &Labels::of_targets(vec![2]), &options).unwrap();
    assert_eq!(schema.encoded_columns(), 2);
}

#[test]
fn doubtful_notation_is_refused_where_it_is_used() {
    let cases = [
        (
            "a;b;y\n1,234;1;1\n5,678;2;2\n",
            "t.csv, column 'a': '1,234' can be read as 1.234 or as 1234; use --decimal comma or \
             --decimal point",
        ),
        (
            "a,b,y\n01/02/2024,1,1\n03/04/2024,2,2\n",
            "t.csv, column 'a': '01/02/2024' can be read with the day or with the month first; use \
             --dates day-first or --dates month-first",
        ),
        (
            "a;b;y\n8,8;1;1\n8.8;2;2\n",
            "t.csv, column 'a': its numbers are in different notations ('8,8', '8.8'); use one for \
             all, or use --drop a",
        ),
        (
            "a;b;y\n$5;1;1\n€5;2;2\n",
            "t.csv, column 'a': its numbers are in different notations ('$5', '€5'); use one for \
             all, or use --drop a",
        ),
        (
            "a;b;y\n31/01/2024;1;1\n01/31/2024;2;2\n",
            "t.csv, column 'a': its dates are in different notations ('01/31/2024', '31/01/2024'); \
             use one for all, or use --drop a",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(learn(text, "y", &[]).unwrap_err().to_string(), message);
        assert!(learn(text, "y", &["a"]).is_ok(), "{text}");
    }
    let text = "b;y\n1;1,234\n2;5,678\n";
    let error = learn(text, "y", &[]).unwrap_err().to_string();
    assert!(error.starts_with("t.csv, column 'y': '1,234' can be read as"), "{error}");
}

#[test]
fn local_notation_is_kept_and_told() {
    let text = "p;when;y\n1.234,5 €;31.01.2024;8,5\n7 €;01.02.2024;9,5\n";
    let (schema, notes) = inferred(text, "y", &[]).unwrap();
    let comma = |grouping, unit: Option<&str>| NumberFormat {
        decimal: DecimalMark::Comma,
        grouping,
        unit: unit.map(String::from),
    };
    let price = FeatureKind::Number(comma(Some(Grouping::Point), Some("€")));
    assert_eq!(schema.features[0].kind, price);
    assert_eq!(schema.features[1].kind, FeatureKind::Date { order: DateOrder::DayFirst });
    assert_eq!(schema.labels.targets[0].format, comma(None, None));
    assert_eq!(
        notes,
        [
            "t.csv: numbers with decimal commas in 'y', 'p'",
            "t.csv: dates are read as day, month, year in 'when'",
        ]
    );
}

#[test]
fn labels_hold_numbers() {
    let error = learn("x,y\n1,true\n2,false\n", "y", &[]).unwrap_err().to_string();
    let says =
        "t.csv: the target 'y' holds booleans, but it must be numbers; write them as 0 and 1";
    assert_eq!(error, says);
}

#[test]
fn names_do_not_speak_to_the_terminal() {
    let text = "\"a\u{1b}[31m\nb\",y\nu,1\nv,2\n";
    let (_, notes) = inferred(text, "y", &[]).unwrap();
    assert_eq!(notes, [r"t.csv: taken as categories: 'a\u{1b}[31m\nb' (2 categories)"]);
}

/// Options with this rule for missing cells, and this many categories.
fn options(missing: Missing, categories: usize) -> SchemaOptions {
    SchemaOptions { missing, categories, ..SchemaOptions::default() }
}

#[test]
fn columns_with_gaps_have_indicators_if_asked_for() {
    let text = "a,b,c,d,e,f,y\n1,2,u,2024-01-01,true,,1\n,3,v,,,7,\n3,4,,2024-01-03,false,7,3\n";
    let (schema, notes) = inferred_with(text, &options(Missing::Indicate, 100)).unwrap();
    let indicators: Vec<bool> = schema.features.iter().map(|f| f.indicator).collect();
    assert_eq!(indicators, [true, false, true, true, true, true]);
    let names = [
        "a",
        "a (missing)",
        "b",
        "c=u",
        "c=v",
        "c (missing)",
        "d",
        "d (missing)",
        "e",
        "e (missing)",
        "f",
        "f (missing)",
    ];
    assert_eq!(schema.encoded_names(), names);
    assert_eq!(schema.features[0].means, [2.0]);
    assert_eq!(schema.features[2].means, [0.5, 0.5]);
    // The one value of 'f' tells nothing, but its gaps may.
    assert_eq!(notes, ["t.csv: taken as categories: 'c' (2 categories)"]);
    for missing in [Missing::Error, Missing::Drop, Missing::Mean] {
        let (schema, _) = inferred_with(text, &options(missing, 100)).unwrap();
        assert!(schema.features.iter().all(|feature| !feature.indicator));
    }
    // An identifier with gaps is still one, and a column without values is refused.
    let ids = lines(20, |i| if i == 3 { ",1,2\n".into() } else { format!("no {i},{i},2\n") });
    let text = format!("id,a,y\n{ids}");
    let (schema, _) = inferred_with(&text, &options(Missing::Indicate, 100)).unwrap();
    assert_eq!((schema.encoded_names(), schema.features[0].indicator), (vec!["a".into()], false));
    let error = inferred_with("a,b,y\n1,,2\n2,,3\n", &options(Missing::Indicate, 100));
    let says = "t.csv, column 'b': it has no values; use --drop b";
    assert_eq!(error.unwrap_err().to_string(), says);
}

#[test]
fn the_most_frequent_texts_are_categories() {
    // Of 'b', 'd' and 'e', which occur twice, the first by name are kept.
    let cells = ["e", "d", "c", "a", "b", "a", "e", "a", "d", "b", "f"];
    let text = format!("x,y\n{}", cells.map(|cell| format!("{cell},1\n")).concat());
    let (schema, notes) = inferred_with(&text, &options(Missing::Error, 4)).unwrap();
    let categories = ["a", "b", "d"].map(String::from).to_vec();
    assert_eq!(schema.features[0].kind, FeatureKind::Category { categories, others: true });
    assert_eq!(schema.features[0].means, [3.0, 2.0, 2.0, 4.0].map(|n| n / 11.0));
    assert_eq!(
        notes,
        [
            "t.csv, column 'x': 6 different texts become 4 categories: the 3 most frequent, and \
             one for all others (4 of 11 rows); use --categories N to keep more",
            "t.csv: taken as categories: 'x' (4 categories)",
        ]
    );
    // As many categories as texts need no others; 2 are the fewest.
    let (schema, _) = inferred_with(&text, &options(Missing::Error, 6)).unwrap();
    assert_eq!(schema.features[0].means.len(), 6);
    let (schema, _) = inferred_with(&text, &options(Missing::Error, 2)).unwrap();
    assert_eq!(schema.encoded_names(), ["x=a", "x (others)"]);
    for categories in [0, 1, 1001] {
        let error = inferred_with(&text, &options(Missing::Error, categories)).unwrap_err();
        let says = format!("categories is {categories}, but must be from 2 to 1,000");
        assert_eq!(error.to_string(), says);
    }
}

#[test]
fn texts_without_end_become_categories_of_the_first() {
    let many =
        lines(10_100, |i| format!("no {},1\n", i / 2)) + &lines(6000, |i| format!("{i}!,1\n"));
    let (schema, notes) =
        inferred_with(&format!("x,y\n{many}"), &options(Missing::Error, 3)).unwrap();
    assert_eq!(schema.encoded_names(), ["x=no 0", "x=no 1", "x (others)"]);
    assert_eq!(
        notes[0],
        "t.csv, column 'x': more than 10000 different texts become 3 categories: the 2 most \
         frequent of the first 10000, and one for all others (16096 of 16100 rows); use --categories N to keep more"
    );
}
