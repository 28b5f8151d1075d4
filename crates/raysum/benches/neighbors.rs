//! One evaluation of the neighbors engine, which is a value and its gradient: `linear+matern12-ard` on ten
//! columns, with 30 neighbours. The time is linear in the rows.

use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use raysum::progress::Progress;
use raysum::settings::{EngineChoice, Optimizer};
use raysum::{Config, Dataset, Fit, Matrix};
use std::ops::ControlFlow;
use std::time::Instant;

/// The command's own allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The best time of a step of Adam, of five, and of the first, which finds the neighbours.
fn steps(data: &Dataset<'_>) -> (f64, f64) {
    let mut config = Config::preset("linear+matern12-ard").unwrap();
    config.engine = EngineChoice::Neighbors;
    config.optimizer = Optimizer::Adam;
    (config.subset, config.max_evaluations) = (Some(data.rows()), Some(6));
    let (mut clock, mut first, mut best) = (Instant::now(), 0.0, f64::MAX);
    let mut progress = |p: &Progress| {
        let seconds = clock.elapsed().as_secs_f64();
        if p.evaluations == 1 {
            first = seconds;
        } else {
            best = best.min(seconds);
        }
        clock = Instant::now();
        match p.evaluations {
            6 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    drop(Fit::new(&config).progress(&mut progress).run(data));
    (first, best)
}

fn main() {
    for rows in [10_000, 40_000, 160_000] {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let x = Matrix::from_fn(rows, 10, |_, _| normal());
        let y: Vec<f64> = (0..rows).map(|i| x[(i, 0)].sin() + 0.3 * normal()).collect();
        let (first, best) = steps(&Dataset::new(&x, &y).unwrap());
        println!(
            "n = {rows}: {:.0} ms, {:.2} µs a row; with neighbours {:.0} ms",
            1e3 * best,
            1e6 * best / rows as f64,
            1e3 * first
        );
    }
}
