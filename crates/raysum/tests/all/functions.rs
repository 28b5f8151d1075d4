//! Drawn functions have the law they claim, and are functions: one value per point, for good.

use crate::common::{normals, with};
use raysum::fitted::{Hyperparameters, TermHyperparameters};
use raysum::settings::{EngineChoice, SubKernel};
use raysum::{Config, Dataset, Fit, Functions, Matrix, Model};

const ENGINES: [EngineChoice; 3] = [EngineChoice::Dense, EngineChoice::Weight, EngineChoice::Ski];

/// A model at given hyperparameters: `n` normal rows of `d` columns, degrees as the user writes
/// them.
fn model(engine: EngineChoice, kernel: SubKernel, degrees: &str, n: usize, d: usize) -> Model {
    let mut normal = normals(11, 0);
    let x = Matrix::from_fn(n, d, |_, j| (1.0 + j as f64) * normal() + 3.0);
    let y: Vec<f64> =
        (0..n).map(|i| 40.0 + 5.0 * (x[(i, 0)] + x[(i, d - 1)]).sin() + normal()).collect();
    let config = with(Config::preset("dpa-ard").unwrap(), |c| {
        c.engine = engine;
        c.terms[0].kernel = kernel.into();
        c.terms[0].degrees = degrees.parse().unwrap();
    });
    let j = config.terms[0].degrees.resolve(d).len();
    // Grids in three dimensions are large where length-scales are short.
    let longer = if degrees.contains("x3") { 3.0 } else { 1.0 };
    let hyperparameters = Hyperparameters {
        terms: vec![TermHyperparameters {
            column_length_scales: (0..d).map(|c| longer * (1.2 + 0.2 * c as f64)).collect(),
            length_scales: Vec::new(),
            variances: (0..j).map(|k| (1.3 + 0.1 * k as f64) / j as f64).collect(),
        }],
        noise_variance: 0.05,
        mean: 0.1,
    };
    // Some rows count twice, and some have noise of their own.
    let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 2) as f64).collect();
    let noise: Vec<f64> = (0..n).map(|i| (i % 3) as f64).collect();
    let data = Dataset::new(&x, &y).unwrap();
    let data = data.weighted(&weights).unwrap().with_noise_std(&noise).unwrap();
    Fit::new(&config).condition(&data, &hyperparameters).unwrap().remove(0)
}

/// Rows inside the data (columns have mean 3 and deviations 1, 2, …), at its edge, and far outside.
fn places(d: usize) -> Matrix {
    let steps = [-0.6, 0.0, 0.1, 1.1, 2.4, 3.0, 3.6, -4.2, 6.0, 9.0, 60.0, -60.5];
    Matrix::from_fn(steps.len(), d, |i, j| {
        let sign = if (i + j) % 3 == 2 { -1.0 } else { 1.0 };
        3.0 + sign * steps[i] * (1.0 + j as f64)
    })
}

/// Values of many functions at `x`, a few hundred at a time.
fn many<'m>(count: usize, x: &Matrix, draw: impl Fn(usize, u64) -> Functions<'m>) -> Matrix {
    const TOGETHER: usize = 500;
    let mut all = Vec::with_capacity(count * x.rows());
    for seed in 0..count / TOGETHER {
        all.extend(draw(TOGETHER, seed as u64).evaluate(x).unwrap().into_row_major());
    }
    Matrix::from_row_major(count, x.rows(), all).unwrap()
}

/// Checks means and covariances over samples, to `errors` standard errors.
#[track_caller]
fn check_law(name: &str, samples: &Matrix, mean: &[f64], covariance: &Matrix, errors: f64) {
    let (count, m) = (samples.rows() as f64, samples.columns());
    let average = |f: &dyn Fn(&[f64]) -> f64| -> f64 {
        (0..samples.rows()).map(|s| f(samples.row(s))).sum::<f64>() / count
    };
    let v = |i: usize| covariance[(i, i)];
    for i in 0..m {
        let found = average(&|row| row[i] - mean[i]);
        let allowed = errors * (v(i) / count).sqrt();
        assert!(found.abs() < allowed, "{name}: mean at {i} off by {found}, allowed {allowed}");
        for k in 0..=i {
            let found = average(&|row| (row[i] - mean[i]) * (row[k] - mean[k]));
            let expected = covariance[(i, k)];
            let allowed = errors * ((v(i) * v(k) + expected * expected) / count).sqrt();
            let gap = (found - expected).abs();
            assert!(gap < allowed, "{name}: covariance of {i} and {k} {found}, not {expected}");
        }
    }
}

#[test]
fn functions_of_the_prior_have_its_covariance() {
    for (name, kernel) in SubKernel::ALL {
        for degrees in ["1x1", "1x2"] {
            let degree = if degrees == "1x1" { 1 } else { 2 };
            if kernel.check_degree(degree).is_err() {
                continue;
            }
            let m = model(EngineChoice::Dense, kernel, degrees, 30, degree);
            // Points along a line, at distances of up to some length-scales.
            let at = |i: usize| [0.0, 0.05, 0.4, 1.0, 2.0, 5.0, 30.0][i];
            let x = Matrix::from_fn(7, degree, |i, j| at(i) * (1.0 + 0.5 * j as f64));
            let views: Vec<Vec<f64>> = (0..degree)
                .map(|r| {
                    let scale = |c: usize| {
                        let h = m.hyperparameters();
                        h.terms[0].column_length_scales[c] * m.column_scales()[c].std
                    };
                    (0..degree).map(|c| m.projections()[0].matrix()[(r, c)] / scale(c)).collect()
                })
                .collect();
            let unit = m.target_scale().std * m.target_scale().std;
            let covariance = Matrix::from_fn(7, 7, |i, k| {
                let gap = |w: &Vec<f64>| -> f64 {
                    (0..degree).map(|c| w[c] * (x[(i, c)] - x[(k, c)])).sum()
                };
                let gaps = views.iter().map(gap);
                // Written out, as Laplace's distance is another one.
                let value = if kernel == SubKernel::Laplace {
                    (-gaps.map(f64::abs).sum::<f64>()).exp()
                } else {
                    kernel.value(gaps.map(|gap| gap * gap).sum())
                };
                unit * 1.3 * value
            });
            let samples = many(4000, &x, |count, seed| m.prior_functions(count, seed).unwrap());
            check_law(&format!("{name} {degrees}"), &samples, &[m.constant(); 7], &covariance, 4.5);
        }
    }
}

#[test]
fn functions_of_the_posterior_have_its_mean_and_covariance() {
    for (kernel, degrees, d) in [
        (SubKernel::Rbf, "3x1", 2),
        (SubKernel::Imq, "2x1", 2),
        (SubKernel::Cosine, "3x1", 2),
        (SubKernel::Matern52, "2x1", 2),
        (SubKernel::Rbf, "1x1,1x2,1x3", 3),
    ] {
        for engine in ENGINES {
            let m = model(engine, kernel, degrees, 60, d);
            let x = places(d);
            let (mean, covariance) = m.joint(&x).unwrap();
            let samples = many(2_500, &x, |count, seed| m.functions(count, seed).unwrap());
            let name = format!("{engine:?} {} {degrees}", kernel.name());
            check_law(&name, &samples, &mean, &covariance, 4.5);
        }
    }
}

#[test]
fn a_point_has_one_value_whatever_it_comes_with() {
    for engine in ENGINES {
        let m = model(engine, SubKernel::Rbf, "4x1,1x2", 150, 3);
        let mut normal = normals(5, 0);
        let x = Matrix::from_fn(301, 3, |_, _| 3.0 + 4.0 * normal());
        let functions = m.functions(5, 3).unwrap();
        let all = functions.evaluate(&x).unwrap();
        let backwards: Vec<usize> = (0..301).rev().collect();
        let turned = functions.evaluate(&x.gather(&backwards)).unwrap();
        // More functions of the same seed begin with the same ones.
        let more = m.functions(140, 3).unwrap().evaluate(&x).unwrap();
        for s in 0..5 {
            for i in 0..301 {
                let value = all[(s, i)];
                assert_eq!(value, turned[(s, 300 - i)], "{engine:?}: function {s}, row {i}");
                assert_eq!(value, more[(s, i)], "{engine:?}: function {s}, row {i}");
            }
        }
        for i in [0, 1, 7, 130, 300] {
            let alone = functions.evaluate(&x.gather(&[i])).unwrap();
            (0..5).for_each(|s| assert_eq!(alone[(s, 0)], all[(s, i)], "{engine:?}: row {i}"));
        }
        assert_ne!(m.functions(1, 4).unwrap().evaluate(&x).unwrap().row(0), all.row(0));
        assert_eq!((functions.len(), functions.is_empty()), (5, false));
        let none = m.functions(0, 0).unwrap();
        assert_eq!(none.evaluate(&x).unwrap().rows(), 0);
        assert!(functions.evaluate(&Matrix::zeros(2, 2)).is_err());
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    for engine in ENGINES {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let m = model(engine, SubKernel::Rbf, "4x1,1x2", 150, 3);
                let x = Matrix::from_fn(400, 3, |i, j| ((i * (7 + j)) % 41) as f64 / 4.0 - 2.0);
                let posterior = m.functions(7, 1).unwrap().evaluate(&x).unwrap();
                (posterior, m.prior_functions(7, 1).unwrap().evaluate(&x).unwrap())
            })
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(5));
    }
}

#[test]
fn far_from_the_data_a_function_is_one_of_the_prior() {
    for engine in ENGINES {
        let m = model(engine, SubKernel::Rbf, "3x1,1x2", 100, 3);
        let far = Matrix::from_fn(6, 3, |i, j| 1e3 + (i * (j + 1)) as f64);
        let posterior = m.functions(20, 2).unwrap().evaluate(&far).unwrap();
        let prior = m.prior_functions(20, 2).unwrap().evaluate(&far).unwrap();
        for (f, g) in posterior.as_slice().iter().zip(prior.as_slice()) {
            assert!((f - g).abs() < 1e-9, "{engine:?}: {f} and {g}");
        }
        // At the ends of the numbers there are still values.
        let ends = Matrix::from_fn(2, 3, |i, _| if i == 0 { f64::MAX } else { f64::MIN });
        m.functions(3, 0).unwrap().evaluate(&ends).unwrap();
    }
}

/// On the way from the data to far outside, through all that the engine treats differently.
#[test]
fn functions_are_smooth() {
    for engine in ENGINES {
        let m = model(engine, SubKernel::Rbf, "3x1,1x2", 200, 2);
        let step = 1e-3;
        let x = Matrix::from_fn(9000, 2, |i, _| 3.0 + i as f64 * step);
        let f = m.functions(4, 9).unwrap().evaluate(&x).unwrap();
        for s in 0..4 {
            let row = f.row(s);
            let bend = row.windows(3).map(|w| (w[0] - 2.0 * w[1] + w[2]).abs());
            let most = bend.fold(0.0, f64::max) / m.target_scale().std;
            assert!(most < 2e-4, "{engine:?}: function {s} jumps by {most}");
        }
    }
}

#[test]
fn variance_gradients_match_differences() {
    for (kernel, degrees) in
        [(SubKernel::Rbf, "3x1,1x2"), (SubKernel::Imq, "3x1"), (SubKernel::Matern52, "3x1")]
    {
        for engine in ENGINES {
            let m = model(engine, kernel, degrees, 120, 3);
            let x = places(3);
            let gradient = m.variance_gradient(&x).unwrap();
            for j in 0..3 {
                let h = 1e-3;
                let at = |step: f64| {
                    let moved = Matrix::from_fn(x.rows(), 3, |i, c| {
                        x[(i, c)] + if c == j { step * h } else { 0.0 }
                    });
                    m.predict(&moved).unwrap().latent_variance
                };
                let (a, b, c, d) = (at(1.0), at(-1.0), at(2.0), at(-2.0));
                for i in 0..x.rows() {
                    let difference = (8.0 * (a[i] - b[i]) - (c[i] - d[i])) / (12.0 * h);
                    let gap = (gradient[(i, j)] - difference).abs();
                    assert!(
                        gap < 1e-5 * (1.0 + difference.abs()),
                        "{engine:?} {} row {i}, column {j}: {} and {difference}",
                        kernel.name(),
                        gradient[(i, j)]
                    );
                }
            }
            assert!(gradient.row(5).iter().any(|g| g.abs() > 1e-3));
        }
    }
}
