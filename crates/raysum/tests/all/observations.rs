//! Row weights, known noise and several targets: against repeated rows, and against fits of one target
//! at a time.

use crate::common::{normals, with};
use raysum::settings::EngineChoice;
use raysum::{Config, Dataset, Fit, Matrix};

const COLUMNS: usize = 4;

fn rows(n: usize) -> (Matrix, Vec<f64>) {
    let mut normal = normals(1, 0);
    let x = Matrix::from_fn(n, COLUMNS, |_, _| normal());
    let y = (0..n).map(|i| (x[(i, 0)] - x[(i, 2)]).sin() + 0.2 * normal()).collect();
    (x, y)
}

fn config(engine: EngineChoice) -> Config {
    let degrees = "5x1".parse().unwrap();
    with(Config::default(), |c| {
        c.engine = engine;
        c.terms[0].degrees = degrees;
        c.max_evaluations = Some(12);
    })
}

#[test]
fn weighted_fits_equal_fits_on_repeated_rows() {
    let (x, y) = rows(80);
    let weights: Vec<f64> = (0..80).map(|i| f64::from(i % 3 + 1)).collect();
    let again: Vec<usize> = (0..80).flat_map(|i| std::iter::repeat_n(i, i % 3 + 1)).collect();
    let (many_x, many_y): (Matrix, Vec<f64>) =
        (x.gather(&again), again.iter().map(|&i| y[i]).collect());
    // The weight engine's features depend on how many rows there are, up to its tolerance.
    for (engine, tolerance) in [(EngineChoice::Dense, 1e-7), (EngineChoice::Weight, 1e-3)] {
        let few = Dataset::new(&x, &y).unwrap().weighted(&weights).unwrap();
        let few = config(engine).fit(&few).unwrap();
        let many = config(engine).fit(&Dataset::new(&many_x, &many_y).unwrap()).unwrap();
        let (a, b) = (few.log_marginal_likelihood(), many.log_marginal_likelihood());
        assert!((a - b).abs() < tolerance, "{engine:?}: {a} {b}");
        let (a, b) = (few.predict(&x).unwrap(), many.predict(&x).unwrap());
        for i in 0..80 {
            assert!((a.mean[i] - b.mean[i]).abs() < tolerance, "{engine:?}");
            assert!((a.std()[i] - b.std()[i]).abs() < tolerance);
        }
        for (a, b) in few.relevance().iter().zip(many.relevance()) {
            assert!((a - b).abs() < tolerance);
        }
    }
}

#[test]
fn two_targets_at_once_equal_two_fits_with_the_same_hyperparameters() {
    let (x, y) = rows(120);
    let other: Vec<f64> = (0..120).map(|i| 40.0 + 5.0 * x[(i, 1)].cos() + y[i]).collect();
    for engine in [EngineChoice::Dense, EngineChoice::Weight] {
        let config = config(engine);
        let data = Dataset::with_targets(&x, &[&y, &other]).unwrap();
        let together = Fit::new(&config).shared(true).run(&data).unwrap();
        for (model, y) in together.iter().zip([&y, &other]) {
            let h = together[0].hyperparameters().clone();
            let alone = Dataset::new(&x, y).unwrap();
            let alone = Fit::new(&config).condition(&alone, &h).unwrap().remove(0);
            let (a, b) = (model.predict(&x).unwrap(), alone.predict(&x).unwrap());
            assert_eq!(model.log_marginal_likelihood(), alone.log_marginal_likelihood());
            assert_eq!((a, model.relevance()), (b, alone.relevance()));
        }
        let e = config.fit(&data).unwrap_err().to_string();
        assert_eq!(e, "2 targets given, but 1 expected");
    }
}

#[test]
fn known_noise_comes_on_top_of_the_noise_found() {
    let (x, y) = rows(60);
    let noise: Vec<f64> = (0..60).map(|i| if i < 30 { 0.0 } else { 2.0 }).collect();
    let data = Dataset::new(&x, &y).unwrap().with_noise_std(&noise).unwrap();
    let model = config(EngineChoice::Auto).fit(&data).unwrap();
    let (plain, noisy) =
        (model.predict(&x).unwrap(), model.predict_with_noise(&x, &noise).unwrap());
    for i in 0..60 {
        assert!((noisy.variance[i] - plain.variance[i] - noise[i].powi(2)).abs() < 1e-9);
    }
    let loo = model.leave_one_out(&data).unwrap();
    assert!(loo.std()[45] > 2.0 && loo.std()[5] < 1.0);
    let e = model.predict_with_noise(&x, &[1.0]).unwrap_err().to_string();
    assert_eq!(e, "X has 60 rows, but there is a noise std for 1");
}

#[test]
fn impossible_weights_are_refused_with_their_row() {
    let (x, y) = rows(3);
    let data = || Dataset::new(&x, &y).unwrap();
    let message = |e: raysum::Error| e.to_string();
    let e = message(data().weighted(&[1.0, 0.0, 1.0]).unwrap_err());
    assert_eq!(e, "the weight of row 1 is 0, but must be finite and above 0");
    let e = message(data().with_noise_std(&[1.0, 1.0, -0.5]).unwrap_err());
    assert_eq!(e, "the noise std of row 2 is -0.5, but must be finite and at least 0");
    let two = Dataset::with_targets(&x, &[&y, &y]).unwrap();
    let e = message(two.with_noise_std(&[1.0; 3]).unwrap_err());
    assert_eq!(
        e,
        "the noise of rows belongs to one target: fit several targets one by one, with hyperparameters of their own"
    );
}
