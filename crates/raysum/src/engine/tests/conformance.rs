//! One suite that every engine passes: the same likelihood, gradient and predictions.

use crate::engine::weight::{Use, Weight};
use crate::engine::{Engine, Observations, Prior};
use crate::scale::StandardRows;
use crate::settings::{EngineChoice, SubKernel};
use crate::{Config, Dataset, Matrix};

use super::cases::{
    Case, Tolerances, case, cases_with_lines, compare, gradient, largest_difference,
};

#[test]
fn likelihoods_agree_to_a_thousandth_of_a_nat() {
    for case in cases_with_lines() {
        let (dense, _) = case.dense().posterior(&case.prior).unwrap();
        let (weight, posterior) = case.weight().posterior(&case.prior).unwrap();
        let p = posterior.mergeable().unwrap().features();
        assert!((dense - weight).abs() < 1e-3, "{}: {dense} and {weight} (p = {p})", case.name);
        // The search makes do with fewer features than predictions need.
        let e = case.weight().evaluate(&case.prior).unwrap();
        let gap = (dense - e.log_marginal_likelihood).abs();
        assert!(gap < 1e-3, "{}: off by {gap} in the search", case.name);
    }
}

#[test]
fn posteriors_agree() {
    for case in cases_with_lines() {
        let (_, dense) = case.dense().posterior(&case.prior).unwrap();
        let (_, weight) = case.weight().posterior(&case.prior).unwrap();
        compare(&case, dense.as_ref(), weight.as_ref(), &Tolerances::default());
    }
}

#[test]
fn gradients_agree() {
    for case in cases_with_lines() {
        let a = gradient(&case.dense().evaluate(&case.prior).unwrap());
        let b = gradient(&case.weight().evaluate(&case.prior).unwrap());
        let size = a.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let gap = largest_difference(&a, &b) / size;
        assert!(gap < 1e-5, "{}: {gap}", case.name);
    }
}

#[test]
fn the_weight_engine_s_gradient_matches_its_own_differences() {
    let mut some: Vec<Case> =
        cases_with_lines().into_iter().filter(|c| c.x.rows() <= 900).collect();
    // Enough rows for several blocks of them.
    some.push(case("many blocks", 5_000, 3, SubKernel::Rbf, &[1; 3], 15));
    for case in &some {
        let mut engine = case.weight();
        let e = engine.evaluate(&case.prior).unwrap();
        let mut check = |what: &str, slope: f64, size: f64, change: &dyn Fn(&mut Prior, f64)| {
            let mut at = |h: f64| {
                let mut prior = case.prior.clone();
                change(&mut prior, h);
                engine.evaluate(&prior).unwrap().log_marginal_likelihood
            };
            let h = 1e-3 * size;
            let sum = 8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h));
            let difference = sum / (12.0 * h);
            // The basis changes with θ within its tolerance, which differences see too.
            let allowed = 1e-4 * slope.abs() + 1e-4 / h;
            assert!(
                (slope - difference).abs() < allowed,
                "{} {what}: {slope}, {difference}",
                case.name
            );
        };
        check("noise", e.noise_variance, 0.02, &|p, h| p.noise_variance += h);
        check("mean", e.mean, 1.0, &|p, h| p.mean += h);
        check("variance", e.variances[0], 0.1, &|p, h| p.kernel.variances[0] += h);
        for k in [1, case.prior.kernel.views.weights().len() - 1] {
            let slope = e.views.weights()[k];
            check("view", slope, 1.0, &|p, h| p.kernel.views.weights_mut()[k] += h);
        }
    }
}

#[test]
fn many_views_of_one_sub_kernel_have_the_slopes_of_differences() {
    // From 16 views on the dense engine sums them in another way.
    for (rows, columns) in [(300, 20), (90, 20), (64, 16)] {
        let one =
            super::cases::on_axes(case("rbf-ard", rows, columns, SubKernel::Rbf, &[columns], 1));
        let value = |prior: &Prior| one.dense().evaluate(prior).unwrap();
        let axes = value(&one.prior);
        let mut full = one.prior.clone();
        full.kernel.views = one.prior.kernel.views.to_matrix().into();
        let full = value(&full);
        assert_eq!(axes.log_marginal_likelihood, full.log_marginal_likelihood);
        for k in 0..columns {
            let at = |h: f64| {
                let mut prior = one.prior.clone();
                prior.kernel.views.weights_mut()[k] += h;
                value(&prior).log_marginal_likelihood
            };
            let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
            let slope = axes.views[(k, k)];
            let allowed = 1e-6 * slope.abs().max(1.0);
            assert!((slope - difference).abs() < allowed, "{k}: {slope}, {difference}");
            assert!((slope - full.views[(k, k)]).abs() < 1e-9 * slope.abs().max(1.0));
        }
    }
}

#[test]
fn far_outliers_cost_a_few_features_only() {
    let mut case = case("outliers", 600, 3, SubKernel::Rbf, &[1; 3], 11);
    let (_, before) = case.weight().posterior(&case.prior).unwrap();
    for i in 0..10 {
        case.x[(i, 0)] = 300.0 * (i as f64 + 1.0);
    }
    let (lml, after) = case.weight().posterior(&case.prior).unwrap();
    let (p, q) = (before.mergeable().unwrap().features(), after.mergeable().unwrap().features());
    assert!(q < p + 10 * 3 * 8, "{p} features became {q}");
    let (dense, _) = case.dense().posterior(&case.prior).unwrap();
    assert!((lml - dense).abs() < 1e-3, "{lml} and {dense}");
}

#[test]
fn merged_shards_equal_the_whole() {
    let case = case("shards", 2000, 5, SubKernel::Rbf, &[1; 10], 12);
    let scaler = case.scaler();
    let whole = case.weight();
    let map = whole.feature_map(&case.prior, Use::Prediction).unwrap();
    let expected = whole.statistics(&map, &case.prior).unwrap();
    // Seven random shards, merged in a random order.
    let mut shards = vec![Vec::new(); 7];
    for i in 0..2000 {
        shards[(i * 7919 + i / 3) % 7].push(i);
    }
    let mut merged = crate::engine::Statistics::new(map.len(), 1);
    for shard in [3, 0, 6, 1, 5, 2, 4] {
        let x = case.x.gather(&shards[shard]);
        let y: Vec<f64> = shards[shard].iter().map(|&i| case.y[i]).collect();
        let part = Weight::new(StandardRows::new((&x).into(), &scaler), Observations::from(y));
        merged.merge(&part.statistics(&map, &case.prior).unwrap()).unwrap();
    }
    assert_eq!(merged.rows, expected.rows);
    let close = |a: &[f64], b: &[f64]| {
        let size = b.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        assert!(largest_difference(a, b) <= 1e-12 * size);
    };
    close(&[merged.targets[0].square], &[expected.targets[0].square]);
    close(&merged.targets[0].moments, &expected.targets[0].moments);
    close(&merged.gram, &expected.gram);
    let json = serde_json::to_string(&merged).unwrap();
    let back: crate::engine::Statistics = serde_json::from_str(&json).unwrap();
    assert_eq!(back, merged);
}

#[test]
fn fits_that_start_equal_end_equal() {
    let case = case("fits", 250, 5, SubKernel::Rbf, &[1; 8], 13);
    let (train, test): (Vec<usize>, Vec<usize>) = (0..250).partition(|i| i % 5 > 0);
    let pick = |rows: &[usize]| rows.iter().map(|&i| case.y[i]).collect::<Vec<f64>>();
    let (x, y) = (case.x.gather(&train), pick(&train));
    let fit = |engine: EngineChoice, preset: &str| {
        let mut config = Config { engine, ..Config::preset(preset).unwrap() };
        if preset != "gam" {
            config.terms[0].degrees = "8x1".parse().unwrap();
        }
        let model = config.fit(&Dataset::new(&x, &y).unwrap()).unwrap();
        let p = model.predict(&case.x.gather(&test)).unwrap();
        (crate::metrics::rmse(&pick(&test), &p.mean), model.log_marginal_likelihood())
    };
    for preset in ["dpa-ard", "gam", "rpa-1"] {
        let (rmse_d, lml_d) = fit(EngineChoice::Dense, preset);
        let (rmse_w, lml_w) = fit(EngineChoice::Weight, preset);
        assert!((rmse_d - rmse_w).abs() < 2e-3, "{preset}: RMSE {rmse_d}, {rmse_w}");
        assert!((lml_d - lml_w).abs() < 0.2, "{preset}: {lml_d}, {lml_w}");
    }
}

#[test]
fn models_without_a_weight_form_say_so_or_go_dense() {
    let case = case("forms", 200, 5, SubKernel::Rbf, &[1; 3], 14);
    let data = Dataset::new(&case.x, &case.y).unwrap();
    let fit = |preset: &str, engine| {
        let config = Config { engine, max_evaluations: Some(2), ..Config::preset(preset).unwrap() };
        config.fit(&data).map(|m| m.engine())
    };
    let e = fit("rbf-ard", EngineChoice::Weight).unwrap_err().to_string();
    assert!(e.contains("not rbf of degree 5"), "{e}");
    assert_eq!(fit("rbf-ard", EngineChoice::Auto).unwrap(), "dense");
    assert_eq!(fit("rpa-3", EngineChoice::Auto).unwrap(), "dense");
    assert_eq!(fit("gam", EngineChoice::Dense).unwrap(), "dense");
    assert_eq!(fit("gam", EngineChoice::Auto).unwrap(), "weight");
    // A sum goes where all of its terms can go.
    assert_eq!(fit("linear+gam", EngineChoice::Auto).unwrap(), "weight");
    assert_eq!(fit("linear+gam+rbf-ard", EngineChoice::Auto).unwrap(), "dense");
    let e = fit("linear+gam+matern12-ard", EngineChoice::Weight).unwrap_err().to_string();
    assert!(e.contains("not matern12 of degree 5"), "{e}");
    let e = fit("linear+gam", EngineChoice::Ski).unwrap_err().to_string();
    assert!(e.contains("no grid for the linear term"), "{e}");
}

#[test]
fn what_cannot_be_done_on_all_rows_is_said_before_the_search() {
    let x = Matrix::from_fn(31_000, 5, |i, j| ((i * 7919 + j * 104_729) % 10_007) as f64);
    let y: Vec<f64> = (0..31_000).map(|i| f64::from(i % 13)).collect();
    let data = Dataset::new(&x, &y).unwrap();
    let rough = Config::preset("dpa-ard:matern12").unwrap();
    let e = rough.fit(&data).map(drop).unwrap_err().to_string();
    assert!(e.contains("too rough"), "{e}");
    let config = Config { engine: EngineChoice::Dense, ..Config::preset("rbf-ard").unwrap() };
    let e = config.fit(&data).map(drop).unwrap_err().to_string();
    assert!(e.contains("31000 rows are too many for the dense engine"), "{e}");
}
