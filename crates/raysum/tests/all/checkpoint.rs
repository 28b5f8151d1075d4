//! A fit that is ended at any evaluation and started again gives the bits of one that was not.

use crate::common::{normals, with};
use raysum::settings::{EngineChoice, Optimizer, Shrinkage};
use raysum::{Checkpoint, Config, Dataset, Error, Fit, Matrix, Model};
use std::ops::ControlFlow;
use std::path::Path;

/// Rows whose target depends on sums of columns.
fn rows(n: usize) -> (Matrix, Vec<f64>) {
    let mut normal = normals(3, 0);
    let x = Matrix::from_fn(n, 4, |_, _| normal());
    let y = (0..n).map(|i| (x[(i, 0)] + x[(i, 1)]).sin() + 0.1 * normal()).collect();
    (x, y)
}

/// Fits with a checkpoint, and ends the fit after a number of evaluations of its own.
fn fit(config: &Config, data: &Dataset<'_>, path: &Path, most: usize) -> Result<Vec<u8>, Error> {
    let mut checkpoint = Checkpoint::open(path)?;
    let allowed = checkpoint.evaluations() + most;
    let mut seen = 0;
    let progress = &mut |_: &_| {
        seen += 1;
        if seen < allowed { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let models = Fit::new(config).progress(progress).checkpoint(&mut checkpoint).run(data)?;
    Model::to_bytes(&models)
}

fn preset(name: &str) -> Config {
    Config::preset(name).unwrap()
}

#[test]
fn a_fit_in_pieces_is_the_fit_in_one() {
    let adam = with(preset("gam"), |c| {
        c.max_evaluations = Some(25);
        c.optimizer = Optimizer::Adam;
    });
    let by_neighbors = |c: &mut Config| {
        c.engine = EngineChoice::Neighbors;
        c.neighbors.neighbors = 5;
    };
    let short = |config: Config| with(config, |c| c.max_evaluations = Some(12));
    let few = |c: &mut Config| c.terms[0].degrees = "4x1".parse().unwrap();
    // A search on a grid takes long: one is enough.
    let one_search = |c: &mut Config| {
        few(c);
        c.shrinkage = Shrinkage::None;
        c.max_evaluations = Some(20);
    };
    let cases = [
        ("dpa-ard", short(preset("dpa-ard")), 80),
        ("several starts", with(short(preset("rpa-1")), |c| c.starts = 3), 80),
        ("adam", adam, 60),
        ("ski", with(preset("dpa-ard-ski"), one_search), 100),
        ("neighbors", with(short(preset("matern32-ard")), by_neighbors), 100),
        ("learned", with(short(preset("ppr")), few), 60),
        ("stages", preset("single-rp"), 2_100),
    ];
    for (name, config, n) in cases {
        let (x, y) = rows(n);
        let data = Dataset::new(&x, &y).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let expected = config.fit(&data).unwrap();
        let whole = fit(&config, &data, &folder.path().join("whole"), usize::MAX).unwrap();
        assert!(whole == Model::to_bytes([&expected]).unwrap(), "{name}: a checkpoint changes it");
        // Killed after every seventh evaluation.
        let path = folder.path().join("pieces");
        let mut pieces = 0;
        let last = loop {
            match fit(&config, &data, &path, 7) {
                Ok(bytes) => break bytes,
                Err(Error::Cancelled { .. }) => pieces += 1,
                Err(e) => panic!("{name}: {e}"),
            }
        };
        assert!(pieces >= 2, "{name}: {pieces} pieces");
        assert!(last == whole, "{name}: other bits after {pieces} pieces");
    }
}

#[test]
fn other_rows_or_settings_are_refused() {
    let (x, mut y) = rows(40);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c");
    let config = preset("dpa-ard");
    fit(&config, &Dataset::new(&x, &y).unwrap(), &path, 3).unwrap_err();
    let before = std::fs::read(&path).unwrap();
    let other = with(config.clone(), |c| c.seed = 1);
    let refused = |config: &Config, y: &[f64]| {
        let e = fit(config, &Dataset::new(&x, y).unwrap(), &path, 3).unwrap_err();
        assert!(matches!(e, Error::OtherCheckpoint { .. }), "{e}");
        assert!(std::fs::read(&path).unwrap() == before);
    };
    refused(&other, &y);
    y[7] += 1e-12;
    refused(&config, &y);
}
