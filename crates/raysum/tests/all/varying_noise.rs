//! Noise that depends on the columns, on tables whose noise is known.

use super::common::with;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use raysum::settings::{EngineChoice, Noise};
use raysum::{Config, Dataset, Fit, Matrix, Model, Shard};

/// Rows with noise whose standard deviation is `level` of the first column.
fn table(n: usize, seed: u64, level: impl Fn(f64) -> f64) -> (Matrix, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let x = Matrix::from_fn(n, 3, |_, _| normal());
    let f = |i| (2.0_f64 * x[(i, 1)]).sin() + x[(i, 2)];
    let y = (0..n).map(|i| f(i) + level(x[(i, 0)]) * normal()).collect();
    (x, y)
}

/// Three times as much at one end as in the middle, a third at the other.
fn growing(x: f64) -> f64 {
    0.3 * (0.55 * x).exp()
}

fn config(noise: Noise) -> Config {
    let mut config = Config::preset("gam").unwrap();
    config.noise = noise;
    config
}

fn nlpd(model: &Model, (x, y): &(Matrix, Vec<f64>)) -> f64 {
    let densities = model.predict(x).unwrap().log_density(y).unwrap();
    -densities.iter().sum::<f64>() / densities.len() as f64
}

#[test]
fn noise_that_varies_is_found_and_improves_the_density() {
    for engine in [EngineChoice::Dense, EngineChoice::Weight] {
        let (train, test) = (table(600, 1, growing), table(800, 2, growing));
        let data = Dataset::new(&train.0, &train.1).unwrap();
        let fit = |noise| {
            let mut config = config(noise);
            config.engine = engine;
            config.fit(&data).unwrap()
        };
        let (constant, varying) = (fit(Noise::Constant), fit(Noise::Columns));
        assert!(varying.noise_varies() && !constant.noise_varies());
        let (before, after) = (nlpd(&constant, &test), nlpd(&varying, &test));
        // With the true levels the gain is half the mean log of their ratio: about 0.13.
        assert!(after < before - 0.07, "{engine:?}: NLPD {before} and {after}");
        // The levels are those that the table was made with.
        let at = |value: f64| {
            let row = Matrix::from_fn(1, 3, |_, j| if j == 0 { value } else { 0.1 });
            varying.noise_std_at(&row).unwrap()[0]
        };
        for value in [-1.5, 0.0, 1.5] {
            let ratio = at(value) / growing(value);
            assert!((0.7..1.4).contains(&ratio), "{engine:?} at {value}: {ratio}");
        }
        assert!(varying.noise_relevance()[0] > 0.8, "{:?}", varying.noise_relevance());
        let (low, high) = varying.noise_std_range();
        assert!(low < 0.2 && high > 0.5, "{low} {high}");
    }
}

/// Where the noise is lower than the errors of a model with constant noise, its level is found from the
/// errors of a model that knows about it: from the first errors it is 5.6 times too high at one end.
#[test]
fn low_noise_is_found_beside_high_noise() {
    let steep = |x: f64| 0.3 * (1.5 * x).exp();
    let (x, y) = table(600, 3, steep);
    let model = config(Noise::Columns).fit(&Dataset::new(&x, &y).unwrap()).unwrap();
    for value in [-1.5, -0.75, 0.0, 0.75, 1.5] {
        let row = Matrix::from_fn(1, 3, |_, j| if j == 0 { value } else { 0.1 });
        let ratio = model.noise_std_at(&row).unwrap()[0] / steep(value);
        assert!((0.7..2.0).contains(&ratio), "at {value}: {ratio}");
    }
}

#[test]
fn constant_noise_stays_constant_or_costs_nothing() {
    for seed in 0..4 {
        let (train, test) = (table(200, 2 * seed, |_| 0.3), table(800, 2 * seed + 1, |_| 0.3));
        let data = Dataset::new(&train.0, &train.1).unwrap();
        let constant = config(Noise::Constant).fit(&data).unwrap();
        let varying = config(Noise::Columns).fit(&data).unwrap();
        let (before, after) = (nlpd(&constant, &test), nlpd(&varying, &test));
        assert!(after < before + 0.01, "seed {seed}: NLPD {before} and {after}");
    }
}

#[test]
fn files_updates_and_draws_keep_the_levels() {
    let (x, y) = table(200, 1, growing);
    for engine in [EngineChoice::Dense, EngineChoice::Weight] {
        let mut config = config(Noise::Columns);
        config.engine = engine;
        let model = config.fit(&Dataset::new(&x, &y).unwrap()).unwrap();
        assert!(model.noise_varies());
        let bytes = Model::to_bytes([&model]).unwrap();
        let loaded = Model::from_bytes(&bytes).unwrap().remove(0);
        assert_eq!(loaded.predict(&x).unwrap(), model.predict(&x).unwrap());
        assert_eq!(loaded.noise_std_at(&x).unwrap(), model.noise_std_at(&x).unwrap());
        assert_eq!(loaded.noise_relevance(), model.noise_relevance());
        // Rows that are removed and come back count as they did.
        let (x_some, y_some) = (x.gather(&(150..200).collect::<Vec<_>>()), &y[150..]);
        let some = Dataset::new(&x_some, y_some).unwrap();
        let mut changed = loaded.clone();
        changed.remove(&some).unwrap();
        let part = changed.shard(&some).unwrap();
        changed.merge(&[part]).unwrap();
        let gap = changed.log_marginal_likelihood() - model.log_marginal_likelihood();
        assert!(gap.abs() < 1e-6, "{gap}");
        // Observations of drawn functions spread as predictions do.
        let ends = Matrix::from_fn(2, 3, |i, j| if j == 0 { 3.0 * i as f64 - 1.5 } else { 0.0 });
        let drawn = model.functions(2_000, 1).unwrap().observe(&ends, 5).unwrap();
        let p = model.predict(&ends).unwrap();
        for i in 0..2 {
            let values: Vec<f64> = (0..drawn.rows()).map(|s| drawn[(s, i)]).collect();
            let spread = raysum::fitted::Standard::of(&values).std;
            assert!((spread / p.std()[i] - 1.0).abs() < 0.05, "{spread} and {:?}", p.std());
        }
        assert!(p.std()[1] > 2.0 * p.std()[0]);
        // A fit that starts from the model keeps its levels.
        let fit = Fit::new(&config).start_from(&model);
        let again = fit.condition(&Dataset::new(&x, &y).unwrap(), model.hyperparameters()).unwrap();
        let (a, b) = (again[0].predict(&x).unwrap(), model.predict(&x).unwrap());
        assert!(a.mean.iter().zip(&b.mean).all(|(a, b)| (a - b).abs() < 1e-9));
        assert_eq!(again[0].noise_std_range(), model.noise_std_range());
    }
}

#[test]
fn leave_one_out_has_the_noise_of_each_row() {
    let (x, y) = table(300, 1, growing);
    let data = Dataset::new(&x, &y).unwrap();
    let model = config(Noise::Columns).fit(&data).unwrap();
    let without = model.leave_one_out(&data).unwrap();
    let noise = model.noise_std_at(&x).unwrap();
    for (i, noise) in noise.iter().enumerate() {
        let of_noise = without.variance[i] - without.latent_variance[i];
        assert!((of_noise / noise.powi(2) - 1.0).abs() < 1e-6, "row {i}: {of_noise} and {noise}");
    }
}

#[test]
fn few_rows_several_targets_and_weights_are_fine() {
    let (x, y) = table(30, 1, growing);
    let few = config(Noise::Columns).fit(&Dataset::new(&x, &y).unwrap()).unwrap();
    assert!(!few.noise_varies());
    let (x, y) = table(300, 1, growing);
    let other: Vec<f64> = (0..300).map(|i| x[(i, 0)] + 0.1 * y[i]).collect();
    let data = Dataset::with_targets(&x, &[&y, &other]).unwrap();
    let config = config(Noise::Columns);
    let models = Fit::new(&config).run(&data).unwrap();
    assert!(models.len() == 2 && models[0].noise_varies());
    let message = Fit::new(&config).shared(true).run(&data).unwrap_err().to_string();
    assert_eq!(
        message,
        "the noise of rows belongs to one target: fit several targets one by one, with hyperparameters of their own"
    );
    // Files, and statistics of shards, know that the noise of one target varies and that of the other
    // does not.
    let calm: Vec<f64> = (0..300).map(|i| x[(i, 0)] + 0.01 * (i % 7) as f64).collect();
    let both = Dataset::with_targets(&x, &[&y, &calm]).unwrap();
    let few = x.gather(&[1, 2, 3]);
    for engine in [EngineChoice::Dense, EngineChoice::Neighbors, EngineChoice::Weight] {
        let config = with(config.clone(), |c| (c.engine, c.max_evaluations) = (engine, Some(15)));
        let models = Fit::new(&config).run(&both).unwrap();
        assert_eq!(models.iter().map(Model::noise_varies).collect::<Vec<_>>(), [true, false]);
        let loaded = Model::from_bytes(&Model::to_bytes(&models).unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shards");
        let shards: Vec<Shard> = models
            .iter()
            .enumerate()
            .map(|(k, model)| {
                let y = [both.targets()[k]].map(|y| &y[1..4]);
                model.shard(&Dataset::with_targets(&few, &y).unwrap()).unwrap()
            })
            .collect();
        Shard::save_all(&shards, &path).unwrap();
        let read = Shard::load_all(&path).unwrap();
        for (k, (model, again)) in models.iter().zip(&loaded).enumerate() {
            assert_eq!(again.predict(&x).unwrap(), model.predict(&x).unwrap(), "{engine:?} {k}");
            let merged = |shard: &Shard| {
                let mut model = model.clone();
                model.merge_repeated(std::slice::from_ref(shard)).unwrap();
                model.predict(&x).unwrap()
            };
            assert_eq!(merged(&read[k]), merged(&shards[k]), "{engine:?} {k}");
        }
    }
    // A common factor of all weights changes nothing.
    let fit = |factor: f64| {
        let weights: Vec<f64> = (0..300).map(|i| factor * (1.0 + f64::from(i % 3))).collect();
        let data = Dataset::new(&x, &y).unwrap().weighted(&weights).unwrap();
        config.fit(&data).unwrap().predict(&x).unwrap()
    };
    let (a, b) = (fit(1.0), fit(16.0));
    assert!(a.mean.iter().zip(&b.mean).all(|(a, b)| (a - b).abs() < 1e-9));
    assert!(a.std().iter().zip(&b.std()).all(|(a, b)| (a / b - 1.0).abs() < 1e-9));
}

#[test]
fn progress_covers_all_searches() {
    let (x, y) = table(200, 1, growing);
    let mut shares = Vec::new();
    let mut progress = |p: &raysum::progress::Progress| {
        shares.push(p.done);
        std::ops::ControlFlow::Continue(())
    };
    let config = config(Noise::Columns);
    Fit::new(&config).progress(&mut progress).run(&Dataset::new(&x, &y).unwrap()).unwrap();
    assert!(shares.is_sorted(), "{shares:?}");
    assert!(shares[0] < 0.34 && shares.iter().any(|s| (0.34..0.66).contains(s)));
    assert!(*shares.last().unwrap() > 0.67);
}
