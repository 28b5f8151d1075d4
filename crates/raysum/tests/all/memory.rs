//! What does not fit in memory is an error, before anything is allocated.

use crate::common::with;
use raysum::settings::{EngineChoice, Shrinkage, SkiOptions};
use raysum::{Config, Dataset, Error, Matrix, MatrixRef, Model};

fn data(rows: usize) -> (Matrix, Vec<f64>) {
    // No two rows are alike: those would be searched as one.
    let x = Matrix::from_fn(rows, 2, |i, j| (0.618_034 * (i * (j + 3)) as f64).fract());
    let y = (0..rows).map(|i| x[(i, 0)].sin() + 0.1 * x[(i, 1)]).collect();
    (x, y)
}

fn fitted(engine: EngineChoice) -> Model {
    let (x, y) = data(40);
    let config = with(Config::preset("dpa-ard").unwrap(), |c| {
        c.engine = engine;
        c.terms[0].degrees = "4x1".parse().unwrap();
        c.max_evaluations = Some(4);
    });
    config.fit(&Dataset::new(&x, &y).unwrap()).unwrap()
}

/// Checks that a request is refused with its name and two sizes; returns how much it would take.
#[track_caller]
fn refused<T>(result: raysum::Result<T>, starts: &str) -> u64 {
    let Err(e) = result else { panic!("there is memory for {starts}") };
    let said = e.to_string();
    assert!(said.starts_with(starts) && said.contains(" would take "), "{said}");
    let Error::OutOfMemory { needed, .. } = e else { panic!("{said}") };
    needed
}

#[test]
fn covariances_and_samples_of_millions_of_rows() {
    // 32 TB for the covariance alone.
    let many = Matrix::zeros(2_000_000, 2);
    for engine in
        [EngineChoice::Dense, EngineChoice::Weight, EngineChoice::Ski, EngineChoice::Neighbors]
    {
        let model = fitted(engine);
        let at = "the covariance of predictions at 2000000 rows";
        assert!(refused(model.joint(&many), at) >= 32 << 40);
        assert!(refused(model.component_joint(0, &many), at) >= 32 << 40);
        assert!(refused(model.sample(&many, 1, 0), "1 samples at 2000000 rows") >= 32 << 40);
    }
}

#[test]
fn ever_more_samples_and_functions() {
    let model = fitted(EngineChoice::Weight);
    let (x, _) = data(50);
    assert!(refused(model.sample(&x, 1 << 50, 0), "1125899906842624 samples at 50 rows") > 1 << 50);
    for count in [1 << 31, u32::MAX as usize] {
        // 4 paths of 256 waves with three numbers each.
        let least = count as u64 * 4 * 256 * 3 * 8;
        let says = format!("{count} functions would take ");
        assert!(refused(model.functions(count, 0), &says) > least);
        assert!(refused(model.prior_functions(count, 0), &says) > least);
    }
    let single = Config::preset("single-rp").unwrap();
    let (x, y) = data(40);
    let model = single.fit(&Dataset::new(&x, &y).unwrap()).unwrap();
    let functions = model.functions(10_000, 0).unwrap();
    let many = Matrix::zeros(40_000_000, 2);
    let says = "values of 10000 functions at 40000000 rows";
    assert_eq!(refused(functions.evaluate(&many), says), 2 * 10_000 * 40_000_000 * 8);
}

#[test]
fn what_fits_is_answered() {
    let (x, y) = data(300);
    for engine in [EngineChoice::Dense, EngineChoice::Weight, EngineChoice::Ski] {
        let model = fitted(engine);
        assert_eq!(model.joint(&x).unwrap().1.rows(), 300);
        assert_eq!(model.sample(&x, 3, 0).unwrap().rows(), 3);
        assert_eq!(model.functions(140, 0).unwrap().evaluate(&x).unwrap().rows(), 140);
        assert_eq!(model.functions(0, 0).unwrap().len(), 0);
        assert_eq!(model.components(&x).unwrap().len(), 4);
        model.predict(MatrixRef::from(&x)).unwrap();
        let _ = model.leave_one_out(&Dataset::new(&x, &y).unwrap()).unwrap_err();
    }
}

#[test]
fn projections_by_the_million() {
    let (x, y) = data(5_000);
    let (degrees, engine) = ("1000000x1".parse().unwrap(), EngineChoice::Dense);
    let shrinkage = Shrinkage::None;
    let config = Config::preset("rpa-1").unwrap();
    let config = with(config, |c| {
        c.terms[0].degrees = degrees;
        c.engine = engine;
        c.shrinkage = shrinkage;
        c.subset = Some(5_000);
    });
    // The projections of the rows, and 32 gradients with respect to them.
    let says = "1000000 projections of 5000 rows would take ";
    assert!(refused(config.fit(&Dataset::new(&x, &y).unwrap()), says) > 1 << 40);
}

#[test]
fn probes_of_the_ski_engine() {
    let n = 2_000_000;
    let x = Matrix::from_fn(n, 1, |i, _| i as f64);
    let y: Vec<f64> = (0..n).map(|i| (i % 7) as f64).collect();
    let ski = SkiOptions { probes: 10_000, ..SkiOptions::default() };
    let config = with(Config::preset("rpa-1-ski").unwrap(), |c| {
        c.ski = ski;
        c.subset = Some(n);
    });
    let config = with(config, |c| c.terms[0].degrees = "1x1".parse().unwrap());
    let says = "the ski engine with 10000 probes and 1 projections of ";
    assert!(refused(config.fit(&Dataset::new(&x, &y).unwrap()), says) > 1 << 40);
}
