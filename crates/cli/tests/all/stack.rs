//! A mixture of models, which is the default, from the command line: what is printed, quantiles, rows
//! that come and go, functions, checkpoints, threads, gaps and categories.

use crate::common::{Folder, Random, Run, Table, json_lines, number, sound_predictions};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::Duration;

const ROWS: usize = 40;

fn table() -> Table {
    Table::smooth(ROWS, 1)
}

/// A folder with `t.csv` and a mixture for its target `y`, `m.raysum`, and what the fit printed.
fn fitted() -> (Folder, &'static str) {
    static FITTED: OnceLock<(Vec<u8>, String)> = OnceLock::new();
    let folder = Folder::with("t.csv", table().csv());
    let (model, printed) = FITTED.get_or_init(|| {
        let folder = Folder::with("t.csv", table().csv());
        let printed = folder.stdout("fit t.csv -t y -o m.raysum -q");
        (folder.bytes("m.raysum"), printed)
    });
    folder.write("m.raysum", model);
    (folder, printed)
}

/// The values of each line, without the header.
fn numbers(csv: &str) -> Vec<Vec<f64>> {
    let numbers = |line: &str| line.split(',').map(|v| v.parse().unwrap()).collect();
    csv.lines().skip(1).map(numbers).collect()
}

#[test]
fn a_fit_prints_a_verdict_scores_and_members() {
    let (_, printed) = fitted();
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0].starts_with("auto on 40 rows × 3 columns, target 'y', "), "{printed}");
    assert!(lines[1].starts_with("explains ") && lines[1].ends_with(" % of the target's variance"));
    let how = "scores of 40 rows, each held out once in 5 folds, in the target's units:";
    assert_eq!(lines[2], how);
    let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
    assert_eq!(words(lines[3]), ["RMSE", "MAE", "NLPD", "CRPS", "in", "95", "%", "width"]);
    for (line, name) in lines[4..7].iter().zip(["constant", "ridge regression", "raysum"]) {
        assert!(line.trim_start().starts_with(name), "{line}");
    }
    assert_eq!(
        words(lines[7])[..6],
        ["member", "in", "the", "mean", "in", "the"].map(String::from)
    );
    let members = lines[8..].iter().take_while(|line| line.starts_with(' ')).count();
    assert!(members >= 2, "{printed}");
    assert_eq!(lines[8 + members], "relevance of the columns:");
    assert_eq!(*lines.last().unwrap(), "saved to m.raysum");
}

#[test]
fn a_table_of_noise_is_called_that() {
    let mut random = Random::new(3);
    let noise = Table::new(["a", "b", "y"], 60, |_| [(); 3].map(|()| random.normal()));
    let folder = Folder::with("t.csv", noise.csv());
    let says = "hardly better than a constant: the columns say little about the target";
    let printed = folder.stdout("fit t.csv -t y --effort quick -q");
    assert_eq!(printed.lines().nth(1), Some(says), "{printed}");
}

#[test]
fn an_inspection_shows_members_and_calibration() {
    let (folder, printed) = fitted();
    let said = folder.stdout("inspect m.raysum");
    assert!(said.starts_with("  model "), "{said}");
    for line in printed.lines().skip(3).take_while(|line| !line.starts_with("relevance")) {
        assert!(said.contains(line), "{line} in {said}");
    }
    assert!(
        said.contains("calibration: each member's standard deviations are multiplied by its κ"),
        "{said}"
    );
    for level in ["50 %", "80 %", "90 %", "95 %", "99 %"] {
        assert!(said.lines().any(|line| line.trim_start().starts_with(level)), "{said}");
    }
    let json = json_lines(&folder.stdout("inspect m.raysum --json")).remove(0);
    assert_eq!((&json["model"], &json["n"]), (&"auto".into(), &ROWS.into()));
    let members = json["members"].as_array().unwrap();
    let sum = |key: &str| members.iter().map(|member| number(member, key)).sum::<f64>();
    assert!((sum("mean_weight") - 1.0).abs() < 1e-6 && (sum("spread_weight") - 1.0).abs() < 1e-6);
    assert!(members.iter().all(|member| number(member, "kappa") > 0.0));
    assert_eq!(json["calibration"].as_array().map(Vec::len), Some(5), "{json}");
    assert!(number(&json["held_out"]["scores"], "rmse") > 0.0);
    assert!(json["held_out"]["tried"].as_array().unwrap().len() >= members.len());
}

#[test]
fn quantiles_stand_beside_the_interval() {
    let (folder, _) = fitted();
    let plain = folder.stdout("predict m.raysum t.csv --level 0.9");
    sound_predictions(&plain, ROWS);
    let line = "predict m.raysum t.csv --level 0.9 --quantiles 0.05,0.5,0.95";
    let found = folder.stdout(line);
    let head = "mean,std,lower,upper,q0.05,q0.5,q0.95,extrapolation\n";
    assert!(found.starts_with(head), "{found}");
    for (row, plain) in numbers(&found).iter().zip(numbers(&plain)) {
        assert_eq!(row[..4], plain[..4]);
        assert_eq!([row[4], row[6]], [row[2], row[3]]);
        assert!(row[4] < row[5] && row[5] < row[6], "{row:?}");
    }
    let json = json_lines(&folder.stdout(&format!("{line} --json")));
    assert_eq!(number(&json[3], "q0.5"), numbers(&found)[3][5]);
    let slopes = folder.stdout("predict m.raysum t.csv --gradient");
    assert!(slopes.lines().next().unwrap().ends_with("slope_of_mean:b,slope_of_mean:c"));
}

#[test]
fn rows_come_and_go() {
    let (folder, _) = fitted();
    folder.write("more.csv", Table::smooth(10, 2).csv());
    let before = numbers(&folder.stdout("predict m.raysum t.csv"));
    let said = folder.stdout("update m.raysum more.csv");
    assert_eq!(said, "10 rows taken in, 50 in all; saved to m.raysum\n");
    let gap = |found: &str| {
        let found = numbers(found);
        let pairs = before.iter().flatten().zip(found.iter().flatten());
        pairs.fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()))
    };
    assert!(gap(&folder.stdout("predict m.raysum t.csv")) > 1e-4);
    let said = folder.stdout("update m.raysum more.csv --remove");
    assert_eq!(said, "10 rows taken out, 40 in all; saved to m.raysum\n");
    assert!(gap(&folder.stdout("predict m.raysum t.csv")) < 1e-6);
    let says = "a mixture of models has no statistics of shards; fit a single model";
    folder.run("stats m.raysum more.csv -o a.part").failed(1, says);
}

#[test]
fn functions_are_drawn_from_the_members() {
    let (folder, _) = fitted();
    let drawn = folder.stdout("sample m.raysum t.csv --functions 5 --seed 2");
    assert!(drawn.starts_with("sample_0,sample_1,sample_2,sample_3,sample_4\n"), "{drawn}");
    assert_eq!(drawn.lines().count(), ROWS + 1);
    let few = folder.stdout("sample m.raysum t.csv --functions 2 --seed 2");
    for (five, two) in numbers(&drawn).iter().zip(numbers(&few)) {
        assert_eq!(five[..2], two[..]);
    }
    folder.stdout("sample m.raysum t.csv --functions 2 --prior");
}

#[test]
fn an_evaluation_compares_mixtures_with_models() {
    let folder = Folder::with("t.csv", table().csv());
    let said = folder.stdout("evaluate t.csv -t y -m auto,linear --effort quick --folds 2 -q");
    assert!(said.starts_with("40 rows × 3 columns, target 'y', 2 folds × 1"), "{said}");
    let line = "evaluate t.csv -t y --effort quick --folds 2 --json -q";
    let auto = json_lines(&folder.stdout(line)).remove(0);
    assert_eq!(auto["model"], "auto");
    assert!(number(&auto, "rmse_mean") < 0.8 && number(&auto, "coverage95") > 0.8, "{auto}");
}

#[test]
fn threads_and_runs_give_the_same_bytes() {
    let folder = Folder::with("t.csv", table().csv());
    let fit = |options: &str| {
        folder.stdout(&format!("fit t.csv -t y --effort quick -q -o m.raysum {options}"));
        folder.bytes("m.raysum")
    };
    let one = fit("--threads 1");
    assert!(one == fit("--threads 2"), "threads matter");
    assert!(one == fit("--checkpoint c"), "a checkpoint matters");
    assert!(one != fit("--seed 1"), "the seed does not matter");
}

#[test]
fn a_killed_fit_resumes_to_the_same_bytes() {
    let folder = Folder::with("t.csv", Table::smooth(120, 4).csv());
    let fit = "fit t.csv -t y --effort quick";
    folder.stdout(&format!("{fit} -q -o whole.raysum"));
    let line = format!("{fit} -o m.raysum --checkpoint c");
    // Killed whenever the checkpoint has grown by some evaluations.
    let size = || folder.path("c").metadata().map_or(0, |c| c.len());
    let mut kills = 0;
    let last: Run = loop {
        let enough = size() + 4000;
        let mut child = folder.start(&line);
        while kills < 6 && size() < enough && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_millis(2));
        }
        if kills >= 6 || child.try_wait().unwrap().is_some() {
            break Run::new(&line, child.wait_with_output().unwrap()).succeeded();
        }
        child.kill().unwrap();
        child.wait_with_output().unwrap();
        assert!(!folder.path("m.raysum").exists());
        kills += 1;
    };
    assert!(kills >= 2, "the fit was done after {kills} kills");
    assert!(last.stderr.contains("evaluations of an earlier run"), "{last:?}");
    assert!(folder.bytes("m.raysum") == folder.bytes("whole.raysum"));
    assert!(!folder.path("c").exists());
}

#[test]
fn gaps_and_categories() {
    let colour = |i: usize| ["red", "green", "blue"][i % 3].to_string();
    let mut table = table().and("colour", colour);
    for row in [3, 7, 20, 31] {
        table = table.set(row, "b", "");
    }
    let folder = Folder::with("t.csv", table.csv());
    folder.run("fit t.csv -t y").failed(1, "t.csv, line 5, column 'b': the value is missing");
    let fit = "fit t.csv -t y --effort quick --missing indicate -o m.raysum";
    let run = folder.run(fit).succeeded();
    assert!(run.stderr.contains("4 missing cells in 4 rows marked"), "{run:?}");
    sound_predictions(&folder.stdout("predict m.raysum t.csv"), ROWS);
    let json = json_lines(&folder.stdout("inspect m.raysum --json")).remove(0);
    let mut columns: Vec<&String> = json["relevance"].as_object().unwrap().keys().collect();
    columns.sort();
    assert_eq!(columns, ["a", "b", "c", "colour"]);
    folder.write("new.csv", "colour,a,b,c\nmauve,0,,1\n");
    let run = folder.run("predict m.raysum new.csv").succeeded();
    assert!(run.stderr.contains("categories that training did not have ('mauve')"), "{run:?}");
    sound_predictions(&run.stdout, 1);
}

#[test]
fn several_targets_weights_and_known_noise() {
    let table = table().and("w", |i| format!("{}", 1 + i % 3)).and("s", |i| format!("0.{}", i % 4));
    let folder = Folder::with("t.csv", table.csv());
    let fit = "fit t.csv --weights w --effort quick -q";
    let said = folder.stdout(&format!("{fit} -t c,y --drop s -o m"));
    assert!(said.contains("target 'c'") && said.contains("target 'y'"), "{said}");
    let predicted = folder.stdout("predict m t.csv --quantiles 0.1");
    let head = "c_mean,c_std,c_lower,c_upper,c_q0.1,y_mean,y_std,y_lower,y_upper,y_q0.1,";
    assert!(predicted.starts_with(head), "{predicted}");
    // Rows of known noise have wider intervals.
    folder.stdout(&format!("{fit} -t y --noise-std s -o known"));
    let predicted = folder.stdout("predict known t.csv");
    let rows = sound_predictions(&predicted, ROWS);
    let width = |of: usize| -> f64 {
        let own = rows.iter().skip(of).step_by(4).map(|row| row.upper - row.lower);
        own.sum()
    };
    assert!(width(3) > width(0), "{predicted}");
}
