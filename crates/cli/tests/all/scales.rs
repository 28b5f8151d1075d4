//! Target scales, noise that varies, and the neighbors engine, from the command line.

use crate::common::{Folder, Random, json_lines, number};

/// A table with columns a and b, whose target `y` is made of them and a normal number.
fn table(rows: usize, seed: u64, y: impl Fn(f64, f64, f64) -> f64) -> String {
    let mut random = Random::new(seed);
    let mut text = "a,b,y\n".to_string();
    for _ in 0..rows {
        let (a, b, noise) = (random.normal(), random.normal(), random.normal());
        text += &format!("{a:.6},{b:.6},{:.6}\n", y(a, b, noise));
    }
    text
}

fn scores(folder: &Folder, options: &str) -> serde_json::Value {
    let line = format!("evaluate t.csv -t y --folds 4 -m gam {options} --json");
    json_lines(&folder.stdout(&line)).remove(0)
}

#[test]
fn a_skewed_target_is_evaluated_and_predicted_on_its_own_scale() {
    let folder =
        Folder::with("t.csv", table(150, 1, |a, b, e| (a.sin() + 0.5 * b + 0.3 * e).exp()));
    let (plain, power) = (scores(&folder, ""), scores(&folder, "--target-scale yeo-johnson"));
    let gain = number(&plain, "nlpd_mean") - number(&power, "nlpd_mean");
    assert!(gain > 0.2, "{plain} {power}");
    assert!(number(&power, "coverage95") > 0.88, "{power}");
    let fit = folder.stdout("fit t.csv -t y -m gam --target-scale yeo-johnson -o m.raysum");
    assert!(fit.contains("scale of target") && fit.contains("logarithm"), "{fit}");
    assert!(folder.stdout("inspect m.raysum").contains("of the transformed target"));
    let predictions = folder.stdout("predict m.raysum t.csv");
    for line in predictions.lines().skip(1) {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        let (mean, lower, upper) = (cells[0], cells[2], cells[3]);
        assert!(0.0 < lower && lower < mean && mean < upper, "{line}");
        assert!(upper - mean > mean - lower, "{line}");
    }
    let drawn = folder.stdout("sample m.raysum t.csv --functions 2");
    let values = drawn.lines().skip(1).flat_map(|line| line.split(','));
    assert!(values.map(|v| v.parse::<f64>().unwrap()).all(|v| v > 0.0));
}

#[test]
fn noise_that_varies_is_evaluated_described_and_predicted() {
    let folder = Folder::with("t.csv", table(300, 2, |a, b, e| b + 0.3 * (0.7 * a).exp() * e));
    let (plain, varying) = (scores(&folder, ""), scores(&folder, "--noise columns"));
    assert!(number(&varying, "nlpd_mean") < number(&plain, "nlpd_mean") - 0.05, "{varying}");
    let fit = folder.stdout("fit t.csv -t y -m gam --noise columns -o m.raysum --checkpoint c");
    assert!(fit.contains("at nine rows of ten"), "{fit}");
    assert!(fit.contains("relevance of the columns for the noise:"), "{fit}");
    folder.write("new.csv", "a,b\n-1.5,0\n1.5,0\n");
    let predictions = folder.stdout("predict m.raysum new.csv");
    let std = |k: usize| -> f64 {
        predictions.lines().nth(k).unwrap().split(',').nth(1).unwrap().parse().unwrap()
    };
    assert!(std(2) > 3.0 * std(1), "{predictions}");
    let constant = folder.stdout("fit t.csv -t y -m gam");
    assert!(!constant.contains("for the noise"), "{constant}");
}

#[test]
fn directions_that_columns_with_heavy_tails_do_not_get_are_reported() {
    let text = table(2_100, 4, |a, b, e| a + b.sin() + 0.1 * e);
    let heavy = text.lines().skip(1).map(|line| {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        format!("{},{},{}\n", (3.0 * cells[0]).exp(), (3.0 * cells[1]).exp(), cells[2])
    });
    let folder = Folder::with("t.csv", format!("a,b,y\n{}", heavy.collect::<String>()));
    let fit = |options: &str| {
        folder.stdout(&format!(
            "fit t.csv -t y --held-out no --max-evaluations 2 -o m.raysum {options}"
        ))
    };
    let says = "dpa-ard has fewer";
    assert!(fit("-m gam+dpa-ard").contains(says));
    assert!(folder.stdout("inspect m.raysum").contains(says));
    for options in ["-m gam+dpa-ard --columns-scale ranks", "-m gam+dpa-ard:30x1"] {
        assert!(!fit(options).contains(says), "{options}");
    }
}

#[test]
fn the_neighbors_engine_fits_predicts_and_is_described() {
    let folder = Folder::with("t.csv", table(200, 3, |a, b, e| a.sin() * b + 0.1 * e));
    let fit = "fit t.csv -t y -m matern32-ard --engine neighbors --neighbors 20 \
               --prediction-neighbors 50 --max-evaluations 20 --json -o m.raysum";
    let found = json_lines(&folder.stdout(fit)).remove(0);
    assert_eq!(found["engine"], "neighbors");
    assert!(number(&found["held_out"]["standardised"], "rmse") < 0.6, "{found}");
    let text = folder.stdout("inspect m.raysum");
    assert!(text.contains("holds its training rows"), "{text}");
    assert_eq!(folder.stdout("predict m.raysum t.csv").lines().count(), 201);
    folder.stdout("update m.raysum t.csv -o more.raysum");
    folder
        .run("sample m.raysum t.csv")
        .failed(1, "the neighbors engine does not support drawing functions");
}
