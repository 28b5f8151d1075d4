//! Tables of every shape: targets by name and position, headers, kinds of files, texts, columns in any order,
//! standard input, missing values.

use crate::common::{Folder, SHORT, Table, fitted, gzip, json_lines, small, sound_predictions};
use serde_json::Value;

#[test]
fn a_target_has_a_name_and_two_positions() {
    let table = small();
    let folder = fitted(&table);
    folder.write("bare.csv", table.bare(","));
    for (spec, model) in [("3", "m3"), ("-1", "m1")] {
        folder.stdout(&format!("fit t.csv --target {spec} {SHORT} -o {model}.raysum"));
        folder.stdout(&format!("fit bare.csv --target {spec} {SHORT} -o bare_{model}.raysum"));
        assert!(folder.bytes(&format!("{model}.raysum")) == folder.bytes("m.raysum"), "{spec}");
    }
    assert!(folder.bytes("bare_m3.raysum") == folder.bytes("bare_m1.raysum"));

    // Without names the file differs, but not what it predicts: with the target or without it.
    let expected = folder.stdout("predict m.raysum t.csv");
    folder.write("x.csv", table.columns(&["a", "b", "c"]).bare(","));
    for data in ["bare.csv", "x.csv"] {
        assert_eq!(folder.stdout(&format!("predict bare_m1.raysum {data}")), expected, "{data}");
    }
}

#[test]
fn a_target_in_the_middle_of_a_file_without_header() {
    let table = small();
    let folder = fitted(&table);
    let expected = folder.stdout("predict m.raysum t.csv");
    folder.write("bare.csv", table.columns(&["a", "y", "b", "c"]).bare(","));
    folder.write("x.csv", table.columns(&["a", "b", "c"]).bare(","));
    folder.stdout(&format!("fit bare.csv -t 1 {SHORT} -o middle.raysum"));
    for data in ["bare.csv", "x.csv"] {
        assert_eq!(folder.stdout(&format!("predict middle.raysum {data}")), expected, "{data}");
    }
}

#[test]
fn first_lines_are_told_from_headers() {
    // Nothing but texts: the first row looks like a header, but the training file had none.
    let row = |i: usize| format!("{},{}", ["red", "blue"][i % 2], ["round", "square"][i / 2 % 2]);
    let rows: Vec<String> = (0..20).map(|i| format!("{},{i}", row(i))).collect();
    let folder = Folder::with("texts.csv", rows.join("\n"));
    folder.stdout("fit texts.csv -t -1 -m gam -o texts.raysum");
    folder.write("new.csv", (0..3).map(|i| row(i) + "\n").collect::<String>());
    sound_predictions(&folder.stdout("predict texts.raysum new.csv"), 3);

    // Nothing but numbers: a header of years has to be called one.
    let years = Table::new(["2019", "2020", "y"], 20, |i| [i as f64, (i * i % 7) as f64, 1.0]);
    folder.write("years.csv", years.csv());
    folder.stdout("fit years.csv -t y -m gam -o years.raysum");
    folder.write("new.csv", years.columns(&["2019", "2020"]).csv());
    folder.run("predict years.raysum new.csv").failed(1, "seems to have no header line");
    sound_predictions(&folder.stdout("predict years.raysum new.csv --header yes"), 20);
}

#[test]
fn every_kind_of_file_gives_the_same_model_and_predictions() {
    let table = small();
    let folder = fitted(&table);
    let expected = folder.stdout("predict m.raysum t.csv");
    let crlf = table.csv().replace('\n', "\r\n");
    let quoted = format!("\"a\",\"b\",\"c\",\"y\"\n{}", table.bare(","));
    let kinds: [(&str, Vec<u8>); 6] = [
        ("t.csv.gz", gzip(table.csv())),
        ("tab.tsv", table.joined("\t").into()),
        ("semicolon.csv", table.joined(";").into()),
        ("crlf.csv", crlf.clone().into()),
        ("mark.csv", format!("\u{feff}{crlf}").into()),
        ("quoted.csv", quoted.into()),
    ];
    for (name, content) in kinds {
        folder.write(name, content);
        folder.stdout(&format!("fit {name} -t y {SHORT} -o other.raysum"));
        assert!(folder.bytes("other.raysum") == folder.bytes("m.raysum"), "{name}");
        assert_eq!(folder.stdout(&format!("predict m.raysum {name}")), expected, "{name}");
    }
}

#[test]
fn a_column_of_text_becomes_categories() {
    let colour = |i: usize| ["red", "green", "blue"][i % 3].to_string();
    let table = small().and("colour", colour);
    let folder = fitted(&table);
    let inspect = folder.stdout("inspect m.raysum --json");
    let columns = &json_lines(&inspect)[0]["columns"];
    let expected = ["colour=blue", "colour=green", "colour=red", "a", "b", "c"];
    assert_eq!(columns, &Value::from(expected.to_vec()));

    folder.write("new.csv", table.set(4, "colour", "mauve").csv());
    let run = folder.run("predict m.raysum new.csv").succeeded();
    let note = "note: new.csv, column 'colour': 1 row with categories that training did not have \
                ('mauve')";
    assert!(run.stderr.starts_with(note), "{run:?}");
    sound_predictions(&run.stdout, 60);
    assert_eq!(folder.run("predict m.raysum new.csv --quiet").succeeded().stderr, "");
}

#[test]
fn columns_are_matched_by_name() {
    let table = small();
    let folder = fitted(&table);
    let expected = folder.stdout("predict m.raysum t.csv");
    let notes = |i: usize| format!("\"row {i}, as it came\"");
    for (what, new) in [
        ("another order", table.columns(&["y", "c", "a", "b"])),
        ("no target", table.columns(&["a", "b", "c"])),
        ("an extra column", table.clone().and("notes", notes)),
        ("a target of text", table.clone().set(7, "y", "unknown")),
    ] {
        folder.write("new.csv", new.csv());
        assert_eq!(folder.stdout("predict m.raysum new.csv"), expected, "{what}");
    }
}

#[test]
fn a_dropped_column_is_as_good_as_none() {
    let table = small();
    let folder = Folder::with("t.csv", table.csv());
    folder.write("ab.csv", table.columns(&["a", "b", "y"]).csv());
    let ab = folder.run(&format!("fit ab.csv -t y {SHORT} -o ab.raysum")).succeeded();
    for drop in ["c", "2", "-2"] {
        let dropped =
            folder.run(&format!("fit t.csv -t y {SHORT} --drop {drop} -o m.raysum")).succeeded();
        assert_eq!(dropped.stderr, ab.stderr);
        let predict = |model: &str| folder.stdout(&format!("predict {model} t.csv"));
        assert_eq!(predict("m.raysum"), predict("ab.raysum"), "{drop}");
    }
}

#[test]
fn standard_input_and_output() {
    let table = small();
    let folder = fitted(&table);
    let expected = folder.stdout("predict m.raysum t.csv");
    folder.run_on(&format!("fit - -t y {SHORT} -o piped.raysum"), table.csv()).succeeded();
    assert!(folder.bytes("piped.raysum") == folder.bytes("m.raysum"));
    for (line, input) in [
        ("predict m.raysum - -o -", table.csv().into()),
        ("predict m.raysum -", table.csv().into()),
        ("predict m.raysum -", gzip(table.csv())),
    ] {
        assert_eq!(folder.run_on(line, input).succeeded().stdout, expected, "{line}");
    }
    assert_eq!(folder.stdout("predict m.raysum t.csv -o p.csv"), "");
    assert_eq!(folder.text("p.csv"), expected);
}

#[test]
fn missing_values_at_prediction() {
    let table = small();
    let folder = fitted(&table);
    let full = folder.stdout("predict m.raysum t.csv");
    let gaps = table.set(0, "a", "").set(3, "b", "NA").set(59, "b", "?");
    folder.write("gaps.csv", gaps.csv());

    let stop = folder.run("predict m.raysum gaps.csv");
    stop.failed(1, "gaps.csv, line 2, column 'a': the value is missing (and 2 more cells");

    let drop = folder.run("predict m.raysum gaps.csv --missing drop").succeeded();
    assert!(drop.stderr.contains("3 of 60 rows left out"), "{drop:?}");
    let without: Vec<&str> = full
        .lines()
        .enumerate()
        .map(|(line, text)| match line {
            1 | 4 | 60 => ",,,,",
            _ => text,
        })
        .collect();
    assert_eq!(drop.stdout.lines().collect::<Vec<_>>(), without);
    let nulls = folder.stdout("predict m.raysum gaps.csv --missing drop --json");
    assert!(json_lines(&nulls)[3]["mean"].is_null());

    let mean = folder.run("predict m.raysum gaps.csv --missing mean").succeeded();
    assert!(mean.stderr.contains("3 missing cells in 3 rows filled"), "{mean:?}");
    sound_predictions(&mean.stdout, 60);
    for (line, (mean, full)) in mean.stdout.lines().zip(full.lines()).enumerate() {
        assert_eq!(mean == full, ![1, 4, 60].contains(&line), "line {line}");
    }
}

#[test]
fn missing_values_at_fitting() {
    let gaps = small().set(0, "a", "").set(3, "b", "nan").set(9, "y", "null");
    let folder = Folder::with("t.csv", gaps.csv());
    folder.run("fit t.csv -t y").failed(1, "t.csv, line 2, column 'a': the value is missing");
    for (policy, rows, note) in [
        ("drop", 57, "3 of 60 rows left out because a value is missing"),
        ("mean", 59, "1 of 60 rows left out because the target is missing"),
    ] {
        let run =
            folder.run(&format!("fit t.csv -t y -m gam --missing {policy} --json")).succeeded();
        assert_eq!(json_lines(&run.stdout)[0]["n"], rows, "{policy}");
        assert!(run.stderr.contains(note), "{run:?}");
    }
    let line = "evaluate t.csv -t y -m gam --missing drop --folds 3 --json";
    assert_eq!(json_lines(&folder.stdout(line))[0]["n"], 57);
}
