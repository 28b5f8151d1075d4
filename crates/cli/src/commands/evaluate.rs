//! `raysum evaluate`: cross-validation of one or more models on one table.

use super::Voice;
use crate::args::{EvaluateArgs, Recipe};
use crate::progress::Reporter;
use crate::resolve::EvaluateJob;
use crate::splits::{self, Split};
use crate::{output, style, tables};
use anyhow::{Result, ensure};
use rayon::prelude::*;
use raysum::fitted::Standard;
use raysum::limits::MAX_DENSE_ROWS;
use raysum::system::available_memory;
use raysum::{Intervals, Prediction, Scores, Stack, StackFit};
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
    for (name, recipe) in &job.models {
        let results = cross_validate((name, recipe), &job, &table, plan, voice)?;
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
            "{n} rows × {}, target {}, {folds} folds × {}; target standardised by each \
             training fold\n",
            style::counted(table.x.columns(), "column"),
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
    truth: Vec<f64>,
    prediction: Prediction,
    /// The standard deviation of the target in the training rows.
    unit: f64,
    standardised: Scores,
    units: Scores,
    seconds: f64,
    evaluations: usize,
    engine: String,
}

/// Fits and scores every split; splits run in parallel, since small fits leave cores idle.
fn cross_validate(
    (name, recipe): (&str, &Recipe),
    job: &EvaluateJob<'_>,
    table: &TrainingTable,
    plan: Plan,
    voice: Voice,
) -> Result<Vec<FoldResult>> {
    let reporter = Mutex::new(Reporter::new(name, voice));
    let done = AtomicUsize::new(0);
    let one = |index: usize| {
        let (repeat, split) = plan.split(index, table.rows(), job.seed);
        // Every repeat draws its own directions, as it draws its own folds.
        let seed = job.seed.wrapping_add(u64::from(repeat));
        let result = one_fold(recipe, job.intervals, seed, table, &split);
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
    let mut results: Vec<FoldResult> = groups?.into_iter().flatten().collect();
    if matches!(recipe, Recipe::One(_)) && job.intervals == Intervals::Calibrated {
        results.chunks_mut(plan.folds).try_for_each(calibrate)?;
    }
    Ok(results)
}

/// Calibrates the predictions of each fold by the errors of the others.
fn calibrate(folds: &mut [FoldResult]) -> Result<()> {
    let each = folds.iter().map(|fold| (fold.truth.clone(), fold.prediction.clone()));
    let calibrated = raysum::stack::cross_calibrated(each.collect())?;
    for (fold, prediction) in folds.iter_mut().zip(calibrated) {
        fold.prediction = prediction;
        fold.score()?;
    }
    Ok(())
}

impl FoldResult {
    /// Scores the prediction.
    fn score(&mut self) -> Result<()> {
        self.standardised = Scores::standardised(&self.truth, &self.prediction, self.unit)?;
        self.units = self.standardised.in_units(self.unit);
        Ok(())
    }
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

fn one_fold(
    recipe: &Recipe,
    intervals: Intervals,
    seed: u64,
    table: &TrainingTable,
    split: &Split,
) -> Result<FoldResult> {
    let (x, labels) = split.train(table);
    let (x_new, truth) = split.test(table);
    let data = labels.dataset(x, 0..1)?;
    let started = Instant::now();
    let stack: Stack = match recipe {
        Recipe::Auto(effort) => {
            let fit = StackFit::auto(*effort).seed(seed).intervals(intervals);
            fit.run(&data)?.swap_remove(0)
        }
        Recipe::One(config) => {
            let mut config = config.clone();
            config.seed = seed;
            config.fit(&data)?.into()
        }
    };
    let seconds = started.elapsed().as_secs_f64();
    let prediction = match &truth.noise {
        Some(noise) => stack.predict_with_noise(x_new, noise)?,
        None => stack.predict(x_new)?,
    };
    let unit = stack.first().target_scale().std;
    let truth = truth.targets[0].clone();
    let standardised = Scores::standardised(&truth, &prediction, unit)?;
    let evaluations = stack.members().iter().map(|m| m.model.report().evaluations).sum();
    let engine = match stack.single() {
        Some(model) => model.engine().to_string(),
        None => format!("{} members", stack.members().len()),
    };
    let units = standardised.in_units(unit);
    Ok(FoldResult { truth, prediction, unit, standardised, units, seconds, evaluations, engine })
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
        let engine = results.first().map_or("", |r| r.engine.as_str());
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
            "mae_mean": mean(|r| r.standardised.mae),
            "crps_mean": mean(|r| r.standardised.crps),
            "width95": mean(|r| r.standardised.width95),
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
