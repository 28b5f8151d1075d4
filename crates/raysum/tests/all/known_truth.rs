//! Tables whose truth is known, on which a default must not be fooled: more columns than the rows can
//! tell apart, copies of rows, weights, columns of zeros and ones, targets of different noise.

use crate::common::with;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use raysum::metrics::{coverage, rmse};
use raysum::settings::Shrinkage;
use raysum::{Config, Dataset, Fit, Matrix, Model};

fn normals(seed: u64) -> impl FnMut() -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    move || StandardNormal.sample(&mut rng)
}

/// Rows to learn from and rows to test on.
struct Table {
    train: (Matrix, Vec<f64>),
    test: (Matrix, Vec<f64>),
}

impl Table {
    fn new(seed: u64, rows: usize, columns: usize, target: impl Fn(&[f64], f64) -> f64) -> Self {
        let mut normal = normals(seed);
        let mut make = |rows: usize| {
            let x = Matrix::from_fn(rows, columns, |_, _| normal());
            let y = (0..rows).map(|i| target(x.row(i), normal())).collect();
            (x, y)
        };
        Self { train: make(rows), test: make(500) }
    }

    /// y is the sum of the first five columns and noise.
    fn sum_of_five(seed: u64, rows: usize, columns: usize) -> Self {
        Self::new(seed, rows, columns, |x, noise| x[..5].iter().sum::<f64>() + 1.5 * noise)
    }

    fn data(&self) -> Dataset<'_> {
        Dataset::new(&self.train.0, &self.train.1).unwrap()
    }

    /// R² and the share of test rows inside 95 % intervals.
    fn score(&self, model: &Model) -> (f64, f64) {
        let (x, y) = &self.test;
        let p = model.predict(x).unwrap();
        let mean = y.iter().sum::<f64>() / y.len() as f64;
        let r2 = 1.0 - (rmse(y, &p.mean) / rmse(y, &vec![mean; y.len()])).powi(2);
        (r2, coverage(y, &p.mean, &p.variance, 0.95))
    }
}

fn fit(name: &str, data: &Dataset<'_>) -> Model {
    Config::preset(name).unwrap().fit(data).unwrap()
}

#[test]
fn many_columns_for_few_rows_are_no_trap() {
    // Ridge regression, its penalty chosen by cross-validation, has R² of about 0.55 and 0.4.
    for (rows, columns, least) in [(100, 30, 0.45), (100, 100, 0.3)] {
        let table = Table::sum_of_five(2, rows, columns);
        for name in ["dpa-ard", "rbf-ard", "gam"] {
            let model = fit(name, &table.data());
            let (r2, inside) = table.score(&model);
            assert!(r2 > least && inside > 0.88, "{name}, {rows} × {columns}: {r2} {inside}");
            assert!(model.report().shrinkage.is_some());
        }
    }
}

#[test]
fn the_paper_s_objective_stays_available() {
    let table = Table::sum_of_five(2, 60, 30);
    let config = Config::paper("rbf-ard").unwrap();
    let (_, inside) = table.score(&config.fit(&table.data()).unwrap());
    // It is what the paper has, and why the default is another one.
    assert!(inside < 0.88, "{inside}");
    let common = with(config, |c| c.shrinkage = Shrinkage::Width(0.0));
    let scales =
        common.fit(&table.data()).unwrap().hyperparameters().terms[0].column_length_scales.clone();
    assert!(scales.iter().all(|s| *s == scales[0]));
}

/// With the freedom that held-out rows favour, a search on all rows explains the noise by functions of 30
/// columns: a noise of 0.003 in place of 0.5, and 95 % intervals that hold 39 % of new rows.
#[test]
fn a_search_that_explains_noise_away_is_repeated_with_less_freedom() {
    let target = |x: &[f64], noise: f64| x[0] - x[1] + (2.0 * x[2]).sin() + 0.5 * noise;
    let table = Table::new(9, 60, 30, target);
    let model = fit("linear+gam", &table.data());
    let (r2, inside) = table.score(&model);
    assert!(r2 > 0.55 && inside > 0.9 && model.noise_std() > 0.1, "{r2} {inside}");
}

#[test]
fn noise_alone_is_told_as_noise() {
    let table = Table::new(3, 50, 100, |_, noise| noise);
    for name in ["dpa-ard", "rbf-ard", "gam"] {
        let (r2, inside) = table.score(&fit(name, &table.data()));
        assert!(r2 > -0.1 && (0.9..=0.99).contains(&inside), "{name}: {r2} {inside}");
    }
}

/// A smooth function of two of three columns.
fn smooth(x: &[f64], noise: f64) -> f64 {
    x[0].sin() + 0.5 * x[1] + noise
}

#[test]
fn a_row_of_weight_w_has_a_noise_variance_of_one_wth() {
    let mut table = Table::new(4, 400, 3, |x, _| smooth(x, 0.0));
    let truth = table.test.1.clone();
    let mut normal = normals(5);
    let weights: Vec<f64> = (0..400).map(|i| if i % 2 == 0 { 0.2 } else { 5.0 }).collect();
    for (y, w) in table.train.1.iter_mut().zip(&weights) {
        *y += 0.4 * normal() / w.sqrt();
    }
    let weighted = fit("dpa-ard", &table.data().weighted(&weights).unwrap());
    assert!((weighted.noise_std() / 0.4 - 1.0).abs() < 0.1, "{}", weighted.noise_std());
    let error = |model: &Model| rmse(&truth, &model.predict_mean(&table.test.0).unwrap());
    assert!(error(&weighted) < 0.7 * error(&fit("dpa-ard", &table.data())));
}

#[test]
fn a_common_factor_of_all_weights_changes_nothing_but_the_noise_of_weight_1() {
    let table = Table::new(6, 200, 3, |x, noise| smooth(x, 0.3 * noise));
    let plain = fit("dpa-ard", &table.data());
    let expected = plain.predict(&table.test.0).unwrap();
    for factor in [1e-300, 0.1, 2.0, 1e12, 1e300] {
        let weights = vec![factor; 200];
        let model = fit("dpa-ard", &table.data().weighted(&weights).unwrap());
        let found = model.predict(&table.test.0).unwrap();
        for (a, b) in [(&found.mean, &expected.mean), (&found.variance, &expected.variance)] {
            assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-3), "{factor}");
        }
        let ratio = model.noise_std() / plain.noise_std() / factor.sqrt();
        assert!((ratio - 1.0).abs() < 1e-3, "{factor}: {ratio}");
    }
}

#[test]
fn copies_of_rows_are_not_taken_for_a_lack_of_noise() {
    let table = Table::new(7, 200, 3, |x, noise| smooth(x, 0.5 * noise));
    let (r2, _) = table.score(&fit("dpa-ard", &table.data()));
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let drawn: Vec<usize> =
        (0..200).map(|_| rand::seq::index::sample(&mut rng, 200, 1).index(0)).collect();
    for rows in [drawn, (0..600).map(|i| i % 200).collect()] {
        let (x, y) = (
            table.train.0.gather(&rows),
            rows.iter().map(|i| table.train.1[*i]).collect::<Vec<_>>(),
        );
        for name in ["dpa-ard", "rbf-ard", "gam"] {
            let (found, inside) = table.score(&fit(name, &Dataset::new(&x, &y).unwrap()));
            assert!(
                found > r2 - 0.08 && inside > 0.9,
                "{name}, {} rows: {found} {inside}",
                rows.len()
            );
        }
    }
}

#[test]
fn copies_in_many_rows_are_noticed_too() {
    // More rows than are sorted for a search.
    let table = Table::new(9, 6_000, 2, |x, noise| smooth(x, 0.5 * noise));
    let twice: Vec<usize> = (0..12_000).map(|i| i % 6_000).collect();
    let (x, y) =
        (table.train.0.gather(&twice), twice.iter().map(|i| table.train.1[*i]).collect::<Vec<_>>());
    let model = fit("gam", &Dataset::new(&x, &y).unwrap());
    let once = fit("gam", &table.data());
    // Without weights the noise is that of an observation, however often it was written down.
    let ratio = model.noise_std() / once.noise_std();
    assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
    let gap = (model.log_marginal_likelihood() - once.log_marginal_likelihood()).abs();
    assert!(gap < 1.0, "{gap}");
    let ((a, inside), (b, _)) = (table.score(&model), table.score(&once));
    assert!((a - b).abs() < 0.01 && (inside - 0.95).abs() < 0.03, "{a} {b} {inside}");
}

#[test]
fn yes_and_no_in_few_cells_are_counted_one_by_one() {
    // 5,000 rows in eight cells; each has its own share of ones.
    let share = |x: &[f64]| 0.1 + 0.08 * (x[0] + 2.0 * x[1] + 4.0 * x[2]);
    let mut normal = normals(10);
    let x = Matrix::from_fn(5_000, 3, |_, _| f64::from(u8::from(normal() > 0.0)));
    // About the normal distribution's own quantile.
    let quantile = |p: f64| 2.6 * (p - 0.5);
    let y: Vec<f64> =
        (0..5_000).map(|i| f64::from(u8::from(normal() < quantile(share(x.row(i)))))).collect();
    let cells = Matrix::from_fn(8, 3, |i, c| f64::from(u8::from(i >> c & 1 == 1)));
    let p = fit("rbf-ard", &Dataset::new(&x, &y).unwrap()).predict(&cells).unwrap();
    for cell in 0..8 {
        let own: Vec<f64> =
            (0..5_000).filter(|i| x.row(*i) == cells.row(cell)).map(|i| y[i]).collect();
        let average = own.iter().sum::<f64>() / own.len() as f64;
        assert!((p.mean[cell] - average).abs() < 0.02, "{} {average}", p.mean[cell]);
        assert!(p.latent_variance[cell].sqrt() < 0.03);
    }
}

#[test]
fn relevance_is_what_a_column_does_to_predictions() {
    // The first column is 0 or 1 and explains 98 % of the variance.
    let mut normal = normals(11);
    let x = Matrix::from_fn(500, 2, |_, c| {
        if c == 0 { f64::from(u8::from(normal() > 0.0)) } else { normal() }
    });
    let y: Vec<f64> = (0..500)
        .map(|i| 5.0 * x[(i, 0)] + 0.5 * (8.0 * x[(i, 1)]).sin() + 0.05 * normal())
        .collect();
    for name in ["gam", "dpa-ard", "rbf-ard"] {
        let model = fit(name, &Dataset::new(&x, &y).unwrap());
        let relevance = model.relevance();
        assert!(
            (relevance[0] - 0.98).abs() < 0.01 && relevance[1] > 0.005,
            "{name}: {relevance:?}"
        );
        assert!((relevance.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}

#[test]
fn a_category_s_columns_have_one_relevance() {
    let mut normal = normals(12);
    let kind: Vec<usize> = (0..300).map(|i| i * 7 % 3).collect();
    // Three columns of a category between two numbers.
    let x = Matrix::from_fn(300, 5, |i, c| match c {
        1..=3 => f64::from(u8::from(kind[i] == c - 1)),
        _ => normal(),
    });
    let effect = [-2.0, 0.0, 2.0];
    let y: Vec<f64> = (0..300).map(|i| effect[kind[i]] + x[(i, 4)] + 0.1 * normal()).collect();
    let groups = [0, 1, 1, 1, 2];
    let data = Dataset::new(&x, &y).unwrap().grouped(&groups).unwrap();
    for name in ["gam", "dpa-ard", "rbf-ard"] {
        let model = fit(name, &data);
        let relevance = model.relevance();
        // The variance of the category's effect is 8/3, that of the last column 1.
        let expected = [0.0, 8.0 / 11.0, 3.0 / 11.0];
        assert!(relevance.len() == 3 && model.ranking() == [1, 2, 0]);
        assert!(
            relevance.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.06),
            "{name}: {relevance:?}"
        );
    }
    for bad in [&[0, 1, 1, 1][..], &[1, 1, 1, 1, 2], &[0, 2, 2, 2, 3], &[0, 1, 0, 1, 2]] {
        assert!(Dataset::new(&x, &y).unwrap().grouped(bad).is_err());
    }
}

#[test]
fn targets_of_different_noise_have_intervals_of_their_own() {
    let mut normal = normals(13);
    let mut make = |rows: usize| {
        let x = Matrix::from_fn(rows, 4, |_, _| normal());
        let f = |i: usize| x[(i, 0)].sin() + x[(i, 1)];
        let y: [Vec<f64>; 3] = [
            (0..rows).map(|i| f(i) + 0.05 * normal()).collect(),
            (0..rows).map(|i| f(i) + normal()).collect(),
            (0..rows).map(|i| x[(i, 2)] + 0.3 * normal()).collect(),
        ];
        (x, y)
    };
    let ((x, y), (new, truth)) = (make(300), make(500));
    let targets = [&y[0][..], &y[1], &y[2]];
    let data = Dataset::with_targets(&x, &targets).unwrap();
    let inside = |shared: bool| -> Vec<f64> {
        let models = Fit::new(&Config::default()).shared(shared).run(&data).unwrap();
        let predictions = models.iter().map(|model| model.predict(&new).unwrap());
        let pairs = predictions.zip(&truth);
        pairs.map(|(p, truth)| coverage(truth, &p.mean, &p.variance, 0.95)).collect()
    };
    let own = inside(false);
    assert!(own.iter().all(|share| (share - 0.95).abs() < 0.035), "{own:?}");
    let shared = inside(true);
    assert!(shared.iter().any(|share| (share - 0.95).abs() > 0.04), "{shared:?}");
}

#[test]
fn rows_outside_the_training_range_are_told_by_their_distance() {
    let x = Matrix::from_fn(50, 2, |i, c| if c == 0 { i as f64 } else { 3.0 });
    let y: Vec<f64> = (0..50).map(|i| f64::from(i).sqrt()).collect();
    let model = fit("gam", &Dataset::new(&x, &y).unwrap());
    let std = model.column_scales()[0].std;
    let new =
        Matrix::from_row_major(4, 2, vec![20.0, 3.0, 98.0, 3.0, -5.0, 3.0, 20.0, 9.0]).unwrap();
    let found = model.extrapolation(&new).unwrap();
    for (found, expected) in found.iter().zip([0.0, 49.0 / std, 5.0 / std, 0.0]) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }
}
