//! Targets on the scale of a power: predictions, densities, draws, gradients, files, updates.

use super::common::{normals, with};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use raysum::error::UpdateError;
use raysum::settings::{EngineChoice, Noise, TargetScale};
use raysum::{Config, Dataset, Error, Fit, Matrix, Model, Result, StackFit};

/// Rows whose target is the exponential of a function with noise: above 0, and skewed.
fn skewed(n: usize, seed: u64) -> (Matrix, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let x = Matrix::from_fn(n, 2, |_, _| normal());
    let f = |i| (x[(i, 0)]).sin() + 0.5 * x[(i, 1)];
    let y = (0..n).map(|i| (f(i) + 0.3 * normal()).exp()).collect();
    (x, y)
}

fn config(engine: EngineChoice) -> Config {
    let mut config = Config::preset("linear+gam").unwrap();
    (config.target_scale, config.engine) = (TargetScale::YeoJohnson, engine);
    config
}

fn fitted(engine: EngineChoice) -> (Model, Matrix, Vec<f64>) {
    let (x, y) = skewed(150, 1);
    let model = config(engine).fit(&Dataset::new(&x, &y).unwrap()).unwrap();
    (model, x, y)
}

#[test]
fn a_skewed_target_is_predicted_better_and_stays_positive() {
    let (x, y) = skewed(150, 1);
    let (x_new, y_new) = skewed(400, 2);
    let data = Dataset::new(&x, &y).unwrap();
    let scores = |scale| {
        let mut config = Config::preset("linear+gam").unwrap();
        config.target_scale = scale;
        let model = config.fit(&data).unwrap();
        let p = model.predict(&x_new).unwrap();
        let n = y_new.len() as f64;
        let nlpd = -p.log_density(&y_new).unwrap().iter().sum::<f64>() / n;
        let (lower, upper) = p.interval(0.95).unwrap();
        let inside = (0..y_new.len()).filter(|i| (lower[*i]..upper[*i]).contains(&y_new[*i]));
        let inside = inside.count() as f64 / n;
        let rmse = raysum::metrics::rmse(&y_new, &p.mean);
        let crps = p.crps(&y_new).unwrap().iter().sum::<f64>() / n;
        (rmse, nlpd, inside, crps, lower, model.log_marginal_likelihood())
    };
    let (plain, power) = (scores(TargetScale::None), scores(TargetScale::YeoJohnson));
    assert!(power.0 < plain.0, "RMSE {} and {}", plain.0, power.0);
    assert!(power.1 < plain.1 - 0.3, "NLPD {} and {}", plain.1, power.1);
    assert!((0.91..0.985).contains(&power.2), "{} inside", power.2);
    assert!(power.3 < plain.3, "CRPS {} and {}", plain.3, power.3);
    assert!(power.4.iter().all(|lower| *lower > 0.0));
    // With the Jacobian the likelihoods of both scales are comparable.
    assert!(power.5 > plain.5 + 30.0, "{} and {}", plain.5, power.5);
}

#[test]
fn quantiles_densities_and_moments_are_those_of_one_distribution() {
    let (model, x, _) = fitted(EngineChoice::Auto);
    let p = model.predict(&x).unwrap();
    let median = p.quantile(0.5).unwrap();
    for share in [0.01, 0.3, 0.5, 0.9] {
        let below = p.cdf(&p.quantile(share).unwrap()).unwrap();
        assert!(below.iter().all(|b| (b - share).abs() < 1e-9));
    }
    let (lower, upper) = p.interval(0.9).unwrap();
    assert_eq!((lower, upper), (p.quantile(0.05).unwrap(), p.quantile(0.95).unwrap()));
    // The mean of a skewed distribution is above its median.
    assert!(p.mean.iter().zip(&median).all(|(mean, median)| mean > median));
    // The density is the slope of the distribution function.
    let h: Vec<f64> = median.iter().map(|m| 1e-5 * m).collect();
    let moved = |sign: f64| -> Vec<f64> {
        let to: Vec<f64> = median.iter().zip(&h).map(|(m, h)| m + sign * h).collect();
        p.cdf(&to).unwrap()
    };
    let (up, down, density) = (moved(1.0), moved(-1.0), p.log_density(&median).unwrap());
    for i in 0..median.len() {
        let slope = (up[i] - down[i]) / (2.0 * h[i]);
        assert!((slope.ln() - density[i]).abs() < 1e-5, "row {i}");
    }
}

#[test]
fn observed_functions_have_the_distribution_of_predictions() {
    let (model, x, _) = fitted(EngineChoice::Auto);
    let few = x.gather(&(0..5).collect::<Vec<_>>());
    let functions = model.functions(4_000, 3).unwrap();
    let drawn = functions.observe(&few, 9).unwrap();
    let p = model.predict(&few).unwrap();
    for i in 0..5 {
        let values: Vec<f64> = (0..drawn.rows()).map(|s| drawn[(s, i)]).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        assert!((mean - p.mean[i]).abs() < 5.0 * p.std()[i] / 4_000_f64.sqrt(), "row {i}");
        let below = values.iter().filter(|v| **v < p.quantile(0.9).unwrap()[i]).count();
        assert!((below as f64 / 4_000.0 - 0.9).abs() < 0.02, "row {i}: {below}");
        assert!(values.iter().all(|v| *v > 0.0));
    }
    assert_eq!(drawn, functions.observe(&few, 9).unwrap());
    assert_ne!(drawn, functions.evaluate(&few).unwrap());
}

/// Fails unless a gradient is that of the mean at some rows.
fn check_gradient(gradient: &Matrix, rows: &Matrix, mean: impl Fn(&Matrix) -> Result<Vec<f64>>) {
    let h = 1e-4;
    for c in 0..rows.columns() {
        let moved = |sign: f64| {
            let step = |j| if j == c { sign * h } else { 0.0 };
            let to = Matrix::from_fn(rows.rows(), rows.columns(), |i, j| rows[(i, j)] + step(j));
            mean(&to).unwrap()
        };
        let (up, down) = (moved(1.0), moved(-1.0));
        for i in 0..rows.rows() {
            let (slope, found) = ((up[i] - down[i]) / (2.0 * h), gradient[(i, c)]);
            assert!((slope - found).abs() < 1e-4 * (1.0 + slope.abs()), "{slope}, {found}");
        }
    }
}

#[test]
fn gradients_are_those_of_the_predicted_mean() {
    for engine in [EngineChoice::Dense, EngineChoice::Weight] {
        let (model, x, y) = fitted(engine);
        let rows = x.gather(&[3, 40, 77]);
        check_gradient(&model.mean_gradient(&rows).unwrap(), &rows, |x| model.predict_mean(x));
        // The mean depends on the spread, which held-out rows change.
        let fit = StackFit::one("linear+gam", model.config());
        let stack = fit.run(&Dataset::new(&x, &y).unwrap()).unwrap().remove(0);
        assert!((stack.members()[0].share.inflation - 1.0).abs() > 0.01);
        let gradient = stack.mean_gradient(&rows).unwrap();
        check_gradient(&gradient, &rows, |x| Ok(stack.predict(x)?.mean));
        let message = model.joint(&rows).unwrap_err().to_string();
        assert_eq!(
            message,
            "covariance of predictions cannot be combined with a target scale; fit with the target \
             scale none"
        );
        assert!(model.variance_gradient(&rows).is_err());
        assert!(model.predict_with_noise(&rows, &[0.1; 3]).is_err());
    }
}

/// Beyond its limits the level of the noise does not change, and the mean depends on that level.
#[test]
fn gradients_know_where_the_noise_stays_at_its_limit() {
    let mut normal = normals(4, 0);
    let x = Matrix::from_fn(400, 2, |_, _| normal());
    let y: Vec<f64> =
        (0..400).map(|i| (0.5 * x[(i, 1)] + 0.4 * x[(i, 0)].exp() * normal()).exp()).collect();
    let config = with(Config::preset("linear").unwrap(), |c| {
        (c.target_scale, c.noise) = (TargetScale::YeoJohnson, Noise::Columns);
    });
    let model = config.fit(&Dataset::new(&x, &y).unwrap()).unwrap();
    let first = |value: f64| Matrix::from_fn(1, 2, |_, c| if c == 0 { value } else { 0.1 });
    let level = |value| model.noise_std_at(&first(value)).unwrap()[0];
    assert!(level(0.5) > 1.1 * level(0.4));
    assert!((level(3.1) / level(3.0) - 1.0).abs() < 1e-3);
    for value in [0.4, 3.0, 5.0] {
        let rows = first(value);
        check_gradient(&model.mean_gradient(&rows).unwrap(), &rows, |x| model.predict_mean(x));
    }
}

#[test]
fn updates_merges_and_files_keep_the_scale_and_its_likelihood() {
    for engine in [EngineChoice::Dense, EngineChoice::Weight] {
        let (model, x, y) = fitted(engine);
        let h = model.hyperparameters().clone();
        let bytes = Model::to_bytes([&model]).unwrap();
        let loaded = Model::from_bytes(&bytes).unwrap().remove(0);
        assert_eq!(loaded.predict(&x).unwrap(), model.predict(&x).unwrap());
        // Rows that are removed and come back leave the likelihood as it was.
        let some: Vec<usize> = (100..150).collect();
        let (x_some, y_some) = (x.gather(&some), y[100..].to_vec());
        let part = Dataset::new(&x_some, &y_some).unwrap();
        let mut fewer = model.clone();
        fewer.remove(&part).unwrap();
        let rest = x.gather(&(0..100).collect::<Vec<_>>());
        let lost = model.log_marginal_likelihood() - fewer.log_marginal_likelihood();
        assert!(lost.abs() > 1.0, "{lost}");
        let statistics = fewer.shard(&part).unwrap();
        let mut merged = fewer.clone();
        merged.merge(&[statistics]).unwrap();
        fewer.update(&part).unwrap();
        for again in [&fewer, &merged] {
            let gap = again.log_marginal_likelihood() - model.log_marginal_likelihood();
            assert!(gap.abs() < 1e-6, "{gap}");
            let (a, b) = (again.predict(&rest).unwrap(), model.predict(&rest).unwrap());
            assert!(a.mean.iter().zip(&b.mean).all(|(a, b)| (a - b).abs() < 1e-6 * b.abs()));
        }
        let mut none = config(engine);
        none.target_scale = TargetScale::None;
        assert!(Fit::new(&none).condition(&part, &h).is_ok());
    }
}

#[test]
fn a_target_without_a_logarithm_is_refused_by_a_model_that_takes_it() {
    let (model, x, _) = fitted(EngineChoice::Auto);
    assert_eq!(model.target_transformation().unwrap(), "logarithm");
    let rows = x.gather(&[3, 4]);
    for value in [0.0, -1.0] {
        let y = [1.0, value];
        let data = Dataset::new(&rows, &y).unwrap();
        let mut changed = model.clone();
        for error in [changed.update(&data).unwrap_err(), model.shard(&data).unwrap_err()] {
            assert!(
                matches!(error, Error::Update(UpdateError::NoLogarithm { row: 1, value: v }) if v == value),
                "{error}"
            );
        }
        assert_eq!(changed.predict(&x).unwrap(), model.predict(&x).unwrap());
    }
}

#[test]
fn rows_without_others_have_the_scale_of_all() {
    // A logarithm of all rows but one would be infinitely wrong about that one.
    let (x, mut y) = skewed(150, 1);
    y[7] = 0.0;
    let fit = StackFit::one("linear+gam", &config(EngineChoice::Auto))
        .run(&Dataset::new(&x, &y).unwrap());
    let stack = fit.unwrap().remove(0);
    assert_ne!(stack.first().target_transformation().unwrap(), "logarithm");
    let nlpd = stack.held_out().unwrap().scores.nlpd;
    assert!(nlpd < 3.0, "{nlpd}");
}

/// The exponential of a spread that one outlier widens would be the mean of every row: about 20 where targets are
/// between -3 and 3.
#[test]
fn one_outlier_does_not_move_the_mean_out_of_its_interval() {
    let mut random = normals(2, 0);
    let x = Matrix::from_fn(460, 3, |_, _| random());
    let mut y: Vec<f64> = (0..460).map(|i| x[(i, 0)] + 0.5 * random()).collect();
    y[5] = 100.0;
    let rows = |range: std::ops::Range<usize>| x.gather(&range.collect::<Vec<_>>());
    let (fitted, new) = (rows(0..60), rows(60..460));
    let fit = StackFit::one("linear+gam", &config(EngineChoice::Auto))
        .run(&Dataset::new(&fitted, &y[..60]).unwrap());
    let p = fit.unwrap()[0].predict(&new).unwrap();
    let (lower, upper) = p.interval(0.95).unwrap();
    assert!((0..400).all(|i| lower[i] <= p.mean[i] && p.mean[i] <= upper[i]));
    let error = raysum::metrics::rmse(&y[60..], &p.mean);
    assert!(error < 8.0, "{error}");
}

#[test]
fn each_of_several_targets_has_its_own_scale() {
    let (x, y) = skewed(120, 1);
    let straight: Vec<f64> = (0..120).map(|i| x[(i, 0)] - 2.0 * x[(i, 1)]).collect();
    let data = Dataset::with_targets(&x, &[&y, &straight]).unwrap();
    let models = Fit::new(&config(EngineChoice::Auto)).shared(true).run(&data).unwrap();
    assert_eq!(models[0].target_transformation().unwrap(), "logarithm");
    assert!(models[1].target_transformation().unwrap().starts_with("Yeo–Johnson, exponent"));
    let p = models[1].predict_mean(&x).unwrap();
    assert!(raysum::metrics::rmse(&straight, &p) < 0.2);
}

#[test]
fn constant_and_extreme_targets_are_predicted() {
    let (x, _) = skewed(30, 1);
    let constant = vec![7.0; 30];
    let huge: Vec<f64> = (0..30).map(|i| 1e300 * f64::from(i % 7) / 7.0).collect();
    let mostly: Vec<f64> = (0..30).map(|i| if i < 25 { 0.0 } else { f64::from(i) }).collect();
    for y in [constant, huge, mostly] {
        let model = config(EngineChoice::Auto).fit(&Dataset::new(&x, &y).unwrap()).unwrap();
        let p = model.predict(&x).unwrap();
        let (lower, upper) = p.interval(0.95).unwrap();
        let all = p.mean.iter().chain(&lower).chain(&upper).chain(&p.variance);
        assert!(all.into_iter().all(|v| v.is_finite()), "{p:?}");
    }
}
