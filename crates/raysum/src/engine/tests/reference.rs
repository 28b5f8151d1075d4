//! The dense engine against scikit-learn and GPyTorch at fixed hyperparameters, to 1e-8.
//!
//! The numbers are frozen in `reference/reference.json`, made by `reference/make.py`.

use crate::Matrix;
use crate::engine::dense::Dense;
use crate::engine::{AdditiveKernel, Engine, Evaluation, Prior};
use crate::settings::SubKernel;
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn matrix(value: &Value) -> Matrix {
    let rows: Vec<Vec<f64>> = value.as_array().unwrap().iter().map(numbers).collect();
    Matrix::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j])
}

/// Fails unless all entries agree to 1e-8 of the largest one.
fn close(what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let size = expected.iter().fold(1e-300_f64, |m, v| m.max(v.abs()));
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() <= 1e-8 * size, "{what}: {f} against {e}");
    }
}

struct Case {
    value: Value,
    name: String,
    prior: Prior,
    x: Matrix,
    y: Vec<f64>,
}

fn cases() -> Vec<Case> {
    let file: Value =
        serde_json::from_str(include_str!("../../../tests/reference/reference.json")).unwrap();
    let cases = file["cases"].as_array().unwrap().iter().map(|value| Case {
        name: format!("{} ({})", value["name"], value["source"]),
        prior: Prior {
            kernel: AdditiveKernel {
                shapes: vec![
                    value["kernel"].as_str().unwrap().parse::<SubKernel>().unwrap().into();
                    numbers(&value["degrees"]).len()
                ],
                degrees: numbers(&value["degrees"]).iter().map(|d| *d as usize).collect(),
                views: matrix(&value["views"]).into(),
                variances: numbers(&value["variances"]),
            },
            noise_variance: value["noise_variance"].as_f64().unwrap(),
            mean: value["mean"].as_f64().unwrap(),
        },
        x: matrix(&value["x"]),
        y: numbers(&value["y"]),
        value: value.clone(),
    });
    cases.collect()
}

#[test]
fn likelihood_and_predictions_agree() {
    assert!(cases().len() >= 12);
    for case in cases() {
        let mut engine = Dense::new(case.x.clone(), case.y.clone());
        let (lml, posterior) = engine.posterior(&case.prior).unwrap();
        close(&format!("{}: lml", case.name), &[lml], &[case.value["lml"].as_f64().unwrap()]);
        let x_new = matrix(&case.value["x_new"]);
        let f = posterior.marginals(&x_new);
        close(&format!("{}: mean", case.name), &f.mean, &numbers(&case.value["mean_new"]));
        close(&format!("{}: variance", case.name), &f.variance, &numbers(&case.value["var_new"]));
        let (mean, covariance) = posterior.joint(&x_new);
        let mean: Vec<f64> = mean.iter().map(|f| f + case.prior.mean).collect();
        close(&format!("{}: joint mean", case.name), &mean, &f.mean);
        let expected = matrix(&case.value["cov_new"]);
        close(&format!("{}: covariance", case.name), covariance.as_slice(), expected.as_slice());
    }
}

#[test]
fn leave_one_out_agrees_with_refits() {
    let mut seen = 0;
    for case in cases().iter().filter(|c| c.value.get("loo_mean").is_some()) {
        let (_, posterior) =
            Dense::new(case.x.clone(), case.y.clone()).posterior(&case.prior).unwrap();
        let loo = posterior
            .leave_one_out()
            .unwrap()
            .without_each(&case.x, &case.y.clone().into())
            .unwrap();
        close(&format!("{}: loo mean", case.name), &loo.mean, &numbers(&case.value["loo_mean"]));
        let of_y: Vec<f64> = loo.variance.iter().map(|v| v + case.prior.noise_variance).collect();
        close(&format!("{}: loo variance", case.name), &of_y, &numbers(&case.value["loo_var"]));
        seen += 1;
    }
    assert!(seen >= 2);
}

/// The derivative with respect to one named parameter, by the chain rule from ∂/∂W, ∂/∂λ, ….
fn derivative(case: &Case, e: &Evaluation, name: &str) -> f64 {
    let kernel = &case.prior.kernel;
    let (parameter, index) = match name.split_once('.') {
        Some((parameter, index)) => (parameter, Some(index.parse::<usize>().unwrap())),
        None => (name, None),
    };
    let views =
        || (0..kernel.views.rows()).flat_map(|r| (0..kernel.views.columns()).map(move |c| (r, c)));
    let over = |pick: &dyn Fn(usize, usize) -> bool| -> f64 {
        -views().filter(|&(r, c)| pick(r, c)).map(|at| e.views[at] * kernel.views[at]).sum::<f64>()
    };
    match parameter {
        "log_sigma_cols" => over(&|_, c| index.is_none_or(|i| i == c)),
        "log_l_rows" => over(&|r, _| index.is_none_or(|i| i == r)),
        "log_lambda" | "log_scale" => (0..kernel.variances.len())
            .filter(|&j| index.is_none_or(|i| i == j))
            .map(|j| e.variances[j] * kernel.variances[j])
            .sum(),
        "log_noise" => e.noise_variance * case.prior.noise_variance,
        "mean" => e.mean,
        other => panic!("unknown parameter {other}"),
    }
}

#[test]
fn gradients_agree() {
    for case in cases() {
        let e = Dense::new(case.x.clone(), case.y.clone()).evaluate(&case.prior).unwrap();
        let mut expected: Vec<(String, f64)> = Vec::new();
        if let Some(theta) = case.value.get("sklearn_theta_gradient") {
            let names =
                theta["theta"].as_array().unwrap().iter().map(|n| n.as_str().unwrap().into());
            expected.extend(names.zip(numbers(&theta["value"])));
        } else {
            for (name, value) in case.value["gradient"].as_object().unwrap() {
                match value.as_f64() {
                    Some(value) => expected.push((name.clone(), value)),
                    None => expected.extend(
                        numbers(value)
                            .into_iter()
                            .enumerate()
                            .map(|(i, v)| (format!("{name}.{i}"), v)),
                    ),
                }
            }
        }
        assert!(expected.len() >= 3, "{}", case.name);
        let found: Vec<f64> =
            expected.iter().map(|(name, _)| derivative(&case, &e, name)).collect();
        let values: Vec<f64> = expected.iter().map(|(_, v)| *v).collect();
        close(&format!("{}: gradient", case.name), &found, &values);
    }
}
