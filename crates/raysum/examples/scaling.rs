//! The paper's scaling task: seconds per Adam step of RPA-GP with 20 projections.
//!
//!     cargo run --release --example scaling weight 100000 5      # engine, rows, steps
//!
//! X ~ N(0, I) with 100 columns, y = Σ sin(x_i) + 0.01 ε. Prints one JSON object.

use rand_distr::{Distribution, StandardNormal};
use raysum::engine::auto::Auto;
use raysum::engine::dense::Dense;
use raysum::engine::ski::{Ski, SkiOptions};
use raysum::engine::weight::Weight;
use raysum::engine::{Engine, Observations};
use raysum::optimize::{Adam, adam};
use raysum::rng::{Purpose, stream};
use raysum::{Config, Layout, Matrix, Projections, Scaler, StandardRows};
use std::ops::ControlFlow;
use std::time::Instant;

const COLUMNS: usize = 100;
/// Points per grid, as in the paper.
const GRID: usize = 512;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, rows, steps] = arguments.as_slice() else {
        return Err(
            "give an engine (auto, dense, ski or weight), a number of rows and of steps".into()
        );
    };
    let (rows, steps): (usize, usize) = (rows.parse()?, steps.parse()?);
    let mut rng = stream(0, Purpose::Samples, 0);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let x = Matrix::from_fn(rows, COLUMNS, |_, _| normal());
    let signal = |i: usize| x.row(i).iter().map(|v| v.sin()).sum::<f64>();
    let y: Vec<f64> = (0..rows).map(|i| signal(i) + 0.01 * normal()).collect();

    let config = Config::preset("rpa-1")?;
    let degrees = config.degrees.resolve(COLUMNS);
    let projections = Projections::choose(config.directions, &degrees, COLUMNS, 0)?;
    let layout = Layout::new(&config, projections)?;
    let scaler = Scaler::fit((&x).into(), &y);
    let standard = StandardRows::new((&x).into(), &scaler);
    let y = scaler.apply_y(&y);
    let mut engine: Box<dyn Engine> = match kind.as_str() {
        "auto" => Box::new(Auto::new(standard, Observations::from(y))),
        "dense" => Box::new(Dense::new(standard.block(0..rows), y)),
        "ski" => {
            let options = SkiOptions { grid: Some(GRID), ..SkiOptions::default() };
            Box::new(Ski::new(standard, y, options, 0))
        }
        "weight" => Box::new(Weight::new(standard, Observations::from(y))),
        other => return Err(format!("unknown engine {other}").into()),
    };
    let start = layout.start();
    // All of the steps, whether they still gain anything or not.
    let options = Adam { evaluations: steps, tolerance: f64::NEG_INFINITY, ..Adam::default() };
    let clock = Instant::now();
    let objective = |t: &[f64], g: &mut [f64]| layout.evaluate(engine.as_mut(), t, g);
    let outcome = adam(&start, &options, objective, &mut |_| ControlFlow::Continue(()))?;
    let seconds = clock.elapsed().as_secs_f64() / outcome.evaluations as f64;
    // Only weight space has features to tell of.
    let prior = layout.prior(&layout.hyperparameters(&outcome.point));
    let features = match kind.as_str() {
        "auto" | "weight" => engine.posterior(&prior)?.1.features(),
        _ => None,
    };
    let result = serde_json::json!({
        "kind": format!("raysum {kind}"),
        "n": rows,
        "iterations": outcome.evaluations,
        "seconds_per_iteration": seconds,
        "loss": outcome.value / rows as f64,
        "features": features,
    });
    println!("{result}");
    Ok(())
}
