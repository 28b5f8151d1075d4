//! Stacks on tables whose truth is known: errors about as low as can be, intervals that hold what they
//! say, and reported scores that new rows confirm.

use crate::common::normals;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StudentT};
use raysum::metrics::rmse;
use raysum::{Config, Dataset, Effort, Matrix, Prediction, Stack, StackFit};

/// Rows with normal columns.
fn rows(
    rows: usize,
    columns: usize,
    seed: u64,
    mut target: impl FnMut(&[f64], f64) -> f64,
) -> (Matrix, Vec<f64>) {
    let mut normal = normals(seed, 0);
    let x = Matrix::from_fn(rows, columns, |_, _| normal());
    let y = (0..rows).map(|i| target(x.row(i), normal())).collect();
    (x, y)
}

fn auto(effort: Effort, (x, y): &(Matrix, Vec<f64>)) -> Stack {
    StackFit::auto(effort).run(&Dataset::new(x, y).unwrap()).unwrap().remove(0)
}

/// The standard deviation around the mean.
fn spread(y: &[f64]) -> f64 {
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    rmse(y, &vec![mean; y.len()])
}

/// The share of rows inside 95 % intervals.
fn inside(y: &[f64], p: &Prediction) -> f64 {
    let (lower, upper) = p.interval(0.95).unwrap();
    let within = |i: &usize| (lower[*i]..=upper[*i]).contains(&y[*i]);
    (0..y.len()).filter(within).count() as f64 / y.len() as f64
}

#[test]
fn wide_tables_are_no_trap() {
    let sum_of_five = |x: &[f64], noise: f64| x[..5].iter().sum::<f64>() + 1.5 * noise;
    for columns in [30, 100] {
        let (mut own, mut of_ridge, mut covered) = (0.0, 0.0, 0.0);
        for seed in 0..3 {
            let train = rows(100, columns, seed, sum_of_five);
            let (x, y) = rows(500, columns, seed + 100, sum_of_five);
            let r2 = |mean: &[f64]| 1.0 - (rmse(&y, mean) / spread(&y)).powi(2);
            let p = auto(Effort::Quick, &train).predict(&x).unwrap();
            let ridge = Config::preset("linear").unwrap();
            let ridge = ridge.fit(&Dataset::new(&train.0, &train.1).unwrap()).unwrap();
            own += r2(&p.mean) / 3.0;
            of_ridge += r2(&ridge.predict_mean(&x).unwrap()) / 3.0;
            covered += inside(&y, &p) / 3.0;
        }
        assert!(own > of_ridge - 0.05, "{columns} columns: {own}, and ridge regression {of_ridge}");
        assert!(covered > 0.88, "{columns} columns: {covered}");
    }
}

#[test]
fn the_scores_of_pure_noise_do_not_lie() {
    let noise = |_: &[f64], noise: f64| 20.0 + 3.0 * noise;
    let train = rows(150, 200, 1, noise);
    let stack = auto(Effort::Normal, &train);
    let found = stack.held_out().unwrap();
    // Scores are in standard deviations of the target.
    assert!(found.scores.rmse >= 0.97, "{:?}", found.scores);
    let (x, y) = rows(1000, 200, 2, noise);
    let p = stack.predict(&x).unwrap();
    let (reported, real) = (found.scores.in_units(found.unit).rmse, rmse(&y, &p.mean));
    assert!((reported / real - 1.0).abs() < 0.1, "{reported}, but {real}");
    assert!((inside(&y, &p) - found.scores.coverage95).abs() < 0.05, "{:?}", found.scores);
}

#[test]
fn noise_is_left_to_a_constant() {
    let noise = |_: &[f64], noise: f64| noise;
    let (mut own, mut constant, mut shares) = (0.0, 0.0, 0.0);
    for seed in 0..4 {
        let stack = auto(Effort::Normal, &rows(40, 4, seed, noise));
        let (x, y) = rows(500, 4, seed + 100, noise);
        own += rmse(&y, &stack.predict_mean(&x).unwrap());
        constant += spread(&y);
        let constants = stack.members().iter().filter(|m| m.name == "constant");
        shares += constants.map(|m| m.share.mean).sum::<f64>();
    }
    assert!(own < 1.06 * constant, "{own}, and a constant {constant}");
    assert!(shares > 1.0, "{shares}");
}

#[test]
fn a_typo_in_a_column_spoils_little() {
    let target = |x: &[f64], noise: f64| x[0] + (2.0 * x[1]).sin() + 0.3 * noise;
    let (mut x, y) = rows(150, 3, 4, target);
    let (new, truth) = rows(500, 3, 5, target);
    let error = |x: &Matrix| {
        let stack = auto(Effort::Normal, &(x.clone(), y.clone()));
        rmse(&truth, &stack.predict_mean(&new).unwrap())
    };
    let clean = error(&x);
    x.row_mut(7)[0] = 1e6;
    let typo = error(&x);
    assert!(clean < 0.4 && typo < 1.2 * clean, "{clean}, with a typo {typo}");
}

#[test]
fn products_of_skewed_columns_go_on_beyond_the_rows() {
    let skewed = |seed| {
        let (mut x, y) = rows(150, 3, seed, |x, noise| (x[0] + x[1] + 0.1 * noise).exp());
        x.as_mut_slice().iter_mut().for_each(|value| *value = value.exp());
        (x, y)
    };
    let stack = auto(Effort::Normal, &skewed(3));
    let (x, y) = skewed(4);
    let p = stack.predict(&x).unwrap();
    assert!(rmse(&y, &p.mean) < 0.5 * spread(&y), "{} {}", rmse(&y, &p.mean), spread(&y));
    // The mean lies inside its own interval.
    let (lower, upper) = p.interval(0.95).unwrap();
    let outside = (0..150).filter(|i| !(lower[*i]..=upper[*i]).contains(&p.mean[*i])).count();
    assert!(outside <= 2, "{outside}");
    // Twice as far as any row, and four times.
    let most = (0..150).map(|i| skewed(3).0[(i, 0)]).fold(0.0, f64::max);
    for times in [2.0, 4.0] {
        let far = Matrix::from_fn(1, 3, |_, j| if j == 0 { times * most } else { 1.0 });
        let mean = stack.predict_mean(&far).unwrap()[0];
        assert!(
            (0.2..5.0).contains(&(mean / (times * most))),
            "{times}: {mean}, not {}",
            times * most
        );
    }
}

#[test]
fn two_levels_have_intervals_of_their_size() {
    let target = |x: &[f64], noise: f64| f64::from(u8::from(x[0] + 0.5 * noise > 1.8));
    let train = rows(80, 4, 6, target);
    let ones: f64 = train.1.iter().sum();
    assert!((2.0..8.0).contains(&ones), "{ones}");
    let (x, y) = rows(500, 4, 7, target);
    let p = auto(Effort::Normal, &train).predict(&x).unwrap();
    let (lower, upper) = p.interval(0.95).unwrap();
    let width = lower.iter().zip(&upper).map(|(low, high)| high - low).sum::<f64>() / 500.0;
    assert!(width < 2.0 && inside(&y, &p) > 0.9, "{width} {}", inside(&y, &p));
    assert!(rmse(&y, &p.mean) < spread(&y));
}

#[test]
fn intervals_hold_under_heavy_tails() {
    let tails = StudentT::new(3.0).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut target = |x: &[f64], _: f64| x[0] + (2.0 * x[1]).sin() + 0.5 * tails.sample(&mut rng);
    let train = rows(400, 3, 3, &mut target);
    let (x, y) = rows(2000, 3, 4, &mut target);
    let stack = auto(Effort::Quick, &train);
    let p = stack.predict(&x).unwrap();
    let covered = inside(&y, &p);
    assert!((0.92..=0.98).contains(&covered), "{covered}");
    // Tails are heavier than normal ones, and the middle is narrower.
    let calibration = stack.calibration().unwrap();
    assert!(calibration.widening(0.99) > calibration.widening(0.5));
}

#[test]
fn a_smooth_function_without_noise_is_found() {
    let smooth = |x: &[f64], _: f64| (1.5 * x[0]).sin() + 0.5 * x[1] * x[1];
    let train = rows(200, 2, 6, smooth);
    let (x, y) = rows(500, 2, 7, smooth);
    let stack = auto(Effort::Normal, &train);
    let p = stack.predict(&x).unwrap();
    let error = rmse(&y, &p.mean) / spread(&y);
    assert!(error < 0.06, "{error}");
    let covered = inside(&y, &p);
    assert!(covered > 0.88, "{covered}");
    assert!(stack.held_out().unwrap().scores.rmse < 0.2, "{:?}", stack.held_out());
}

#[test]
fn a_straight_line_goes_on_beyond_the_rows() {
    let line = |x: &[f64], noise: f64| 2.0 * x[0] - x[1] + 0.3 * noise;
    let train = rows(120, 3, 3, line);
    let stack = auto(Effort::Normal, &train);
    // Ridge regression predicts held-out rows as well as any mixture, so the mean is its own.
    let share = |name: &str| stack.members().iter().find(|m| m.name == name).map(|m| m.share);
    assert_eq!(share("linear").unwrap().mean, 1.0, "{:?}", stack.members());
    let spread: f64 = stack.members().iter().map(|m| m.share.spread).sum();
    assert!((spread - 1.0).abs() < 1e-12, "{spread}");
    let (near, noise) = rows(300, 3, 4, |_, noise| 0.3 * noise);
    let x = Matrix::from_fn(300, 3, |i, j| near[(i, j)] + 8.0);
    let y: Vec<f64> = (0..300).map(|i| line(x.row(i), 0.0) + noise[i]).collect();
    let p = stack.predict(&x).unwrap();
    assert!(rmse(&y, &p.mean) < 0.5, "{}", rmse(&y, &p.mean));
    assert!(inside(&y, &p) > 0.93, "{}", inside(&y, &p));
}
