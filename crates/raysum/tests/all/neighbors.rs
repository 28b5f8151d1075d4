//! Models of the neighbors engine, as users have them.

use crate::common::{normals, with};
use raysum::settings::{ConfigPatch, EngineChoice};
use raysum::{Config, Dataset, Error, Fit, Matrix, Model, RowStore, metrics};

/// Rows whose target depends on a product of columns, which no sum of functions of one column has.
fn rows(n: usize) -> (Matrix, Vec<f64>) {
    let mut normal = normals(5, 0);
    let x = Matrix::from_fn(n, 3, |_, _| normal());
    let y = (0..n).map(|i| (x[(i, 0)] * x[(i, 1)]).sin() + 0.1 * normal()).collect();
    (x, y)
}

fn config(neighbors: usize) -> Config {
    with(Config::preset("linear+matern32-ard").unwrap(), |c| {
        c.engine = EngineChoice::Neighbors;
        c.neighbors.neighbors = neighbors;
        c.neighbors.prediction_neighbors = 2 * neighbors;
        c.max_evaluations = Some(15);
    })
}

fn fit(config: &Config, (x, y): &(Matrix, Vec<f64>)) -> Model {
    config.fit(&Dataset::new(x, y).unwrap()).unwrap()
}

#[test]
fn auto_takes_full_kernels_to_neighbours_from_4_001_rows_on() {
    let fit = |preset: &str, n: usize| {
        let config = with(Config::preset(preset).unwrap(), |c| c.max_evaluations = Some(2));
        fit(&config, &rows(n)).engine()
    };
    assert_eq!(fit("matern12-ard", 500), "dense");
    assert_eq!(fit("matern12-ard", 4_001), "neighbors");
    assert_eq!(fit("linear+gam+matern32", 4_001), "neighbors");
    assert_eq!(fit("linear+gam", 4_001), "weight");
}

#[test]
fn fits_end_close_to_those_of_the_dense_engine() {
    let all = rows(1_000);
    let (train, test): (Vec<usize>, Vec<usize>) = (0..1_000).partition(|i| i % 4 > 0);
    let pick = |rows: &[usize]| -> (Matrix, Vec<f64>) {
        (all.0.gather(rows), rows.iter().map(|&i| all.1[i]).collect())
    };
    let new = pick(&test);
    let score = |engine: EngineChoice| {
        let config = with(Config::preset("matern52-ard").unwrap(), |c| c.engine = engine);
        let p = fit(&config, &pick(&train)).predict(&new.0).unwrap();
        (metrics::rmse(&new.1, &p.mean), metrics::nlpd(&new.1, &p.mean, &p.variance))
    };
    let (dense, neighbors) = (score(EngineChoice::Dense), score(EngineChoice::Neighbors));
    assert!(neighbors.0 < 1.05 * dense.0, "RMSE {} and {}", dense.0, neighbors.0);
    assert!(neighbors.1 < dense.1 + 0.05, "NLPD {} and {}", dense.1, neighbors.1);
}

#[test]
fn a_file_gives_the_same_bits() {
    let data = rows(400);
    let weights: Vec<f64> = (0..400).map(|i| 1.0 + f64::from(i % 3)).collect();
    let noise: Vec<f64> = (0..400).map(|i| 0.01 * f64::from(i % 5)).collect();
    let all = Dataset::new(&data.0, &data.1).unwrap();
    let all = all.weighted(&weights).unwrap().with_noise_std(&noise).unwrap();
    let config = with(config(10), |c| c.seed = u64::MAX - 5);
    let model = config.fit(&all).unwrap();
    let again = Model::from_bytes(&Model::to_bytes([&model]).unwrap()).unwrap().remove(0);
    assert_eq!(again.engine(), "neighbors");
    assert_eq!(again.config(), &config);
    let (new, _) = rows(40);
    assert_eq!(model.predict(&new).unwrap(), again.predict(&new).unwrap());
    assert_eq!(model.predict(&new).unwrap().mean, again.predict_mean(&new).unwrap());
    assert_eq!(model.leave_one_out(&all).unwrap(), again.leave_one_out(&all).unwrap());
    assert_eq!(model.joint(&new).unwrap(), again.joint(&new).unwrap());
    assert_eq!(model.sample(&new, 2, 1).unwrap(), again.sample(&new, 2, 1).unwrap());
    let gradient = model.mean_gradient(&new).unwrap();
    assert_eq!(gradient, again.mean_gradient(&new).unwrap());
    assert!(gradient.as_slice().iter().all(|slope| slope.is_finite()));
}

#[test]
fn targets_that_share_a_search_are_saved_together() {
    let (x, y) = rows(300);
    let other: Vec<f64> = y.iter().map(|y| y * y).collect();
    let data = Dataset::with_targets(&x, &[&y, &other]).unwrap();
    let models = Fit::new(&config(8)).shared(true).run(&data).unwrap();
    assert_eq!(models.len(), 2);
    let again = Model::from_bytes(&Model::to_bytes(&models).unwrap()).unwrap();
    for (model, again) in models.iter().zip(&again) {
        assert_eq!(model.predict(&x).unwrap(), again.predict(&x).unwrap());
    }
    assert_ne!(models[0].predict(&x).unwrap(), models[1].predict(&x).unwrap());
}

#[test]
fn rows_come_and_go_without_a_refit() {
    let data = rows(300);
    let some: Vec<usize> = (0..250).collect();
    let rest: Vec<usize> = (250..300).collect();
    let pick = |rows: &[usize]| -> (Matrix, Vec<f64>) {
        (data.0.gather(rows), rows.iter().map(|&i| data.1[i]).collect())
    };
    let (first, last) = (pick(&some), pick(&rest));
    let fitted = fit(&config(20), &first);
    let last = Dataset::new(&last.0, &last.1).unwrap();
    let (new, _) = rows(30);
    let before = fitted.predict(&new).unwrap();
    let mut model = fitted.clone();
    model.update(&last).unwrap();
    assert_eq!(model.report().rows, 300);
    let after = model.predict(&new).unwrap();
    assert_ne!(before, after);
    // As if they had been there from the start, at these hyperparameters and scales.
    let spread = |v: &[f64]| v.iter().sum::<f64>();
    assert!(spread(&after.latent_variance) < spread(&before.latent_variance));
    model.remove(&last).unwrap();
    assert_eq!(model.predict(&new).unwrap(), before);
    assert_eq!(model.log_marginal_likelihood(), fitted.log_marginal_likelihood());
    let e = model.remove(&last).unwrap_err();
    assert!(matches!(e, Error::NotTrainingRows { row: Some(0) }), "{e}");
    assert_eq!(model.predict(&new).unwrap(), before);
}

#[test]
fn what_cannot_be_done_names_the_engine() {
    let model = fit(&config(5), &rows(100));
    let e = model.functions(1, 0).map(drop).unwrap_err().to_string();
    assert_eq!(
        e,
        "a model of the neighbors engine does not support drawing functions; the weight and the dense engine do"
    );
    let patch = ConfigPatch { neighbors: Some(20), ..ConfigPatch::default() };
    let resolve = |engine| ConfigPatch { engine: Some(engine), ..patch.clone() }.resolve("rbf-ard");
    assert_eq!(resolve(EngineChoice::Auto).unwrap().neighbors.neighbors, 20);
    assert_eq!(resolve(EngineChoice::Neighbors).unwrap().neighbors.neighbors, 20);
    let e = resolve(EngineChoice::Dense).unwrap_err().to_string();
    assert!(e.starts_with("neighbors is a setting of the neighbors engine"), "{e}");
    for count in [0, 1_001] {
        let patch = ConfigPatch { prediction_neighbors: Some(count), ..ConfigPatch::default() };
        let e = patch.resolve("rbf-ard").unwrap_err().to_string();
        assert!(e.contains("must be 1 or more, and at most 1,000"), "{e}");
    }
}

#[test]
fn rows_of_a_file_are_read_into_memory() {
    let data = rows(150);
    let mut store = RowStore::new_in(std::env::temp_dir(), 3).unwrap();
    store.push(data.0.as_slice()).unwrap();
    let stored = config(6).fit(&Dataset::new(&store, &data.1).unwrap()).unwrap();
    let (new, _) = rows(20);
    assert_eq!(stored.predict(&new).unwrap(), fit(&config(6), &data).predict(&new).unwrap());
}

#[test]
fn constant_and_equal_rows_are_fine() {
    let (mut x, y) = rows(200);
    for i in 0..200 {
        x[(i, 2)] = 7.0;
        // Four copies of each, with targets of their own.
        (x[(i, 0)], x[(i, 1)]) = (x[(i / 4, 0)], x[(i / 4, 1)]);
    }
    let model = fit(&config(10), &(x.clone(), y));
    let p = model.predict(&x).unwrap();
    assert!(p.variance.iter().all(|v| v.is_finite() && *v > 0.0));
}
