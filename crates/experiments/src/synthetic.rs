//! The figure "synthetic GAM vs DPA": four kinds of functions, more and more rows.

use crate::chart::{self, Axis, Panel};
use crate::journal::Results;
use crate::page::{Figure, Section};
use crate::pool::Job;
use crate::random::stream;
use crate::run::Run;
use crate::summary::{by, line, rmse, spread};
use crate::task::{Drawn, Recipe, drawn_job};
use anyhow::Result;
use rand_distr::{Distribution, StandardNormal};
use raysum::Matrix;

pub(crate) const NAME: &str = "synthetic";

/// Columns; DPA-GP has as many projections, as GAM has functions.
const COLUMNS: usize = 6;
const NOISE: f64 = 0.1;
const TEST_ROWS: usize = 1_000;
const MODELS: [&str; 4] = ["gam", "dpa", "dpa-ard", "rbf-ard"];
const SIZES: [usize; 10] = [10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120];
const QUICK_SIZES: [usize; 3] = [10, 40, 160];

/// A target: its name, what the paper calls it, and its value at a row of independent normals.
type Function = (&'static str, &'static str, fn(&[f64]) -> f64);

const FUNCTIONS: [Function; 4] = [
    ("additive", "additive", |x| x.iter().map(|v| (2.0 * v).sin()).sum::<f64>() / 1.73),
    // Whether the two columns of each pair agree in sign: no single column is informative.
    ("xor", "smooth XOR", |x| {
        x.chunks(2).map(|p| (2.0 * p[0]).tanh() * (2.0 * p[1]).tanh()).sum::<f64>() / 1.10
    }),
    ("rotation", "rotation-invariant", |x| radius(x) / 0.69),
    ("irrelevant", "half irrelevant", |x| radius(&x[..COLUMNS / 2]) / 0.67),
];

fn radius(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Repeats: fewer of the long ones, whose means vary less.
fn repeats(rows: usize) -> u32 {
    (5_120 / rows as u32).clamp(1, 10)
}

pub(crate) fn jobs(run: &Run) -> Result<Vec<Job<'static>>> {
    let sizes = if run.quick { &QUICK_SIZES[..] } else { &SIZES[..] };
    let mut jobs = Vec::new();
    for &rows in sizes {
        for (index, (name, _, function)) in FUNCTIONS.iter().enumerate() {
            for model in MODELS {
                let recipe = match model {
                    "dpa" | "dpa-ard" => Recipe::with_directions(model, COLUMNS)?,
                    other => Recipe::preset(other)?,
                };
                for repeat in 0..if run.quick { 2 } else { repeats(rows) } {
                    let (seed, function) = (run.seed, *function);
                    jobs.push(drawn_job(
                        &recipe,
                        (name, rows, COLUMNS),
                        (seed, repeat),
                        move || draw(function, rows, seed, 100 * index as u32 + repeat),
                    ));
                }
            }
        }
    }
    Ok(jobs)
}

/// The same rows for every model; those of a larger sample begin with those of a smaller one.
fn draw(function: fn(&[f64]) -> f64, rows: usize, seed: u64, index: u32) -> Drawn {
    let mut rng = stream(seed, index);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let x_new = Matrix::from_fn(TEST_ROWS, COLUMNS, |_, _| normal());
    let truth = (0..TEST_ROWS).map(|i| function(x_new.row(i))).collect();
    let mut x = Matrix::zeros(rows, COLUMNS);
    let mut y = Vec::with_capacity(rows);
    for i in 0..rows {
        x.row_mut(i).fill_with(&mut normal);
        y.push(function(x.row(i)) + NOISE * normal());
    }
    Drawn { x, y, x_new, truth }
}

pub(crate) fn section(results: &Results) -> Result<Section> {
    let (mut panels, mut found) = (Vec::new(), Vec::new());
    for (name, title, _) in FUNCTIONS {
        let records = || results.records.iter().filter(move |r| r.key.set == name);
        let series =
            MODELS.iter().map(|m| line(m, records(), |r| r.key.rows as f64, rmse, false)).collect();
        panels.push(Panel {
            title: title.into(),
            x: Axis { label: "training rows n".into(), log: true, range: None },
            y: Axis { label: "test RMSE".into(), log: true, range: None },
            series,
        });
        let Some(most) = records().map(|r| r.key.rows).max() else { continue };
        let last = records().filter(|r| r.key.rows == most);
        let means = by(last, |r| r.key.model.clone());
        let mean = |model: &str| means.get(model).map_or(f64::NAN, |g| spread(g, rmse).mean);
        let [gam, dpa, dpa_ard, rbf] = MODELS.map(mean);
        found.push(format!(
            "{title}, n = {most}: GAM {gam:.3}, DPA-GP {dpa:.3}, DPA-GP-ARD {dpa_ard:.3}, RBF-ARD \
             {rbf:.3}."
        ));
    }
    let figure = Figure {
        file: "synthetic.svg".into(),
        svg: chart::lines(&panels, 2)?,
        caption: format!(
            "Mean RMSE to the function without noise on {TEST_ROWS} new rows, over 1 to 10 \
             samples. {COLUMNS} independent normal columns, targets of about unit variance, noise \
             {NOISE}; DPA-GP with as many projections as columns."
        ),
    };
    Ok(Section {
        id: NAME,
        title: "Synthetic functions: GAM against projections",
        paper: "GAM is best on an additive function and worst on a smooth XOR; on a \
                rotation-invariant function all perform equally; with half of the columns \
                irrelevant DPA-GP cannot tell them apart, but DPA-GP-ARD improves on both DPA-GP \
                and GAM.",
        found,
        figures: vec![figure],
        tables: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_about_unit_variance_and_samples_begin_alike() {
        for (name, _, function) in FUNCTIONS {
            let drawn = draw(function, 20_000, 1, 0);
            let spread = crate::statistics::Spread::of(&drawn.y);
            assert!((spread.sd - 1.0).abs() < 0.05, "{name}: {}", spread.sd);
            let fewer = draw(function, 50, 1, 0);
            assert_eq!(fewer.y[..], drawn.y[..50]);
            assert_eq!(fewer.truth, drawn.truth);
        }
    }
}
