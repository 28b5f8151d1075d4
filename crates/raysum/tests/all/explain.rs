//! Contributions of columns add up to the prediction, and are what is known of them.

use crate::common::{normals, with};
use raysum::fitted::Explanation;
use raysum::settings::{EngineChoice, Noise, TargetScale};
use raysum::{Config, Dataset, Effort, Matrix, Model, Stack, StackFit};

fn rows(count: usize, columns: usize, seed: u64) -> Matrix {
    let mut normal = normals(seed, 7);
    Matrix::from_fn(count, columns, |_, _| normal())
}

/// A positive target in which columns interact.
fn target(x: &Matrix) -> Vec<f64> {
    let mut normal = normals(4, 1);
    let value = |x: &[f64]| (0.8 * x[0] + 0.3 * x[1] * x[2]).exp() + x[1].sin();
    (0..x.rows()).map(|i| value(x.row(i)) + 0.1 * normal()).collect()
}

fn sums(explanation: &Explanation) -> Vec<f64> {
    let of = &explanation.contributions;
    (0..of.rows()).map(|i| explanation.baseline + of.row(i).iter().sum::<f64>()).collect()
}

fn check_sums(name: &str, explanation: &Explanation, mean: &[f64], unit: f64) {
    for (sum, mean) in sums(explanation).iter().zip(mean) {
        assert!((sum - mean).abs() < 1e-3 * unit + 1e-9 * mean.abs(), "{name}: {sum} and {mean}");
    }
}

fn fit(config: &Config, x: &Matrix, y: &[f64]) -> Model {
    with(config.clone(), |c| c.max_evaluations = Some(4)).fit(&Dataset::new(x, y).unwrap()).unwrap()
}

#[test]
fn contributions_add_up_for_every_kind_of_model_and_engine() {
    let (x, new) = (rows(60, 3, 1), rows(9, 3, 2));
    let y = target(&x);
    // Rows far away, the row of means itself, and a training row.
    let mut new = new.into_row_major();
    new.extend([1e3, -1e6, 0.0]);
    new.extend((0..3).map(|c| (0..60).map(|i| x[(i, c)]).sum::<f64>() / 60.0));
    new.extend(x.row(5));
    let new = Matrix::from_row_major(12, 3, new).unwrap();
    let engines = [
        ("gam", EngineChoice::Weight),
        ("gam", EngineChoice::Dense),
        ("linear", EngineChoice::Dense),
        ("gam", EngineChoice::Ski),
        ("dpa-ard", EngineChoice::Dense),
        ("ppr", EngineChoice::Weight),
        ("rbf-ard", EngineChoice::Dense),
        ("matern12", EngineChoice::Dense),
        ("linear+gam+matern32-ard", EngineChoice::Dense),
        ("linear+matern32-ard", EngineChoice::Neighbors),
    ];
    for (preset, engine) in engines {
        for scale in [TargetScale::None, TargetScale::YeoJohnson] {
            let config = with(Config::preset(preset).unwrap(), |c| {
                c.engine = engine;
                c.target_scale = scale;
                if preset == "ppr" {
                    c.terms[0].degrees = "5x1".parse().unwrap();
                }
            });
            let model = fit(&config, &x, &y);
            let name = format!("{preset} {engine:?} {scale:?}");
            let explanation = model.explain(&new).unwrap();
            check_sums(
                &name,
                &explanation,
                &model.predict(&new).unwrap().mean,
                model.target_scale().std,
            );
            assert!(explanation.contributions.as_slice().iter().all(|c| c.is_finite()), "{name}");
            let at_means = explanation.contributions.row(10);
            assert!(at_means.iter().all(|c| c.abs() < 1e-9), "{name}: {at_means:?}");
        }
    }
}

#[test]
fn columns_of_additive_models_contribute_their_own_functions() {
    let (x, new) = (rows(150, 3, 3), rows(6, 3, 4));
    let y: Vec<f64> =
        (0..150).map(|i| x[(i, 0)].sin() + x[(i, 1)].powi(2) - 0.5 * x[(i, 2)]).collect();
    for preset in ["gam", "linear", "linear+gam"] {
        let model = fit(&Config::preset(preset).unwrap(), &x, &y);
        let found = model.explain(&new).unwrap();
        let mean: Vec<f64> = model.column_scales().iter().map(|column| column.mean).collect();
        for c in 0..3 {
            // Only this column differs from the row of means.
            let alone = Matrix::from_fn(6, 3, |i, j| if j == c { new[(i, j)] } else { mean[j] });
            let alone = model.predict_mean(&alone).unwrap();
            for i in 0..6 {
                let expected = alone[i] - found.baseline;
                let own = found.contributions[(i, c)];
                assert!((own - expected).abs() < 1e-8, "{preset} {c}: {own} and {expected}");
            }
        }
    }
}

#[test]
fn kernels_of_all_columns_are_integrated_along_the_line() {
    let (x, new) = (rows(100, 3, 5), rows(4, 3, 6));
    let model = fit(&Config::preset("rbf-ard").unwrap(), &x, &target(&x));
    let found = model.explain(&new).unwrap();
    let mean: Vec<f64> = model.column_scales().iter().map(|column| column.mean).collect();
    for i in 0..4 {
        // The midpoint rule with many nodes, from the gradients that the model has.
        let nodes = 2_000;
        let at = |t: f64, c: usize| mean[c] + t * (new[(i, c)] - mean[c]);
        let line = Matrix::from_fn(nodes, 3, |k, c| at((k as f64 + 0.5) / nodes as f64, c));
        let slopes = model.mean_gradient(&line).unwrap();
        for c in 0..3 {
            let average = (0..nodes).map(|k| slopes[(k, c)]).sum::<f64>() / nodes as f64;
            let expected = average * (new[(i, c)] - mean[c]);
            let own = found.contributions[(i, c)];
            assert!((own - expected).abs() < 1e-4, "{i} {c}: {own} and {expected}");
        }
    }
}

#[test]
fn columns_of_one_category_are_one() {
    let (x, new) = (rows(90, 3, 7), rows(5, 3, 8));
    let y = target(&x);
    let data = Dataset::new(&x, &y).unwrap();
    let config = Config::preset("gam").unwrap();
    let each = config.fit(&data).unwrap().explain(&new).unwrap().contributions;
    let grouped = config.fit(&data.grouped(&[0, 1, 1]).unwrap()).unwrap();
    let found = grouped.explain(&new).unwrap().contributions;
    assert_eq!((found.rows(), found.columns()), (5, 2));
    for i in 0..5 {
        assert!((found[(i, 0)] - each[(i, 0)]).abs() < 1e-9);
        assert!((found[(i, 1)] - each[(i, 1)] - each[(i, 2)]).abs() < 1e-9);
    }
}

#[test]
fn a_stack_is_explained_by_its_members() {
    let (x, new) = (rows(80, 3, 9), rows(7, 3, 10));
    let y = target(&x);
    let stack: Stack =
        StackFit::auto(Effort::Normal).run(&Dataset::new(&x, &y).unwrap()).unwrap().remove(0);
    let found = stack.explain(&new).unwrap();
    let unit = stack.first().target_scale().std;
    check_sums("stack", &found, &stack.predict(&new).unwrap().mean, unit);
}

#[test]
fn noise_that_varies_and_a_constant_column_are_no_obstacle() {
    let x = rows(150, 3, 11);
    let x = Matrix::from_fn(150, 3, |i, j| if j == 2 { 4.0 } else { x[(i, j)] });
    let mut normal = normals(12, 3);
    let y: Vec<f64> =
        (0..150).map(|i| (x[(i, 0)] + (0.2 + 0.3 * x[(i, 1)].abs()) * normal()).exp()).collect();
    let config = with(Config::preset("gam").unwrap(), |c| {
        c.noise = Noise::Columns;
        c.target_scale = TargetScale::YeoJohnson;
    });
    let model = fit(&config, &x, &y);
    let found = model.explain(&x).unwrap();
    check_sums("noise", &found, &model.predict(&x).unwrap().mean, model.target_scale().std);
    assert!((0..150).all(|i| found.contributions[(i, 2)].abs() < 1e-9));
    // The wrong number of columns is refused like everywhere else.
    assert!(model.explain(&rows(2, 2, 1)).is_err());
}
