//! The engine that conditions on neighbours: exact with all of them, close with some.

use super::cases::{
    Case, Tolerances, case, cases_with_lines, compare, gradient, largest_difference, line, on_axes,
    plus, std,
};
use crate::data::Labels;
use crate::engine::dense::Dense;
use crate::engine::neighbors::{Neighbors, NeighborsOptions};
use crate::engine::{Engine, Evaluation, Observations, Prior};
use crate::kernel::{Shape, SubKernel};
use crate::scale::StandardRows;

/// The first rows of a case: with all neighbours the cost grows with the fourth power of the rows.
fn some_rows(mut case: Case, rows: usize) -> Case {
    let chosen: Vec<usize> = (0..rows).collect();
    case.x = case.x.gather(&chosen);
    case.y.truncate(rows);
    case
}

/// All columns in one kernel, as `rbf-ard` has them.
fn full(kernel: SubKernel, rows: usize, columns: usize) -> Case {
    on_axes(case(kernel.name(), rows, columns, kernel, &[columns], 31))
}

fn small_cases() -> Vec<Case> {
    let mut all: Vec<Case> =
        cases_with_lines().into_iter().map(|case| some_rows(case, 67)).collect();
    for (_, kernel) in SubKernel::ALL {
        let columns = if kernel == SubKernel::Cosine { 1 } else { 5 };
        if columns > 1 {
            all.push(some_rows(full(kernel, 67, columns), 67));
        }
        all.push(some_rows(case(kernel.name(), 67, 3, kernel, &[1; 3], 32), 67));
    }
    all.push(some_rows(plus(full(SubKernel::Matern12, 67, 4), line(4)), 67));
    all
}

#[test]
fn all_neighbours_give_the_results_of_the_dense_engine() {
    for case in small_cases() {
        let (mut dense, mut neighbors) = (case.dense(), case.neighbors(66));
        let a = dense.evaluate(&case.prior).unwrap();
        let b = neighbors.evaluate(&case.prior).unwrap();
        let gap = (a.log_marginal_likelihood - b.log_marginal_likelihood).abs();
        assert!(gap < 1e-9 * a.log_marginal_likelihood.abs(), "{}: {gap} nats", case.name);
        let (a, b) = (gradient(&a), gradient(&b));
        let size = a.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
        let gap = largest_difference(&a, &b) / size;
        assert!(gap < 1e-9, "{}: gradients {gap} apart", case.name);
        let (value, dense) = dense.posterior(&case.prior).unwrap();
        let (other, neighbors) = case.neighbors(67).posterior(&case.prior).unwrap();
        assert!((value - other).abs() < 1e-9 * value.abs(), "{}: {value} {other}", case.name);
        compare(&case, dense.as_ref(), neighbors.as_ref(), &Tolerances::default().times(1e-4));
    }
}

fn differences(case: &Case, engine: &mut dyn Engine, check: &dyn Fn(&str, f64, f64)) {
    engine.settle(&case.prior).unwrap();
    let e: Evaluation = engine.evaluate(&case.prior).unwrap();
    let mut slope = |change: &dyn Fn(&mut Prior, f64)| {
        let mut at = |h: f64| {
            let mut moved = case.prior.clone();
            change(&mut moved, h);
            engine.evaluate(&moved).unwrap().log_marginal_likelihood
        };
        let h = 1e-4;
        (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h)
    };
    check("noise", e.noise_variance, slope(&|p, h| p.noise_variance += 0.02 * h) / 0.02);
    check("mean", e.mean, slope(&|p, h| p.mean += h));
    for j in case.prior.kernel.all() {
        check("variance", e.variances[j], slope(&|p, h| p.kernel.variances[j] += h));
    }
    for k in (0..e.views.weights().len()).step_by(3) {
        let found = slope(&|p, h| p.kernel.views.weights_mut()[k] += h);
        check("view", e.views.weights()[k], found);
    }
}

#[test]
fn gradients_match_differences_with_few_neighbours() {
    // In one dimension a kink is crossed wherever two rows change places.
    let smooth = |case: &Case| {
        let kernel = &case.prior.kernel;
        let kinked = [SubKernel::Matern12, SubKernel::Laplace].map(Shape::from);
        let rough = |j: usize| kinked.contains(&kernel.shapes[j]);
        !kernel.all().any(|j| rough(j) && kernel.degrees[j] == 1)
    };
    for case in small_cases().into_iter().filter(smooth) {
        differences(&case, &mut case.neighbors(9), &|what, slope, found| {
            let error = (slope - found).abs() / (1.0 + found.abs());
            assert!(error < 1e-6, "{} {what}: {slope} {found}", case.name);
        });
    }
}

/// Weights, known noise and several targets.
fn observations(case: &Case, targets: usize) -> Observations {
    let wave = |k: f64| (0..case.y.len()).map(move |i| (i as f64 * k).sin().abs());
    let other: Vec<f64> = case.y.iter().map(|y| y * y - 1.0).collect();
    Observations(Labels {
        targets: [case.y.clone(), other][..targets].to_vec(),
        sample_weights: Some(wave(0.7).map(|w| 0.5 + w).collect()),
        noise: (targets == 1).then(|| wave(1.3).map(|s| 0.2 * s).collect()),
    })
}

#[test]
fn weights_noise_and_targets_are_those_of_the_dense_engine() {
    let case = some_rows(plus(full(SubKernel::Matern32, 60, 4), line(4)), 60);
    for targets in [1, 2] {
        let observations = observations(&case, targets);
        let engine = |count: usize| {
            let options = NeighborsOptions { neighbors: count, prediction_neighbors: count };
            let rows = StandardRows::new((&case.x).into(), &case.scaler());
            Neighbors::new(rows, observations.clone(), options, 0)
        };
        differences(&case, &mut engine(7), &|what, slope, found| {
            let error = (slope - found).abs() / (1.0 + found.abs());
            assert!(error < 1e-6, "{targets} targets, {what}: {slope} {found}");
        });
        let mut dense = Dense::new(case.x.clone(), observations.clone());
        let a = gradient(&dense.evaluate(&case.prior).unwrap());
        let b = gradient(&engine(59).evaluate(&case.prior).unwrap());
        let size = a.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
        assert!(largest_difference(&a, &b) < 1e-9 * size);
        let both = dense.posteriors(&case.prior).unwrap();
        let others = engine(60).posteriors(&case.prior).unwrap();
        assert_eq!((both.len(), others.len()), (targets, targets));
        for (t, ((lml_a, a), (lml_b, b))) in both.iter().zip(&others).enumerate() {
            assert!((lml_a - lml_b).abs() < 1e-9 * lml_a.abs(), "{lml_a} {lml_b}");
            let one = observations.target(t);
            let left_out = [a, b].map(|posterior| {
                posterior.leave_one_out().unwrap().without_each(&case.x, &one).unwrap()
            });
            let new = [a, b].map(|posterior| posterior.marginals(&case.inside));
            for [f, g] in [left_out, new] {
                assert!(largest_difference(&f.mean, &g.mean) < 1e-9);
                assert!(largest_difference(&std(&f.variance), &std(&g.variance)) < 1e-8);
            }
        }
    }
}

/// The mean error of predictions, and the gap of the likelihood, to the dense engine's.
fn errors<const N: usize>(case: &Case, counts: [usize; N]) -> [(f64, f64); N] {
    let (exact, dense) = case.dense().posterior(&case.prior).unwrap();
    let expected = dense.marginals(&case.inside).mean;
    counts.map(|count| {
        let (value, neighbors) = case.neighbors(count).posterior(&case.prior).unwrap();
        let found = neighbors.marginals(&case.inside).mean;
        let gaps = expected.iter().zip(&found).map(|(a, b)| (a - b).abs());
        (gaps.sum::<f64>() / expected.len() as f64, (value - exact).abs())
    })
}

#[test]
fn the_error_falls_with_the_number_of_neighbours() {
    for kernel in [SubKernel::Matern12, SubKernel::Matern32] {
        let case = full(kernel, 500, 4);
        let found = errors(&case, [5, 20, 80, 320]);
        for pair in found.windows(2) {
            assert!(pair[1].0 < 0.7 * pair[0].0, "{kernel:?}: means {found:?}");
            assert!(pair[1].1 < 0.7 * pair[0].1, "{kernel:?}: likelihoods {found:?}");
        }
    }
}

#[test]
fn evaluations_have_the_same_bits_on_any_number_of_threads() {
    let case = plus(full(SubKernel::Matern12, 1500, 4), line(4));
    let evaluate = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut engine = case.neighbors(12);
            let e = engine.evaluate(&case.prior).unwrap();
            let (value, posterior) = engine.posterior(&case.prior).unwrap();
            (e.log_marginal_likelihood, gradient(&e), value, posterior.marginals(&case.edge))
        })
    };
    let one = evaluate(1);
    assert!(one == evaluate(2) && one == evaluate(5));
}

/// The same neighbours, whatever is evaluated in between; others after the engine has settled
/// elsewhere.
#[test]
fn neighbours_stay_those_of_the_last_start() {
    let case = full(SubKernel::Matern32, 300, 3);
    let mut elsewhere = case.prior.clone();
    elsewhere.kernel.views.weights_mut()[0] *= 30.0;
    let mut engine = case.neighbors(6);
    let mut value = |prior: &Prior, settle: bool| {
        if settle {
            assert!(engine.settle(prior).unwrap());
        }
        engine.evaluate(prior).unwrap().log_marginal_likelihood
    };
    let first = value(&case.prior, true);
    value(&elsewhere, false);
    assert_eq!(value(&case.prior, false), first);
    value(&elsewhere, true);
    assert_ne!(value(&case.prior, false), first);
    assert_eq!(value(&case.prior, true), first);
}

#[test]
fn a_hundred_thousand_equal_rows_are_fine() {
    let mut case = full(SubKernel::Matern32, 200, 2);
    let rows = 100_000;
    case.x = crate::Matrix::from_fn(rows, 2, |_, j| j as f64);
    case.y = (0..rows).map(|i| (i as f64).sin()).collect();
    let mut engine = case.neighbors(10);
    let e = engine.evaluate(&case.prior).unwrap();
    assert!(e.log_marginal_likelihood.is_finite());
    assert!(gradient(&e).iter().all(|g| g.is_finite()));
    let (_, posterior) = engine.posterior(&case.prior).unwrap();
    assert!(posterior.marginals(&case.x.gather(&[0])).variance[0] > 0.0);
}
