//! Row weights, known noise and several targets: in both engines, against dense algebra written out.

use crate::data::{Labels, Matrix};
use crate::engine::dense::Dense;
use crate::engine::weight::Weight;
use crate::engine::{AdditiveKernel, Engine, Observations, Prior};
use crate::kernel::SubKernel;
use crate::project::{Directions, Projections};
use crate::rng::{Purpose, stream};
use crate::scale::{Scaler, StandardRows};
use rand_distr::{Distribution, StandardNormal};

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
            shapes: vec![SubKernel::Rbf.into(); 5],
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
    Observations(Labels {
        targets: all,
        sample_weights: Some((0..n).map(|_| 0.5 + normal().abs()).collect()),
        noise: (targets == 1).then(|| (0..n).map(|_| 0.1 * normal().abs()).collect()),
    })
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
    o.sample_weights = None;
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
