//! The model file: the same model comes back, and nothing else is ever taken for one.

use crate::common::with;
use raysum::Labels;
use raysum::schema::{Feature, FeatureKind, LabelColumn, NumberFormat, Schema};
use raysum::settings::{EngineChoice, SkiOptions};
use raysum::{Config, Dataset, Effort, Error, Matrix, Model, Stack, StackFit};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::LazyLock;

fn fitted() -> (Model, Matrix) {
    fitted_by(EngineChoice::Auto)
}

fn fitted_by(engine: EngineChoice) -> (Model, Matrix) {
    let x = Matrix::from_fn(40, 3, |i, j| ((i * (j + 3) * 37 % 101) as f64) / 25.0 - 2.0);
    let y: Vec<f64> = (0..40).map(|i| x[(i, 0)].sin() + 0.1 * x[(i, 1)]).collect();
    let config = with(Config::default(), |c| {
        c.engine = engine;
        // A short file has fewer places to damage.
        c.terms[0].degrees = "4x1".parse().unwrap();
        c.max_evaluations = Some(8);
    });
    let mut model = config.fit(&Dataset::new(&x, &y).unwrap()).unwrap();
    model.set_schema(schema()).unwrap();
    model.set_target_name("y");
    model.set_preset("dpa-ard");
    (model, x)
}

/// A table of a number and a text of two categories.
fn schema() -> Schema {
    let categories = vec!["u".to_string(), "v".to_string()];
    let label = |name: &str, position| LabelColumn {
        name: name.into(),
        position,
        format: NumberFormat::default(),
    };
    let number = FeatureKind::Number(NumberFormat::default());
    let text = FeatureKind::Category { categories, others: false };
    Schema {
        named: true,
        width: 4,
        features: vec![
            Feature {
                name: "a".into(),
                position: 0,
                kind: number,
                means: vec![1.0],
                indicator: false,
            },
            Feature {
                name: "b".into(),
                position: 2,
                kind: text,
                means: vec![0.25, 0.75],
                indicator: false,
            },
        ],
        labels: Labels::of_targets(vec![label("y", 3)]),
    }
}

fn load(bytes: &[u8]) -> Result<Model, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.raysum");
    std::fs::write(&path, bytes).unwrap();
    Model::load(&path).map_err(|e| e.to_string().replace(path.to_str().unwrap(), "FILE"))
}

fn bytes(model: &Model) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.raysum");
    model.save(&path).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    std::fs::read(&path).unwrap()
}

#[test]
fn every_model_comes_back_with_the_same_bits() {
    let (_, x) = fitted();
    let y: Vec<f64> = (0..40).map(|i| x[(i, 0)].sin() + 0.1 * x[(i, 1)]).collect();
    let mut configs: Vec<(&str, Config)> =
        Config::presets().map(|(name, _)| (name, Config::preset(name).unwrap())).collect();
    let ski = SkiOptions { exact_variance: true, grid: Some(40), ..SkiOptions::default() };
    configs.push((
        "by solves",
        with(configs[11].1.clone(), |c| {
            c.ski = ski;
            c.seed = 1 << 40;
        }),
    ));
    for (name, config) in configs {
        let config = with(config, |c| {
            c.max_evaluations = Some(2);
            // Grids take long to fit.
            if c.engine == EngineChoice::Ski {
                c.terms[0].degrees = "4x1".parse().unwrap();
            }
        });
        let model = config.fit(&Dataset::new(&x, &y).unwrap()).unwrap();
        let back = load(&bytes(&model)).unwrap();
        assert_eq!(back.config(), model.config());
        assert_eq!(back.hyperparameters(), model.hyperparameters());
        assert_eq!(back.report(), model.report());
        assert_eq!(back.predict(&x).unwrap(), model.predict(&x).unwrap(), "{name}");
        assert_eq!(back.components(&x).unwrap(), model.components(&x).unwrap());
        let data = Dataset::new(&x, &y).unwrap();
        assert_eq!(back.leave_one_out(&data).unwrap(), model.leave_one_out(&data).unwrap());
        assert_eq!(back.relevance(), model.relevance());
        assert_eq!(bytes(&back), bytes(&model));
        assert_eq!(Model::to_bytes([&model]).unwrap(), bytes(&model));
        let from_bytes = Model::from_bytes(&bytes(&model)).unwrap();
        assert_eq!(from_bytes[0].predict(&x).unwrap(), model.predict(&x).unwrap());
    }
}

#[test]
fn names_and_the_schema_come_back() {
    let (mut model, _) = fitted();
    let back = load(&bytes(&model)).unwrap();
    assert_eq!(back.schema(), Some(&schema()));
    assert_eq!(back.column_names().unwrap(), ["a", "b=u", "b=v"]);
    assert_eq!((back.target_name(), back.preset()), (Some("y"), Some("dpa-ard")));
    assert_eq!(back.version(), env!("CARGO_PKG_VERSION"));

    model.set_column_names(["p", "q", "r"].map(String::from).to_vec()).unwrap();
    let back = load(&bytes(&model)).unwrap();
    assert_eq!((back.schema(), back.column_name(2)), (None, "r".into()));
    assert_eq!(back.column_name(3), "column 3");
}

#[test]
fn a_schema_of_another_width_is_refused() {
    let (mut model, _) = fitted();
    let mut narrow = schema();
    narrow.features.pop();
    let e = model.set_schema(narrow).unwrap_err().to_string();
    let says = "the description of the table is wrong: it has 1 encoded columns, but the model 3";
    assert_eq!(e, says);
    assert_eq!(model.set_column_names(vec!["a".into()]).unwrap_err().to_string(), says);
    assert_eq!(model.schema(), Some(&schema()), "the model stays as it was");
}

#[test]
fn a_damaged_schema_is_a_damaged_file() {
    let whole = bytes(&fitted().0);
    let (old, new) = (br#"\"position\":2"#, br#"\"position\":9"#);
    let at = whole.windows(old.len()).position(|w| w == old).unwrap();
    let mut other = whole.clone();
    other[at..at + new.len()].copy_from_slice(new);
    assert!(load(&other).unwrap_err().contains("checksum"));
    let e = load(&raysum::fuzzing::resealed(&other).unwrap()).unwrap_err();
    let says = "the description of the table is wrong: \"b\" is column 9 of only 4";
    assert_eq!(e, format!("FILE: the model file is damaged ({says})"));
}

#[test]
fn other_files_are_not_models() {
    let csv = b"a,b,c\n1,2,3\n4,5,6\n";
    let metadata = Some(std::collections::HashMap::from([("other".to_string(), "x".to_string())]));
    let none: Vec<(String, safetensors::tensor::TensorView<'_>)> = Vec::new();
    let other = safetensors::serialize(none, metadata).unwrap();
    for bytes in [&b""[..], b"{}", csv, &[0; 100], &[255; 100], &other] {
        assert_eq!(load(bytes).unwrap_err(), "FILE: not a raysum model file");
    }
    let missing = Model::load(Path::new("no/such/file")).unwrap_err().to_string();
    assert!(missing.starts_with("no/such/file: No such file"), "{missing}");
}

#[test]
fn a_cut_off_file_is_damaged() {
    let whole = bytes(&fitted().0);
    for length in [300, whole.len() / 2, whole.len() - 1] {
        let e = load(&whole[..length]).unwrap_err();
        assert!(e.starts_with("FILE: the model file is damaged ("), "{length}: {e}");
    }
}

#[test]
fn another_format_is_named() {
    let whole = bytes(&fitted().0);
    let at = whole.windows(12).position(|w| w == br#"\"format\":5"#).unwrap();
    for (digit, advice) in [(9, "use a newer raysum"), (1, "fit again")] {
        let mut other = whole.clone();
        other[at + 11] = b'0' + digit;
        let e = load(&other).unwrap_err();
        let what = format!("model file format {digit}, but this raysum reads formats 2 to 5");
        assert_eq!(e, format!("FILE: {what}; {advice}"));
    }
}

#[test]
fn no_flipped_byte_makes_a_panic_or_a_nan() {
    no_flipped_byte_does(EngineChoice::Auto, 620);
    no_flipped_byte_does(EngineChoice::Ski, 150);
}

fn no_flipped_byte_does(engine: EngineChoice, places: usize) {
    let (model, x) = fitted_by(engine);
    let whole = bytes(&model);
    let mut refused = 0;
    for at in (0..whole.len()).step_by(whole.len() / places) {
        for flip in [0x01, 0x80, 0xFF] {
            let mut damaged = whole.clone();
            damaged[at] ^= flip;
            match load(&damaged) {
                Err(_) => refused += 1,
                // Some numbers may change without a trace; what comes out must still be finite.
                Ok(model) => {
                    if let Ok(p) = model.predict(&x) {
                        let all = p.mean.iter().chain(&p.variance);
                        assert!(all.clone().all(|v| !v.is_nan()), "byte {at} ^ {flip}");
                        assert!(p.variance.iter().all(|v| *v >= 0.0));
                    }
                }
            }
        }
    }
    assert!(refused > places / 9);
}

#[test]
fn saving_to_an_impossible_place_says_so_and_keeps_the_old_file() {
    let (model, _) = fitted();
    let e = model.save("no/such/folder/m.raysum").unwrap_err().to_string();
    assert!(e.starts_with("no/such/folder/m.raysum: "), "{e}");
    let folder = tempfile::tempdir().unwrap();
    assert!(model.save(folder.path()).is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_file_larger_than_memory_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge");
    let start = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        // Holes take no room on the disk.
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(4 << 40)
    };
    // Some file systems have no room for such files; they have no such problem either.
    if start(b"a,b,y\n1,2,3\n").is_err() {
        return;
    }
    let e = Model::load(&path).unwrap_err();
    assert!(matches!(e, Error::NotAModel { .. }), "{e}");
    start(b"\x40\0\0\0\0\0\0\0{").unwrap();
    let e = Model::load(&path).unwrap_err();
    assert!(matches!(e, Error::OutOfMemory { .. }), "{e}");
    assert!(e.to_string().starts_with(&format!("reading {} would take", path.display())), "{e}");
    let e = raysum::Shard::load_all(&path).unwrap_err();
    assert!(matches!(e, Error::OutOfMemory { .. }), "{e}");
}

/// A mixture for a table of two columns.
static MIXTURE: LazyLock<Vec<u8>> = LazyLock::new(|| mixture(2));

/// A mixture for a table with this number of columns.
fn mixture(columns: usize) -> Vec<u8> {
    let x = Matrix::from_fn(30, columns, |i, j| ((i * (j + 3) * 37 % 101) as f64) / 25.0 - 2.0);
    let y: Vec<f64> = (0..30).map(|i| x[(i, 0)].sin() + 0.3 * (1e3 * i as f64).sin()).collect();
    let stacks = StackFit::auto(Effort::Normal).run(&Dataset::new(&x, &y).unwrap()).unwrap();
    assert!(stacks[0].members().len() > 1);
    Stack::to_bytes(&stacks).unwrap()
}

/// The description in a file, and its arrays.
fn content(bytes: &[u8]) -> (Value, Vec<(String, safetensors::tensor::TensorView<'_>)>) {
    let (_, header) = safetensors::SafeTensors::read_metadata(bytes).unwrap();
    let text = &header.metadata().as_ref().unwrap()["raysum"];
    let arrays = safetensors::SafeTensors::deserialize(bytes).unwrap().tensors();
    (serde_json::from_str(text).unwrap(), arrays)
}

/// Reads a mixture whose description was changed, with the checksum that belongs to it.
fn load_changed(change: impl FnOnce(&mut Value)) -> Result<Vec<Stack>, String> {
    let (mut value, arrays) = content(&MIXTURE);
    change(&mut value["content"][0]);
    let metadata = [("raysum".to_string(), value.to_string())].into_iter().collect();
    let changed = safetensors::serialize(arrays, Some(metadata)).unwrap();
    let sealed = raysum::fuzzing::resealed(&changed).unwrap();
    Stack::from_bytes(&sealed).map_err(|e| e.to_string())
}

#[test]
fn a_damaged_stack_is_refused() {
    assert_eq!(load_changed(|_| ()).unwrap().len(), 1);
    let damaged = |says: &str, change: fn(&mut Value)| {
        let e = load_changed(change).unwrap_err();
        assert_eq!(e, format!("bytes of a model: the model file is damaged ({says})"));
    };
    let weights = "the mixing weights make no sense";
    damaged(weights, |model| model["stack"]["share"]["mean"] = json!(1.5));
    damaged(weights, |model| model["stack"]["share"]["spread"] = json!(-0.1));
    damaged(weights, |model| model["stack"]["others"][0]["share"]["inflation"] = json!(0.0));
    damaged(weights, |model| model["stack"]["others"][0]["share"]["inflation"] = json!(-1.0));
    let calibration = "the calibration makes no sense";
    damaged(calibration, |model| model["stack"]["curve"]["actual"][1] = json!(1e9));
    damaged(calibration, |model| model["stack"]["curve"]["nominal"][0] = json!(7.0));
    damaged(calibration, |model| model["stack"]["curve"] = json!({"nominal": [], "actual": []}));
    damaged("a member is itself a stack", |model| {
        let stack = model["stack"].clone();
        model["stack"]["others"][0]["model"]["stack"] = stack;
    });
    assert!(load_changed(|model| model["stack"]["others"][0]["model"] = json!({})).is_err());
}

#[test]
fn members_of_other_columns_are_refused() {
    let three = mixture(3);
    let ((mut value, arrays), (other, other_arrays)) = (content(&MIXTURE), content(&three));
    value["content"][0]["stack"]["others"][0]["model"] =
        other["content"][0]["stack"]["others"][0]["model"].clone();
    let of_member = |name: &str| name.contains("member.1.");
    let mut mixed: Vec<_> = arrays.into_iter().filter(|(name, _)| !of_member(name)).collect();
    mixed.extend(other_arrays.into_iter().filter(|(name, _)| of_member(name)));
    let metadata = [("raysum".to_string(), value.to_string())].into_iter().collect();
    let changed = safetensors::serialize(mixed, Some(metadata)).unwrap();
    let sealed = raysum::fuzzing::resealed(&changed).unwrap();
    let e = Stack::from_bytes(&sealed).unwrap_err().to_string();
    let says = "the members do not have the same columns";
    assert_eq!(e, format!("bytes of a model: the model file is damaged ({says})"));
}
