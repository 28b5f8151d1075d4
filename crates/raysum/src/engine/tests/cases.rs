//! Data, priors and engines that the suites of the engines share.
use crate::data::Matrix;
use crate::engine::dense::Dense;
use crate::engine::neighbors::{Neighbors, NeighborsOptions};
use crate::engine::ski::{Ski, SkiOptions};
use crate::engine::weight::Weight;
use crate::engine::{AdditiveKernel, Evaluation, Observations, Posterior, Prior};
use crate::kernel::Shape;
use crate::kernel::SubKernel;
use crate::project::{Directions, Projections};
use crate::rng::{Purpose, stream};
use crate::scale::{Scaler, StandardRows};
use crate::views::Views;
use rand_distr::{Distribution, StandardNormal};

/// A data set that is standardised already, and a prior to look at it with.
pub(super) struct Case {
    pub name: String,
    pub x: Matrix,
    pub y: Vec<f64>,
    pub prior: Prior,
    /// Rows near the data, rows at its edge and beyond, rows 20 length-scales outside.
    pub inside: Matrix,
    pub edge: Matrix,
    pub far: Matrix,
}

pub(super) fn normal(rng: &mut impl rand::Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// Smooth targets over `d` columns; every 97th row is six times as far out.
pub(super) fn case(
    name: &str,
    n: usize,
    d: usize,
    kernel: SubKernel,
    degrees: &[usize],
    seed: u64,
) -> Case {
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
    let views = p.views().map(|_, c, w| w / scales[c]);
    let j = degrees.len();
    let prior = Prior {
        kernel: AdditiveKernel {
            shapes: vec![kernel.into(); j],
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

/// The same with longer length-scales, which make grids in many dimensions smaller, and the noise that this
/// leaves.
pub(super) fn smoother(mut case: Case, times: f64, noise_variance: f64) -> Case {
    case.prior.noise_variance = noise_variance;
    case.prior.kernel.views.weights_mut().iter_mut().for_each(|w| *w /= times);
    case
}

/// The same with views along the axes, of half the weights.
pub(super) fn on_axes(mut case: Case) -> Case {
    let views = &mut case.prior.kernel.views;
    *views = Views::axes(views.rows(), views.columns()).map(|r, _, w| 0.5 * w / (1.0 + r as f64));
    case
}

/// The same with the sub-kernels of another prior added.
pub(super) fn plus(mut case: Case, other: AdditiveKernel) -> Case {
    let kernel = &mut case.prior.kernel;
    kernel.views = Views::stacked([kernel.views.clone(), other.views]);
    kernel.shapes.extend(other.shapes);
    kernel.degrees.extend(other.degrees);
    kernel.variances.extend(other.variances);
    case
}

/// The linear kernel over d columns.
pub(super) fn line(d: usize) -> AdditiveKernel {
    AdditiveKernel {
        shapes: vec![Shape::Linear; d],
        degrees: vec![1; d],
        views: Views::axes(d, d),
        variances: vec![0.7 / d as f64; d],
    }
}

/// Cases with lines, beside those that every engine takes.
pub(super) fn cases_with_lines() -> Vec<Case> {
    let ones = |j: usize| vec![1; j];
    let mut alone = case("linear", 400, 5, SubKernel::Rbf, &ones(1), 10);
    alone.prior.kernel = line(5);
    let first = case("linear first", 500, 4, SubKernel::Rbf, &ones(6), 12);
    let own = first.prior.kernel.clone();
    let mut alone_again = first;
    alone_again.prior.kernel = line(4);
    let mut all = cases();
    all.extend([
        alone,
        plus(alone_again, own),
        plus(case("with a line", 300, 6, SubKernel::Matern52, &ones(7), 11), line(6)),
    ]);
    all
}

pub(super) fn cases() -> Vec<Case> {
    let ones = |j: usize| vec![1; j];
    let axes = on_axes(case("", 900, 5, SubKernel::Matern52, &ones(5), 16)).prior.kernel;
    vec![
        plus(case("two kernels", 900, 5, SubKernel::Rbf, &ones(7), 16), axes),
        case("dpa-ard", 400, 6, SubKernel::Rbf, &ones(20), 1),
        on_axes(case("gam", 300, 5, SubKernel::Rbf, &ones(5), 2)),
        case("single", 200, 4, SubKernel::Rbf, &ones(1), 3),
        // More rows than one block of them has.
        case("many rows", 1100, 6, SubKernel::Rbf, &ones(12), 4),
        case("imq", 500, 4, SubKernel::Imq, &ones(8), 5),
        case("cosine", 300, 4, SubKernel::Cosine, &ones(8), 6),
        case("matern52", 600, 3, SubKernel::Matern52, &ones(4), 7),
        smoother(case("rpa-2", 500, 5, SubKernel::Rbf, &[1, 1, 2, 2], 8), 2.0, 0.1),
        smoother(case("degree 3", 500, 4, SubKernel::Rbf, &[1, 3], 9), 6.0, 0.3),
    ]
}

impl Case {
    pub(super) fn scaler(&self) -> Scaler {
        // The engines take standardised rows; these are taken as they are.
        let mut scaler = Scaler::fit((&self.x).into(), &self.y).unwrap();
        for column in &mut scaler.x {
            (column.mean, column.std) = (0.0, 1.0);
        }
        scaler
    }

    pub(super) fn dense(&self) -> Dense {
        Dense::new(self.x.clone(), self.y.clone())
    }

    pub(super) fn weight(&self) -> Weight<'_> {
        Weight::new(
            StandardRows::new((&self.x).into(), &self.scaler()),
            Observations::from(self.y.clone()),
        )
    }

    /// With this number of neighbours, of training rows and of new ones.
    pub(super) fn neighbors(&self, count: usize) -> Neighbors<'_> {
        let options = NeighborsOptions { neighbors: count, prediction_neighbors: count };
        let rows = StandardRows::new((&self.x).into(), &self.scaler());
        Neighbors::new(rows, Observations::from(self.y.clone()), options, 3)
    }

    pub(super) fn ski(&self, options: SkiOptions) -> Ski<'_> {
        self.ski_from(options, 0)
    }

    pub(super) fn ski_from(&self, options: SkiOptions, seed: u64) -> Ski<'_> {
        Ski::new(StandardRows::new((&self.x).into(), &self.scaler()), self.y.clone(), options, seed)
    }
}

pub(super) fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

pub(super) fn std(variance: &[f64]) -> Vec<f64> {
    variance.iter().map(|v| v.sqrt()).collect()
}

/// All derivatives in one list, those of the views by their rows.
pub(super) fn gradient(e: &Evaluation) -> Vec<f64> {
    let mut all = e.views.weights().to_vec();
    all.extend(&e.variances);
    all.extend([e.noise_variance, e.mean]);
    all
}

/// How far two posteriors may be apart.
pub(super) struct Tolerances {
    pub mean: f64,
    pub deviation: f64,
    pub covariance: f64,
    pub component: f64,
    pub slope: f64,
    /// At the edge of the data and beyond, and of the variance's slope.
    pub outside: f64,
    /// Of a row that is left out: a far outlier is then predicted from outside the data.
    pub left_out: f64,
}

impl Default for Tolerances {
    fn default() -> Self {
        Self {
            mean: 1e-5,
            deviation: 1e-4,
            covariance: 1e-5,
            component: 1e-4,
            slope: 1e-4,
            outside: 1e-3,
            left_out: 1e-3,
        }
    }
}

impl Tolerances {
    pub(super) fn times(&self, factor: f64) -> Self {
        Self {
            mean: factor * self.mean,
            deviation: factor * self.deviation,
            covariance: factor * self.covariance,
            component: factor * self.component,
            slope: factor * self.slope,
            outside: factor * self.outside,
            left_out: factor * self.left_out,
        }
    }
}

/// Everything that a posterior says, against what another one says.
pub(super) fn compare(case: &Case, a: &dyn Posterior, b: &dyn Posterior, tolerances: &Tolerances) {
    let prior = &case.prior;
    let close = |what: &str, a: &[f64], b: &[f64], tolerance: f64| {
        // Lines are far from 0 far from the data.
        let size = a.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
        let gap = largest_difference(a, b) / size;
        assert!(gap < tolerance, "{}, {what}: {gap} apart", case.name);
    };
    let t = tolerances;
    for (place, x, mean, deviation) in [
        ("inside", &case.inside, t.mean, t.deviation),
        ("at the edge", &case.edge, t.outside, t.outside),
        ("far away", &case.far, t.outside, t.outside),
    ] {
        let (f, g) = (a.marginals(x), b.marginals(x));
        assert_eq!((&f.mean, &g.mean), (&a.mean(x), &b.mean(x)), "{}", case.name);
        close(&format!("means {place}"), &f.mean, &g.mean, mean);
        let (f, g) = (std(&f.variance), std(&g.variance));
        close(&format!("deviations {place}"), &f, &g, deviation);
        let (f, g) = (
            a.variance_slopes().unwrap().slopes_of_variance(x),
            b.variance_slopes().unwrap().slopes_of_variance(x),
        );
        let what = format!("slopes of the variance {place}");
        close(&what, f.as_slice(), g.as_slice(), t.outside);
    }
    let keeps_moving = [SubKernel::Cosine.into(), Shape::Linear];
    if !prior.kernel.shapes.iter().any(|shape| keeps_moving.contains(shape)) {
        let far = b.marginals(&case.far);
        let total = prior.kernel.stationary_variance();
        for (m, v) in far.mean.iter().zip(&far.variance) {
            assert!((v - total).abs() < 2e-3 * total, "{}: {v} of {total}", case.name);
            assert!((m - prior.mean).abs() < 5e-3, "{}: mean {m}", case.name);
        }
    }
    let (mean_a, covariance_a) = a.joint(&case.inside);
    let (mean_b, covariance_b) = b.joint(&case.inside);
    close("joint means", &mean_a, &mean_b, t.mean);
    close("covariances", covariance_a.as_slice(), covariance_b.as_slice(), t.covariance);
    for j in prior.kernel.all() {
        let (mean_a, covariance_a) = a.components().unwrap().joint_of(j..j + 1, &case.inside);
        let (mean_b, covariance_b) = b.components().unwrap().joint_of(j..j + 1, &case.inside);
        close("means of a component", &mean_a, &mean_b, t.component);
        let (a, b) = (covariance_a.as_slice(), covariance_b.as_slice());
        close("covariances of a component", a, b, t.component);
    }
    for (f, g) in a
        .components()
        .unwrap()
        .marginals_of_each(&case.inside)
        .iter()
        .zip(b.components().unwrap().marginals_of_each(&case.inside))
    {
        close("components", &f.mean, &g.mean, t.component);
        let (f, g) = (std(&f.variance), std(&g.variance));
        close("deviations of components", &f, &g, t.component);
    }
    let (f, g) = (a.mean_slopes(&case.inside), b.mean_slopes(&case.inside));
    close("slopes", f.as_slice(), g.as_slice(), t.slope);
    let f = a.leave_one_out().unwrap().without_each(&case.x, &case.y.clone().into()).unwrap();
    let g = b.leave_one_out().unwrap().without_each(&case.x, &case.y.clone().into()).unwrap();
    close("leave-one-out means", &f.mean, &g.mean, t.left_out);
    close("leave-one-out deviations", &std(&f.variance), &std(&g.variance), t.left_out);
}
