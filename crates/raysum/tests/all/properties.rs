//! What must not change: order of rows and columns, units, saving and loading, threads.

use crate::common::with;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use raysum::fitted::{Hyperparameters, Projections, TermHyperparameters};
use raysum::settings::{Directions, SubKernel};
use raysum::{Config, Dataset, Error, Fit, Matrix, Model};

/// A small data set with values drawn by proptest.
fn rows(n: usize, d: usize) -> impl Strategy<Value = (Matrix, Vec<f64>)> {
    let x = prop::collection::vec(-3.0..3.0_f64, n * d);
    let y = prop::collection::vec(-2.0..2.0_f64, n);
    (x, y).prop_map(move |(x, y)| (Matrix::from_row_major(n, d, x).unwrap(), y))
}

fn hyperparameters(scales: &[f64], j: usize) -> Hyperparameters {
    Hyperparameters {
        terms: vec![TermHyperparameters {
            column_length_scales: scales.to_vec(),
            length_scales: Vec::new(),
            variances: vec![1.3 / j as f64; j],
        }],
        noise_variance: 0.05,
        mean: 0.1,
    }
}

fn close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    let size = b.iter().fold(1e-12_f64, |m, v| m.max(v.abs()));
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= tolerance * size, "{a} against {b}");
    }
}

const SCALES: [f64; 4] = [0.7, 1.5, 3.0, 1.0];

fn condition(preset: &str, x: &Matrix, y: &[f64], scales: &[f64]) -> Model {
    let config = Config::preset(preset).unwrap();
    let j = config.terms[0].degrees.resolve(x.columns()).len();
    let data = Dataset::new(x, y).unwrap();
    Fit::new(&config).condition(&data, &hyperparameters(scales, j)).unwrap().remove(0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: RngSeed::Fixed(0), ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_rows_does_not_matter((x, y) in rows(30, 4), seed in 0_usize..1000) {
        let mut order: Vec<usize> = (0..30).collect();
        order.sort_by_key(|i| (i * 7919 + seed * 104_729) % 1009);
        let shuffled: Vec<f64> = order.iter().map(|&i| y[i]).collect();
        for preset in ["dpa-ard", "rbf-ard", "gam"] {
            let a = condition(preset, &x, &y, &SCALES);
            let b = condition(preset, &x.gather(&order), &shuffled, &SCALES);
            let (pa, pb) = (a.predict(&x).unwrap(), b.predict(&x).unwrap());
            close(&pa.mean, &pb.mean, 1e-9);
            close(&pa.variance, &pb.variance, 1e-9);
            close(a.relevance(), b.relevance(), 1e-8);
            close(&[a.log_marginal_likelihood()], &[b.log_marginal_likelihood()], 1e-10);
        }
    }

    #[test]
    fn the_order_of_columns_does_not_matter((x, y) in rows(30, 4), shift in 1_usize..4) {
        let turn = |j: usize| (j + shift) % 4;
        let turned = Matrix::from_fn(30, 4, |i, j| x[(i, turn(j))]);
        let scales: Vec<f64> = (0..4).map(|j| SCALES[turn(j)]).collect();
        for preset in ["rbf-ard", "imq-ard", "gam"] {
            let a = condition(preset, &x, &y, &SCALES);
            let b = condition(preset, &turned, &y, &scales);
            let (pa, pb) = (a.predict(&x).unwrap(), b.predict(&turned).unwrap());
            close(&pa.mean, &pb.mean, 1e-9);
            close(&pa.variance, &pb.variance, 1e-9);
        }
        // With other directions: as long as their entries move with the columns.
        let directions = Projections::choose(Directions::Diverse, &[1; 9], 4, 3).unwrap().matrix();
        let config = with(Config::preset("dpa-ard").unwrap(), |c| {
            c.terms[0].kernel = SubKernel::Matern32.into();
            c.terms[0].degrees = "9x1".parse().unwrap();
        });
        let along = |x: &Matrix, directions: Matrix, scales: &[f64]| {
            let p = Projections::new(directions, vec![1; 9]).unwrap();
            let (data, h) = (Dataset::new(x, &y).unwrap(), hyperparameters(scales, 9));
            Fit::new(&config).along(vec![p]).condition(&data, &h).unwrap().remove(0)
        };
        let moved = Matrix::from_fn(9, 4, |r, j| directions[(r, turn(j))]);
        let (a, b) = (along(&x, directions, &SCALES), along(&turned, moved, &scales));
        close(&[a.log_marginal_likelihood()], &[b.log_marginal_likelihood()], 1e-10);
        close(&a.predict(&x).unwrap().mean, &b.predict(&turned).unwrap().mean, 1e-9);
    }

    #[test]
    fn units_do_not_matter((x, y) in rows(30, 4), exponent in -6_i32..6, offset in -50.0..50.0_f64) {
        let factor = 10.0_f64.powi(exponent);
        let rescaled = Matrix::from_fn(30, 4, |i, j| {
            if j == 1 { factor * x[(i, j)] + offset * factor } else { x[(i, j)] }
        });
        let moved: Vec<f64> = y.iter().map(|v| factor * (v + offset)).collect();
        for preset in ["dpa-ard", "rbf-ard", "gam"] {
            let a = condition(preset, &x, &y, &SCALES);
            let b = condition(preset, &rescaled, &moved, &SCALES);
            let (pa, pb) = (a.predict(&x).unwrap(), b.predict(&rescaled).unwrap());
            let back: Vec<f64> = pb.mean.iter().map(|m| m / factor - offset).collect();
            close(&back, &pa.mean, 1e-8);
            let back: Vec<f64> = pb.variance.iter().map(|v| v / factor / factor).collect();
            close(&back, &pa.variance, 1e-8);
            close(&[a.log_marginal_likelihood()], &[b.log_marginal_likelihood()], 1e-8);
            close(a.relevance(), b.relevance(), 1e-7);
        }
    }

    #[test]
    fn components_and_constant_sum_to_the_mean((x, y) in rows(25, 4)) {
        for preset in ["dpa-ard", "gam", "rbf-ard"] {
            let model = condition(preset, &x, &y, &SCALES);
            let mut sum = vec![model.constant(); 25];
            for component in model.components(&x).unwrap() {
                sum.iter_mut().zip(&component.mean).for_each(|(s, m)| *s += m);
                prop_assert!(component.variance.iter().all(|v| *v >= 0.0));
            }
            close(&sum, &model.predict(&x).unwrap().mean, 1e-10);
        }
    }

    #[test]
    fn far_from_the_data_the_prior_returns((x, y) in rows(25, 4)) {
        let model = condition("imq-ard", &x, &y, &SCALES);
        let far = Matrix::from_fn(2, 4, |i, _| if i == 0 { 1e12 } else { f64::MAX });
        let p = model.predict(&far).unwrap();
        let unit = model.target_scale().std;
        close(&p.latent_variance, &[1.3 * unit * unit; 2], 1e-6);
        // In units of y: the constant itself may be next to nothing.
        prop_assert!(p.mean.iter().all(|m| (m - model.constant()).abs() < 1e-6 * unit));
    }
}

fn wave(n: usize, d: usize) -> (Matrix, Vec<f64>) {
    let x = Matrix::from_fn(n, d, |i, j| ((i * (j + 3) * 37 % 101) as f64) / 25.0 - 2.0);
    let y = (0..n).map(|i| (x[(i, 0)] + 0.5 * x[(i, 1)]).sin() + 0.05 * (i % 7) as f64).collect();
    (x, y)
}

#[test]
fn a_fit_has_the_same_bits_on_any_number_of_threads() {
    // More rows than one tile has.
    let (x, y) = wave(300, 5);
    let fit = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let config = with(Config::default(), |c| {
                c.max_evaluations = Some(4);
                c.starts = 2;
            });
            let model = config.fit(&Dataset::new(&x, &y).unwrap()).unwrap();
            let p = model.predict(&x).unwrap();
            (model.hyperparameters().clone(), p, model.relevance().to_vec())
        })
    };
    let one = fit(1);
    assert!(one == fit(2) && one == fit(5));
}

#[test]
fn gradient_of_the_mean_matches_differences() {
    let (x, y) = wave(60, 4);
    for preset in ["dpa-ard", "imq-ard"] {
        let model = condition(preset, &x, &y, &SCALES);
        let gradient = model.mean_gradient(&x).unwrap();
        for column in 0..4 {
            let moved = |step: f64| {
                let x =
                    Matrix::from_fn(60, 4, |i, j| x[(i, j)] + if j == column { step } else { 0.0 });
                model.predict(&x).unwrap().mean
            };
            let h = 1e-5;
            let (up, down) = (moved(h), moved(-h));
            let slopes: Vec<f64> = up.iter().zip(&down).map(|(u, d)| (u - d) / (2.0 * h)).collect();
            let found: Vec<f64> = (0..60).map(|i| gradient[(i, column)]).collect();
            close(&found, &slopes, 1e-6);
        }
    }
}

#[test]
fn samples_have_the_posterior_mean_and_covariance() {
    let (x, y) = wave(40, 3);
    let model = condition("dpa-ard", &x, &y, &SCALES[..3]);
    // The second point twice: a singular covariance must do.
    let at = x.gather(&[3, 17, 17]);
    let at = Matrix::from_fn(3, 3, |i, j| at[(i, j)] + 0.3);
    let (mean, covariance) = model.joint(&at).unwrap();
    let n = 20_000;
    let samples = model.sample(&at, n, 5).unwrap();
    assert_eq!(samples, model.sample(&at, n, 5).unwrap());
    for a in 0..3 {
        let average = (0..n).map(|s| samples[(s, a)]).sum::<f64>() / n as f64;
        let error = 4.0 * (covariance[(a, a)] / n as f64).sqrt();
        assert!((average - mean[a]).abs() < error, "{average} against {}", mean[a]);
        for b in 0..3 {
            let c = (0..n)
                .map(|s| (samples[(s, a)] - mean[a]) * (samples[(s, b)] - mean[b]))
                .sum::<f64>()
                / n as f64;
            let size = (covariance[(a, a)] * covariance[(b, b)]).sqrt();
            assert!((c - covariance[(a, b)]).abs() < 0.05 * size);
        }
    }
    let p = model.predict(&at).unwrap();
    close(&p.mean, &mean, 1e-12);
    close(&p.latent_variance, &[covariance[(0, 0)], covariance[(1, 1)], covariance[(2, 2)]], 1e-9);
}

#[test]
fn intervals_are_equal_tailed_and_levels_are_checked() {
    let (x, y) = wave(30, 2);
    let p = condition("gam", &x, &y, &SCALES[..2]).predict(&x).unwrap();
    let (lower, upper) = p.interval(0.95).unwrap();
    for i in 0..30 {
        assert!((upper[i] + lower[i] - 2.0 * p.mean[i]).abs() < 1e-12);
        let width = 2.0 * 1.959_963_984_540_054 * p.variance[i].sqrt();
        assert!((upper[i] - lower[i] - width).abs() < 1e-9);
    }
    assert!(p.interval(0.0).is_err() && p.interval(1.0).is_err() && p.interval(f64::NAN).is_err());
}

#[test]
fn leave_one_out_wants_the_training_rows() {
    let (x, y) = wave(60, 2);
    let mut other = x.clone();
    other[(4, 0)] += 1.0;
    for (preset, engine) in [("rbf-ard", "dense"), ("gam", "weight")] {
        let model = condition(preset, &x, &y, &SCALES[..2]);
        assert_eq!(model.engine(), engine);
        let loo = model.leave_one_out(&Dataset::new(&x, &y).unwrap()).unwrap();
        assert!(loo.variance.iter().all(|v| *v > 0.0));
        let e = model.leave_one_out(&Dataset::new(&other, &y).unwrap()).unwrap_err().to_string();
        assert!(e.starts_with("these are not the rows that the model was fitted on"), "{e}");
        assert_eq!(e.contains("row 4 differs"), engine == "dense");
        let mut shifted = y.clone();
        shifted[7] += 1.0;
        let weights = vec![2.0; 60];
        let weighted = Dataset::new(&x, &y).unwrap().weighted(&weights).unwrap();
        for data in [Dataset::new(&x, &shifted).unwrap(), weighted] {
            let e = model.leave_one_out(&data).unwrap_err();
            assert!(matches!(e, Error::NotTrainingRows { .. }), "{e}");
        }
    }
}
