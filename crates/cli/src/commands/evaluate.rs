//! `raysum evaluate`: cross-validation of one or more models on one table.

use super::{Voice, fit};
use crate::args::EvaluateArgs;
use crate::progress::Reporter;
use crate::resolve::EvaluateJob;
use crate::score::Scores;
use crate::splits::{self, Split};
use crate::{output, style, tables};
use anyhow::{Result, ensure};
use rayon::prelude::*;
use raysum::limits::MAX_DENSE_ROWS;
use raysum::{Config, Standard, available_memory};
use raysum_table::{TrainingTable, target_names};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

pub(super) fn run(args: &EvaluateArgs, voice: Voice) -> Result<()> {
    let job = args.resolve()?;
    let table = tables::training(&job.table)?;
    voice.notes(&table.notes);
    ensure!(
        table.labels.targets.len() == 1,
        "{}: evaluate takes one target at a time, not {}",
        job.table.place.name(),
        target_names(&table.schema)
    );
    let n = table.rows();
    let folds = job.folds;
    ensure!(
        splits::are_enough(n, folds),
        "{}: {folds} folds need more rows than the {n} there are",
        job.table.place.name()
    );
    let plan = Plan { folds, repeats: job.repeats };
    let mut lines = Vec::new();
    for (name, config) in &job.models {
        let results = cross_validate(name, config, &table, plan, voice)?;
        let summary = Summary::new(name, &results, &job, &table);
        if voice.json {
            output::print_json(&summary.json)?;
        } else {
            lines.push(summary.cells);
        }
    }
    if !voice.json {
        let head =
            ["model", "RMSE", "± sd", "NLPD", "in 95 %", "RMSE in units", "s per fit", "engine"];
        lines.insert(0, head.map(String::from).to_vec());
        let title = format!(
            "{n} rows × {} columns, target {}, {folds} folds × {}; target standardised by each \
             training fold\n",
            table.x.columns(),
            target_names(&table.schema),
            job.repeats
        );
        output::print_line((title + &style::columns(&lines)).trim_end())?;
    }
    Ok(())
}

/// The splits of a cross-validation, each made when it is needed.
#[derive(Clone, Copy)]
struct Plan {
    folds: usize,
    repeats: u32,
}

impl Plan {
    fn len(self) -> usize {
        self.folds * self.repeats as usize
    }

    /// The repeat that a split belongs to, and its rows.
    fn split(self, index: usize, rows: usize, seed: u64) -> (u32, Split) {
        let repeat = (index / self.folds) as u32;
        (repeat, splits::folds(rows, self.folds, seed, repeat).swap_remove(index % self.folds))
    }
}

/// The result of one fold.
struct FoldResult {
    standardised: Scores,
    units: Scores,
    seconds: f64,
    evaluations: usize,
    engine: &'static str,
}

/// Fits and scores every split; splits run in parallel, since small fits leave cores idle.
fn cross_validate(
    name: &str,
    config: &Config,
    table: &TrainingTable,
    plan: Plan,
    voice: Voice,
) -> Result<Vec<FoldResult>> {
    let reporter = Mutex::new(Reporter::new(name, voice));
    let done = AtomicUsize::new(0);
    let one = |index: usize| {
        let (repeat, split) = plan.split(index, table.rows(), config.seed);
        // Every repeat draws its own directions, as it draws its own folds.
        let mut config = config.clone();
        config.seed = config.seed.wrapping_add(u64::from(repeat));
        let result = one_fold(&config, table, &split);
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if let Ok(mut reporter) = reporter.lock() {
            reporter.part(done, plan.len());
        }
        result
    };
    let together = side_by_side(table.rows()).unwrap_or(plan.len());
    let group = |start: usize| -> Result<Vec<FoldResult>> {
        (start..(start + together).min(plan.len())).into_par_iter().map(one).collect()
    };
    let groups: Result<Vec<Vec<FoldResult>>> =
        (0..plan.len()).step_by(together).map(group).collect();
    if let Ok(reporter) = reporter.into_inner() {
        reporter.finish();
    }
    Ok(groups?.into_iter().flatten().collect())
}

/// Number of parallel fits for which there is memory if all of them use the dense engine; `None` if
/// there is no limit. Each fit checks the memory by itself, but parallel ones would all pass the
/// check at once.
fn side_by_side(rows: usize) -> Option<usize> {
    if rows > MAX_DENSE_ROWS {
        return None;
    }
    // At most 21 GB.
    let each = (rows * rows * 3 * size_of::<f64>()).max(1) as u64;
    let room = usize::try_from(available_memory()? / each).unwrap_or(usize::MAX).max(1);
    (room < rayon::current_num_threads()).then_some(room)
}

fn one_fold(config: &Config, table: &TrainingTable, split: &Split) -> Result<FoldResult> {
    let (x, labels) = split.train(table);
    let (x_new, truth) = split.test(table);
    let started = Instant::now();
    let model = config.fit(&labels.dataset(x, 0..1)?)?;
    let seconds = started.elapsed().as_secs_f64();
    let prediction = fit::predict(&model, x_new, truth.noise.as_deref())?;
    let unit = model.target_scale().std;
    let standardised = Scores::standardised(&truth.targets[0], &prediction, unit)?;
    Ok(FoldResult {
        standardised,
        units: standardised.in_units(unit),
        seconds,
        evaluations: model.report().evaluations,
        engine: model.engine(),
    })
}

/// Means over folds, as text and as JSON.
struct Summary {
    json: Value,
    cells: Vec<String>,
}

impl Summary {
    fn new(
        name: &str,
        results: &[FoldResult],
        job: &EvaluateJob<'_>,
        table: &TrainingTable,
    ) -> Self {
        let all = |pick: fn(&FoldResult) -> f64| results.iter().map(pick).collect::<Vec<f64>>();
        let mean = |pick| Standard::of(&all(pick)).mean;
        let sd = |pick| {
            // Sample standard deviation.
            let n = results.len() as f64;
            Standard::of(&all(pick)).std * (n / (n - 1.0).max(1.0)).sqrt()
        };
        let rmse = |r: &FoldResult| r.standardised.rmse;
        let engine = results.first().map_or("", |r| r.engine);
        let json = json!({
            "model": name,
            "n": table.rows(),
            "d": table.x.columns(),
            "folds": job.folds,
            "repeats": job.repeats,
            "rmse_mean": mean(rmse),
            "rmse_sd": sd(rmse),
            "nlpd_mean": mean(|r| r.standardised.nlpd),
            "nlpd_sd": sd(|r| r.standardised.nlpd),
            "crps_mean": mean(|r| r.standardised.crps),
            "coverage95": mean(|r| r.standardised.coverage95),
            "rmse_mean_units": mean(|r| r.units.rmse),
            "rmse_sd_units": sd(|r| r.units.rmse),
            "nlpd_mean_units": mean(|r| r.units.nlpd),
            "crps_mean_units": mean(|r| r.units.crps),
            "rmse_folds": results.iter().map(rmse).collect::<Vec<_>>(),
            "fit_seconds": mean(|r| r.seconds),
            "evaluations": mean(|r| r.evaluations as f64),
            "engine": engine,
        });
        let cells = vec![
            name.to_string(),
            style::number(mean(rmse)),
            style::number(sd(rmse)),
            style::number(mean(|r| r.standardised.nlpd)),
            format!("{:.0} %", 100.0 * mean(|r| r.standardised.coverage95)),
            style::number(mean(|r| r.units.rmse)),
            style::number(mean(|r| r.seconds)),
            engine.to_string(),
        ];
        Self { json, cells }
    }
}
