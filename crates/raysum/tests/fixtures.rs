//! Model files of every format that was ever written still load, and predict what they did.
//!
//! `RAYSUM_BLESS=1` writes the files of the present format, once, when it is new.

use raysum::{Config, Dataset, EngineChoice, FORMAT, Fit, Matrix, Model, SkiOptions};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn folder(format: u64) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    fixtures.join(format!("format-{format}"))
}

/// Numbers that need no generator to be the same in ten years.
fn points(rows: usize, shift: f64) -> Matrix {
    Matrix::from_fn(rows, 3, |i, j| (1.7 * (i as f64 + shift) * (1.0 + 0.37 * j as f64)).sin())
}

/// The kinds of file there are.
fn models() -> Vec<(&'static str, Vec<Model>)> {
    let x = points(24, 0.0);
    let y: Vec<f64> = (0..24).map(|i| 5.0 + x[(i, 0)] + (2.0 * x[(i, 1)]).cos()).collect();
    let z: Vec<f64> = (0..24).map(|i| -3.0 * x[(i, 2)] + 0.1 * x[(i, 0)]).collect();
    let weights: Vec<f64> = (0..24).map(|i| 1.0 + f64::from(i % 3)).collect();
    let preset = |name: &str| Config::preset(name).unwrap();
    let few = |name: &str, engine| Config { max_evaluations: Some(6), engine, ..preset(name) };
    let fit =
        |config: Config, data: &Dataset<'_>| Fit::new(&config).shared(true).run(data).unwrap();
    let data = Dataset::new(&x, &y).unwrap();
    let weighted = data.clone().weighted(&weights).unwrap();
    let both = [y.as_slice(), z.as_slice()];
    let two = Dataset::with_targets(&x, &both).unwrap();
    let grid = SkiOptions { grid: Some(16), probes: 4, ..SkiOptions::default() };
    let ski = Config { ski: grid, ..few("single-rp", EngineChoice::Ski) };
    vec![
        ("dense", fit(few("rbf-ard", EngineChoice::Dense), &data)),
        ("weighted", fit(few("dpa", EngineChoice::Dense), &weighted)),
        ("weight", fit(few("gam", EngineChoice::Weight), &data)),
        (
            "products",
            fit(
                Config {
                    degrees: "1x1,1x2".parse().unwrap(),
                    ..few("rpa-1", EngineChoice::Weight)
                },
                &data,
            ),
        ),
        ("ski", fit(ski, &data)),
        ("two", fit(few("gam", EngineChoice::Weight), &two)),
    ]
}

fn predictions(models: &[Model]) -> Value {
    let new = points(5, 0.5);
    let of = |model: &Model| {
        let p = model.predict(&new).unwrap();
        json!({ "mean": p.mean, "variance": p.variance })
    };
    models.iter().map(of).collect()
}

/// Compares numbers with numbers, to what another processor may round another way.
fn same(found: &Value, expected: &Value, place: &str) {
    match (found, expected) {
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{place}");
            a.iter().zip(b).for_each(|(a, b)| same(a, b, place));
        }
        (Value::Object(a), Value::Object(b)) => {
            b.iter().for_each(|(key, b)| same(&a[key], b, &format!("{place} {key}")));
        }
        _ => {
            let (a, b) = (found.as_f64().unwrap(), expected.as_f64().unwrap());
            assert!((a - b).abs() <= 1e-9 * b.abs().max(1e-3), "{place}: {a} and {b}");
        }
    }
}

#[test]
fn files_of_every_format_predict_what_they_did() {
    let now = folder(FORMAT);
    if std::env::var_os("RAYSUM_BLESS").is_some() && !now.exists() {
        std::fs::create_dir_all(&now).unwrap();
        let mut expected = serde_json::Map::new();
        for (name, models) in models() {
            Model::save_all(&models, now.join(format!("{name}.raysum"))).unwrap();
            expected.insert(name.into(), predictions(&models));
        }
        let text = serde_json::to_string_pretty(&expected).unwrap();
        std::fs::write(now.join("predictions.json"), text + "\n").unwrap();
    }
    for format in 2..=FORMAT {
        let folder = folder(format);
        let text = std::fs::read_to_string(folder.join("predictions.json")).unwrap();
        let expected: serde_json::Map<String, Value> = serde_json::from_str(&text).unwrap();
        assert!(expected.len() >= 6);
        for (name, expected) in &expected {
            let models = Model::load_all(folder.join(format!("{name}.raysum"))).unwrap();
            same(&predictions(&models), expected, &format!("format {format}, {name}"));
        }
    }
}
