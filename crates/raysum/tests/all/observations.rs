//! Row weights, known noise and several targets: in both engines, against dense algebra written
//! out, against repeated rows, and against fits of one target at a time.

use rand_distr::{Distribution, StandardNormal};
use raysum::engine::dense::Dense;
use raysum::engine::weight::Weight;
use raysum::engine::{AdditiveKernel, Engine, Observations, Prior};
use raysum::rng::{Purpose, stream};
use raysum::{
    Config, Dataset, Directions, EngineChoice, Fit, Matrix, Projections, Scaler, StandardRows,
    SubKernel,
};

const COLUMNS: usize = 4;

fn normals(seed: u64) -> impl FnMut() -> f64 {
    let mut rng = stream(seed, Purpose::Samples, 0);
    move || StandardNormal.sample(&mut rng)
}

fn rows(n: usize) -> (Matrix, Vec<f64>) {
    let mut normal = normals(1);
    let x = Matrix::from_fn(n, COLUMNS, |_, _| normal());
    let y = (0..n).map(|i| (x[(i, 0)] - x[(i, 2)]).sin() + 0.2 * normal()).collect();
    (x, y)
}

fn prior() -> Prior {
    let p = Projections::choose(Directions::Diverse, &[1; 5], COLUMNS, 0).unwrap();
    Prior {
        kernel: AdditiveKernel {
            sub_kernel: SubKernel::Rbf,
            degrees: vec![1; 5],
            views: p.views().clone(),
            variances: vec![0.3, 0.1, 0.2, 0.4, 0.05],
        },
        noise_variance: 0.07,
        mean: 0.1,
    }
}

/// A scaler that leaves everything as it is.
fn identity(x: &Matrix, y: &[f64]) -> Scaler {
    let mut scaler = Scaler::fit(x.into(), y).unwrap();
    for column in scaler.x.iter_mut().chain([&mut scaler.y]) {
        (column.mean, column.std) = (0.0, 1.0);
    }
    scaler
}

fn observations(n: usize, targets: usize) -> Observations {
    let mut normal = normals(2);
    let (_, y) = rows(n);
    let mut all = vec![y];
    for _ in 1..targets {
        all.push((0..n).map(|_| normal()).collect());
    }
    Observations {
        targets: all,
        weights: Some((0..n).map(|_| 0.5 + normal().abs()).collect()),
        noise: (targets == 1).then(|| (0..n).map(|_| 0.1 * normal().abs()).collect()),
    }
}

fn both<'a>(x: &'a Matrix, o: &Observations) -> [Box<dyn Engine + 'a>; 2] {
    let scaler = identity(x, &o.targets[0]);
    let weight = Weight::new(StandardRows::new(x.into(), &scaler), o.clone());
    [Box::new(Dense::new(x.clone(), o.clone())), Box::new(weight)]
}

#[test]
fn gradients_match_differences_with_weights_noise_and_targets() {
    let (x, _) = rows(60);
    for targets in [1, 3] {
        let o = observations(60, targets);
        for mut engine in both(&x, &o) {
            let e = engine.evaluate(&prior()).unwrap();
            let mut slope = |change: &dyn Fn(&mut Prior, f64)| {
                let mut at = |h: f64| {
                    let mut moved = prior();
                    change(&mut moved, h);
                    engine.evaluate(&moved).unwrap().log_marginal_likelihood
                };
                let h = 1e-4;
                (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h)
            };
            let check = |name: &str, found: f64, expected: f64| {
                let error = (found - expected).abs() / (1.0 + expected.abs());
                assert!(error < 1e-5, "{name}, {targets} targets: {found} {expected}");
            };
            check("noise", e.noise_variance, slope(&|p, h| p.noise_variance += h));
            check("mean", e.mean, slope(&|p, h| p.mean += h));
            for j in 0..5 {
                check("variance", e.variances[j], slope(&|p, h| p.kernel.variances[j] += h));
                let view = slope(&|p, h| p.kernel.views.weights_mut()[j * COLUMNS + 1] += h);
                check("view", e.views[(j, 1)], view);
            }
        }
    }
}

#[test]
fn both_engines_agree_with_weights_noise_and_targets() {
    let (x, _) = rows(300);
    let new = Matrix::from_fn(20, COLUMNS, |i, j| 0.1 * (i as f64 - 8.0) + 0.2 * j as f64);
    for targets in [1, 2] {
        let o = observations(300, targets);
        let [a, b] = both(&x, &o).map(|mut engine| engine.posteriors(&prior()).unwrap());
        assert_eq!((a.len(), b.len()), (targets, targets));
        for (t, ((lml_a, a), (lml_b, b))) in a.iter().zip(&b).enumerate() {
            assert!((lml_a - lml_b).abs() < 1e-3, "{lml_a} {lml_b}");
            let (f, g) = (a.marginals(&new), b.marginals(&new));
            let one = o.target(t);
            let loo_a = a.leave_one_out().unwrap().without_each(&x, &one).unwrap();
            let loo_b = b.leave_one_out().unwrap().without_each(&x, &one).unwrap();
            for (f, g) in [(f, g), (loo_a, loo_b)] {
                for i in 0..f.mean.len() {
                    assert!((f.mean[i] - g.mean[i]).abs() < 1e-5);
                    assert!((f.variance[i].sqrt() - g.variance[i].sqrt()).abs() < 1e-4);
                }
            }
        }
    }
}

/// log N(y | 0, K + D) and the mean at the training rows, by Gauss–Jordan elimination.
#[test]
fn known_noise_is_dense_algebra() {
    let n = 25;
    let (x, _) = rows(n);
    let mut o = observations(n, 1);
    o.weights = None;
    let prior = prior();
    let kernel = |i: usize, k: usize| -> f64 {
        (0..5)
            .map(|j| {
                let gap: f64 = (0..COLUMNS)
                    .map(|c| prior.kernel.views[(j, c)] * (x[(i, c)] - x[(k, c)]))
                    .sum();
                prior.kernel.variances[j] * (-0.5 * gap * gap).exp()
            })
            .sum()
    };
    let mut m: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            let mut row: Vec<f64> = (0..n).map(|k| kernel(i, k)).collect();
            row[i] += o.variance(i, prior.noise_variance);
            row.push(o.targets[0][i] - prior.mean);
            row
        })
        .collect();
    let mut log_determinant = 0.0;
    for k in 0..n {
        log_determinant += m[k][k].ln();
        let pivot = m[k].clone();
        for row in m.iter_mut().skip(k + 1) {
            let factor = row[k] / pivot[k];
            row.iter_mut().zip(&pivot).for_each(|(a, b)| *a -= factor * b);
        }
    }
    let mut a = vec![0.0; n];
    for k in (0..n).rev() {
        let rest: f64 = (k + 1..n).map(|i| m[k][i] * a[i]).sum();
        a[k] = (m[k][n] - rest) / m[k][k];
    }
    let quadratic: f64 = (0..n).map(|i| a[i] * (o.targets[0][i] - prior.mean)).sum();
    let two_pi = 2.0 * std::f64::consts::PI;
    let expected = -0.5 * (quadratic + log_determinant + n as f64 * two_pi.ln());
    for (mut engine, tolerance) in both(&x, &o).into_iter().zip([1e-9, 1e-4]) {
        let (lml, posterior) = engine.posterior(&prior).unwrap();
        assert!((lml - expected).abs() < tolerance, "{lml} {expected}");
        let f = posterior.marginals(&x);
        for i in 0..n {
            let mean = prior.mean + (0..n).map(|k| kernel(i, k) * a[k]).sum::<f64>();
            assert!((f.mean[i] - mean).abs() < tolerance.max(1e-9), "{} {mean}", f.mean[i]);
        }
    }
}

fn config(engine: EngineChoice) -> Config {
    let degrees = "5x1".parse().unwrap();
    Config { engine, degrees, max_evaluations: Some(12), ..Config::default() }
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
    assert_eq!(e, "known noise of rows is that of one target; fit several targets one by one");
}
