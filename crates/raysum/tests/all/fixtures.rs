//! Model files of every format that was ever written still load, and predict what they did.
//!
//! `RAYSUM_BLESS=1` writes the files of the present format, once, when it is new.

use crate::common::with;
use raysum::Labels;
use raysum::schema::{
    DateOrder, DecimalMark, Feature, FeatureKind, Grouping, LabelColumn, NumberFormat, Schema,
};
use raysum::settings::{ColumnsScale, EngineChoice, Noise, SkiOptions, TargetScale};
use raysum::{Config, Dataset, Effort, Error, FORMAT, Fit, Matrix, Model, Shard, Stack, StackFit};
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
    let few = |name: &str, engine| {
        with(preset(name), |c| {
            c.max_evaluations = Some(6);
            c.engine = engine;
        })
    };
    let fit =
        |config: Config, data: &Dataset<'_>| Fit::new(&config).shared(true).run(data).unwrap();
    let data = Dataset::new(&x, &y).unwrap();
    let weighted = data.clone().weighted(&weights).unwrap();
    let both = [y.as_slice(), z.as_slice()];
    let two = Dataset::with_targets(&x, &both).unwrap();
    let of_data = |schema: Schema| {
        let models = fit(few("gam", EngineChoice::Weight), &data).into_iter();
        models.map(|model| of_table(model, schema.clone())).collect()
    };
    let grid = SkiOptions { grid: Some(16), probes: 4, ..SkiOptions::default() };
    let ski = with(few("single-rp", EngineChoice::Ski), |c| c.ski = grid);
    vec![
        ("dense", fit(few("rbf-ard", EngineChoice::Dense), &data)),
        ("weighted", fit(few("dpa", EngineChoice::Dense), &weighted)),
        ("weight", fit(few("gam", EngineChoice::Weight), &data)),
        (
            "products",
            fit(
                with(few("rpa-1", EngineChoice::Weight), |c| {
                    c.terms[0].degrees = "1x1,1x2".parse().unwrap();
                }),
                &data,
            ),
        ),
        ("ski", fit(ski, &data)),
        ("sum", fit(few("linear+gam:matern52+dpa-ard:20x1", EngineChoice::Weight), &data)),
        (
            "ranks",
            fit(
                with(few("linear+rbf", EngineChoice::Dense), |c| {
                    c.columns_scale = ColumnsScale::Ranks;
                }),
                &data,
            ),
        ),
        (
            "cuts",
            fit(
                with(few("linear+laplace-ard", EngineChoice::Dense), |c| {
                    c.columns_scale = ColumnsScale::Cuts;
                }),
                &data,
            ),
        ),
        (
            "power",
            fit(
                with(few("gam", EngineChoice::Weight), |c| {
                    c.target_scale = TargetScale::YeoJohnson;
                }),
                &data,
            ),
        ),
        ("noise", vec![of_varying_noise(few("linear", EngineChoice::Weight))]),
        ("neighbors", fit(few("linear+matern32-ard", EngineChoice::Neighbors), &weighted)),
        ("two", fit(few("gam", EngineChoice::Weight), &two)),
        ("table", of_data(schema())),
        ("gaps", of_data(schema_with_gaps())),
    ]
}

/// A model whose noise grows with the first column.
fn of_varying_noise(mut config: Config) -> Model {
    config.noise = Noise::Columns;
    let x = points(160, 0.0);
    let noise = |i: usize| (1.5 * x[(i, 0)]).exp() * (1e3 * i as f64).sin();
    let y: Vec<f64> = (0..160).map(|i| x[(i, 1)] + 0.2 * noise(i)).collect();
    let model = config.fit(&Dataset::new(&x, &y).unwrap()).unwrap();
    assert!(model.noise_varies());
    model
}

/// A schema of three encoded columns with everything that a schema can say about notations.
fn schema() -> Schema {
    let format = NumberFormat {
        decimal: DecimalMark::Comma,
        grouping: Some(Grouping::Point),
        unit: Some("€".into()),
    };
    let label =
        |name: &str, position| LabelColumn { name: name.into(), position, format: format.clone() };
    let feature = |name: &str, position, kind: FeatureKind| {
        let means = vec![0.5; kind.value_columns()];
        Feature { name: name.into(), position, kind, means, indicator: false }
    };
    let categories = vec!["Lima".into()];
    Schema {
        named: true,
        width: 7,
        features: vec![
            feature("Preis", 0, FeatureKind::Number(format.clone())),
            feature("id", 1, FeatureKind::Identifier),
            feature("am", 2, FeatureKind::Date { order: DateOrder::DayFirst }),
            feature("Stadt", 3, FeatureKind::Category { categories, others: false }),
        ],
        labels: Labels {
            targets: vec![label("y", 4)],
            sample_weights: Some(label("w", 5)),
            noise: Some(label("s", 6)),
        },
    }
}

/// A schema of a text column that has gaps, and more texts than categories.
fn schema_with_gaps() -> Schema {
    let kind = FeatureKind::Category { categories: vec!["Lima".into()], others: true };
    let means = vec![0.25, 0.75];
    let city = Feature { name: "Stadt".into(), position: 3, kind, means, indicator: true };
    Schema { features: vec![city], ..schema() }
}

fn of_table(mut model: Model, schema: Schema) -> Model {
    model.set_schema(schema).unwrap();
    model.set_target_name("y");
    model.set_preset("gam");
    model
}

/// All of them, and what only a stack can be: a mixture, and a model with calibrated intervals.
fn stacks() -> Vec<(&'static str, Vec<Stack>)> {
    let alone = |(name, models): (&'static str, Vec<Model>)| {
        (name, models.into_iter().map(Stack::from).collect())
    };
    let mut all: Vec<(&str, Vec<Stack>)> = models().into_iter().map(alone).collect();
    let x = points(30, 0.0);
    let y: Vec<f64> = (0..30).map(|i| (x[(i, 0)] + 0.3 * (1e3 * i as f64).sin()).exp()).collect();
    let data = Dataset::new(&x, &y).unwrap();
    let mixture = StackFit::auto(Effort::Normal).run(&data).unwrap();
    let transformed = |stack: &Stack| {
        stack.members().iter().any(|member| member.model.target_transformation().is_some())
    };
    assert!(mixture[0].single().is_none() && transformed(&mixture[0]));
    let config = Config::preset("gam").unwrap();
    let calibrated = StackFit::one("gam", &config).run(&data).unwrap();
    assert!(mixture[0].calibration().is_some() && calibrated[0].calibration().is_some());
    all.extend([("stack", mixture), ("calibrated", calibrated)]);
    all
}

fn predictions(stacks: &[Stack]) -> Value {
    let new = points(5, 0.5);
    let of = |stack: &Stack| {
        let p = stack.predict(&new).unwrap();
        let (lower, upper) = p.interval(0.95).unwrap();
        json!({ "mean": p.mean, "variance": p.variance, "lower": lower, "upper": upper })
    };
    stacks.iter().map(of).collect()
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
        for (name, stacks) in stacks() {
            Stack::save_all(&stacks, now.join(format!("{name}.raysum"))).unwrap();
            expected.insert(name.into(), predictions(&stacks));
        }
        let text = serde_json::to_string_pretty(&expected).unwrap();
        std::fs::write(now.join("predictions.json"), text + "\n").unwrap();
    }
    for format in 2..=FORMAT {
        let folder = folder(format);
        let text = std::fs::read_to_string(folder.join("predictions.json")).unwrap();
        let expected: serde_json::Map<String, Value> = serde_json::from_str(&text).unwrap();
        let least = [6, 7, 10, 13][format as usize - 2];
        assert!(expected.len() >= least);
        for (name, expected) in &expected {
            let stacks = Stack::load_all(folder.join(format!("{name}.raysum"))).unwrap();
            same(&predictions(&stacks), expected, &format!("format {format}, {name}"));
        }
    }
}

/// A shard's file from before shards had an identity, and the model that it was taken for.
#[test]
fn shards_of_every_format_are_merged_once() {
    let folder = folder(2).join("shard");
    let mut model = Model::load(folder.join("model.raysum")).unwrap();
    let shards = Shard::load_all(folder.join("rows.part")).unwrap();
    assert_eq!((shards.len(), shards[0].rows()), (1, 10));
    let twice = [shards[0].clone(), shards[0].clone()];
    let e = model.merge(&twice).unwrap_err();
    assert!(matches!(e, Error::RepeatedShard { shard: 1, same_as: Some(0) }), "{e}");
    model.merge(&shards).unwrap();
    let x = Matrix::from_row_major(1, 2, vec![0.040_693, 0.220_306]).unwrap();
    let p = model.predict(&x).unwrap();
    let expected = json!([0.177_018_652_442_972_2, 0.061_534_724_353_910_67]);
    same(&json!([p.mean[0], p.std()[0]]), &expected, "shard");
    let mut model = Model::from_bytes(&Model::to_bytes([&model]).unwrap()).unwrap().remove(0);
    let e = model.merge(&shards).unwrap_err();
    assert!(matches!(e, Error::RepeatedShard { shard: 0, same_as: None }), "{e}");
}

#[test]
fn a_table_comes_back() {
    for (format, file, schema) in [
        (3, "table", schema()),
        (4, "table", schema()),
        (4, "gaps", schema_with_gaps()),
        (5, "table", schema()),
        (5, "gaps", schema_with_gaps()),
    ] {
        let model = Model::load(folder(format).join(format!("{file}.raysum"))).unwrap();
        assert_eq!(model.schema(), Some(&schema));
        assert_eq!((model.target_name(), model.preset()), (Some("y"), Some("gam")));
    }
}

/// Fitted by `raysum fit` when models were of format 2, from a number and a text, with weights.
#[test]
fn a_table_of_format_2_is_a_schema() {
    let folder = folder(2);
    let model = Model::load(folder.join("table.raysum")).unwrap();
    let schema = model.schema().unwrap();
    let names = ["size", "colour=05", "colour=True", "colour=blue", "colour=red"];
    assert_eq!(model.column_names().unwrap(), names);
    assert_eq!((model.target_name(), model.preset()), (Some("y"), Some("gam")));
    assert_eq!((schema.named, schema.width, schema.labels.targets[0].position), (true, 4, 3));
    assert_eq!(schema.labels.sample_weights.as_ref().unwrap().name, "weight");
    assert_eq!(schema.features[1].means, [7.0 / 24.0, 5.0 / 24.0, 0.25, 0.25]);
    // The rows of new.csv, encoded.
    let rows = [
        [0.5, 0.0, 0.0, 0.0, 1.0],
        [-1.25, 1.0, 0.0, 0.0, 0.0],
        [2.0, 0.0, 1.0, 0.0, 0.0],
        [0.0; 5],
        [1e-3, 0.0, 0.0, 1.0, 0.0],
    ];
    let x = Matrix::from_fn(5, 5, |i, j| rows[i][j]);
    let p = model.predict(&x).unwrap();
    let text = std::fs::read_to_string(folder.join("table/predictions.csv")).unwrap();
    for (i, line) in text.lines().skip(1).enumerate() {
        let expected: Vec<f64> = line.split(',').map(|v| v.parse().unwrap()).collect();
        for (found, expected) in [p.mean[i], p.std()[i]].iter().zip(&expected) {
            assert!((found - expected).abs() <= 1e-9 * expected.abs(), "row {i}: {found}");
        }
    }
}

#[test]
fn a_stack_comes_back() {
    let stack = Stack::load(folder(5).join("stack.raysum")).unwrap();
    assert!(stack.members().len() > 1 && stack.calibration().is_some());
    let found = stack.held_out().unwrap();
    assert_eq!((found.rows, found.folds), (30, 5));
    assert!(found.scores.rmse < found.constant.rmse && found.ridge.is_some());
    let one = Stack::load(folder(5).join("calibrated.raysum")).unwrap();
    assert!(one.single().is_some() && one.calibration().is_some() && one.held_out().is_some());
    // A file of one model is one for those who ask for a model, without its calibration.
    let model = Model::load(folder(5).join("calibrated.raysum")).unwrap();
    assert_eq!(model.preset(), Some("gam"));
}
