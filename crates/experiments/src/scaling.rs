//! The runtime figure: seconds per step of the search and per fit against the number of rows.

use crate::chart::{self, Axis, Look, Marker, Panel, Series};
use crate::journal::Lines;
use crate::page::{Figure, Section};
use crate::random::stream;
use crate::run::Run;
use anyhow::{Context, Result, ensure};
use rand_distr::{Distribution, StandardNormal};
use raysum::progress::Progress;
use raysum::settings::EngineChoice;
use raysum::{Config, Dataset, Fit, Matrix};
use raysum_cli::progress::Reporter;
use raysum_cli::style;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

pub(crate) const NAME: &str = "scaling";

const HEADER: &str = "engine,rows,seconds_per_step,seconds_per_fit,evaluations";
const COLUMNS: usize = 100;
/// Points per grid of SKI, as in the paper.
const GRID: usize = 512;
/// The engines and the rows that each is run on.
const ENGINES: [(&str, EngineChoice, &[usize]); 3] = [
    ("dense", EngineChoice::Dense, &[250, 500, 1_000, 2_000, 4_000]),
    ("ski", EngineChoice::Ski, &[250, 500, 1_000, 2_000, 4_000, 8_000, 16_000]),
    (
        "weight",
        EngineChoice::Weight,
        &[250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000],
    ),
];
const QUICK_MOST: usize = 500;
const QUICK_EVALUATIONS: usize = 10;

/// One fit.
struct Timed {
    engine: String,
    rows: usize,
    step: f64,
    fit: f64,
    evaluations: usize,
}

impl Timed {
    fn line(&self) -> String {
        let Self { engine, rows, step, fit, evaluations } = self;
        format!("{engine},{rows},{step:.6},{fit:.4},{evaluations}")
    }

    fn parse(line: &str) -> Result<Self> {
        let cells: Vec<&str> = line.split(',').collect();
        ensure!(cells.len() == HEADER.split(',').count(), "{} cells", cells.len());
        Ok(Self {
            engine: cells[0].into(),
            rows: cells[1].parse()?,
            step: cells[2].parse()?,
            fit: cells[3].parse()?,
            evaluations: cells[4].parse()?,
        })
    }
}

fn open(folder: &Path) -> Result<(Lines, Vec<Timed>)> {
    let (lines, old) = Lines::open(folder.join(format!("{NAME}.csv")), HEADER)?;
    let parsed: Result<_> = old
        .iter()
        .enumerate()
        .map(|(k, line)| Timed::parse(line).with_context(|| lines.place(k)))
        .collect();
    Ok((lines, parsed?))
}

pub(crate) fn run(run: &Run) -> Result<()> {
    let (mut lines, done) = open(&run.output)?;
    let tasks: Vec<_> = ENGINES
        .iter()
        .flat_map(|(name, engine, sizes)| sizes.iter().map(move |rows| (*name, *engine, *rows)))
        .filter(|(.., rows)| !run.quick || *rows <= QUICK_MOST)
        .filter(|(name, _, rows)| !done.iter().any(|t| t.engine == *name && t.rows == *rows))
        .collect();
    // One at a time, each on all cores: these are times.
    let mut reporter = Reporter::new(NAME, run.voice);
    for (k, (name, engine, rows)) in tasks.iter().enumerate() {
        let timed = time(name, *engine, *rows, run)?;
        lines.add(&timed.line())?;
        reporter.part(k + 1, tasks.len());
    }
    reporter.finish();
    Ok(())
}

/// Fits RPA-GP-1 to the paper's task.
fn time(name: &str, engine: EngineChoice, rows: usize, run: &Run) -> Result<Timed> {
    let (x, y) = draw(rows, run.seed);
    let mut config = Config::paper("rpa-1")?;
    (config.engine, config.seed) = (engine, run.seed);
    if run.quick {
        config.max_evaluations = Some(QUICK_EVALUATIONS);
    }
    config.ski.grid = Some(GRID);
    let mut steps = Vec::new();
    let mut last = Instant::now();
    // Steps on all rows: the first stage of a long search uses only some of them.
    let mut progress = |p: &Progress| {
        if p.rows == rows && p.evaluations > 1 {
            steps.push(last.elapsed().as_secs_f64());
        }
        last = Instant::now();
        ControlFlow::Continue(())
    };
    let started = Instant::now();
    let model = Fit::new(&config).progress(&mut progress).run(&Dataset::new(&x, &y)?)?.remove(0);
    let fit = started.elapsed().as_secs_f64();
    steps.sort_unstable_by(f64::total_cmp);
    let step = steps.get(steps.len() / 2).copied().unwrap_or(fit);
    let evaluations = model.report().evaluations;
    Ok(Timed { engine: name.into(), rows, step, fit, evaluations })
}

/// X ~ N(0, I), y = Σ sin(x_i) + 0.01 ε.
fn draw(rows: usize, seed: u64) -> (Matrix, Vec<f64>) {
    let mut rng = stream(seed, 20_000);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let x = Matrix::from_fn(rows, COLUMNS, |_, _| normal());
    let signal = |i: usize| x.row(i).iter().map(|v| v.sin()).sum::<f64>();
    let y = (0..rows).map(|i| signal(i) + 0.01 * normal()).collect();
    (x, y)
}

pub(crate) fn section(folder: &Path) -> Result<Section> {
    let (_, timed) = open(folder)?;
    let looks = [
        Look { colour: 6, dashed: true, marker: Marker::Cross },
        Look { colour: 1, dashed: true, marker: Marker::Square },
        Look { colour: 0, dashed: false, marker: Marker::Circle },
    ];
    let names = ["dense (Cholesky)", "SKI", "weight space"];
    let panel = |title: &str, pick: fn(&Timed) -> f64| Panel {
        title: title.into(),
        x: Axis { label: "training rows n".into(), log: true, range: None },
        y: Axis { label: "seconds".into(), log: true, range: None },
        series: ENGINES
            .iter()
            .zip(looks.iter().zip(names))
            .map(|((engine, ..), (look, name))| {
                let mut points: Vec<(f64, f64)> = timed
                    .iter()
                    .filter(|t| t.engine == *engine)
                    .map(|t| (t.rows as f64, pick(t)))
                    .collect();
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                Series { name: name.into(), look: *look, points, band: Vec::new() }
            })
            .collect(),
    };
    let panels = [panel("per step of the search", |t| t.step), panel("per fit", |t| t.fit)];
    let figure = Figure {
        file: "scaling.svg".into(),
        svg: chart::lines(&panels, 2)?,
        caption: format!(
            "RPA-GP with 20 projections on the paper's task: {COLUMNS} normal columns, \
             y = Σ sin(x) + 0.01 ε. Both axes are logarithmic; SKI with {GRID} points per \
             projection."
        ),
    };
    Ok(Section {
        id: NAME,
        title: "Time against the number of rows",
        paper: "Training with SKI is approximately linear in the rows, with the Cholesky \
                factorisation cubic.",
        found: ENGINES.iter().zip(names).filter_map(|(e, n)| sentence(e.0, n, &timed)).collect(),
        figures: vec![figure],
        tables: Vec::new(),
    })
}

/// The slope at the end of an engine's line, and its last point.
fn sentence(engine: &str, name: &str, timed: &[Timed]) -> Option<String> {
    let mut of: Vec<&Timed> = timed.iter().filter(|t| t.engine == engine).collect();
    of.sort_by_key(|t| t.rows);
    let last = of.last()?;
    let before = of.iter().rev().find(|t| 4 * t.rows <= last.rows)?;
    let power = (last.step / before.step).ln() / (last.rows as f64 / before.rows as f64).ln();
    Some(format!(
        "{name}: a step takes {} at n = {} and grows as n^{power:.1} before it; the fit takes {}.",
        style::seconds(last.step),
        last.rows,
        style::seconds(last.fit)
    ))
}
