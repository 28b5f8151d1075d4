//! The paper's scaling task: seconds per Adam step of RPA-GP with 20 projections.
//!
//!     cargo run --release --example scaling weight 100000 5      # engine, rows, steps
//!
//! X ~ N(0, I) with 100 columns, y = Σ sin(x_i) + 0.01 ε. Prints one JSON object.

use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use raysum::progress::Progress;
use raysum::settings::Optimizer;
use raysum::{Config, Dataset, Fit, Matrix};
use std::ops::ControlFlow;
use std::time::Instant;

const COLUMNS: usize = 100;
/// Points per grid, as in the paper.
const GRID: usize = 512;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, rows, steps] = arguments.as_slice() else {
        return Err("give an engine (auto, dense, ski or weight), rows and steps".into());
    };
    let (rows, steps): (usize, usize) = (rows.parse()?, steps.parse()?);
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let x = Matrix::from_fn(rows, COLUMNS, |_, _| normal());
    let signal = |i: usize| x.row(i).iter().map(|v| v.sin()).sum::<f64>();
    let y: Vec<f64> = (0..rows).map(|i| signal(i) + 0.01 * normal()).collect();

    let mut config = Config::paper("rpa-1")?;
    config.engine = kind.parse()?;
    config.ski.grid = Some(GRID);
    config.optimizer = Optimizer::Adam;
    // All rows in every step, as the paper does it.
    config.subset = Some(rows);
    config.max_evaluations = Some(steps);
    let clock = Instant::now();
    let (mut first, mut last, mut objective) = (0.0, 0.0, 0.0);
    let mut progress = |progress: &Progress| {
        last = clock.elapsed().as_secs_f64();
        if progress.evaluations == 1 {
            first = last;
        }
        objective = progress.objective;
        ControlFlow::Continue(())
    };
    let models = Fit::new(&config).progress(&mut progress).run(&Dataset::new(&x, &y)?)?;
    let evaluations = models[0].report().evaluations;
    let result = serde_json::json!({
        "kind": format!("raysum {kind}"),
        "n": rows,
        "iterations": evaluations,
        // The first one waits for the rows to be standardised.
        "seconds_per_iteration": (last - first) / (evaluations.max(2) - 1) as f64,
        "loss": -objective / rows as f64,
        "features": models[0].features(),
    });
    println!("{result}");
    Ok(())
}
