//! Printed results are sensible on tables whose truth is known.

use crate::common::{Folder, Random, json_lines, number, sound_predictions};

/// A table of standard normal columns x0, x1, … with y = Σ of the first `useful` + noise.
fn sum_of_columns(rows: usize, columns: usize, useful: usize, noise: f64, seed: u64) -> String {
    let mut random = Random::new(seed);
    let names: Vec<String> = (0..columns).map(|j| format!("x{j}")).collect();
    let mut text = names.join(",") + ",y\n";
    for _ in 0..rows {
        let x: Vec<f64> = (0..columns).map(|_| random.normal()).collect();
        let y = x[..useful].iter().sum::<f64>() + noise * random.normal();
        let cells: Vec<String> = x.iter().chain([&y]).map(|v| format!("{v:.6}")).collect();
        text += &(cells.join(",") + "\n");
    }
    text
}

/// The result of a fit.
fn fitted(folder: &Folder, line: &str) -> serde_json::Value {
    json_lines(&folder.stdout(&format!("{line} --json"))).remove(0)
}

/// Its scores of held-out rows, in standard deviations of the target.
fn held_out(folder: &Folder, line: &str) -> serde_json::Value {
    fitted(folder, line)["held_out"]["standardised"].take()
}

#[test]
fn many_columns_of_few_rows_are_predicted_with_intervals_that_hold() {
    let folder = Folder::with("t.csv", sum_of_columns(120, 30, 5, 1.5, 1));
    let fit = "fit t.csv -t y -m dpa-ard --intervals gaussian";
    let found = held_out(&folder, fit);
    assert!(number(&found, "coverage95") >= 0.85, "{found}");
    // Ridge regression has about 0.7 here, a constant 1.
    assert!(number(&found, "rmse") < 0.85, "{found}");
    let paper = held_out(&folder, &format!("{fit} --shrinkage none"));
    assert!(number(&paper, "coverage95") < 0.7, "{paper}");
    let text = folder.stdout("fit t.csv -t y -m dpa-ard --held-out no -q");
    assert!(!text.contains("length-scales            one per column"), "{text}");
}

#[test]
fn intervals_that_are_too_narrow_are_widened() {
    let folder = Folder::with("t.csv", sum_of_columns(80, 35, 5, 1.5, 2));
    let fit = "fit t.csv -t y -m dpa-ard --shrinkage none";
    let found = held_out(&folder, &format!("{fit} --intervals gaussian"));
    assert!(number(&found, "coverage95") < 0.8, "{found}");
    let found = fitted(&folder, fit);
    assert!(number(&found["held_out"]["scores"], "coverage95") >= 0.88, "{found}");
    assert!(number(&found["members"][0], "kappa") > 1.3, "{found}");
}

#[test]
fn a_common_factor_of_all_weights_changes_nothing_but_the_noise() {
    let plain = sum_of_columns(80, 3, 2, 0.5, 3);
    let mut lines = plain.lines();
    let weighted = |factor: f64| {
        let mut text = format!("w,{}\n", plain.lines().next().unwrap());
        for (i, line) in plain.lines().skip(1).enumerate() {
            text += &format!("{},{line}\n", factor * (1 + i % 3) as f64);
        }
        text
    };
    assert!(lines.next().is_some());
    let folder = Folder::with("one.csv", weighted(1.0));
    folder.write("nine.csv", weighted(9.0));
    let fit = |name: &str| {
        let line =
            format!("fit {name}.csv -t y -m dpa-ard --held-out no --weights w -o {name}.raysum");
        let noise = number(&fitted(&folder, &line), "noise_std");
        (noise, sound_predictions(&folder.stdout(&format!("predict {name}.raysum one.csv")), 80))
    };
    let ((one, expected), (nine, found)) = (fit("one"), fit("nine"));
    assert!((nine / one - 3.0).abs() < 1e-3, "{one}, {nine}");
    for (a, b) in expected.iter().zip(&found) {
        assert!((a.mean - b.mean).abs() < 1e-5 && (a.std - b.std).abs() < 1e-5, "{a:?}, {b:?}");
    }
}

#[test]
fn weights_of_the_readme_keep_a_model_sane() {
    let folder = Folder::with("cars.csv", include_str!("../../data/cars.csv"));
    let plain = fitted(&folder, "fit cars.csv -t mpg -m gam");
    let found = fitted(&folder, "fit cars.csv -t mpg -m gam --weights cylinders");
    let rmse = |line: &serde_json::Value| number(&line["held_out"]["scores"], "rmse");
    assert!(rmse(&found) < 1.2 * rmse(&plain), "{found}, {plain}");
    assert!((2.0..8.0).contains(&number(&found, "noise_std")), "{found}");
}

#[test]
fn each_target_has_noise_of_its_own_unless_they_share_it() {
    let table = sum_of_columns(120, 3, 2, 0.05, 4);
    let mut random = Random::new(5);
    let mut text = String::new();
    for (i, line) in table.lines().enumerate() {
        let other = if i == 0 { "z".into() } else { format!("{:.6}", random.normal()) };
        text += &format!("{line},{other}\n");
    }
    let folder = Folder::with("t.csv", text);
    let noise = |options: &str| -> Vec<f64> {
        let lines = json_lines(
            &folder.stdout(&format!("fit t.csv -t y,z -m dpa-ard --held-out no --json {options}")),
        );
        lines.iter().map(|line| number(line, "noise_std")).collect()
    };
    let own = noise("");
    assert!(own[0] < 0.1 && own[1] > 0.7, "{own:?}");
    let shared = noise("--shared");
    assert!(shared[0] > 2.0 * own[0], "{shared:?}");
}

#[test]
fn rows_outside_the_training_range_are_marked() {
    let folder = Folder::with("t.csv", sum_of_columns(60, 2, 2, 0.1, 6));
    folder.stdout("fit t.csv -t y -m dpa-ard --held-out no -q -o m.raysum");
    folder.write("new.csv", "x0,x1\n0,0\n0,30\n-20,0\n0,3.2\n");
    let run = folder.run("predict m.raysum new.csv").succeeded();
    let rows = sound_predictions(&run.stdout, 4);
    assert_eq!(rows[0].extrapolation, 0.0);
    assert!(rows[1].extrapolation > 20.0 && rows[2].extrapolation > 10.0, "{rows:?}");
    assert!(rows[3].extrapolation > 0.0 && rows[3].extrapolation < 2.5, "{rows:?}");
    assert!(run.stderr.contains("rows are more than one standard deviation outside"), "{run:?}");
    let inside = folder.run("predict m.raysum t.csv").succeeded();
    assert!(inside.stderr.is_empty(), "{inside:?}");
    // Added rows extend the range.
    folder.write("far.csv", "x0,x1,y\n0,30,1\n-20,0,1\n");
    folder.stdout("update m.raysum far.csv -o more.raysum");
    let rows = sound_predictions(&folder.stdout("predict more.raysum new.csv"), 4);
    assert!(rows.iter().all(|row| row.extrapolation == 0.0), "{rows:?}");
}

#[test]
fn a_category_has_one_relevance() {
    let mut random = Random::new(7);
    let mut text = "shop,size,flag,y\n".to_string();
    for i in 0..90 {
        let (size, flag) = (random.normal(), (i / 3) % 2);
        let y = [0.0, 2.0, -1.0][i % 3] + 0.3 * size + 3.0 * flag as f64 + 0.05 * random.normal();
        text += &format!("{},{size:.5},{flag},{y:.5}\n", ["north", "east", "west"][i % 3]);
    }
    let folder = Folder::with("t.csv", text);
    for model in ["gam", "dpa-ard"] {
        let said = folder.stdout(&format!("fit t.csv -t y -m {model} --held-out no"));
        let start = said.find("relevance of the columns").unwrap();
        let order: Vec<&str> = said[start..]
            .lines()
            .skip(1)
            .take(3)
            .map(|line| line.split_whitespace().next().unwrap())
            .collect();
        assert_eq!(order, ["flag", "shop", "size"], "{said}");
    }
}

#[test]
fn progress_says_what_is_done_on_how_many_rows() {
    let folder = Folder::with("t.csv", sum_of_columns(3000, 3, 2, 0.5, 8));
    let run = folder.run("fit t.csv -t y -m dpa-ard -v --held-out no").succeeded();
    let lines: Vec<&str> = run.stderr.lines().filter(|l| l.contains("searching on")).collect();
    assert!(lines[0].contains("searching on 1500 of 3000 rows, evaluation 1,"), "{}", lines[0]);
    assert!(lines.last().unwrap().contains("searching on 3000 rows"), "{lines:?}");
    let shares: Vec<u32> = lines
        .iter()
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let percent = words.iter().position(|word| word.starts_with('%')).unwrap();
            words[percent - 1].parse().unwrap()
        })
        .collect();
    assert!(shares.is_sorted() && *shares.last().unwrap() <= 100, "{shares:?}");
}

#[test]
fn rows_held_out_for_scores_do_not_decide_on_the_shrinkage() {
    let folder = Folder::with("t.csv", sum_of_columns(70, 3, 2, 0.5, 9));
    let fit = |held_out: &str| {
        let line = format!("fit t.csv -t y -m dpa-ard --held-out {held_out} -o m.raysum");
        let likelihood = number(&fitted(&folder, &line), "log_marginal_likelihood");
        let inspected = json_lines(&folder.stdout("inspect m.raysum --json")).remove(0);
        (likelihood, inspected)
    };
    // In a fold of 56 rows held-out rows decide; the model is fitted on all rows.
    let ((all, _), (few, inspected)) = (fit("no"), fit("yes"));
    assert!((all - few).abs() < 0.2, "{all}, {few}");
    assert!(inspected["shrinkage"].is_null(), "{inspected}");
}

#[test]
fn nothing_is_relevant_to_noise() {
    let folder = Folder::with("t.csv", sum_of_columns(200, 3, 0, 1.0, 10));
    let said = folder.stdout("fit t.csv -t y -m dpa-ard");
    assert!(said.contains("none: the prediction is about the same everywhere"), "{said}");
}

#[test]
fn copies_of_all_rows_do_not_change_the_noise() {
    let once = sum_of_columns(60, 3, 2, 0.8, 11);
    let (head, rows) = once.split_once('\n').unwrap();
    let folder = Folder::with("once.csv", &once);
    folder.write("again.csv", format!("{head}\n{}", rows.repeat(10)));
    let noise = |name: &str| {
        number(
            &fitted(&folder, &format!("fit {name}.csv -t y -m dpa-ard --held-out no")),
            "noise_std",
        )
    };
    let (once, again) = (noise("once"), noise("again"));
    assert!((once / again - 1.0).abs() < 1e-3, "{once}, {again}");
}

#[test]
fn a_constant_target_is_noted() {
    let folder = Folder::with("t.csv", "a,y\n1,7\n2,7\n3,7\n4,7\n");
    let run = folder.run("fit t.csv -t y -m dpa-ard").succeeded();
    assert!(run.stderr.contains("every value of the target 'y' is 7"), "{run:?}");
}

#[test]
fn columns_taken_by_position_are_noted() {
    let folder = Folder::with("bare.csv", "1,2,3\n2,1,4\n3,5,9\n4,4,8\n5,1,7\n");
    folder.stdout("fit bare.csv -t -1 -m gam --held-out no -o m.raysum");
    folder.write("named.csv", "b,a\n1,2\n");
    let run = folder.run("predict m.raysum named.csv").succeeded();
    assert!(run.stderr.contains("columns are taken by position"), "{run:?}");
    let run = folder.run("predict m.raysum bare.csv --header no").succeeded();
    assert!(!run.stderr.contains("columns are taken by position"), "{run:?}");
}
