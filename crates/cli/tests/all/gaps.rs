//! Gaps that are indicated, and text columns with more texts than categories.

use crate::common::{Folder, Random, Run, Table, predictions, sound_predictions};

/// A smooth table with gaps in 'b' and in a text, a date and a boolean.
fn with_gaps(rows: usize) -> Table {
    let or_gap = |gap: bool, cell: String| if gap { String::new() } else { cell };
    let mut table = Table::smooth(rows, 4)
        .and("when", |i| or_gap(i % 11 == 5, format!("2024-{:02}-{:02}", i % 12 + 1, i % 28 + 1)))
        .and("open", |i| or_gap(i % 13 == 2, (i % 2 == 0).to_string()))
        .and("city", |i| or_gap(i % 9 == 4, ["Lima", "Oslo", "Rome", "Ulm"][i % 4].into()));
    for row in (0..rows).filter(|row| row % 5 == 3) {
        table = table.set(row, "b", "NA");
    }
    table
}

const COLUMNS: &str = "city,open,when,a,b,c,y";

#[test]
fn every_format_gives_the_same_indicators() {
    let folder = Folder::with("t.csv", with_gaps(120).csv());
    folder.stdout("fit t.csv -t y --columns a,c -m gam --held-out no -o base.raysum");
    let fit = |file: &str| {
        folder.stdout(&format!("predict base.raysum t.csv --keep {COLUMNS} -o {file}"));
        let options = "-m gam --held-out no --max-evaluations 5 --missing indicate --categories 3";
        let columns = COLUMNS.trim_end_matches(",y");
        let line = format!("fit {file} -t y --columns {columns} {options} -o m.raysum");
        let run = folder.run(&line).succeeded();
        let note = "58 missing cells in 49 rows marked in indicator columns (columns 'city', \
                    'open', 'when', 'b')";
        assert!(run.stderr.contains(note), "{run:?}");
        folder.bytes("m.raysum")
    };
    let expected = fit("out.csv");
    for name in ["out.tsv", "out.csv.gz", "out.csv.zst", "out.parquet", "out.arrow", "out.feather"]
    {
        assert!(fit(name) == expected, "{name}");
    }
    let said = folder.stdout("inspect m.raysum --json");
    let json: serde_json::Value = serde_json::from_str(&said).unwrap();
    let names = [
        // Lima has one more gap than the others, which are equally frequent.
        "city=Oslo",
        "city=Rome",
        "city (others)",
        "city (missing)",
        "open",
        "open (missing)",
        "when",
        "when (missing)",
        "a",
        "b",
        "b (missing)",
        "c",
    ];
    assert_eq!(json["columns"], serde_json::json!(names));
    // An indicator has no relevance of its own.
    let relevance = json["relevance"].as_object().unwrap();
    let mut columns: Vec<&str> = relevance.keys().map(String::as_str).collect();
    columns.sort_unstable();
    assert_eq!(columns, ["a", "b", "c", "city", "open", "when"]);
}

#[test]
fn an_array_may_have_gaps() {
    let rows: Vec<Vec<f64>> = (0..40)
        .map(|i| {
            let x = f64::from(i);
            vec![if i % 4 == 1 { f64::NAN } else { x.sin() }, x.cos(), (2.0 * x).sin()]
        })
        .collect();
    let folder = Folder::with("t.npy", crate::common::npy(&rows));
    folder.stdout("fit t.npy -t -1 -m gam --held-out no --missing indicate -o m.raysum");
    let answers = folder.stdout("predict m.raysum t.npy");
    sound_predictions(&answers, 40);
    let cell = |v: &f64| if v.is_nan() { String::new() } else { v.to_string() };
    let line = |row: &Vec<f64>| row.iter().map(cell).collect::<Vec<_>>().join(",") + "\n";
    folder.write("t.csv", rows.iter().map(line).collect::<String>());
    assert_eq!(folder.stdout("predict m.raysum t.csv --header no"), answers);
}

#[test]
fn a_table_larger_than_memory_has_the_same_indicators() {
    let table = Table::smooth(40_000, 5)
        .and("gap", |i| if i % 97 == 3 { String::new() } else { format!("{}", i % 50) })
        .and("code", |i| format!("k{}", (i * i) % 331));
    let folder = Folder::with("t.csv", table.csv());
    let fit = "fit t.csv -t y -m gam --held-out no --missing indicate --categories 20 \
               --max-evaluations 2 --subset 500";
    let whole = folder.run(&format!("{fit} -o a.raysum")).succeeded();
    let parts = folder.run(&format!("{fit} --memory 1MB -o b.raysum")).succeeded();
    // On a busy machine there is progress, too.
    let notes = |run: &Run| -> Vec<String> {
        run.stderr.lines().filter(|line| line.starts_with("note: ")).map(String::from).collect()
    };
    assert_eq!(notes(&whole), notes(&parts));
    assert!(whole.stderr.contains("413 missing cells in 413 rows marked"), "{whole:?}");
    assert!(whole.stderr.contains("different texts become 20 categories: the 19"), "{whole:?}");
    assert!(folder.bytes("a.raysum") == folder.bytes("b.raysum"));
}

#[test]
fn gaps_of_training_are_allowed_later() {
    let folder = Folder::with("t.csv", with_gaps(120).csv());
    folder.stdout("fit t.csv -t y -m gam --held-out no --missing indicate -o m.raysum");
    let inside = folder.run("predict m.raysum t.csv").succeeded();
    sound_predictions(&inside.stdout, 120);
    let note = "note: t.csv: 58 missing cells in 49 rows marked in indicator columns";
    assert!(inside.stderr.contains(note), "{inside:?}");
    folder.stdout("sample m.raysum t.csv --functions 2");
    folder.stdout("update m.raysum t.csv -o more.raysum");
    folder.stdout("stats m.raysum t.csv -o rows.part");
    folder.stdout("merge m.raysum rows.part --allow-duplicates -o merged.raysum");
    assert_eq!(
        folder.stdout("predict more.raysum t.csv"),
        folder.stdout("predict merged.raysum t.csv")
    );
    // No rule changes what the model does about its own gaps.
    for rule in ["drop", "mean", "indicate"] {
        let line = format!("predict m.raysum t.csv --missing {rule}");
        assert_eq!(folder.stdout(&line), inside.stdout, "{rule}");
    }
    // Another column is another matter.
    folder.write("new.csv", with_gaps(120).set(7, "c", "").csv());
    for command in ["predict", "sample", "update"] {
        for rule in ["", "--missing indicate"] {
            let run = folder.run(&format!("{command} m.raysum new.csv {rule}"));
            let says = "new.csv, line 9, column 'c': the value is missing; use --missing drop or \
                        --missing mean";
            run.failed(1, says);
        }
    }
    let dropped = folder.stdout("predict m.raysum new.csv --missing drop");
    let rows = predictions(&dropped);
    assert_eq!(rows.iter().filter(|row| row.is_none()).count(), 1);
    assert!(rows[7].is_none());
    let filled = folder.stdout("predict m.raysum new.csv --missing mean");
    sound_predictions(&filled, 120);
    // The rows of an update without a target are left out, as in a fit.
    folder.write("new.csv", with_gaps(120).set(7, "y", "").csv());
    let run = folder.run("update m.raysum new.csv --missing indicate -o n.raysum").succeeded();
    assert!(run.stderr.contains("1 of 120 rows left out because the target is missing"), "{run:?}");
}

/// A table with 30 % of the values of `b` missing: `hidden` tells where, from a uniform number and
/// the value of `b`.
fn with_hidden(rows: usize, seed: u64, hidden: impl Fn(f64, f64) -> bool) -> (Table, Vec<f64>) {
    let mut table = Table::smooth(rows, seed);
    let mut random = Random::new(seed + 100);
    let (b, y) = (table.numbers("b"), table.numbers("y"));
    for row in 0..rows {
        if hidden(random.uniform(), b[row]) {
            table = table.set(row, "b", "");
        }
    }
    (table, y)
}

/// Root mean squared error of new rows, with gaps in 30 % of them: of a fit that leaves rows with
/// gaps out, and of one that indicates them.
fn errors(hidden: impl Fn(f64, f64) -> bool + Copy) -> [f64; 2] {
    let (table, _) = with_hidden(400, 1, hidden);
    let (new, y) = with_hidden(400, 2, hidden);
    let gaps = new.rows.iter().filter(|row| row[1].is_empty()).count();
    assert!((80..160).contains(&gaps), "{gaps} gaps");
    let folder = Folder::with("t.csv", table.csv());
    folder.write("new.csv", new.csv());
    ["drop", "indicate"].map(|rule| {
        folder.stdout(&format!(
            "fit t.csv -t y -m dpa-ard --held-out no --missing {rule} -o m.raysum"
        ));
        // The model of complete rows has to be given a value.
        let later = if rule == "drop" { "mean" } else { rule };
        let answers = folder.stdout(&format!("predict m.raysum new.csv --missing {later}"));
        let found = sound_predictions(&answers, 400);
        let squares = found.iter().zip(&y).map(|(row, y)| (row.mean - y).powi(2));
        (squares.sum::<f64>() / 400.0).sqrt()
    })
}

#[test]
fn indicators_help_where_gaps_tell_something() {
    // The target is sin(1.5 a) + b/2. Large values of b are missing: the gap tells that b is large.
    let [dropped, indicated] = errors(|_, b| b > 0.52);
    assert!(indicated < 0.5 * dropped, "{indicated} beside {dropped}");
    // Gaps by chance tell nothing, and the indicators cost little.
    let [dropped, indicated] = errors(|u, _| u < 0.3);
    assert!(indicated < 1.05 * dropped, "{indicated} beside {dropped}");
}

#[test]
fn an_evaluation_indicates_gaps() {
    let (table, _) = with_hidden(200, 3, |_, b| b > 0.52);
    let folder = Folder::with("t.csv", table.csv());
    let rmse = |rule: &str| {
        let line = format!("evaluate t.csv -t y -m dpa-ard --missing {rule} --folds 4 --json");
        let json: serde_json::Value = serde_json::from_str(&folder.stdout(&line)).unwrap();
        assert_eq!(json["n"], 200, "{json}");
        json["rmse_mean"].as_f64().unwrap()
    };
    let (mean, indicated) = (rmse("mean"), rmse("indicate"));
    assert!(indicated < 0.8 * mean, "{indicated} beside {mean}");
}

#[test]
fn rare_texts_are_one_category() {
    // Three frequent shops of known effects, and forty that occur once or twice.
    let table = |rows: usize, seed: u64| {
        let mut random = Random::new(seed);
        let mut text = "shop,size,y\n".to_string();
        for i in 0..rows {
            let size = random.normal();
            let (shop, effect) = match i % 4 {
                3 => (format!("rare {}", i % 43), 4.0),
                k => (["north", "others", "(others)"][k].to_string(), k as f64 - 1.0),
            };
            text += &format!("{shop},{size:.5},{:.5}\n", effect + 0.3 * size);
        }
        text
    };
    let folder = Folder::with("t.csv", table(200, 1));
    let fit = "fit t.csv -t y -m gam --held-out no --categories 4 -o m.raysum";
    let run = folder.run(fit).succeeded();
    let note = "note: t.csv, column 'shop': 46 different texts become 4 categories: the 3 most \
                frequent, and one for all others (50 of 200 rows)";
    assert!(run.stderr.contains(note), "{run:?}");
    let inspected = folder.stdout("inspect m.raysum --json");
    let json: serde_json::Value = serde_json::from_str(&inspected).unwrap();
    let names = ["shop=(others)", "shop=north", "shop=others", "shop (others)", "size"];
    assert_eq!(json["columns"], serde_json::json!(names));
    assert_eq!(json["relevance"].as_object().unwrap().len(), 2);
    // A text that training did not have is one of the others, and a gap is not allowed.
    folder.write("new.csv", "shop,size\nrare 3,0\nnever seen,0\nnorth,0\n(others),0\n");
    let run = folder.run("predict m.raysum new.csv").succeeded();
    assert_eq!(run.stderr, "");
    let rows = sound_predictions(&run.stdout, 4);
    for (row, expected) in rows.iter().zip([4.0, 4.0, -1.0, 1.0]) {
        assert!((row.mean - expected).abs() < 0.2, "{row:?} and not {expected}");
    }
    assert_eq!(rows[0].mean, rows[1].mean);
    folder.write("gap.csv", "shop,size\n,0\n");
    let says = "gap.csv, line 2, column 'shop': the value is missing";
    folder.run("predict m.raysum gap.csv").failed(1, says);
    // By default 100 categories are kept.
    let run = folder.run(&fit.replace("--categories 4", "--max-evaluations 2")).succeeded();
    assert!(run.stderr.contains("taken as categories: 'shop' (46 categories)"), "{run:?}");
    let many = Table::smooth(150, 2).and("name", |i| format!("name {}", i % 149));
    folder.write("many.csv", many.csv());
    let run = folder.run("fit many.csv -t y -m gam --held-out no --max-evaluations 2").succeeded();
    let note = "149 different texts become 100 categories: the 99 most frequent, and one for all \
                others (50 of 150 rows); use --categories N to keep more";
    assert!(run.stderr.contains(note), "{run:?}");
}
