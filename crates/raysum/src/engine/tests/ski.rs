//! What the SKI engine is besides an engine: an approximation that a finer grid improves, and an
//! estimate with a standard error.

use super::cases::{Case, Tolerances, case, cases, compare, gradient, largest_difference, std};
use crate::engine::dense::Dense;
use crate::engine::ski::{Ski, SkiOptions};
use crate::engine::{Engine, Observations};
use crate::error::UpdateError;
use crate::scale::StandardRows;
use crate::settings::{EngineChoice, SubKernel};
use crate::{Config, Dataset, Error, Fit, Matrix};

fn with_grid(nodes: usize) -> SkiOptions {
    SkiOptions { grid: Some(nodes), ..SkiOptions::default() }
}

/// The suite of the other engines, with grids that the engine chooses.
#[test]
fn posteriors_agree_with_the_dense_engine() {
    for case in cases() {
        let (_, dense) = case.dense().posterior(&case.prior).unwrap();
        let (_, ski) = case.ski(SkiOptions::default()).posterior(&case.prior).unwrap();
        // Grids in two and three dimensions are coarser.
        let simple = case.prior.kernel.degrees.iter().all(|d| *d == 1);
        let tolerances = Tolerances { slope: 1e-3, ..Tolerances::default() };
        let factor = if simple { 10.0 } else { 100.0 };
        compare(&case, dense.as_ref(), ski.as_ref(), &tolerances.times(factor));
    }
}

/// The same on given grids, with about three times the largest differences that were found there. They
/// shrink with the spacing, most of them as its third power or faster.
#[test]
fn finer_grids_agree_better() {
    let coarse = Tolerances {
        mean: 1.1e-2,
        deviation: 1.3e-2,
        covariance: 6e-4,
        component: 9e-3,
        slope: 0.16,
        outside: 1.3e-2,
        left_out: 0.8,
    };
    let medium = Tolerances {
        mean: 8e-4,
        deviation: 8e-4,
        covariance: 6e-5,
        component: 5e-4,
        slope: 5e-2,
        outside: 2e-3,
        left_out: 4.5e-2,
    };
    let fine = Tolerances {
        mean: 1.1e-4,
        deviation: 5e-5,
        covariance: 6e-6,
        component: 1.4e-4,
        slope: 1.2e-2,
        outside: 7e-4,
        left_out: 3.2e-3,
    };
    for case in cases().iter().filter(|c| c.prior.kernel.degrees.iter().all(|d| *d == 1)) {
        let (_, dense) = case.dense().posterior(&case.prior).unwrap();
        for (nodes, tolerances) in [(128, &coarse), (256, &medium), (512, &fine)] {
            let (_, ski) = case.ski(with_grid(nodes)).posterior(&case.prior).unwrap();
            compare(case, dense.as_ref(), ski.as_ref(), tolerances);
        }
    }
}

/// Halving the spacing divides the error of the mean by eight: Keys' order is three.
#[test]
fn the_order_of_convergence_is_three() {
    for kernel in [SubKernel::Rbf, SubKernel::Matern52, SubKernel::Imq] {
        let case = case("order", 400, 4, kernel, &[1; 6], 21);
        let (_, dense) = case.dense().posterior(&case.prior).unwrap();
        let expected = dense.marginals(&case.inside).mean;
        let error = |nodes: usize| {
            // A margin of four cells at each end.
            let options = SkiOptions { tolerance: 1e-10, ..with_grid(nodes + 9) };
            let (_, ski) = case.ski(options).posterior(&case.prior).unwrap();
            largest_difference(&expected, &ski.marginals(&case.inside).mean)
        };
        let errors = [128, 256, 512].map(error);
        let order = (errors[0] / errors[2]).log2() / 2.0;
        assert!((2.5..4.5).contains(&order), "{kernel:?}: order {order}, errors {errors:?}");
    }
}

/// Most estimates of the likelihood are within one standard error of Cholesky's, all within three.
#[test]
fn likelihoods_are_within_their_standard_errors() {
    let (mut near, mut all) = (0, 0);
    for case in cases() {
        let (dense, _) = case.dense().posterior(&case.prior).unwrap();
        // A fine grid, so that the error is that of the estimate; in three dimensions it has to be
        // coarser.
        let simple = case.prior.kernel.degrees.iter().all(|d| *d == 1);
        let (grid, interpolation) = if simple { (Some(800), 0.01) } else { (None, 0.1) };
        for seed in 0..4 {
            let options = SkiOptions { grid, probes: 31, ..SkiOptions::default() };
            let (value, ski) = case.ski_from(options, seed).posterior(&case.prior).unwrap();
            let error = ski.standard_error();
            let gap = ((value - dense).abs() - interpolation).max(0.0);
            assert!(gap <= 3.0 * error, "{}: {value} ± {error}, but {dense}", case.name);
            near += usize::from(gap <= error);
            all += 1;
        }
    }
    assert!(2 * near > all, "{near} of {all} within one standard error");
}

/// Every entry of the gradient, estimated with many seeds, against the dense engine's.
#[test]
fn gradients_are_within_their_standard_errors() {
    const SEEDS: u64 = 12;
    for case in cases() {
        let exact = gradient(&case.dense().evaluate(&case.prior).unwrap());
        let size = exact.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
        let estimates: Vec<Vec<f64>> = (0..SEEDS)
            .map(|seed| {
                gradient(&case.ski_from(SkiOptions::default(), seed).evaluate(&case.prior).unwrap())
            })
            .collect();
        let (mut near, n) = (0, SEEDS as f64);
        for (k, exact) in exact.iter().enumerate() {
            let mean = estimates.iter().map(|e| e[k]).sum::<f64>() / n;
            let spread = estimates.iter().map(|e| (e[k] - mean).powi(2)).sum::<f64>();
            let error = (spread / (n - 1.0) / n).sqrt();
            let gap = ((mean - exact).abs() - 3e-4 * size).max(0.0);
            assert!(gap <= 5.0 * error, "{} entry {k}: {mean} ± {error}, {exact}", case.name);
            near += usize::from(gap <= error);
        }
        assert!(2 * near > exact.len(), "{}: {near} of {}", case.name, exact.len());
    }
}

/// The probes are the same at every θ, so the estimate is a smooth function of it.
#[test]
fn the_estimate_moves_with_its_gradient() {
    let case = case("smooth", 1000, 4, SubKernel::Rbf, &[1; 8], 22);
    let mut engine = case.ski(SkiOptions { probes: 63, ..SkiOptions::default() });
    let e = engine.evaluate(&case.prior).unwrap();
    let mut at = |h: f64| {
        let mut prior = case.prior.clone();
        prior.kernel.views.weights_mut().iter_mut().for_each(|w| *w *= 1.0 + h);
        engine.evaluate(&prior).unwrap().log_marginal_likelihood
    };
    let difference = (at(1e-3) - at(-1e-3)) / 2e-3;
    let views = e.views.weights().iter().zip(case.prior.kernel.views.weights());
    let slope: f64 = views.map(|(g, w)| g * w).sum();
    // They are 0.8 % apart: both are estimates.
    assert!((difference - slope).abs() < 0.02 * slope.abs(), "{difference} and {slope}");
}

#[test]
fn variances_by_solves_are_those_of_the_factor_and_better() {
    let small = |c: &&Case| c.x.rows() <= 500 && c.prior.kernel.degrees.iter().all(|d| *d == 1);
    for case in cases().iter().filter(small) {
        let exact = SkiOptions { exact_variance: true, ..SkiOptions::default() };
        let (_, dense) = case.dense().posterior(&case.prior).unwrap();
        let (_, solves) = case.ski(exact).posterior(&case.prior).unwrap();
        let (_, factor) = case.ski(SkiOptions::default()).posterior(&case.prior).unwrap();
        let tolerances = Tolerances { slope: 1e-3, ..Tolerances::default() };
        compare(case, dense.as_ref(), solves.as_ref(), &tolerances.times(10.0));
        for x in [&case.inside, &case.edge] {
            let (a, b) = (solves.marginals(x), factor.marginals(x));
            // The factor explains no more than there is to explain.
            assert!(a.variance.iter().zip(&b.variance).all(|(a, b)| *b >= a - 1e-6));
        }
    }
}

/// A path from the middle of the data far out, in steps of a hundredth of a length-scale: no jump
/// at the edge of a grid, nor anywhere.
#[test]
fn predictions_are_continuous_beyond_the_grid() {
    for (kernel, degrees) in [
        (SubKernel::Rbf, vec![1; 3]),
        (SubKernel::Imq, vec![1; 3]),
        (SubKernel::Matern12, vec![1; 3]),
        (SubKernel::Rbf, vec![2, 1]),
    ] {
        let case = case("seam", 300, 3, kernel, &degrees, 23);
        let (_, ski) = case.ski(with_grid(64)).posterior(&case.prior).unwrap();
        let (_, dense) = case.dense().posterior(&case.prior).unwrap();
        let far = 25.0;
        let steps = 4000;
        let x =
            Matrix::from_fn(steps, 3, |i, j| far * (i as f64 / steps as f64) * [1.0, -0.6, 0.4][j]);
        let (f, g) = (ski.marginals(&x), dense.marginals(&x));
        let jump = |v: &[f64]| v.windows(2).fold(0.0_f64, |m, w| m.max((w[1] - w[0]).abs()));
        for (own, theirs) in [(&f.mean, &g.mean), (&f.variance, &g.variance)] {
            let (own, theirs) = (jump(own), jump(theirs));
            assert!(own < 2.0 * theirs + 1e-3, "{kernel:?}: a jump of {own}, dense {theirs}");
        }
        // The end is far from all rows, and each point is predicted by itself.
        let alone = ski.marginals(&x.gather(&[17, 2500, 3999]));
        for (k, i) in [17, 2500, 3999].into_iter().enumerate() {
            assert!((alone.mean[k] - f.mean[i]).abs() < 1e-12);
            assert!((alone.variance[k] - f.variance[i]).abs() < 1e-12);
        }
    }
}

/// Outliers make the grids coarse, and a kernel with a kink suffers most: its likelihood is 34 nats below
/// −2,562, that of the smoother one 1 nat below −4,419. The bounds allow for one standard error more.
#[test]
fn rough_kernels_come_close() {
    for (kernel, nats, mean, deviation) in
        [(SubKernel::Matern12, 38.0, 0.05, 0.007), (SubKernel::Matern32, 2.5, 0.01, 2e-4)]
    {
        let case = case("rough", 1500, 3, kernel, &[1; 4], 24);
        let (lml, dense) = case.dense().posterior(&case.prior).unwrap();
        let (value, ski) = case.ski(SkiOptions::default()).posterior(&case.prior).unwrap();
        let (f, g) = (dense.marginals(&case.inside), ski.marginals(&case.inside));
        let gap = largest_difference(&f.mean, &g.mean);
        assert!(gap < mean, "{kernel:?}: means {gap} apart");
        let gap = largest_difference(&std(&f.variance), &std(&g.variance));
        assert!(gap < deviation, "{kernel:?}: deviations {gap} apart");
        assert!((value - lml).abs() < nats, "{kernel:?}: {value}, {lml}");
    }
}

#[test]
fn non_convergence_is_reported() {
    let case = case("hard", 300, 3, SubKernel::Rbf, &[1; 3], 25);
    let options = SkiOptions { iterations: 1, tolerance: 1e-12, ..SkiOptions::default() };
    let e = case.ski(options).posterior(&case.prior).map(drop).unwrap_err();
    assert!(e.is_recoverable());
    let e = e.to_string();
    assert!(e.starts_with("conjugate gradients did not converge: after 1 iterations"), "{e}");
    let case: Case = super::cases::case("forms", 100, 5, SubKernel::Rbf, &[5], 26);
    let e = case.ski(SkiOptions::default()).posterior(&case.prior).map(drop).unwrap_err();
    assert!(e.to_string().contains("not rbf of degree 5"), "{e}");
}

#[test]
fn weights_noise_and_targets_are_those_of_the_dense_engine() {
    let case = case("observations", 300, 4, SubKernel::Matern32, &[1; 5], 27);
    let wave = |k: f64| (0..300).map(move |i| (f64::from(i) * k).sin().abs());
    for targets in [1, 2] {
        let other: Vec<f64> = case.y.iter().map(|y| y * y - 1.0).collect();
        let observations = Observations(crate::data::Labels {
            targets: [case.y.clone(), other][..targets].to_vec(),
            sample_weights: Some(wave(0.7).map(|w| 0.5 + w).collect()),
            noise: (targets == 1).then(|| wave(1.3).map(|s| 0.2 * s).collect()),
        });
        let mut dense = Dense::new(case.x.clone(), observations.clone());
        let rows = StandardRows::new((&case.x).into(), &case.scaler());
        let options = SkiOptions { probes: 63, ..with_grid(1000) };
        let mut ski = Ski::new(rows, observations.clone(), options, 0);
        let (a, b) = (dense.evaluate(&case.prior).unwrap(), ski.evaluate(&case.prior).unwrap());
        let gap = (a.log_marginal_likelihood - b.log_marginal_likelihood).abs();
        let estimates = ski.posteriors(&case.prior).unwrap();
        let error: f64 = estimates.iter().map(|(_, posterior)| posterior.standard_error()).sum();
        assert!(gap < 0.1 + 3.0 * error, "{gap} ± {error}");
        let (a, b) = (gradient(&a), gradient(&b));
        let size = a.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
        let gap = largest_difference(&a, &b) / size;
        assert!(gap < 1e-3, "{targets} targets: gradients {gap} apart");
        let both = dense.posteriors(&case.prior).unwrap().into_iter();
        for (t, ((_, a), (_, b))) in both.zip(estimates).enumerate() {
            let (f, g) = (a.marginals(&case.inside), b.marginals(&case.inside));
            assert!(largest_difference(&f.mean, &g.mean) < 1e-3);
            assert!(largest_difference(&std(&f.variance), &std(&g.variance)) < 1e-3);
            let y = observations.target(t);
            let f = a.leave_one_out().unwrap().without_each(&case.x, &y).unwrap();
            let g = b.leave_one_out().unwrap().without_each(&case.x, &y).unwrap();
            let gap = largest_difference(&f.mean, &g.mean);
            assert!(gap < 0.02, "leave-one-out {gap} apart");
        }
    }
}

/// A model's training rows are not there any more; others may take their place.
#[test]
fn rows_cannot_be_added_but_replaced() {
    let case = case("online", 200, 3, SubKernel::Rbf, &[1; 4], 28);
    let config =
        Config { engine: EngineChoice::Ski, max_evaluations: Some(5), ..Config::default() };
    let config = config.with_terms(|term| term.degrees = "4x1".parse().unwrap());
    let data = Dataset::new(&case.x, &case.y).unwrap();
    let mut model = config.fit(&data).unwrap();
    assert_eq!(model.engine(), "ski");
    assert!(matches!(model.update(&data), Err(Error::Update(UpdateError::RowsNotKept))));
    let some: Vec<usize> = (0..150).collect();
    let (x, y) = (case.x.gather(&some), &case.y[..150]);
    let part = model.shard(&Dataset::new(&x, y).unwrap()).unwrap();
    model.replace(&[part]).unwrap();
    assert_eq!(model.report().rows, 150);
    let fresh = Fit::new(&config).condition(&data, model.hyperparameters()).unwrap().remove(0);
    let (a, b) = (model.predict(&x).unwrap(), fresh.predict(&x).unwrap());
    assert!(largest_difference(&a.mean, &b.mean) > 1e-4, "fifty rows went");
}

/// The choice of the engine changes the numbers of a fit by little.
#[test]
fn fits_end_where_those_of_the_dense_engine_end() {
    let case = case("fits", 250, 5, SubKernel::Rbf, &[1; 8], 29);
    let data = Dataset::new(&case.x, &case.y).unwrap();
    for preset in ["dpa-ard", "rpa-1"] {
        // Both search in the same way, without held-out rows.
        let fit = |name: &str| {
            let config = Config::paper(name).unwrap();
            config.with_terms(|term| term.degrees = "8x1".parse().unwrap()).fit(&data).unwrap()
        };
        let (a, b) = (fit(preset), fit(&format!("{preset}-ski")));
        let gap = a.log_marginal_likelihood() - b.log_marginal_likelihood();
        assert!(gap.abs() < 1.0 + 3.0 * b.likelihood_error(), "{preset}: {gap}");
        assert!(b.likelihood_error() > 0.0 && a.likelihood_error() == 0.0);
        assert_eq!(b.report().unconverged, 0);
        assert!(b.report().evaluations < 3 * a.report().evaluations);
    }
}

#[test]
fn a_fit_has_the_same_bits_on_any_number_of_threads() {
    let case = case("threads", 600, 4, SubKernel::Rbf, &[1; 6], 30);
    let data = Dataset::new(&case.x, &case.y).unwrap();
    let fit = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let config =
                Config { engine: EngineChoice::Ski, max_evaluations: Some(3), ..Config::default() };
            let config = config.with_terms(|term| term.degrees = "2x1,1x2".parse().unwrap());
            let model = config.fit(&data).unwrap();
            let p = model.predict(&case.x).unwrap();
            (model.hyperparameters().clone(), p, model.log_marginal_likelihood())
        })
    };
    let one = fit(1);
    assert!(one == fit(2) && one == fit(5));
}
