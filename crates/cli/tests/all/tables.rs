//! Realistic tables: local notation, arrays with missing values, every format for input and output.

use crate::common::{Folder, Table, npy, npy_of, predictions, sound_predictions};
use std::path::Path;

/// A table with a price, a share, a date, a city, an identifier and a target, in two notations.
fn local(rows: usize) -> [String; 2] {
    let number = |value: f64, decimals: usize, german: bool| {
        let plain = format!("{value:.decimals$}");
        if german { plain.replace('.', ",") } else { plain }
    };
    [true, false].map(|german| {
        let delimiter = if german { ";" } else { "," };
        let mut text = ["Preis", "Anteil", "am", "Ort", "Nr", "y"].join(delimiter) + "\n";
        for i in 0..rows {
            let day = (i % 28 + 1, i % 12 + 1);
            let thousands = i as f64 + 0.5;
            let row = [
                if german {
                    format!("{}.{:03},50 €", i + 1, i * 37 % 1000)
                } else {
                    format!("{}{:03}.50", i + 1, i * 37 % 1000)
                },
                format!("{}%", number(thousands, 1, german)),
                if german {
                    format!("{:02}.{:02}.2024", day.0, day.1)
                } else {
                    format!("2024-{:02}-{:02}", day.1, day.0)
                },
                ["Köln", "Ulm", "05"][i % 3].into(),
                format!("K{i:04}"),
                number((i as f64 / 5.0).sin() + (i % 3) as f64, 4, german),
            ];
            text += &(row.join(delimiter) + "\n");
        }
        text
    })
}

#[test]
fn a_german_table_is_the_table_in_plain_notation() {
    let [german, plain] = local(40);
    let folder = Folder::with("de.csv", german);
    folder.write("en.csv", plain);
    let de = folder.run("fit de.csv -t y -m gam -o de.raysum").succeeded();
    let en = folder.run("fit en.csv -t y -m gam -o en.raysum").succeeded();
    let notes: Vec<&str> = de.stderr.lines().collect();
    assert_eq!(
        notes,
        [
            "note: de.csv, line 2, column 'Ort': 'Köln' is not a number, so the whole column is \
             taken as categories",
            "note: de.csv, column 'Nr': it is left out, because its 40 texts are all different",
            "note: de.csv: numbers with decimal commas in 'y', 'Preis', 'Anteil'",
            "note: de.csv: dates are read as day, month, year in 'am'",
            "note: de.csv: taken as categories: 'Ort' (3 categories)",
        ]
    );
    assert!(!en.stderr.contains("decimal commas"), "{en:?}");
    let expected = folder.stdout("predict en.raysum en.csv");
    sound_predictions(&expected, 40);
    assert_eq!(folder.stdout("predict de.raysum de.csv"), expected);
    // A table in another notation than the model's: the user's option decides, else it is refused.
    folder.run("predict de.raysum en.csv").failed(1, "is not in the number notation of the");
    assert_eq!(folder.stdout("predict de.raysum en.csv --decimal point"), expected);
    folder.run("predict en.raysum de.csv").failed(1, "has a sign that the numbers of the training");
    // Added rows are in the notation of the training table.
    let update = folder.stdout("update de.raysum de.csv -o more.raysum");
    assert!(update.starts_with("40 rows taken in, 80 in all"), "{update}");
}

#[test]
fn what_can_be_read_in_two_ways_is_asked_for() {
    let rows = |f: &dyn Fn(usize) -> String| (0..20).map(f).collect::<Vec<_>>().concat();
    let folder = Folder::with(
        "n.csv",
        format!("a;y\n{}", rows(&|i| format!("{},{:03};{i}\n", i + 1, i * 7))),
    );
    folder.write("d.csv", format!("a,y\n{}", rows(&|i| format!("0{}/05/2024,{i}\n", i % 9 + 1))));
    let fit = |words: &str| folder.run(&format!("fit {words} -t y -m gam -o m.raysum"));
    let says = "n.csv, column 'a': '1,000' can be read as 1 or as 1000; use --decimal comma or \
                --decimal point";
    fit("n.csv").failed(1, says);
    for (decimal, mean) in [("comma", 10.5665), ("point", 10_566.5)] {
        fit(&format!("n.csv --decimal {decimal}")).succeeded();
        let json = folder.stdout("inspect m.raysum --json");
        assert!(json.contains(&format!("\"means\":[{mean}")), "{decimal}: {json}");
    }
    let says = "d.csv, column 'a': '01/05/2024' can be read with the day or with the month first; \
                use --dates day-first or --dates month-first";
    fit("d.csv").failed(1, says);
    for (order, first) in [("day-first", 19_844.0), ("month-first", 19_728.0)] {
        fit(&format!("d.csv --dates {order}")).succeeded();
        // The model remembers it: the same text is the same day.
        folder.write("new.csv", "a\n01/05/2024\n");
        folder.write("iso.csv", format!("a\n{}\n", iso(first)));
        let [new, iso] =
            ["new", "iso"].map(|n| folder.stdout(&format!("predict m.raysum {n}.csv")));
        assert_eq!(new, iso, "{order}");
    }
}

/// The date of a day since 1970, as the test above needs it.
fn iso(day: f64) -> &'static str {
    if day == 19_844.0 { "2024-05-01" } else { "2024-01-05" }
}

/// Rows of two columns and a target, some with gaps.
fn gapped() -> (Vec<Vec<f64>>, String) {
    let mut rows = Vec::new();
    let mut text = String::new();
    for i in 0..40 {
        let (a, b) = (f64::from(i % 13), f64::from(i % 7) / 2.0);
        let a = if i == 4 { f64::NAN } else { a };
        let y = if i == 9 { f64::NAN } else { (f64::from(i) / 5.0).sin() + b };
        text += &format!("{a},{b},{y}\n");
        rows.push(vec![a, b, y]);
    }
    (rows, text)
}

#[test]
fn arrays_are_tables() {
    let (rows, text) = gapped();
    let folder = Folder::with("t.csv", text);
    folder.write("t.npy", npy(&rows));
    let x: Vec<Vec<f64>> = rows.iter().map(|row| row[..2].to_vec()).collect();
    let y: Vec<Vec<f64>> = rows.iter().map(|row| row[2..].to_vec()).collect();
    folder.write("x.npy", npy(&x));
    folder.write("y.npy", npy(&y));
    folder
        .run("fit t.npy -t -1")
        .failed(1, "t.npy, row 5, column '0': the value is missing (and 1 more cell in 1 row)");
    folder
        .run("fit x.npy --y y.npy --columns 1")
        .failed(1, "y.npy, row 10, column 'y': the value is missing; use --missing drop to leave");
    for missing in ["drop", "mean"] {
        let options = format!("-m gam --held-out no --missing {missing}");
        let fits = ["t.csv -t -1", "t.npy -t -1", "x.npy --y y.npy"];
        let predicted = fits.map(|table| {
            folder.stdout(&format!("fit {table} {options} -o m.raysum"));
            folder.stdout(&format!("predict m.raysum x.npy --missing {missing}"))
        });
        assert_eq!(predicted[0], predicted[1]);
        assert_eq!(predicted[0], predicted[2]);
        let gaps = predictions(&predicted[0]).iter().filter(|p| p.is_none()).count();
        assert_eq!(gaps, usize::from(missing == "drop"));
        // With the target still inside, and through a pipe.
        let whole = folder.run(&format!("predict m.raysum t.npy --missing {missing}")).succeeded();
        assert_eq!(whole.stdout, predicted[0]);
        let note = "note: t.npy: it has as many columns as the training table, so column '2' \
                    (counted from 0) is taken for what is predicted, and not used";
        assert!(whole.stderr.contains(note), "{whole:?}");
        let piped =
            folder.run_on(&format!("predict m.raysum - --missing {missing}"), npy(&x)).succeeded();
        assert_eq!(piped.stdout, predicted[0]);
    }
    folder.write("wide.npy", npy(&[vec![1.0; 5]]));
    let says = "wide.npy: found 5 columns, expected 3 as in the training file, or 2 without the \
                target";
    folder.run("predict m.raysum wide.npy").failed(1, says);
    let updated = folder.stdout("update m.raysum x.npy --y y.npy --missing drop -o more.raysum");
    assert!(updated.starts_with("38 rows taken in"), "{updated}");
    folder.write("short.npy", npy(&y[..5]));
    folder.run("fit x.npy --y short.npy").failed(1, "short.npy: it has 5 rows, but x.npy has 40");
    folder.run("fit t.csv --y y.npy").failed(1, "t.csv: --y is for .npy files; name the target");
    folder.run("fit x.npy --y t.csv").failed(1, "t.csv: --y is only for .npy files");
    folder.run("fit t.npy -t price").failed(1, "t.npy: there is no column 'price': arrays have no");
}

#[test]
fn arrays_of_small_types_are_read() {
    let flags: Vec<u8> = (0..40).map(|i| u8::from(i % 3 == 0)).collect();
    // 1.0 and 2.0 in 16 bits.
    let halves: Vec<u8> = (0..20).flat_map(|i| [0x3c00_u16, 0x4000][i % 2].to_le_bytes()).collect();
    let folder = Folder::with("x.npy", npy_of("|b1", "(20, 2)", flags));
    folder.write("y.npy", npy_of("<f2", "(20,)", halves));
    folder.stdout("fit x.npy --y y.npy -m gam -o m.raysum");
    sound_predictions(&folder.stdout("predict m.raysum x.npy"), 20);
    folder.write("c.npy", npy_of("<c16", "(2, 1)", vec![0; 32]));
    folder.run("fit c.npy -t 0").failed(1, "c.npy: holds '<c16', not plain numbers");
}

#[test]
fn an_array_suits_a_model_of_named_columns() {
    let table = Table::smooth(30, 1).and("id", |i| i.to_string());
    let folder = Folder::with("t.csv", table.csv());
    folder.stdout("fit t.csv -t y --drop id -m gam -o m.raysum");
    let columns = ["a", "b", "c"].map(|name| table.numbers(name));
    let rows: Vec<Vec<f64>> =
        (0..30).map(|i| columns.iter().map(|column| column[i]).collect()).collect();
    folder.write("x.npy", npy(&rows));
    assert_eq!(folder.stdout("predict m.raysum x.npy"), folder.stdout("predict m.raysum t.csv"));
}

#[test]
fn answers_in_every_format() {
    let table = Table::smooth(30, 1).and("id", |i| format!("\"no, {i}\"")).set(3, "b", "");
    let folder = Folder::with("t.csv", table.csv());
    folder.stdout("fit t.csv -t y --drop id -m gam --missing mean --held-out no -o m.raysum");
    let command = "predict m.raysum t.csv --missing drop --keep id,y -o";
    let csv = folder.stdout(&format!("{command} -"));
    assert!(csv.starts_with("id,y,mean,std,lower,upper,extrapolation\n\"no, 0\","), "{csv}");
    assert!(csv.lines().nth(4).unwrap().ends_with(",,,,"), "{csv}");
    folder.stdout(&format!("{command} out.csv"));
    assert_eq!(folder.text("out.csv"), csv);
    // What is written is read again, and is the same table to the bit.
    let fit = |file: &str| {
        folder
            .stdout(&format!("fit {file} -t mean --missing drop -m gam --held-out no -o o.raysum"));
        folder.bytes("o.raysum")
    };
    let expected = fit("out.csv");
    for name in ["out.csv.gz", "out.tsv", "out.csv.zst", "out.parquet", "out.arrow", "out.feather"]
    {
        assert_eq!(folder.stdout(&format!("{command} {name}")), "", "{name}");
        assert!(fit(name) == expected, "{name}");
    }
    let lines = folder.stdout(&format!("{command} - --json"));
    assert!(lines.starts_with(r#"{"id":"no, 0","y":""#), "{lines}");
    folder.stdout(&format!("{command} out.jsonl"));
    assert_eq!(folder.text("out.jsonl"), lines);
    folder.stdout(&format!("{command} out.json"));
    let list: Vec<serde_json::Value> = serde_json::from_str(&folder.text("out.json")).unwrap();
    let each: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(list, each);
    assert!(list[3]["mean"].is_null() && list[4]["mean"].is_f64());
    folder.stdout("sample m.raysum t.csv --functions 2 --missing drop -o drawn.parquet");
    folder.stdout("fit drawn.parquet -t sample_0 --missing drop -m gam -o o.raysum");
}

#[test]
fn kept_columns_are_as_they_were() {
    let folder = Folder::with("t.csv", "a;when;y\n1,50;31.01.2024;1\n02,5;01.02.2024;2\n3;;4\n");
    folder.stdout("fit t.csv -t y --missing mean -m gam -o m.raysum");
    let keep = "predict m.raysum t.csv --missing mean --keep";
    let csv = folder.stdout(&format!("{keep} when,a"));
    let kept: Vec<Vec<&str>> =
        csv.lines().map(|line| line.splitn(5, ',').take(4).collect::<Vec<_>>()).collect();
    assert_eq!(kept[0][..2], ["when", "a"]);
    assert_eq!(kept[1][..3], ["31.01.2024", "\"1", "50\""]);
    assert!(csv.lines().nth(3).unwrap().starts_with(",3,"), "{csv}");
    folder.run(&format!("{keep} who")).failed(1, "t.csv: there is no column 'who'");
    folder.run(&format!("{keep} a,a")).failed(1, "--keep: column 'a' is named twice");
    folder.write("mean.csv", "a;when;mean\n1,5;31.01.2024;1\n");
    let run = folder.run("predict m.raysum mean.csv --keep mean -o out.csv");
    run.failed(1, "--keep: the results have a column 'mean' of their own");
    // Types of a typed file are preserved.
    let sample = "sample m.raysum t.csv --missing mean --functions 2 --keep when";
    folder.stdout(&format!("{sample} -o s.parquet"));
    folder.stdout("fit s.parquet -t sample_0 --columns sample_1 -m gam -o s.raysum");
    let csv = folder.stdout("predict s.raysum s.parquet --keep sample_1,when");
    let drawn = folder.stdout(&format!("{sample} --quiet"));
    for (kept, drawn) in csv.lines().zip(drawn.lines()).skip(1) {
        let (kept, drawn): (Vec<_>, Vec<_>) =
            (kept.split(',').collect(), drawn.split(',').collect());
        assert_eq!(kept[..2], [drawn[2], drawn[0]]);
    }
    let json = folder.stdout("predict s.raysum s.parquet --keep sample_1,when --json");
    assert!(json.lines().last().unwrap().contains(r#","when":null,"mean":"#), "{json}");
}

#[test]
fn an_unknown_ending_is_refused_before_any_work() {
    let folder = Folder::with("t.csv", Table::smooth(20, 1).csv());
    let says = "cannot write out.xlsx: the extension .xlsx is not that of a known format (.csv, ";
    for command in ["predict", "sample"] {
        folder.run(&format!("{command} none.raysum t.csv -o out.xlsx")).failed(1, says);
    }
    let run = folder.run("predict none.raysum t.csv -o out.parquet.gz");
    run.failed(1, "cannot write out.parquet.gz: .parquet files are compressed internally");
}

#[test]
fn no_name_speaks_to_the_terminal() {
    let name = "\"bad\u{1b}[31m\n\u{9b}name\u{7}\u{202e}\"";
    let mut text = format!("{name},kind,y\n");
    (0..30).for_each(|i| text += &format!("{i},{},{}\n", ["\u{1b}[2Jx", "v"][i % 2], i * i % 11));
    let folder = Folder::with("t.csv", &text);
    let runs = [
        folder.run("fit t.csv -t y -m gam -o m.raysum --verbose").succeeded(),
        folder.run("inspect m.raysum").succeeded(),
        folder.run("evaluate t.csv -t 0 -m gam --folds 2").succeeded(),
        folder.run("fit t.csv -t nothing"),
        folder.run("fit t.csv -t kind"),
    ];
    folder.write("new.csv", text.replace("\u{1b}[2Jx", "\u{1b}[3J"));
    let predicted = folder.run("predict m.raysum new.csv -o out.csv").succeeded();
    folder.write("lack.csv", "kind\nv\n");
    let lacking = folder.run("predict m.raysum lack.csv");
    for run in runs.iter().chain([&predicted, &lacking]) {
        let obeyed = |c: char| c.is_control() && c != '\n';
        assert!(!run.stdout.contains(obeyed) && !run.stderr.contains(obeyed), "{run:?}");
    }
    let json = folder.stdout("inspect m.raysum --json");
    let object: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(object["columns"][0], "bad\u{1b}[31m\n\u{9b}name\u{7}\u{202e}");
    assert!(!json.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{json}");
    assert!(runs[1].stdout.contains(r"bad\u{1b}[31m\n\u{9b}name\u{7}\u{202e}"), "{:?}", runs[1]);
    assert!(predicted.stderr.contains(r"'\u{1b}[3J'"), "{predicted:?}");
}

/// A model that was fitted when models were of format 2 predicts the same.
#[test]
fn a_model_of_format_2_reads_tables_as_it_did() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../raysum/tests/fixtures/format-2");
    let read = |name: &str| std::fs::read(fixtures.join(name)).unwrap();
    let folder = Folder::with("m.raysum", read("table.raysum"));
    folder.write("new.csv", read("table/new.csv"));
    let run = folder.run("predict m.raysum new.csv").succeeded();
    assert!(run.stderr.contains("1 row with categories that training did not have ('green')"));
    let expected = String::from_utf8(read("table/predictions.csv")).unwrap();
    let found = sound_predictions(&run.stdout, 5);
    for (found, expected) in found.iter().zip(expected.lines().skip(1)) {
        let expected: Vec<f64> = expected.split(',').map(|field| field.parse().unwrap()).collect();
        for (a, b) in [found.mean, found.std, found.lower, found.upper].iter().zip(&expected) {
            assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} and {b}");
        }
        // It does not know its ranges.
        assert_eq!(found.extrapolation, 0.0);
    }
    // It takes rows in, with its weights, and is of the new format then.
    folder.write("more.csv", "size,colour,weight,y\n1,red,2,6\n-1,05,1,4\n");
    folder.stdout("update m.raysum more.csv -o more.raysum");
    let json = folder.stdout("inspect more.raysum --json");
    assert!(json.contains(r#""target":"y""#) && json.contains(r#""model":"gam""#), "{json}");
}
