//! One value-and-gradient evaluation of the weight engine, and its share of the flop floor 3np².

use faer::{Accum, Mat, Par, linalg::matmul::matmul};
use rand_distr::{Distribution, StandardNormal};
use raysum::engine::weight::{Use, Weight};
use raysum::engine::{AdditiveKernel, Engine, Observations, Prior};
use raysum::rng::{Purpose, stream};
use raysum::{Directions, Matrix, Projections, Scaler, StandardRows, SubKernel};
use std::time::Instant;

/// The command's own allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A matrix product on all threads: what the machine can do at most.
struct Peak {
    factor: Mat<f64>,
    product: Mat<f64>,
}

impl Peak {
    const SIZE: usize = 1500;

    fn new() -> Self {
        let n = Self::SIZE;
        let factor = Mat::from_fn(n, n, |i, j| ((i * 7 + j) % 11) as f64);
        Self { factor, product: Mat::zeros(n, n) }
    }

    /// Seconds per flop.
    fn measure(&mut self) -> f64 {
        let Self { factor, product } = self;
        let a = factor.as_ref();
        let run = || matmul(product.as_mut(), Accum::Replace, a, a, 1.0, Par::rayon(0));
        seconds(run) / (2.0 * (Self::SIZE as f64).powi(3))
    }
}

fn seconds(run: impl FnOnce()) -> f64 {
    let clock = Instant::now();
    run();
    clock.elapsed().as_secs_f64()
}

/// Seconds of a run, and the share of the machine's peak that its `flops` amount to. Both are measured in turns, and
/// the best of each counts: on a busy machine the rate of either changes from second to second.
fn share_of_peak(peak: &mut Peak, flops: f64, mut run: impl FnMut()) -> (f64, f64) {
    let (mut best_peak, mut best_run) = (f64::MAX, f64::MAX);
    for _ in 0..12 {
        best_peak = best_peak.min(peak.measure());
        best_run = best_run.min(seconds(&mut run));
    }
    (best_run, flops * best_peak / best_run)
}

/// 20 views of 20 columns; `scale` stretches them, and with it the number of features.
fn prior(scale: f64) -> Prior {
    let p = Projections::choose(Directions::Diverse, &[1; 20], 20, 0).unwrap();
    Prior {
        kernel: AdditiveKernel {
            sub_kernel: SubKernel::Rbf,
            degrees: vec![1; 20],
            views: p.views().map(|_, _, w| scale * w),
            variances: vec![0.05; 20],
        },
        noise_variance: 0.1,
        mean: 0.0,
    }
}

fn main() {
    let mut peak = Peak::new();
    for rows in [10_000, 100_000] {
        let mut rng = stream(0, Purpose::Samples, 0);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let x = Matrix::from_fn(rows, 20, |_, _| normal());
        let y: Vec<f64> = (0..rows).map(|i| x[(i, 0)].sin() + normal()).collect();
        let scaler = Scaler::fit((&x).into(), &y).unwrap();
        let y = scaler.apply_y(&y);
        let mut engine =
            Weight::new(StandardRows::new((&x).into(), &scaler), Observations::from(y));
        for scale in [0.36, 1.8] {
            let prior = prior(scale);
            let p = engine.feature_map(&prior, Use::Likelihood).unwrap().len();
            let flops = 3.0 * rows as f64 * (p as f64).powi(2);
            let run = || drop(engine.evaluate(&prior).unwrap());
            let (best, share) = share_of_peak(&mut peak, flops, run);
            println!(
                "n = {rows}, p = {p}: {:.1} ms, {:.0} % of the flop floor",
                1e3 * best,
                100.0 * share
            );
        }
    }
}
