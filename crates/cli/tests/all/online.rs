//! More rows, shards, several targets, weights and known noise, from the command line.

use crate::common::Folder;

/// Lines of a table: x, z, a weight, a noise, and two targets.
fn lines(range: std::ops::Range<i32>) -> Vec<String> {
    let line = |i: i32| {
        let (x, z) = (f64::from(i % 13) / 4.0, f64::from(i % 7) / 2.0);
        let wiggle = f64::from(i * i % 11) / 40.0;
        let (a, b) = ((x + z).sin() + wiggle, 50.0 - 3.0 * z + wiggle);
        format!("{x},{z},{},{},{a},{b}", i % 3 + 1, f64::from(i % 4) / 10.0)
    };
    range.map(line).collect()
}

fn table(lines: &[String]) -> String {
    format!("x,z,w,s,a,b\n{}\n", lines.join("\n"))
}

const ONE: &str = "--target a --drop w,s,b";

/// Any model will do here.
const SHORT: &str = "-J 5 --held-out no --max-evaluations 10";

fn numbers(csv: &str) -> Vec<Vec<f64>> {
    let numbers = |line: &str| line.split(',').map(|v| v.parse().unwrap()).collect();
    csv.lines().skip(1).map(numbers).collect()
}

/// The largest difference between two tables of predictions.
#[track_caller]
fn difference(a: &str, b: &str) -> f64 {
    let (a, b) = (numbers(a), numbers(b));
    assert_eq!(a.len(), b.len());
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    pairs.fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

#[test]
fn rows_come_and_go() {
    for engine in ["dense", "weight"] {
        let folder = Folder::with("t.csv", table(&lines(0..80)));
        folder.write("more.csv", table(&lines(100..130)));
        let fit = format!("fit t.csv {ONE} -m dpa-ard --engine {engine} {SHORT} -o m.raysum");
        folder.stdout(&fit);
        let before = folder.stdout("predict m.raysum t.csv");
        let said = folder.stdout("update m.raysum more.csv");
        assert_eq!(said, "30 rows taken in, 110 in all; saved to m.raysum\n");
        assert!(difference(&folder.stdout("predict m.raysum t.csv"), &before) > 1e-4);
        let said = folder.stdout("update m.raysum more.csv --remove -o old.raysum");
        assert_eq!(said, "30 rows taken out, 80 in all; saved to old.raysum\n");
        assert!(difference(&folder.stdout("predict old.raysum t.csv"), &before) < 1e-8);
        assert!(folder.stdout("inspect m.raysum --json").contains(r#""n":110,"#));
    }
}

#[test]
fn shards_are_merged_in_any_order() {
    let folder = Folder::with("t.csv", table(&lines(0..90)));
    folder.write("a.csv", table(&lines(0..40)));
    folder.write("b.csv", table(&lines(40..90)));
    folder.stdout(&format!("fit t.csv {ONE} -m dpa-ard --engine weight {SHORT} -o m.raysum"));
    let said = folder.stdout("stats m.raysum a.csv -o a.part");
    assert_eq!(said, "40 rows, 0 of them kept whole; saved to a.part\n");
    folder.stdout("stats m.raysum b.csv -o b.part");
    let said = folder.stdout("merge m.raysum b.part a.part --only-shards -o merged.raysum");
    assert_eq!(said, "90 rows taken in, 90 in all; saved to merged.raysum\n");
    let expected = folder.stdout("predict m.raysum t.csv");
    assert!(difference(&folder.stdout("predict merged.raysum t.csv"), &expected) < 1e-8);
    let said = folder.stdout("merge m.raysum a.part -o twice.raysum --json");
    assert!(said.contains(r#""rows_added":40"#) && said.contains(r#""n":130"#), "{said}");
    // Statistics are not a model, a model is not statistics, and statistics belong to their model.
    folder.run("predict a.part t.csv").failed(1, "it holds a shard");
    folder.run("merge m.raysum m.raysum -o x").failed(1, "it holds a model");
    folder.stdout(&format!("fit a.csv {ONE} -m dpa-ard --engine weight {SHORT} -o other.raysum"));
    let run = folder.run("merge other.raysum a.part -o x");
    run.failed(1, "a.part: these statistics were taken for another model");
}

#[test]
fn several_targets() {
    let folder = Folder::with("t.csv", table(&lines(0..90)));
    let both = format!("fit t.csv --target a,b -m dpa-ard {SHORT} --drop w,s -o both.raysum");
    let said = folder.stdout(&both);
    assert!(said.contains("target 'a'") && said.contains("target 'b'"), "{said}");
    let predicted = folder.stdout("predict both.raysum t.csv");
    let head = "a_mean,a_std,a_lower,a_upper,b_mean,b_std,b_lower,b_upper,extrapolation\n";
    assert!(predicted.starts_with(head), "{predicted}");
    let inspected = folder.stdout("inspect both.raysum --json");
    assert_eq!(inspected.lines().count(), 2);
    assert!(inspected.contains(r#""target":"a""#) && inspected.contains(r#""target":"b""#));
    folder.stdout("update both.raysum t.csv -o more.raysum");
    folder.stdout("stats both.raysum t.csv -o t.part");
    folder.stdout("merge both.raysum t.part -o merged.raysum");
    let [more, merged] =
        ["more", "merged"].map(|m| folder.stdout(&format!("predict {m}.raysum t.csv")));
    assert!(difference(&more, &merged) < 1e-9);
    // They are two fits in one file, unless they share hyperparameters.
    folder.stdout(&format!("fit t.csv --target b -m dpa-ard {SHORT} --drop w,s,a -o b.raysum"));
    let each = numbers(&predicted);
    let alone = numbers(&folder.stdout("predict b.raysum t.csv"));
    for (each, alone) in each.iter().zip(&alone) {
        assert_eq!(each[4..], alone[..]);
    }
    folder.stdout(&format!(
        "fit t.csv --target a,b -m dpa-ard {SHORT} --drop w,s --shared -o shared.raysum"
    ));
    let shared = numbers(&folder.stdout("predict shared.raysum t.csv"));
    assert!(shared.iter().zip(&alone).any(|(shared, alone)| shared[4..] != alone[..]));
    folder
        .run("evaluate t.csv --target a,b")
        .failed(1, "t.csv: evaluate takes one target at a time, not 'a', 'b'");
}

#[test]
fn weights_and_known_noise() {
    let folder = Folder::with("t.csv", table(&lines(0..60)));
    let rows = lines(0..60);
    let again = (0..60).flat_map(|i| vec![rows[i].clone(); i % 3 + 1]).collect::<Vec<_>>();
    folder.write("again.csv", table(&again));
    let options = "--target a -m dpa-ard --held-out no --engine dense";
    folder.stdout(&format!("fit t.csv {options} --weights w --drop s,b -o few.raysum"));
    folder.stdout(&format!("fit again.csv {options} --drop s,b,w -o many.raysum"));
    let [few, many] = ["few", "many"].map(|m| folder.stdout(&format!("predict {m}.raysum t.csv")));
    assert!(difference(&few, &many) < 1e-5);

    folder.stdout("fit t.csv --target a -m dpa-ard --noise-std s --drop w,b -o noisy.raysum");
    let with = numbers(&folder.stdout("predict noisy.raysum t.csv"));
    // Every fourth row has no noise of its own, and the next one has 0.1.
    assert!(with[5][1].powi(2) > 0.01 && with[1][1] > with[4][1]);
    folder.write("bare.csv", "x,z\n0,0\n");
    let run = folder.run("predict noisy.raysum bare.csv").succeeded();
    assert!(run.stderr.contains("there is no column 's' with known noise"), "{run:?}");
    let scores =
        folder.stdout("evaluate t.csv -m dpa-ard -t a --noise-std s --weights w --folds 3");
    assert!(scores.contains("dpa-ard"), "{scores}");
}

#[test]
fn bad_weights_and_rows_are_named() {
    let mut bad = lines(0..20);
    bad[3] = "1,2,0,0.1,3,4".into();
    bad[5] = "1,2,1,-0.5,3,4".into();
    let folder = Folder::with("t.csv", table(&bad));
    let fit = |options: &str| folder.run(&format!("fit t.csv --target a {options} -o m.raysum"));
    fit("--weights w").failed(1, "t.csv, line 5, column 'w': the weight is 0, but must be above 0");
    fit("--noise-std s")
        .failed(1, "t.csv, line 7, column 's': the noise std is -0.5, but must be at least 0");
    fit("--weights a").failed(1, "t.csv: column 'a' has two roles");
    fit("--weights nope").failed(1, "t.csv: there is no column 'nope'");
    folder.write("text.csv", "x,w,y\n1,a,2\n2,1,3\n3,1,4\n");
    folder
        .run("fit text.csv -t y --weights w")
        .failed(1, "text.csv: the weight 'w' holds text ('a' at line 2): it must be numbers");
    folder.write("good.csv", table(&lines(0..40)));
    folder.stdout(&format!("fit good.csv {ONE} -m gam -o m.raysum"));
    let before = folder.snapshot();
    folder.write("narrow.csv", "x,a\n1,2\n");
    folder
        .run("update m.raysum narrow.csv")
        .failed(1, "narrow.csv: the model needs 1 column that is not there: 'z'");
    let remove = folder.run("update m.raysum good.csv --remove");
    remove.failed(1, "good.csv: this would remove all rows of the model");
    assert_eq!(folder.bytes("m.raysum"), before[&folder.path("m.raysum")]);
}

#[test]
fn a_target_without_a_logarithm_is_named() {
    let lines = |from: usize, count: usize, last: f64| {
        let x = |i: usize| (i * 7 % 11) as f64 / 3.0;
        let row =
            |i: usize| format!("{},{}\n", x(i), (2.0 * x(i) + 0.8 * (i * 3 % 5) as f64).exp());
        let rows: String = (from..from + count).map(row).collect();
        format!("x,y\n{rows}1,{last}\n")
    };
    let folder = Folder::with("t.csv", lines(0, 50, 1.0));
    folder.stdout("fit t.csv -t y -m linear --target-scale yeo-johnson --held-out no -o m.raysum");
    assert!(folder.stdout("inspect m.raysum").contains("logarithm"));
    folder.write("more.csv", lines(50, 3, 0.0).replacen("x,y\n", "x,y\n2,\n", 1));
    let before = folder.snapshot();
    for command in ["update m.raysum more.csv", "stats m.raysum more.csv -o a.part"] {
        // The first row is left out, and the one that is named is the fifth.
        let says = "more.csv, row 5: the target is 0, but the model takes the target's logarithm; fit \
                    again on all rows";
        let run = folder.run(&format!("{command} --missing drop"));
        assert!(run.code == Some(1) && run.stderr.contains(says), "{run:?}");
    }
    assert_eq!(folder.snapshot(), before);
}

#[test]
fn a_shard_counts_once() {
    let folder = Folder::with("t.csv", table(&lines(0..60)));
    folder.write("a.csv", table(&lines(60..80)));
    folder.write("b.csv", table(&lines(80..90)));
    folder.stdout(&format!("fit t.csv {ONE} -m dpa-ard --engine weight {SHORT} -o m.raysum"));
    for part in ["a", "b"] {
        folder.stdout(&format!("stats m.raysum {part}.csv -o {part}.part"));
    }
    std::fs::copy(folder.path("a.part"), folder.path("copy.part")).unwrap();
    let before = folder.snapshot();
    for (parts, says) in [
        ("a.part a.part", "a.part: its rows would count twice: the file is given twice; leave"),
        (
            "b.part a.part copy.part",
            "copy.part: its rows would count twice: they are in a.part too; leave",
        ),
        (
            "a.part a.part --only-shards",
            "a.part: its rows would count twice: the file is given twice; leave",
        ),
    ] {
        let run = folder.run(&format!("merge m.raysum {parts} -o x.raysum"));
        run.failed(1, says);
        assert!(run.stderr.contains("; leave it out, or give --allow-duplicates"), "{run:?}");
    }
    assert!(folder.snapshot() == before);
    // Over several calls, and with statistics that were computed again.
    folder.stdout("merge m.raysum a.part -o one.raysum");
    let says = "a.part: its rows would count twice: they are in the model already; leave";
    folder.run("merge one.raysum a.part -o x.raysum").failed(1, says);
    folder.stdout("stats one.raysum a.csv -o again.part");
    folder.run("merge one.raysum b.part again.part -o x.raysum").failed(1, "again.part: its rows");
    assert!(!folder.path("x.raysum").exists());
    folder.stdout("merge one.raysum b.part -o two.raysum");
    folder.run("merge two.raysum a.part -o x.raysum").failed(1, says);
    let said = folder.stdout("merge two.raysum a.part --allow-duplicates -o x.raysum");
    assert_eq!(said, "20 rows taken in, 110 in all; saved to x.raysum\n");
    let said = folder.stdout("merge m.raysum a.part a.part --only-shards --allow-duplicates -o y");
    assert_eq!(said, "40 rows taken in, 40 in all; saved to y\n");
    // A shard may be merged again if it replaces everything.
    folder.stdout("merge two.raysum a.part --only-shards -o z.raysum");
}
