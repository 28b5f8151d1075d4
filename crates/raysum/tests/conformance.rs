//! One suite that every engine passes: the same likelihood, gradient and predictions.

use rand_distr::{Distribution, StandardNormal};
use raysum::engine::dense::Dense;
use raysum::engine::weight::{Use, Weight};
use raysum::engine::{AdditiveKernel, Engine, Evaluation, Posterior, Prior};
use raysum::rng::{Purpose, stream};
use raysum::{
    Config, Dataset, Directions, EngineChoice, Matrix, Projections, Scaler, StandardRows, SubKernel,
};

/// A data set that is standardised already, and a prior to look at it with.
struct Case {
    name: String,
    x: Matrix,
    y: Vec<f64>,
    prior: Prior,
    /// Rows near the data, rows at its edge and beyond, rows 20 length-scales outside.
    inside: Matrix,
    edge: Matrix,
    far: Matrix,
}

fn normal(rng: &mut impl rand::Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// Smooth targets over `d` columns; every 97th row is six times as far out.
fn case(name: &str, n: usize, d: usize, kernel: SubKernel, degrees: &[usize], seed: u64) -> Case {
    let mut rng = stream(seed, Purpose::Samples, 1);
    let x = Matrix::from_fn(n, d, |i, _| normal(&mut rng) * if i % 97 == 5 { 6.0 } else { 1.0 });
    let y: Vec<f64> = (0..n)
        .map(|i| {
            (x[(i, 0)] + x[(i, 1)]).sin() + 0.5 * x[(i, d - 1)].tanh() + 0.1 * normal(&mut rng)
        })
        .collect();
    let rows: usize = degrees.iter().sum();
    let kind = if rows > d { Directions::Diverse } else { Directions::Gaussian };
    let p = Projections::choose(kind, degrees, d, seed).unwrap();
    let mut scale = || (0.4 + 0.3 * normal(&mut rng)).exp();
    let scales: Vec<f64> = (0..d).map(|_| scale()).collect();
    let views = Matrix::from_fn(rows, d, |r, c| p.matrix()[(r, c)] / scales[c]);
    let j = degrees.len();
    let prior = Prior {
        kernel: AdditiveKernel {
            sub_kernel: kernel,
            degrees: degrees.to_vec(),
            views,
            variances: (0..j).map(|k| 1.3 / j as f64 * (1.0 + 0.02 * k as f64)).collect(),
        },
        noise_variance: 0.02,
        mean: 0.05,
    };
    let move_rows = |rows: std::ops::Range<usize>, f: &dyn Fn(f64) -> f64| {
        let start = rows.start;
        Matrix::from_fn(rows.len(), d, |i, j| f(x[(start + i, j)]))
    };
    let inside = move_rows(20..60, &|v| v + 0.05);
    let edge = move_rows(0..10, &|v| 2.5 * v);
    let far = move_rows(10..14, &|v| v.signum() * 1e4);
    Case { name: name.into(), x, y, prior, inside, edge, far }
}

/// The same with length-scales four times as long, and the noise that this leaves.
fn smoother(mut case: Case) -> Case {
    case.prior.noise_variance = 0.3;
    case.prior.kernel.views.as_mut_slice().iter_mut().for_each(|w| *w /= 4.0);
    case
}

fn cases() -> Vec<Case> {
    let ones = |j: usize| vec![1; j];
    vec![
        case("dpa-ard", 700, 6, SubKernel::Rbf, &ones(20), 1),
        case("gam", 300, 5, SubKernel::Rbf, &ones(5), 2),
        case("single", 200, 4, SubKernel::Rbf, &ones(1), 3),
        case("many rows", 3000, 6, SubKernel::Rbf, &ones(12), 4),
        case("imq", 800, 4, SubKernel::Imq, &ones(8), 5),
        case("cosine", 300, 4, SubKernel::Cosine, &ones(8), 6),
        case("matern52", 1500, 3, SubKernel::Matern52, &ones(4), 7),
        case("rpa-2", 1200, 5, SubKernel::Rbf, &[1, 1, 2, 2], 8),
        smoother(case("degree 3", 1500, 4, SubKernel::Rbf, &[1, 3], 9)),
    ]
}

impl Case {
    fn scaler(&self) -> Scaler {
        // The engines take standardised rows; these are taken as they are.
        let mut scaler = Scaler::fit((&self.x).into(), &self.y);
        for column in &mut scaler.x {
            (column.mean, column.std) = (0.0, 1.0);
        }
        scaler
    }

    fn dense(&self) -> Dense {
        Dense::new(self.x.clone(), self.y.clone())
    }

    fn weight(&self) -> Weight<'_> {
        Weight::new(StandardRows::new((&self.x).into(), &self.scaler()), self.y.clone())
    }
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

fn std(variance: &[f64]) -> Vec<f64> {
    variance.iter().map(|v| v.sqrt()).collect()
}

#[test]
fn likelihoods_agree_to_a_thousandth_of_a_nat() {
    for case in cases() {
        let (dense, _) = case.dense().posterior(&case.prior).unwrap();
        let (weight, posterior) = case.weight().posterior(&case.prior).unwrap();
        let p = posterior.features().unwrap();
        assert!((dense - weight).abs() < 1e-3, "{}: {dense} and {weight} (p = {p})", case.name);
        // The search makes do with fewer features than predictions need.
        let e = case.weight().evaluate(&case.prior).unwrap();
        let gap = (dense - e.log_marginal_likelihood).abs();
        assert!(gap < 1e-3, "{}: off by {gap} in the search", case.name);
    }
}

#[test]
fn predictions_agree_inside_at_the_edge_and_far_away() {
    for case in cases() {
        let (_, dense) = case.dense().posterior(&case.prior).unwrap();
        let (_, weight) = case.weight().posterior(&case.prior).unwrap();
        for (place, x, mean, deviation) in [
            ("inside", &case.inside, 1e-5, 1e-4),
            ("at the edge", &case.edge, 1e-3, 1e-3),
            ("far away", &case.far, 1e-3, 1e-3),
        ] {
            let (a, b) = (dense.marginals(&case.prior, x), weight.marginals(&case.prior, x));
            let gap = largest_difference(&a.mean, &b.mean);
            assert!(gap < mean, "{} {place}: means differ by {gap}", case.name);
            let gap = largest_difference(&std(&a.variance), &std(&b.variance));
            assert!(gap < deviation, "{} {place}: deviations differ by {gap}", case.name);
        }
        if case.prior.kernel.sub_kernel != SubKernel::Cosine {
            let far = weight.marginals(&case.prior, &case.far);
            for (m, v) in far.mean.iter().zip(&far.variance) {
                let total = case.prior.kernel.total_variance();
                assert!((v - total).abs() < 2e-3 * total, "{}: {v} of {total}", case.name);
                assert!((m - case.prior.mean).abs() < 5e-3, "{}: mean {m}", case.name);
            }
        }
    }
}

fn compare(case: &Case, a: &dyn Posterior, b: &dyn Posterior) {
    let prior = &case.prior;
    let (mean_a, covariance_a) = a.joint(prior, &case.inside);
    let (mean_b, covariance_b) = b.joint(prior, &case.inside);
    assert!(largest_difference(&mean_a, &mean_b) < 1e-5, "{}", case.name);
    let gap = largest_difference(covariance_a.as_slice(), covariance_b.as_slice());
    assert!(gap < 1e-5, "{}: covariances differ by {gap}", case.name);
    for (f, g) in a.components(prior, &case.inside).iter().zip(b.components(prior, &case.inside)) {
        let gap = largest_difference(&f.mean, &g.mean);
        assert!(gap < 1e-4, "{}: components differ by {gap}", case.name);
        let gap = largest_difference(&std(&f.variance), &std(&g.variance));
        assert!(gap < 1e-4, "{}: their deviations differ by {gap}", case.name);
    }
    let (s, t) = (a.mean_slopes(prior, &case.inside), b.mean_slopes(prior, &case.inside));
    let gap = largest_difference(s.as_slice(), t.as_slice());
    assert!(gap < 1e-4, "{}: slopes differ by {gap}", case.name);
    for (place, x) in [("inside", &case.inside), ("at the edge", &case.edge), ("far", &case.far)] {
        let (s, t) = (a.variance_slopes(prior, x), b.variance_slopes(prior, x));
        let gap = largest_difference(s.as_slice(), t.as_slice());
        assert!(gap < 1e-3, "{} {place}: slopes of the variance differ by {gap}", case.name);
    }
    let f = a.leave_one_out(prior, &case.x, &case.y.clone().into()).unwrap();
    let g = b.leave_one_out(prior, &case.x, &case.y.clone().into()).unwrap();
    let gap = largest_difference(&f.mean, &g.mean);
    // A far outlier that is left out is predicted from outside the data.
    assert!(gap < 1e-3, "{}: leave-one-out means differ by {gap}", case.name);
    let gap = largest_difference(&std(&f.variance), &std(&g.variance));
    assert!(gap < 1e-3, "{}: leave-one-out deviations differ by {gap}", case.name);
}

#[test]
fn covariances_components_slopes_and_leave_one_out_agree() {
    for case in cases() {
        let (_, dense) = case.dense().posterior(&case.prior).unwrap();
        let (_, weight) = case.weight().posterior(&case.prior).unwrap();
        compare(&case, dense.as_ref(), weight.as_ref());
    }
}

/// All derivatives in one list, those of the views by their rows.
fn gradient(e: &Evaluation) -> Vec<f64> {
    let mut all = e.views.as_slice().to_vec();
    all.extend(&e.variances);
    all.extend([e.noise_variance, e.mean]);
    all
}

#[test]
fn gradients_agree() {
    for case in cases() {
        let a = gradient(&case.dense().evaluate(&case.prior).unwrap());
        let b = gradient(&case.weight().evaluate(&case.prior).unwrap());
        let size = a.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let gap = largest_difference(&a, &b) / size;
        assert!(gap < 1e-5, "{}: {gap}", case.name);
    }
}

#[test]
fn the_weight_engine_s_gradient_matches_its_own_differences() {
    let mut some: Vec<Case> = cases().into_iter().filter(|c| c.x.rows() <= 1200).collect();
    // Enough rows for several blocks of them.
    some.push(case("many blocks", 20_000, 3, SubKernel::Rbf, &[1; 3], 15));
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
        check("view", e.views[(0, 1)], 1.0, &|p, h| p.kernel.views[(0, 1)] += h);
        let last = case.prior.kernel.views.rows() - 1;
        check("last view", e.views[(last, 0)], 1.0, &|p, h| p.kernel.views[(last, 0)] += h);
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
    let (p, q) = (before.features().unwrap(), after.features().unwrap());
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
    let expected = whole.statistics(&map, &case.prior);
    // Seven random shards, merged in a random order.
    let mut shards = vec![Vec::new(); 7];
    for i in 0..2000 {
        shards[(i * 7919 + i / 3) % 7].push(i);
    }
    let mut merged = raysum::engine::weight::Statistics::new(map.len(), 1);
    for shard in [3, 0, 6, 1, 5, 2, 4] {
        let x = case.x.gather(&shards[shard]);
        let y: Vec<f64> = shards[shard].iter().map(|&i| case.y[i]).collect();
        let part = Weight::new(StandardRows::new((&x).into(), &scaler), y);
        merged.merge(&part.statistics(&map, &case.prior)).unwrap();
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
    let back: raysum::engine::weight::Statistics = serde_json::from_str(&json).unwrap();
    assert_eq!(back, merged);
}

#[test]
fn fits_that_start_equal_end_equal() {
    let case = case("fits", 500, 5, SubKernel::Rbf, &[1; 20], 13);
    let (train, test): (Vec<usize>, Vec<usize>) = (0..500).partition(|i| i % 5 > 0);
    let pick = |rows: &[usize]| rows.iter().map(|&i| case.y[i]).collect::<Vec<f64>>();
    let (x, y) = (case.x.gather(&train), pick(&train));
    let fit = |engine: EngineChoice, preset: &str| {
        let config = Config { engine, ..Config::preset(preset).unwrap() };
        let model = config.fit(&Dataset::new(&x, &y).unwrap()).unwrap();
        let p = model.predict(&case.x.gather(&test)).unwrap();
        (raysum::metrics::rmse(&pick(&test), &p.mean), model.log_marginal_likelihood())
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
}

#[test]
fn what_cannot_be_done_on_all_rows_is_said_before_the_search() {
    let x = Matrix::from_fn(31_000, 5, |i, j| ((i * 7919 + j * 104_729) % 10_007) as f64);
    let y: Vec<f64> = (0..31_000).map(|i| f64::from(i % 13)).collect();
    let data = Dataset::new(&x, &y).unwrap();
    let rough = Config { kernel: SubKernel::Matern12, ..Config::preset("dpa-ard").unwrap() };
    let e = rough.fit(&data).map(drop).unwrap_err().to_string();
    assert!(e.contains("too rough"), "{e}");
    let e = Config::preset("rbf-ard").unwrap().fit(&data).map(drop).unwrap_err().to_string();
    assert!(e.contains("31000 rows are too many"), "{e}");
}
