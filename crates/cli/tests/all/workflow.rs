//! Typical use: fit, predict, inspect, evaluate, sample and demo.

use crate::common::{
    Demo, Folder, Predicted, SHORT, Table, demo, fitted, json_lines, number, predictions, small,
    smooth, sound_predictions,
};
use serde_json::Value;

const MODELS: [&str; 13] = [
    "rbf-ard",
    "imq-ard",
    "gam",
    "single-rp",
    "rpa-1",
    "rpa-2",
    "rpa-3",
    "dpa",
    "rpa-ard",
    "dpa-ard",
    "ppr",
    "rpa-1-ski",
    "dpa-ard-ski",
];

/// Checks that an object has these keys, and that none of them is null.
#[track_caller]
fn has_keys(object: &Value, keys: &str) {
    for key in keys.split_whitespace() {
        assert!(!object[key].is_null(), "{key} in {object}");
    }
}

#[test]
fn fit_predict_inspect_evaluate() {
    let folder = Folder::with("t.csv", small().csv());
    let fit = folder.run("fit t.csv --target y --model dpa-ard --output m.raysum").succeeded();
    assert!(fit.stdout.starts_with("dpa-ard on 60 rows × 3 columns, target 'y'"), "{fit:?}");
    assert!(fit.stdout.ends_with("saved to m.raysum\n"), "{fit:?}");
    assert_eq!(fit.stderr, "");

    let predict = folder.run("predict m.raysum t.csv").succeeded();
    sound_predictions(&predict.stdout, 60);
    assert_eq!(predict.stderr, "");

    let inspect = folder.stdout("inspect m.raysum");
    for words in ["dpa-ard", "training rows", "noise std", "length-scales", "relevance"] {
        assert!(inspect.contains(words), "{inspect}");
    }
    let evaluate = folder.stdout("evaluate t.csv -t y -m dpa-ard --folds 3");
    assert!(evaluate.starts_with("60 rows × 3 columns, target 'y', 3 folds × 1"), "{evaluate}");
    assert!(evaluate.contains("dpa-ard"), "{evaluate}");
}

#[test]
fn a_fit_that_is_not_saved_leaves_no_file() {
    let folder = Folder::with("t.csv", small().csv());
    let before = folder.snapshot();
    assert!(folder.stdout("fit t.csv -t y -m gam").contains("not saved"));
    assert_eq!(folder.snapshot(), before);
}

#[test]
fn results_as_json() {
    let folder = Folder::with("t.csv", small().csv());
    let fit = json_lines(
        &folder.stdout("fit t.csv -t y -m dpa-ard --max-evaluations 10 -o m.raysum --json"),
    );
    let [fit] = &fit[..] else { panic!("one line expected: {fit:?}") };
    has_keys(
        fit,
        "model engine n d log_marginal_likelihood noise_std evaluations fit_seconds \
         held_out members",
    );
    has_keys(&fit["held_out"], "rows folds target_std scores standardised constant ridge tried");
    for scores in ["scores", "standardised", "constant", "ridge"] {
        has_keys(&fit["held_out"][scores], "rmse mae nlpd crps coverage95 width95");
    }
    has_keys(&fit["members"][0], "name mean_weight spread_weight kappa engine");
    assert_eq!((&fit["model"], &fit["n"], &fit["d"]), (&"dpa-ard".into(), &60.into(), &3.into()));

    let inspect = json_lines(&folder.stdout("inspect m.raysum --json"));
    let keys = "model engine target n d hyperparameters columns relevance config";
    has_keys(&inspect[0], keys);
    for key in ["model", "engine", "n", "d", "log_marginal_likelihood", "noise_std"] {
        assert_eq!(inspect[0][key], fit[key], "{key}");
    }

    let evaluate =
        "evaluate t.csv -t y --model gam,rbf-ard --folds 4 --repeats 2 --max-evaluations 10 --json";
    let evaluated = json_lines(&folder.stdout(evaluate));
    assert_eq!(evaluated.len(), 2);
    for (object, model) in evaluated.iter().zip(["gam", "rbf-ard"]) {
        has_keys(
            object,
            "model n d folds repeats rmse_mean rmse_sd nlpd_mean coverage95 fit_seconds \
             evaluations engine",
        );
        assert_eq!(object["model"], model);
        let counts = ["n", "d", "folds", "repeats"].map(|key| object[key].as_u64());
        assert_eq!(counts, [60, 3, 4, 2].map(Some));
    }

    let csv = sound_predictions(&folder.stdout("predict m.raysum t.csv"), 60);
    let lines = json_lines(&folder.stdout("predict m.raysum t.csv --json"));
    assert_eq!(lines.len(), csv.len());
    for (line, p) in lines.iter().zip(&csv) {
        let found = ["mean", "std", "lower", "upper"].map(|key| number(line, key).to_bits());
        assert_eq!(found, [p.mean, p.std, p.lower, p.upper].map(f64::to_bits));
    }
}

#[test]
fn without_held_out_rows_there_are_no_scores() {
    let folder = Folder::with("t.csv", small().csv());
    let fit = "fit t.csv -t y -m gam --held-out no";
    let found = &json_lines(&folder.stdout(&format!("{fit} --json")))[0];
    assert!(found["held_out"].is_null(), "{found}");
    assert_eq!(number(&found["members"][0], "kappa"), 1.0);
    assert!(folder.stdout(fit).contains("no rows were held out: no scores"));
}

#[test]
fn every_model_fits_saves_and_predicts() {
    let folder = Folder::with("t.csv", Table::smooth(40, 2).csv());
    for model in MODELS {
        // Grids take long.
        let few = if model.ends_with("-ski") { "-J 5" } else { "" };
        folder.stdout(&format!(
            "fit t.csv -t y --model {model} --held-out no --max-evaluations 5 {few} -o {model}.raysum"
        ));
        for p in sound_predictions(&folder.stdout(&format!("predict {model}.raysum t.csv")), 40) {
            assert!(p.lower < p.mean && p.mean < p.upper, "{model}: {p:?}");
        }
        assert!(folder.stdout(&format!("inspect {model}.raysum")).contains(model));
    }
}

#[test]
fn seeds_and_threads() {
    let folder = Folder::with("t.csv", Table::smooth(80, 3).csv());
    for model in ["dpa-ard --shrinkage none", "rpa-2 --held-out no", "ppr --held-out no"] {
        let fit = |name: &str, options: &str| {
            let line = format!("fit t.csv -t y -m {model} --max-evaluations 6 -o {name}.raysum");
            folder.stdout(&format!("{line} {options}"));
            folder.bytes(&format!("{name}.raysum"))
        };
        let first = fit("first", "--seed 7 --threads 1");
        assert!(first == fit("again", "--seed 7 --threads 1"), "{model}: two runs differ");
        assert!(first == fit("three", "--seed 7 --threads 3"), "{model}: threads matter");
        assert!(first == fit("all", "--seed 7"), "{model}: threads matter");
        assert!(first != fit("other", "--seed 8"), "{model}: the seed does not matter");
        let predict = |n: u8| folder.stdout(&format!("predict first.raysum t.csv --threads {n}"));
        assert_eq!(predict(1), predict(3), "{model}");
    }
    let evaluate = |threads: u8| {
        let line = "evaluate t.csv -t y -m rpa-1 --folds 3 --max-evaluations 6 --json";
        let mut lines = json_lines(&folder.stdout(&format!("{line} --threads {threads}")));
        lines[0]["fit_seconds"].take();
        lines
    };
    assert_eq!(evaluate(1), evaluate(3));
}

/// The columns of a table of numbers, by name; empty fields are none.
fn columns(csv: &str) -> Vec<(String, Vec<Option<f64>>)> {
    let mut lines = csv.lines();
    let mut all: Vec<(String, Vec<Option<f64>>)> =
        lines.next().unwrap().split(',').map(|name| (name.into(), Vec::new())).collect();
    for line in lines {
        for (column, field) in all.iter_mut().zip(line.split(',')) {
            column.1.push(field.parse().ok());
        }
    }
    all
}

#[test]
fn functions_are_drawn_by_seed_and_evaluated_anywhere() {
    let table = small();
    let folder = fitted(&table);
    let text = folder.stdout("sample m.raysum t.csv --functions 3 --seed 5");
    let drawn = columns(&text);
    let names: Vec<&str> = drawn.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["sample_0", "sample_1", "sample_2"]);
    assert!(drawn.iter().all(|(_, v)| v.len() == 60 && v.iter().all(Option::is_some)));
    for options in ["--threads 1", "--threads 3", "-o -"] {
        let line = format!("sample m.raysum t.csv --functions 3 --seed 5 {options}");
        assert_eq!(folder.stdout(&line), text, "{options}");
    }
    assert_eq!(folder.stdout("sample m.raysum t.csv --functions 3 --seed 5 -o s.csv"), "");
    assert_eq!(folder.text("s.csv"), text);

    // With other rows and more functions, earlier functions stay the same.
    let gaps = table.clone().set(3, "b", "");
    folder.write("gaps.csv", gaps.csv());
    folder.run("sample m.raysum gaps.csv").failed(1, "the value is missing");
    let more = "sample m.raysum gaps.csv --functions 5 --seed 5 --missing drop";
    for ((_, more), (_, drawn)) in columns(&folder.stdout(more)).iter().zip(&drawn) {
        for (row, (more, drawn)) in more.iter().zip(drawn).enumerate() {
            assert_eq!(more, if row == 3 { &None } else { drawn }, "row {row}");
        }
    }
    let json = json_lines(&folder.stdout(&format!("{more} --json")));
    assert_eq!(json[7]["sample_2"].as_f64(), drawn[2].1[7]);
    assert!(json[3]["sample_4"].is_null());

    // They scatter around the prediction; those of the prior do so much wider.
    let predicted = sound_predictions(&folder.stdout("predict m.raysum t.csv"), 60);
    let distance = |options: &str| -> f64 {
        let drawn = columns(&folder.stdout(&format!("sample m.raysum t.csv {options}")));
        let gap = |(v, p): (&Option<f64>, &Predicted)| (v.unwrap() - p.mean).abs();
        drawn.iter().flat_map(|(_, v)| v.iter().zip(&predicted).map(gap)).sum()
    };
    let (posterior, prior) = (distance(""), distance("--prior"));
    assert!(posterior > 0.0 && posterior < 0.5 * prior, "{posterior} and {prior}");
    for options in ["--functions 0", "--functions many", "--seed -1"] {
        let run = folder.run(&format!("sample m.raysum t.csv {options}"));
        assert_eq!(run.code, Some(2), "{run:?}");
    }
}

#[test]
fn slopes_of_the_mean_stand_beside_the_predictions() {
    let table = small().and("kind", |i| ["one, two", "three"][i % 2].to_string());
    let folder = Folder::with("t.tsv", table.joined("\t"));
    folder.stdout(&format!("fit t.tsv -t y {SHORT} -o m.raysum"));
    let plain = folder.stdout("predict m.raysum t.tsv");
    let text = folder.stdout("predict m.raysum t.tsv --gradient");
    let head = text.lines().next().unwrap();
    let (fields, slopes) = head.split_at("mean,std,lower,upper,extrapolation".len());
    assert_eq!(fields, plain.lines().next().unwrap());
    assert!(slopes.contains(",\"slope_of_mean:kind=one, two\","), "{head}");
    assert!(slopes.ends_with(",slope_of_mean:a,slope_of_mean:b,slope_of_mean:c"), "{head}");
    for (line, plain) in text.lines().zip(plain.lines()).skip(1) {
        assert!(line.starts_with(plain), "{line}");
        assert_eq!(line.split(',').count(), 5 + 5, "{line}");
    }

    // A small step along a column changes the mean by its slope.
    let json = json_lines(&folder.stdout("predict m.raysum t.tsv --gradient --json"));
    let a = table.numbers("a");
    let moved = (0..60).fold(table, |t, i| t.set(i, "a", &format!("{:?}", a[i] + 1e-5)));
    folder.write("moved.tsv", moved.joined("\t"));
    let after = json_lines(&folder.stdout("predict m.raysum moved.tsv --json"));
    for (before, after) in json.iter().zip(&after) {
        let difference = (number(after, "mean") - number(before, "mean")) / 1e-5;
        let slope = number(before, "slope_of_mean:a");
        assert!((slope - difference).abs() < 1e-3 * (1.0 + slope.abs()), "{slope}, {difference}");
    }
}

/// The error of the means against the truth without noise, as a share of the target's standard
/// deviation, and the share of the rows whose interval holds the target.
fn scores(predicted: &[Predicted], table: &Table) -> (f64, f64) {
    let (a, b, y) = (table.numbers("a"), table.numbers("b"), table.numbers("y"));
    let rows = predicted.len() as f64;
    let centre = y.iter().sum::<f64>() / rows;
    let spread: f64 = y.iter().map(|y| (y - centre).powi(2)).sum();
    let square = |(i, p): (usize, &Predicted)| (p.mean - smooth(a[i], b[i])).powi(2);
    let error: f64 = predicted.iter().enumerate().map(square).sum();
    let covered = predicted.iter().zip(y).filter(|(p, y)| (p.lower..=p.upper).contains(y)).count();
    ((error / spread).sqrt(), covered as f64 / rows)
}

#[test]
fn predictions_track_the_truth_and_intervals_cover_it() {
    let new = Table::smooth(400, 5);
    let folder = Folder::with("t.csv", Table::smooth(200, 4).csv());
    folder.write("new.csv", new.columns(&["a", "b", "c"]).csv());
    for model in ["dpa-ard", "gam", "rbf-ard"] {
        folder.stdout(&format!("fit t.csv -t y -m {model} -o m.raysum"));
        let predicted = sound_predictions(&folder.stdout("predict m.raysum new.csv"), 400);
        let (error, covered) = scores(&predicted, &new);
        assert!(error < 0.2, "{model}: {error}");
        assert!((0.90..=0.99).contains(&covered), "{model}: {covered}");
    }
    let evaluate = "evaluate t.csv -t y -m dpa-ard --folds 5 --json";
    let evaluated = &json_lines(&folder.stdout(evaluate))[0];
    assert!(number(evaluated, "rmse_mean") < 0.3, "{evaluated}");
    assert!(number(evaluated, "coverage95") > 0.85, "{evaluated}");
}

#[test]
fn a_lower_level_has_narrower_intervals_around_the_same_means() {
    let folder = Folder::with("t.csv", small().csv());
    folder
        .stdout("fit t.csv -t y -m dpa-ard --max-evaluations 10 --intervals gaussian -o m.raysum");
    let wide = sound_predictions(&folder.stdout("predict m.raysum t.csv"), 60);
    let narrow = sound_predictions(&folder.stdout("predict m.raysum t.csv --level 0.5"), 60);
    for (wide, narrow) in wide.iter().zip(&narrow) {
        assert_eq!(
            [wide.mean, wide.std].map(f64::to_bits),
            [narrow.mean, narrow.std].map(f64::to_bits)
        );
        // Quantiles of the normal distribution.
        for (p, z) in [(wide, 1.959_963_984_540_054), (narrow, 0.674_489_750_196_081_7)] {
            assert!(((p.upper - p.mean) / p.std - z).abs() < 1e-6, "{p:?}");
            assert!(((p.mean - p.lower) / p.std - z).abs() < 1e-6, "{p:?}");
        }
    }
}

#[test]
fn the_demo_writes_its_five_files() {
    let Demo { folder, printed } = demo();
    for name in ["cars.csv", "cars.raysum", "predictions.csv", "cars.svg", "report.html"] {
        assert!(printed.contains(&format!("demo/{name}")), "{name} in {printed}");
        assert!(!folder.bytes(&format!("demo/{name}")).is_empty(), "{name}");
    }
    assert_eq!(folder.snapshot().len(), 6, "a folder and five files");

    let held_out = folder.text("demo/predictions.csv");
    assert!(held_out.starts_with("true,mean,std,lower,upper\n"), "{held_out}");
    let inspect = folder.stdout("inspect demo/cars.raysum --json");
    assert_eq!(json_lines(&inspect)[0]["target"], "mpg");
    let cars = folder.text("demo/cars.csv").lines().count() - 1;
    sound_predictions(&folder.stdout("predict demo/cars.raysum demo/cars.csv"), cars);

    let svg = folder.text("demo/cars.svg");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    for words in ["true mpg", "predicted mpg", "relevance of the columns", "95 % interval"] {
        assert!(svg.contains(words), "{words}");
    }
    assert_well_formed(&svg);
}

#[test]
fn the_demo_speaks_to_machines_and_replaces_its_files() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("shown")).unwrap();
    folder.write("shown/cars.raysum", "an older file");
    let json = &json_lines(&folder.stdout("demo -o shown --json"))[0];
    assert!(folder.bytes("shown/cars.raysum").len() > 1000);
    assert_eq!(json["files"].as_array().map(Vec::len), Some(5), "{json}");
    let rmse = |name: &str| number(&json["scores"][name], "rmse");
    assert!(rmse("raysum") < rmse("linear") && rmse("linear") < rmse("constant"), "{json}");
}

/// Checks that tags open and close in pairs, with quoted attributes and escaped texts.
#[track_caller]
fn assert_well_formed(xml: &str) {
    let mut open = Vec::new();
    let mut rest = xml;
    while let Some((text, after)) = rest.split_once('<') {
        assert!(!text.contains('>'), "{text}");
        let (tag, after) = after.split_once('>').expect("a tag that ends");
        assert_eq!(tag.matches('"').count() % 2, 0, "<{tag}>");
        let name = |tag: &str| tag.split(|c: char| !c.is_alphanumeric()).next().map(str::to_owned);
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), name(closed), "</{closed}>");
        } else if !tag.ends_with('/') {
            open.extend(name(tag));
        }
        rest = after;
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
}

#[test]
fn a_model_file_is_all_a_prediction_needs() {
    let table = small();
    let home = fitted(&table);
    let expected = home.stdout("predict m.raysum t.csv");
    let away = Folder::with("moved.raysum", home.bytes("m.raysum"));
    drop(home);
    away.write("new.csv", table.columns(&["a", "b", "c"]).csv());
    assert_eq!(away.stdout("predict moved.raysum new.csv"), expected);
    assert!(predictions(&expected).iter().all(Option::is_some));
}

/// More threads than cores only wait for each other.
#[cfg(target_os = "linux")]
#[test]
fn threads_beyond_the_cores_are_not_started() {
    use std::io::{BufRead, BufReader};
    let folder = fitted(&small());
    let cores = std::thread::available_parallelism().unwrap().get();
    let note = "note: 1000 threads were asked for, but there ";
    for by_variable in [false, true] {
        let mut command = folder.command("predict m.raysum -");
        if by_variable {
            command.env("RAYON_NUM_THREADS", "1000");
        } else {
            command.args(["--threads", "1000"]);
        }
        let pipe = std::process::Stdio::piped;
        let mut child = command.stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn().unwrap();
        // With the note the threads are there, and the command waits for its table.
        let mut said = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
        assert!(said.starts_with(note), "{said}");
        let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap().count();
        // Beside them the main thread and the one that waits for Ctrl-C.
        assert!(tasks <= cores + 2, "{tasks} threads on {cores} cores");
        drop(child.stdin.take());
        child.wait().unwrap();
    }
    assert_eq!(folder.run("inspect m.raysum --threads 1").stderr, "");
}
