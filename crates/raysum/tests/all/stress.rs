//! Numbers under stress: shapes, scales and tables that nobody would choose.

use crate::common::{normals, with};
use proptest::prelude::*;
use rand::RngExt;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use raysum::fitted::Projections;
use raysum::metrics::{coverage, rmse};
use raysum::{Config, Dataset, Error, Fit, Matrix, Model};

fn preset(name: &str) -> Config {
    Config::preset(name).unwrap()
}

fn normal(seed: u64) -> impl FnMut() -> f64 {
    normals(seed, 0)
}

/// Checks that all a model says of some rows is finite, and no variance negative.
fn sound(model: &Model, x: &Matrix) {
    let p = model.predict(x).unwrap();
    assert!(p.mean.iter().chain(&p.variance).all(|v| v.is_finite()), "{p:?}");
    assert!(p.variance.iter().all(|v| *v >= 0.0), "{p:?}");
    assert!(model.log_marginal_likelihood().is_finite());
    let slopes = model.mean_gradient(x).unwrap();
    assert!(slopes.as_slice().iter().all(|v| v.is_finite()));
    let total: f64 = model.relevance().iter().sum();
    assert!((total - 1.0).abs() < 1e-9 || total == 0.0, "{total}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_shape_and_scale_gives_finite_numbers(
        n in 1..14_usize,
        d in 1..18_usize,
        exponents in proptest::collection::vec(-300..300_i32, 19),
        kinds in proptest::collection::vec(0..5_u8, 18),
        repeated in any::<bool>(),
        seed in 0..1000_u64,
        name in prop::sample::select(vec!["dpa-ard", "gam", "rbf-ard", "rpa-2", "dpa-ard-ski"]),
    ) {
        let mut random = normal(seed);
        let plain = Matrix::from_fn(n, d, |_, _| random());
        let x = Matrix::from_fn(n, d, |i, j| {
            let i = if repeated { i / 2 } else { i };
            let scale = 10.0_f64.powi(exponents[j]);
            match kinds[j] {
                // Constant, the same as the first column, or a multiple of it.
                0 => scale,
                1 => plain[(i, 0)],
                2 => -3.0 * plain[(i, 0)] * scale,
                _ => plain[(i, j)] * scale,
            }
        });
        let unit = 10.0_f64.powi(exponents[18]);
        let y: Vec<f64> = (0..n).map(|i| unit * (plain[(i, 0)] + 0.1 * random())).collect();
        let data = match Dataset::new(&x, &y) {
            Ok(data) => data,
            Err(e) => {
                prop_assert!(n == 1 && matches!(e, Error::TooFewRows { rows: 1 }), "{}", e);
                return Ok(());
            }
        };
        let config = with(preset(name), |c| {
            c.max_evaluations = Some(6);
            if name == "dpa-ard-ski" {
                c.terms[0].degrees = "5x1".parse().unwrap();
            }
        });
        let model = config.fit(&data).unwrap();
        sound(&model, &x);
        let far = Matrix::from_fn(3, d, |i, _| [1e300, -1e-300, 0.0][i]);
        sound(&model, &far);
    }
}

#[test]
fn intervals_hold_what_they_say_on_data_from_the_model_itself() {
    let (d, n, new, sets) = (4, 120, 80, 25);
    let config = with(preset("dpa-ard"), |c| c.terms[0].degrees = "10x1".parse().unwrap());
    let (mut inside, mut fitted_inside) = (0, 0);
    for seed in 0..sets {
        let mut random = normal(seed);
        let config = with(config.clone(), |c| c.seed = seed);
        let directions =
            Projections::choose(config.terms[0].directions, &[1; 10], d, seed).unwrap().matrix();
        let scales: Vec<f64> = (0..d).map(|_| (0.6 + 0.3 * random()).exp()).collect();
        let noise = 0.3;
        // f = Σ_j f_j, each of 60 waves: draws from the kernel, to the eye of 80 rows.
        let waves: Vec<[f64; 3]> = (0..600).map(|_| [random(), random(), random()]).collect();
        let f = |x: &[f64]| -> f64 {
            let view =
                |j: usize| -> f64 { (0..d).map(|c| directions[(j, c)] * x[c] / scales[c]).sum() };
            let wave = |(k, [turn, a, b]): (usize, &[f64; 3])| {
                let angle = turn * view(k % 10);
                (a * angle.cos() + b * angle.sin()) / 600.0_f64.sqrt()
            };
            waves.iter().enumerate().map(wave).sum()
        };
        let x = Matrix::from_fn(n + new, d, |_, _| random());
        let y: Vec<f64> = (0..n + new).map(|i| f(x.row(i)) + noise * random()).collect();
        let (train, test): (Vec<usize>, Vec<usize>) = ((0..n).collect(), (n..n + new).collect());
        let (seen, asked) = (x.gather(&train), x.gather(&test));
        let data = Dataset::new(&seen, &y[..n]).unwrap();
        let model = config.fit(&data).unwrap();
        let mut right = model.hyperparameters().clone();
        // The truth, in the units of the standardised rows.
        let (columns, target) = (model.column_scales(), model.target_scale());
        right.terms[0].column_length_scales =
            scales.iter().zip(columns).map(|(l, c)| l / c.std).collect();
        right.terms[0].variances = vec![0.1 / target.std.powi(2); 10];
        right.noise_variance = (noise / target.std).powi(2);
        right.mean = -target.mean / target.std;
        let known = Fit::new(&config).condition(&data, &right).unwrap().remove(0);
        for (model, count) in [(&known, &mut inside), (&model, &mut fitted_inside)] {
            let (low, high) = model.predict(&asked).unwrap().interval(0.95).unwrap();
            *count += (0..new).filter(|i| (low[*i]..=high[*i]).contains(&y[n + i])).count();
        }
    }
    let share = |count: usize| count as f64 / (new * sets as usize) as f64;
    let (known, fitted) = (share(inside), share(fitted_inside));
    println!("{known} of the values at the true hyperparameters, {fitted} at fitted ones");
    assert!((0.93..=0.97).contains(&known), "{known} at the true hyperparameters");
    assert!((0.93..=0.97).contains(&fitted), "{fitted} at fitted ones");
}

#[test]
fn data_without_noise_is_followed() {
    let x = Matrix::from_fn(120, 2, |i, j| [(i % 12) as f64, (i / 12) as f64][j] / 3.0);
    let y: Vec<f64> = (0..120).map(|i| x[(i, 0)].sin() + (0.7 * x[(i, 1)]).cos()).collect();
    for name in ["dpa-ard", "gam", "rbf-ard"] {
        // From a single start gam ends on a hill where each of the few values of a column has a level
        // of its own.
        let config = with(preset(name), |c| c.starts = if name == "gam" { 5 } else { 1 });
        let model = config.fit(&Dataset::new(&x, &y).unwrap()).unwrap();
        sound(&model, &x);
        let between = Matrix::from_fn(30, 2, |i, j| 0.5 + 0.1 * (i * (j + 1)) as f64 % 2.5);
        let p = model.predict(&between).unwrap();
        for i in 0..30 {
            let truth = between[(i, 0)].sin() + (0.7 * between[(i, 1)]).cos();
            let (error, std) = ((p.mean[i] - truth).abs(), p.std()[i]);
            assert!(error < 0.1 && error < 4.0 * std, "{name}: off by {error}, std {std}");
        }
    }
}

/// Where the noise is so small beside the functions that rounding errors are larger, predictions at the training
/// rows are off by up to 0.0007 on these tables, and 95 % intervals hold from 38 % of the new rows on.
#[test]
fn rounding_leaves_predictions_of_smooth_data_without_noise_alone() {
    for seed in 103..108 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let x = Matrix::from_fn(700, 6, |_, _| rng.random_range(-1.0..1.0));
        let truth = |i: usize| x[(i, 0)] * x[(i, 1)] + x[(i, 2)].powi(2) - x[(i, 3)];
        let y: Vec<f64> = (0..700).map(truth).collect();
        let rows = |range: std::ops::Range<usize>| x.gather(&range.collect::<Vec<_>>());
        let (fitted, new) = (rows(0..300), rows(300..700));
        let data = Dataset::new(&fitted, &y[..300]).unwrap();
        let model = preset("matern52-ard").fit(&data).unwrap();
        let own = rmse(&y[..300], &model.predict_mean(&fitted).unwrap());
        let p = model.predict(&new).unwrap();
        let inside = coverage(&y[300..], &p.mean, &p.variance, 0.95);
        let error = rmse(&y[300..], &p.mean);
        assert!(own < 5e-5 && error < 5e-4 && inside > 0.95, "{seed}: {own}, {error}, {inside}");
    }
}

#[test]
fn equal_rows_with_other_targets_tell_the_noise() {
    let mut random = normal(5);
    let x = Matrix::from_fn(300, 2, |i, j| [(i % 10) as f64, ((i % 10) * (i % 10)) as f64][j]);
    let y: Vec<f64> = (0..300).map(|i| f64::from(i % 10) + 2.0 * random()).collect();
    for name in ["dpa-ard", "gam", "rbf-ard", "dpa-ard-ski"] {
        let model = preset(name).fit(&Dataset::new(&x, &y).unwrap()).unwrap();
        sound(&model, &x);
        assert!((1.7..2.3).contains(&model.noise_std()), "{name}: {}", model.noise_std());
    }
}

#[test]
fn nothing_but_one_row_again_and_again() {
    let x = Matrix::from_fn(40, 3, |_, j| j as f64);
    let y: Vec<f64> = (0..40).map(|i| f64::from(i % 4)).collect();
    for name in ["dpa-ard", "gam", "rbf-ard", "dpa-ard-ski"] {
        let model = preset(name).fit(&Dataset::new(&x, &y).unwrap()).unwrap();
        sound(&model, &x);
        let p = model.predict(&Matrix::from_fn(1, 3, |_, j| 2.0 * j as f64)).unwrap();
        assert!((p.mean[0] - 1.5).abs() < 0.1, "{name}: {}", p.mean[0]);
        assert!((1.0..1.5).contains(&p.std()[0]), "{name}: {}", p.std()[0]);
    }
}

#[test]
fn a_tiny_spread_on_a_huge_mean_is_kept() {
    let mut random = normal(7);
    let x = Matrix::from_fn(200, 2, |_, _| random());
    let y: Vec<f64> = (0..200).map(|i| 1e12 + 1e-2 * x[(i, 0)] + 1e-3 * random()).collect();
    let model = preset("dpa-ard").fit(&Dataset::new(&x, &y).unwrap()).unwrap();
    sound(&model, &x);
    let p = model.predict(&x).unwrap();
    // A float of this size has steps of 1.2e-4.
    let error = p.mean.iter().zip(&y).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / 200.0;
    assert!(error.sqrt() < 2e-3 && model.noise_std() < 2e-3, "{}", error.sqrt());
}

#[test]
fn five_thousand_columns_of_fifty_rows() {
    let mut random = normal(8);
    let mut rows = |n: usize| {
        let x = Matrix::from_fn(n, 5000, |_, _| random());
        let y: Vec<f64> = (0..n).map(|i| x.row(i)[..100].iter().sum::<f64>()).collect();
        (x, y)
    };
    let ((x, y), (new, truth)) = (rows(50), rows(100));
    for name in ["dpa-ard", "gam", "rbf-ard"] {
        let config = with(preset(name), |c| c.max_evaluations = Some(3));
        let model = config.fit(&Dataset::new(&x, &y).unwrap()).unwrap();
        sound(&model, &x);
        // Fifty rows tell nothing of a sum over columns of which there are a hundred times as many: the
        // mean is as good as can be, with an error of 10.6 here, and nine intervals of ten hold.
        let p = model.predict(&new).unwrap();
        let (error, inside) = (rmse(&truth, &p.mean), coverage(&truth, &p.mean, &p.variance, 0.95));
        assert!(error < 11.5 && inside >= 0.84, "{name}: {error} {inside}");
    }
}
