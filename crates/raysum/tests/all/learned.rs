//! Learned directions: found where the data has them, and harmless where it has none.

use crate::common::{normals, with};
use raysum::fitted::Projections;
use raysum::{Config, Dataset, Fit, Matrix, Model};

const COLUMNS: usize = 8;

/// Standard normal rows, and a target of them and one more standard normal number.
fn table(rows: usize, index: u32, target: fn(&[f64], f64) -> f64) -> (Matrix, Vec<f64>) {
    let mut normal = normals(11, index);
    let x = Matrix::from_fn(rows, COLUMNS, |_, _| normal());
    let y = (0..rows).map(|i| target(x.row(i), normal())).collect();
    (x, y)
}

/// Two waves along oblique directions, one of them through six of the eight columns.
fn waves(x: &[f64], noise: f64) -> f64 {
    let first = 0.8 * (x[0] - x[1] + x[2] + x[3] - x[4] + x[5]);
    let second = 0.9 * (x[0] + x[6]) - 0.4 * x[2];
    first.sin() + second.sin() + 0.1 * noise
}

fn fit(config: &Config, (x, y): &(Matrix, Vec<f64>)) -> Model {
    config.fit(&Dataset::new(x, y).unwrap()).unwrap()
}

fn rmse(model: &Model, (x, y): &(Matrix, Vec<f64>)) -> f64 {
    let p = model.predict(x).unwrap();
    let squares: f64 = p.mean.iter().zip(y).map(|(m, y)| (m - y).powi(2)).sum();
    (squares / y.len() as f64).sqrt()
}

/// The error of predicting the mean.
fn rmse_of_mean(y: &[f64]) -> f64 {
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    (y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / y.len() as f64).sqrt()
}

fn ppr(j: usize) -> Config {
    with(Config::preset("ppr").unwrap(), |c| c.terms[0].degrees = format!("{j}x1").parse().unwrap())
}

#[test]
fn oblique_waves_are_found() {
    let (train, test) = (table(400, 0, waves), table(500, 1, waves));
    let plain = rmse(&fit(&Config::default(), &train), &test);
    let model = fit(&ppr(4), &train);
    let learned = rmse(&model, &test);
    assert!(learned < 0.5 * plain, "{learned} against {plain}");
    // Its directions are ordinary projections: of length 1, and saved with the model.
    for r in 0..4 {
        let squares: f64 = model.projections()[0].matrix().row(r).iter().map(|w| w * w).sum();
        assert!((squares - 1.0).abs() < 1e-12);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.raysum");
    model.save(&file).unwrap();
    let back = Model::load(&file).unwrap();
    assert_eq!(back.predict(&test.0).unwrap(), model.predict(&test.0).unwrap());
    assert_eq!(back.projections(), model.projections());
    // And they can be used on other rows.
    let data = Dataset::new(&test.0, &test.1).unwrap();
    let (p, h) = (model.projections().to_vec(), model.hyperparameters().clone());
    let config = ppr(4);
    let along = |p: &[Projections]| Fit::new(&config).along(p.to_vec());
    let moved = along(&p).condition(&data, &h).unwrap().remove(0);
    assert_eq!(moved.projections(), p);
    assert!(rmse(&moved, &train) < 0.5 * plain);
    let narrow = Matrix::from_fn(50, 3, |i, j| (i * (j + 2) % 7) as f64);
    let e = along(&p).condition(&Dataset::new(&narrow, &test.1[..50]).unwrap(), &h);
    assert_eq!(e.unwrap_err().to_string(), "X has 3 columns, but the model was fitted on 8");
}

#[test]
fn noise_is_not_learned() {
    let noise = |x: &[f64], noise: f64| 0.5 * x[0] + noise;
    let (train, test) = (table(200, 2, noise), table(500, 3, noise));
    let plain = rmse(&fit(&Config::default(), &train), &test);
    let learned = rmse(&fit(&ppr(20), &train), &test);
    assert!(learned < 1.02 * plain, "{learned} against {plain}");
}

#[test]
fn one_seed_one_model_on_any_number_of_threads() {
    let train = table(150, 4, waves);
    let run = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let config = with(ppr(6), |c| {
            c.seed = seed;
            c.max_evaluations = Some(20);
        });
        let model = pool.install(|| fit(&config, &train));
        (model.projections().to_vec(), model.predict(&train.0).unwrap())
    };
    let one = run(1, 5);
    assert_eq!(one, run(3, 5));
    assert_ne!(one, run(1, 6));
}

#[test]
fn few_rows_and_odd_shapes_are_learned_as_well_as_before() {
    let test = table(400, 6, waves);
    // Errors as shares of that of the mean, a quarter more than what was found. A model of so few rows knows
    // next to nothing, and one of nine is misled.
    let spread = rmse_of_mean(&test.1);
    let check = |config: &Config, train: &(Matrix, Vec<f64>), most: f64| {
        let model = fit(config, train);
        assert!(model.log_marginal_likelihood().is_finite());
        let error = rmse(&model, &test) / spread;
        assert!(error < most, "{} rows, {config:?}: {error}", train.1.len());
    };
    for (rows, most) in [(2, 1.32), (3, 1.41), (9, 2.45), (10, 1.2), (12, 1.15)] {
        check(&ppr(20), &table(rows, 5, waves), most);
    }
    let train = table(60, 7, waves);
    let two = with(ppr(1), |c| c.terms[0].degrees = "2x2,1x3".parse().unwrap());
    for (config, most) in [
        (two, 0.31),
        (with(ppr(5), |c| c.max_evaluations = Some(1)), 1.17),
        (with(ppr(5), |c| (c.max_evaluations, c.starts) = (Some(30), 2)), 0.97),
        (with(ppr(5), |c| c.subset = Some(40)), 1.25),
        (with(ppr(5), |c| c.terms[0].learn_weights = false), 0.95),
    ] {
        check(&config, &train, most);
    }
    // From given hyperparameters learning the directions does not begin with a plain model.
    let data = Dataset::new(&train.0, &train.1).unwrap();
    let start = fit(
        &with(ppr(5), |c| c.terms[0].length_scales = raysum::settings::LengthScales::Projections),
        &train,
    );
    let config = ppr(5);
    let model = Fit::new(&config).start(start.hyperparameters()).run(&data).unwrap().remove(0);
    assert!(model.log_marginal_likelihood() > start.log_marginal_likelihood());
}
