//! One step of a fit with the weight-space engine, which is a value and its gradient, and its share of the
//! flop floor 3np².

use faer::{Accum, Mat, Par, linalg::matmul::matmul};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use raysum::fitted::{Hyperparameters, TermHyperparameters};
use raysum::progress::Progress;
use raysum::settings::{EngineChoice, Optimizer};
use raysum::{Config, Dataset, Fit, Matrix};
use std::ops::ControlFlow;
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

/// The best time of a step of Adam, of three from given hyperparameters, and the features of the model
/// at the end. `scale` stretches the length-scales, and with them the number of features.
fn step(data: &Dataset<'_>, scale: f64) -> (f64, usize) {
    let mut config = Config::paper("dpa-ard").unwrap();
    config.engine = EngineChoice::Weight;
    config.optimizer = Optimizer::Adam;
    (config.subset, config.max_evaluations) = (Some(data.rows()), Some(4));
    let start = Hyperparameters {
        terms: vec![TermHyperparameters {
            column_length_scales: vec![1.0 / scale; data.columns()],
            length_scales: Vec::new(),
            variances: vec![0.05; 20],
        }],
        noise_variance: 0.1,
        mean: 0.0,
    };
    let (mut clock, mut best) = (Instant::now(), f64::MAX);
    let mut progress = |p: &Progress| {
        // Before the first one the rows are standardised.
        if p.evaluations > 1 {
            best = best.min(clock.elapsed().as_secs_f64());
        }
        clock = Instant::now();
        ControlFlow::Continue(())
    };
    let models = Fit::new(&config).start(&start).progress(&mut progress).run(data).unwrap();
    (best, models[0].features().unwrap())
}

fn main() {
    let mut peak = Peak::new();
    for rows in [10_000, 100_000] {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let x = Matrix::from_fn(rows, 20, |_, _| normal());
        let y: Vec<f64> = (0..rows).map(|i| x[(i, 0)].sin() + normal()).collect();
        let data = Dataset::new(&x, &y).unwrap();
        for scale in [0.36, 1.8] {
            // Both are measured in turns, and the best of each counts: on a busy machine the rate of
            // either changes from second to second.
            let (mut flop, mut best, mut p) = (f64::MAX, f64::MAX, 0);
            for _ in 0..4 {
                let (seconds, features) = step(&data, scale);
                (best, p) = (best.min(seconds), features);
                flop = (0..3).fold(flop, |flop, _| flop.min(peak.measure()));
            }
            let floor = 3.0 * rows as f64 * (p as f64).powi(2) * flop;
            println!(
                "n = {rows}, p = {p}: {:.1} ms, {:.0} % of the flop floor",
                1e3 * best,
                100.0 * floor / best
            );
        }
    }
}
