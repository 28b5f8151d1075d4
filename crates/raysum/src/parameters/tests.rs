//! Tests of θ, of the value that a fit minimises and of its gradient.

use super::*;
use crate::config::Term;
use crate::data::Matrix;
use crate::engine::Engine;
use crate::engine::dense::Dense;
use crate::kernel::{Shape, SubKernel};
use rand_distr::{Distribution, StandardNormal};

fn rows(n: usize, d: usize) -> (Matrix, Vec<f64>) {
    let mut rng = crate::rng::stream(3, crate::rng::Purpose::Samples, 0);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let x = Matrix::from_fn(n, d, |_, _| normal());
    let y = (0..n).map(|i| (x[(i, 0)] + x[(i, 1)]).sin() + 0.3 * normal()).collect();
    (x, y)
}

fn evaluate(
    parameters: &Parameters,
    engine: &mut dyn Engine,
    theta: &[f64],
    gradient: &mut [f64],
) -> f64 {
    let prior = parameters.prior_at(theta);
    let likelihood = engine.evaluate(&prior).unwrap();
    parameters.minimised(theta, &prior, &likelihood, gradient)
}

/// Projections of every term.
fn projections(config: &Config, columns: usize) -> Vec<Projections> {
    let choose = |term: &Term| {
        Projections::choose(term.directions, &term.degrees.resolve(columns), columns, 7).unwrap()
    };
    config.terms.iter().map(choose).collect()
}

/// Largest difference between the gradient and central differences, over the largest entry.
fn gradient_error(config: &Config, freedom: Freedom) -> f64 {
    let (x, y) = rows(25, 6);
    let parameters = Parameters::new(config, projections(config, 6)).unwrap().with(freedom);
    let mut engine = Dense::new(x, y);
    let mut rng = crate::rng::stream(8, crate::rng::Purpose::Starts, 0);
    let theta: Vec<f64> = parameters
        .start()
        .iter()
        .map(|t| t + 0.3 * Distribution::<f64>::sample(&StandardNormal, &mut rng))
        .collect();
    let mut gradient = vec![0.0; parameters.len()];
    evaluate(&parameters, &mut engine, &theta, &mut gradient);
    let largest = gradient.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
    let mut unused = vec![0.0; parameters.len()];
    let mut worst = 0.0_f64;
    for i in 0..theta.len() {
        let mut at = |step: f64| {
            let mut moved = theta.clone();
            moved[i] += step;
            evaluate(&parameters, &mut engine, &moved, &mut unused)
        };
        // Fourth-order differences, so that the step's own error stays below 1e-9; but short
        // ones for kernels with a kink, so that no two rows change sides at it.
        let kinked = [SubKernel::Matern12, SubKernel::Laplace].map(Shape::from);
        let rough = config.terms.iter().any(|t| kinked.contains(&t.kernel));
        let h = if rough { 1e-6 } else { 1e-3 };
        let slope = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
        worst = worst.max((slope - gradient[i]).abs() / largest);
    }
    worst
}

#[test]
fn gradients_match_differences_for_every_model_and_kernel() {
    for (name, _) in Config::presets() {
        for (kernel_name, kernel) in SubKernel::ALL {
            let config = Config::preset(name).unwrap().with_terms(|term| {
                if term.kernel != Shape::Linear {
                    term.kernel = kernel.into();
                }
                if term.learns_directions() {
                    // Every entry is a parameter: a few directions say as much as many.
                    let degrees = if kernel == SubKernel::Cosine { "3x1" } else { "2x1,1x2" };
                    term.degrees = degrees.parse().unwrap();
                }
            });
            let degrees = config.terms[0].degrees.resolve(6);
            if kernel == SubKernel::Cosine && degrees.iter().any(|d| *d > 1) {
                continue;
            }
            let error = gradient_error(&config, Freedom::Free);
            assert!(error < 1e-6, "{name} with {kernel_name}: {error}");
        }
    }
}

/// Sums of every kind of term, one of them with learned directions.
const SUMS: [&str; 4] = [
    "linear+gam",
    "linear+gam:matern52+dpa-ard:20x1",
    "rbf-ard+linear+matern32",
    "rpa-2+ppr:2x1,1x2:imq+linear",
];

#[test]
fn gradients_match_differences_for_sums() {
    for name in SUMS {
        let config = Config::preset(name).unwrap();
        for freedom in [Freedom::Free, Freedom::Common, Freedom::Shrunk(0.3)] {
            let error = gradient_error(&config, freedom);
            assert!(error < 1e-6, "{name}, {freedom:?}: {error}");
        }
    }
}

#[test]
fn gradients_match_differences_at_every_freedom() {
    for name in ["dpa-ard", "rbf-ard", "gam", "rpa-1", "rpa-2"] {
        let config = Config::preset(name).unwrap();
        for freedom in [Freedom::Common, Freedom::Shrunk(0.3), Freedom::Shrunk(2.0)] {
            let error = gradient_error(&config, freedom);
            assert!(error < 1e-6, "{name}, {freedom:?}: {error}");
        }
    }
}

#[test]
fn common_scales_are_the_start_s_own_times_a_factor() {
    for name in ["rbf-ard", "rpa-2"] {
        let config = Config::preset(name).unwrap();
        let free = Parameters::new(&config, projections(&config, 6)).unwrap();
        let common = free.with(Freedom::Common);
        assert_eq!(common.len(), 4);
        let (a, b) = (common.hyperparameters(&common.start()), free.hyperparameters(&free.start()));
        let (a, b) = (&a.terms[0], &b.terms[0]);
        for (a, b) in [
            (&a.column_length_scales, &b.column_length_scales),
            (&a.length_scales, &b.length_scales),
            (&a.variances, &b.variances),
        ] {
            assert!(a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12 * b));
        }
        // A common factor costs nothing under the prior, and neither does a common variance.
        let shrunk = free.with(Freedom::Shrunk(0.3));
        let theta = shrunk.theta(&common.hyperparameters(&[1.5, 0.7, -1.0, 0.2])).unwrap();
        let mut gradient = vec![0.0; theta.len()];
        let log_prior = shrunk.log_prior(&theta, &mut gradient, TermParameters::log_prior);
        assert!(log_prior.abs() < 1e-12);
        let back = common.theta(&shrunk.hyperparameters(&theta)).unwrap();
        assert!(back.iter().zip([1.5, 0.7, -1.0, 0.2]).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}

#[test]
fn the_noise_prior_is_part_of_value_and_gradient() {
    let config = Config { noise_bounds: (1e-4, 0.05), ..Config::default() };
    assert!(gradient_error(&config, Freedom::Free) < 1e-6);
    assert_eq!(smoothed_box(0.5, (1e-4, 10.0)), (0.0, 0.0));
    assert_eq!(smoothed_box(10.01, (1e-4, 10.0)).0, -0.5 * (10.01_f64 - 10.0).powi(2) / 1e-4);
    assert!(smoothed_box(1e-5, (1e-4, 10.0)).1 > 0.0);
}

#[test]
fn theta_and_hyperparameters_round_trip() {
    for name in Config::presets().map(|(name, _)| name).chain(SUMS) {
        let config = Config::preset(name).unwrap();
        let parameters = Parameters::new(&config, projections(&config, 6)).unwrap();
        let n = parameters.len();
        let theta: Vec<f64> = (0..n).map(|i| 0.1 * (i % 40) as f64 - 0.5).collect();
        let back = parameters.settled(&theta).theta(&parameters.hyperparameters(&theta)).unwrap();
        for (a, b) in theta.iter().zip(&back) {
            assert!((a - b).abs() < 1e-12, "{name}: {theta:?} {back:?}");
        }
    }
}

#[test]
fn learning_starts_at_the_plain_model() {
    let (x, y) = rows(30, 4);
    let config = Config::preset("ppr").unwrap();
    let p = vec![Projections::choose(config.terms[0].directions, &[1; 9], 4, 7).unwrap()];
    let plain = Parameters::new(&config.plain(), p.clone()).unwrap();
    let mut at = plain.start();
    at[..4].copy_from_slice(&[0.3, -0.5, 18.0, 1.0]);
    let h = plain.hyperparameters(&at);
    let (learned, theta) = Parameters::new(&config, p).unwrap().learning_from(&plain, &h).unwrap();
    let (there, here) = (plain.prior(&h), learned.prior_at(&theta));
    let mut engine = Dense::new(x, y);
    let value = |e: &Evaluation| e.log_marginal_likelihood;
    let (there, here) = (engine.evaluate(&there).unwrap(), engine.evaluate(&here).unwrap());
    assert!((value(&there) - value(&here)).abs() < 1e-9);
    // The prior is as wide as the plain entries are, and no column is shut out.
    let squares: f64 = theta[..36].iter().map(|u| u * u).sum();
    assert!((squares - 27.0).abs() < 0.1, "{squares}");
    let tau = learned.terms[0].entry_widths().unwrap();
    assert!(tau[2] > 0.05 * tau.iter().sum::<f64>() / 4.0);
}

#[test]
fn a_direction_without_length_points_somewhere() {
    let config = Config::preset("ppr").unwrap();
    let p = Projections::choose(config.terms[0].directions, &[1, 1], 3, 7).unwrap();
    let parameters = Parameters::new(&config, vec![p.clone()]).unwrap();
    let mut theta = parameters.start();
    theta[..3].fill(0.0);
    let found = parameters.settled(&theta);
    assert_eq!(found.projections()[0].matrix().row(0), p.matrix().row(0));
    let h = parameters.hyperparameters(&theta);
    parameters.check(&h).unwrap();
    assert!(h.terms[0].length_scales[0] > 1e8 && h.terms[0].length_scales[1] < 3.0);
}

#[test]
fn a_theta_out_of_range_is_flat() {
    let (x, y) = rows(10, 2);
    let config = Config::preset("gam").unwrap();
    let parameters = Parameters::new(&config, projections(&config, 2)).unwrap();
    let mut engine = Dense::new(x, y);
    let mut theta = parameters.start();
    let mut gradient = [0.0; 5];
    theta[0] = 50.0;
    let value = evaluate(&parameters, &mut engine, &theta, &mut gradient);
    theta[0] = 20.0;
    assert_eq!(value, evaluate(&parameters, &mut engine, &theta, &mut [0.0; 5]));
    assert!(value.is_finite() && gradient[0] == 0.0 && gradient[1] != 0.0);
}

/// A step beyond the range would otherwise be the end of a search: nothing leads back.
#[test]
fn a_log_normal_prior_leads_back_into_the_range() {
    let (x, y) = rows(10, 2);
    for name in ["matern32-ard", "matern32"] {
        let config = Config::preset(name).unwrap();
        let parameters = Parameters::new(&config, projections(&config, 2)).unwrap();
        let mut engine = Dense::new(x.clone(), y.clone());
        let theta = |first: f64| [&[first], &parameters.start()[1..]].concat();
        let mut at = |first: f64| {
            let theta = theta(first);
            let mut gradient = vec![0.0; theta.len()];
            (evaluate(&parameters, &mut engine, &theta, &mut gradient), gradient[0])
        };
        let ((value, slope), (farther, _)) = (at(30.0), at(30.0 + 1e-4));
        assert!(slope > 1.0, "{name}: {slope}");
        assert!(((farther - value) / 1e-4 - slope).abs() < 1e-2 * slope, "{name}");
        assert!(at(-30.0).1 < -1.0, "{name}");
    }
}

#[test]
fn a_term_that_is_held_back_stays_where_it_starts() {
    let config = Config::preset("linear+dpa-ard:7x1+gam").unwrap();
    let parameters = Parameters::new(&config, projections(&config, 6)).unwrap();
    let others = parameters.without_largest().unwrap();
    // θ: the variance of the linear term, 6 length-scales and a variance of dpa-ard, and gam's.
    let (own, whole) = (1..8, others.start().len());
    let (usual, start) = (parameters.start(), others.start());
    for i in 0..whole {
        let change = own.contains(&i).then(|| if i < 7 { 3.0 } else { 0.01_f64.ln() });
        assert_eq!(start[i], usual[i] + change.unwrap_or(0.0), "{i}");
    }
    let (x, y) = rows(25, 6);
    let mut engine = Dense::new(x, y);
    let (mut free, mut held) = (vec![0.0; whole], vec![0.0; whole]);
    let value = evaluate(&parameters, &mut engine, &usual, &mut free);
    assert_eq!(value, evaluate(&others, &mut engine, &usual, &mut held));
    for i in 0..whole {
        assert!(free[i] != 0.0 && held[i] == if own.contains(&i) { 0.0 } else { free[i] }, "{i}");
    }
    // Straight lines cannot be rough: a sum with one other term has none to hold back.
    let one = Config::preset("linear+gam").unwrap();
    assert!(Parameters::new(&one, projections(&one, 6)).unwrap().without_largest().is_none());
}
