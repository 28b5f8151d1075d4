//! Sums of terms, and columns on other scales, as a user of the library sees them.

use super::common::{normals, with};
use raysum::settings::{ColumnsScale, EngineChoice, Shrinkage};
use raysum::{Config, Dataset, Fit, Matrix, Model};

/// Rows of three columns, and a target with a trend, a wave and an interaction in it.
fn table(rows: usize, seed: u64) -> (Matrix, Vec<f64>) {
    let mut normal = normals(seed, 0);
    let x = Matrix::from_fn(rows, 3, |_, _| normal());
    let y = (0..rows)
        .map(|i| {
            let (a, b, c) = (x[(i, 0)], x[(i, 1)], x[(i, 2)]);
            3.0 * a + (2.0 * b).sin() + 0.5 * b * c + 0.1 * normal()
        })
        .collect();
    (x, y)
}

fn fit(config: &Config, (x, y): &(Matrix, Vec<f64>)) -> Model {
    config.fit(&Dataset::new(x, y).unwrap()).unwrap()
}

fn rmse(model: &Model, (x, y): &(Matrix, Vec<f64>)) -> f64 {
    raysum::metrics::rmse(y, &model.predict_mean(x).unwrap())
}

/// (X'X/v + λI)⁻¹X'y/v by elimination: ridge regression of the standardised table.
fn ridge(x: &Matrix, y: &[f64], penalty: f64) -> Vec<f64> {
    let d = x.columns();
    let mut system = Matrix::from_fn(d, d + 1, |a, b| {
        let other = |i: usize| if b < d { x[(i, b)] } else { y[i] };
        let sum: f64 = (0..x.rows()).map(|i| x[(i, a)] * other(i)).sum();
        sum + if a == b { penalty } else { 0.0 }
    });
    for k in 0..d {
        for a in (0..d).filter(|a| *a != k) {
            let factor = system[(a, k)] / system[(k, k)];
            for b in k..=d {
                let less = factor * system[(k, b)];
                system[(a, b)] -= less;
            }
        }
    }
    (0..d).map(|k| system[(k, d)] / system[(k, k)]).collect()
}

#[test]
fn linear_is_ridge_regression() {
    let (x, y) = table(80, 1);
    for engine in [EngineChoice::Dense, EngineChoice::Weight] {
        let config = with(Config::preset("linear").unwrap(), |c| c.engine = engine);
        let model = fit(&config, &(x.clone(), y.clone()));
        let h = model.hyperparameters();
        // f ~ N(0, λ/d x·x') with noise σ²: the penalty is σ²/(λ/d).
        let penalty = h.noise_variance / h.terms[0].variances[0];
        let columns = model.column_scales();
        let target = model.target_scale();
        let scaled = Matrix::from_fn(80, 3, |i, c| (x[(i, c)] - columns[c].mean) / columns[c].std);
        let less: Vec<f64> = y.iter().map(|y| (y - target.mean) / target.std - h.mean).collect();
        let coefficients = ridge(&scaled, &less, penalty);
        let gradient = model.mean_gradient(&x).unwrap();
        for (c, coefficient) in coefficients.iter().enumerate() {
            let expected = coefficient * target.std / columns[c].std;
            for i in [0, 40, 79] {
                assert!((gradient[(i, c)] - expected).abs() < 1e-7, "{c}: {expected}");
            }
        }
    }
}

#[test]
fn a_sum_finds_what_its_terms_alone_do_not() {
    let (train, test) = (table(300, 2), table(400, 3));
    let error = |name: &str| rmse(&fit(&Config::preset(name).unwrap(), &train), &test);
    let sum = error("linear+gam+rbf-ard");
    assert!(sum < 0.2, "{sum}");
    for name in ["linear", "gam"] {
        let alone = error(name);
        assert!(sum < 0.6 * alone, "{name}: {alone}, sum: {sum}");
    }
}

#[test]
fn everything_works_for_sums() {
    let (train, test) = (table(100, 4), table(50, 5));
    for (name, engine) in [
        ("linear+gam:matern52", EngineChoice::Weight),
        ("linear+gam+dpa-ard:5x1", EngineChoice::Weight),
        ("gam+linear+rbf-ard", EngineChoice::Dense),
        ("linear+ppr:5x1", EngineChoice::Auto),
    ] {
        let config = with(Config::preset(name).unwrap(), |c| {
            (c.engine, c.max_evaluations) = (engine, Some(15));
        });
        let mut model = fit(&config, &train);
        let before = model.predict(&test.0).unwrap();
        let terms = config.terms.len();
        assert_eq!(
            (model.projections().len(), model.hyperparameters().terms.len()),
            (terms, terms)
        );
        // Components and the constant add up to the mean.
        let parts = model.components(&test.0).unwrap();
        for i in 0..50 {
            let sum: f64 = parts.iter().map(|part| part.mean[i]).sum();
            assert!((model.constant() + sum - before.mean[i]).abs() < 1e-8, "{name}");
        }
        // The gradient is that of differences.
        let gradient = model.mean_gradient(&test.0).unwrap();
        for c in 0..3 {
            let moved = |h: f64| {
                let x =
                    Matrix::from_fn(50, 3, |i, k| test.0[(i, k)] + if k == c { h } else { 0.0 });
                model.predict_mean(&x).unwrap()
            };
            let (up, down) = (moved(1e-5), moved(-1e-5));
            for i in 0..50 {
                let difference = (up[i] - down[i]) / 2e-5;
                let gap = (difference - gradient[(i, c)]).abs();
                assert!(gap < 1e-3 * (1.0 + difference.abs()), "{name}, {c}: {difference}");
            }
        }
        // Functions drawn from it have its mean, and samples at rows its spread.
        let functions = model.functions(400, 1).unwrap();
        let drawn = functions.evaluate(&test.0).unwrap();
        for i in 0..50 {
            let mean = (0..400).map(|s| drawn[(s, i)]).sum::<f64>() / 400.0;
            let error = (before.latent_variance[i] / 400.0).sqrt();
            assert!((mean - before.mean[i]).abs() < 5.0 * error + 1e-9, "{name}, {i}");
        }
        assert!(model.relevance()[0] > 0.5, "{name}: {:?}", model.relevance());
        // A file keeps it to the last bit.
        let bytes = Model::to_bytes([&model]).unwrap();
        let back = Model::from_bytes(&bytes).unwrap().remove(0);
        assert_eq!(back.predict(&test.0).unwrap(), before);
        assert_eq!(
            (back.config(), back.hyperparameters()),
            (model.config(), model.hyperparameters())
        );
        // Rows that come are as if they had been there.
        let more = Dataset::new(&test.0, &test.1).unwrap();
        model.update(&more).unwrap();
        let all =
            Matrix::from_fn(
                150,
                3,
                |i, c| {
                    if i < 100 { train.0[(i, c)] } else { test.0[(i - 100, c)] }
                },
            );
        let y = [train.1.clone(), test.1.clone()].concat();
        model.remove(&more).unwrap();
        let after = model.predict(&test.0).unwrap();
        for (a, b) in after.mean.iter().zip(&before.mean) {
            assert!((a - b).abs() < 1e-4, "{name}: {a} and {b}");
        }
        // Another fit starts from it.
        let data = Dataset::new(&all, &y).unwrap();
        let again = Fit::new(&config).start_from(&model).run(&data).unwrap().remove(0);
        assert!(again.log_marginal_likelihood().is_finite());
    }
}

#[test]
fn shards_of_a_sum_are_the_whole() {
    let (x, y) = table(300, 6);
    let config = with(Config::preset("linear+gam").unwrap(), |c| {
        (c.engine, c.max_evaluations) = (EngineChoice::Weight, Some(20));
    });
    let whole = fit(&config, &(x.clone(), y.clone()));
    let rows = |from: usize| {
        let x = Matrix::from_fn(100, 3, |i, c| x[(from + i, c)]);
        (x, y[from..from + 100].to_vec())
    };
    let mut merged = whole.clone();
    let parts: Vec<_> = [0, 100, 200]
        .map(|from| {
            let (x, y) = rows(from);
            whole.shard(&Dataset::new(&x, &y).unwrap()).unwrap()
        })
        .into();
    merged.replace(&parts).unwrap();
    let (a, b) = (whole.predict(&x).unwrap(), merged.predict(&x).unwrap());
    for (a, b) in a.mean.iter().zip(&b.mean) {
        assert!((a - b).abs() < 1e-8, "{a} and {b}");
    }
}

#[test]
fn by_ranks_a_monotone_change_of_a_column_changes_nothing() {
    let (x, y) = table(150, 7);
    let new = table(30, 8).0;
    let ranks = with(Config::preset("gam").unwrap(), |c| {
        (c.columns_scale, c.max_evaluations) = (ColumnsScale::Ranks, Some(20));
    });
    let plain = fit(&ranks, &(x.clone(), y.clone()));
    let bend = |x: &Matrix| {
        Matrix::from_fn(
            x.rows(),
            3,
            |i, c| if c == 1 { (3.0 * x[(i, c)]).exp() } else { x[(i, c)] },
        )
    };
    let bent = fit(&ranks, &(bend(&x), y.clone()));
    assert_eq!(plain.hyperparameters(), bent.hyperparameters());
    assert_eq!(plain.predict(&x).unwrap().mean, bent.predict(&bend(&x)).unwrap().mean);
    // Slopes are in the column's own units, and a file keeps the scales.
    let gradient = plain.mean_gradient(&new).unwrap();
    for c in 0..3 {
        let at = |h: f64| {
            let x = Matrix::from_fn(30, 3, |i, k| new[(i, k)] + if k == c { h } else { 0.0 });
            plain.predict_mean(&x).unwrap()
        };
        let (up, down) = (at(1e-7), at(-1e-7));
        for i in 0..30 {
            let difference = (up[i] - down[i]) / 2e-7;
            let gap = (difference - gradient[(i, c)]).abs();
            assert!(gap < 1e-4 * (1.0 + difference.abs()), "{c}: {difference}");
        }
    }
    let back = Model::from_bytes(&Model::to_bytes([&bent]).unwrap()).unwrap().remove(0);
    assert_eq!(back.predict(&bend(&new)).unwrap(), bent.predict(&bend(&new)).unwrap());
}

/// Rows in four columns, of which three have a step.
fn steps(rows: usize, seed: u64) -> (Matrix, Vec<f64>) {
    let (mut normal, mut noise) = (normals(seed, 0), normals(seed, 1));
    let x = Matrix::from_fn(rows, 4, |_, _| normal());
    let step = |v: f64, at: f64| if v > at { 1.0 } else { 0.0 };
    let mut y = |i: usize| {
        let both = step(x[(i, 1)], 0.4) * step(x[(i, 2)], -0.5);
        2.0 * step(x[(i, 0)], -0.3) + 3.0 * both + 0.1 * noise()
    };
    let y = (0..rows).map(&mut y).collect();
    (x, y)
}

#[test]
fn by_cuts_steps_are_found_where_they_are() {
    let (data, (new, truth)) = (steps(300, 31), steps(200, 33));
    let error = |scale: ColumnsScale| {
        let config = with(Config::preset("linear+laplace-ard").unwrap(), |c| {
            (c.columns_scale, c.max_evaluations) = (scale, Some(25));
            c.shrinkage = Shrinkage::None;
        });
        let model = fit(&config, &data);
        let mean = model.predict_mean(&new).unwrap();
        let square = mean.iter().zip(&truth).map(|(m, y)| (m - y).powi(2)).sum::<f64>();
        ((square / truth.len() as f64).sqrt(), model)
    };
    let ((ranks, _), (cuts, model)) = (error(ColumnsScale::Ranks), error(ColumnsScale::Cuts));
    assert!(cuts < 0.6 * ranks, "by cuts {cuts}, by ranks {ranks}");
    // A file keeps the scales.
    let back = Model::from_bytes(&Model::to_bytes([&model]).unwrap()).unwrap().remove(0);
    assert_eq!(back.predict(&new).unwrap(), model.predict(&new).unwrap());
    // The column without effect is not relevant.
    assert!(model.relevance()[3] < 0.02, "{:?}", model.relevance());
}

#[test]
fn cuts_serve_targets_that_share_a_model() {
    let (x, y) = steps(120, 35);
    let other: Vec<f64> = (0..120).map(|i| if x[(i, 3)] > 0.8 { 5.0 } else { 0.0 }).collect();
    let config = with(Config::preset("linear+laplace-ard").unwrap(), |c| {
        (c.columns_scale, c.max_evaluations) = (ColumnsScale::Cuts, Some(10));
    });
    let targets = [y.as_slice(), other.as_slice()];
    let data = Dataset::with_targets(&x, &targets).unwrap();
    for (shared, separate) in [(true, false), (false, true)] {
        let models = Fit::new(&config).shared(shared).run(&data).unwrap();
        let slopes: Vec<f64> =
            models.iter().map(|m| m.mean_gradient(&x).unwrap().row(0)[3].abs()).collect();
        assert_eq!(models.len(), 2);
        // Of each target alone the columns have scales of their own.
        let alone = config.fit(&Dataset::new(&x, &y).unwrap()).unwrap();
        let same = alone.predict(&x).unwrap() == models[0].predict(&x).unwrap();
        assert_eq!(same, separate, "{slopes:?}");
    }
}

#[test]
fn shrinkage_has_no_effect_where_no_two_length_scales_could_differ() {
    let (x, y) = table(60, 9);
    let column = Matrix::from_fn(60, 1, |i, _| x[(i, 1)]);
    let cases = [("linear", &x), ("rbf", &x), ("linear+matern32", &x), ("gam", &column)];
    for (name, x) in cases {
        let model = |shrinkage| {
            let config = with(Config::preset(name).unwrap(), |c| c.shrinkage = shrinkage);
            config.fit(&Dataset::new(x, &y).unwrap()).unwrap()
        };
        let free = model(Shrinkage::None);
        for width in [0.0, 0.5] {
            let shrunk = model(Shrinkage::Width(width));
            assert_eq!(shrunk.hyperparameters(), free.hyperparameters(), "{name}, {width}");
        }
    }
}

/// Columns with heavy tails make each direction expensive: a sum takes as many as `dpa-ard` has alone.
#[test]
fn heavy_tails_get_fewer_directions() {
    let mut normal = normals(7, 0);
    let x = Matrix::from_fn(2_100, 4, |_, _| (2.5 * normal()).exp());
    let y: Vec<f64> = (0..2_100).map(|i| x[(i, 0)].ln().sin() + 0.1 * normal()).collect();
    let data = Dataset::new(&x, &y).unwrap();
    let directions = |columns_scale| {
        let config = with(Config::preset("gam+dpa-ard").unwrap(), |c| {
            (c.columns_scale, c.max_evaluations) = (columns_scale, Some(2));
        });
        let model = config.fit(&data).unwrap();
        let degrees = model.config().terms[1].degrees.to_string();
        let sub_kernels = model.hyperparameters().terms[1].variances.len();
        // Other rows are conditioned on with the directions that were found.
        let few = x.gather(&(0..50).collect::<Vec<_>>());
        let few = Dataset::rows_of(&few, &[&y[..50]]).unwrap();
        let again = Fit::new(&config).start_from(&model);
        let again = again.condition(&few, model.hyperparameters()).unwrap().remove(0);
        assert_eq!(again.config().terms[1].degrees.to_string(), degrees);
        let reported = model.report().fewer_directions;
        assert_eq!(again.report().fewer_directions, reported);
        (degrees, sub_kernels, reported)
    };
    assert_eq!(directions(ColumnsScale::Standard), ("20..100x1".to_owned(), 20, true));
    assert_eq!(directions(ColumnsScale::Ranks), ("80..100x1".to_owned(), 80, false));
}

/// Directions over heavy-tailed columns would take all features that a search may have, and a sum would
/// end far below what its other terms reach alone.
#[test]
fn a_sum_is_as_good_as_its_other_terms_where_tails_are_heavy() {
    let mut normal = normals(8, 0);
    let x = Matrix::from_fn(2_100, 4, |_, _| (4.0 * normal()).exp());
    let curve = |i: usize| x[(i, 0)].ln().sin() + x[(i, 1)].ln_1p();
    let y: Vec<f64> = (0..2_100).map(|i| curve(i) + 0.1 * normal()).collect();
    let data = Dataset::new(&x, &y).unwrap();
    let fit = |name: &str| {
        let config = with(Config::preset(name).unwrap(), |c| {
            (c.max_evaluations, c.shrinkage) = (Some(20), Shrinkage::None);
        });
        config.fit(&data).unwrap()
    };
    let (sum, alone) = (fit("gam+dpa-ard"), fit("gam"));
    let likelihoods = [&sum, &alone].map(Model::log_marginal_likelihood);
    assert!(likelihoods[0] > likelihoods[1] - 20.0, "{likelihoods:?}");
}
