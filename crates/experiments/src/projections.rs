//! The figure "Convergence": RMSE against the number of projections.

use crate::chart;
use crate::journal::Results;
use crate::page::{Figure, Section};
use crate::pool::Job;
use crate::record::Record;
use crate::run::Run;
use crate::statistics::Spread;
use crate::summary::{Sweep, by, rmse, spread};
use crate::task::{CrossValidation, Recipe};
use anyhow::Result;
use std::sync::Arc;

pub(crate) const NAME: &str = "projections";

const SETS: [&str; 3] = ["concrete", "autos", "housing"];
const MODELS: [&str; 4] = ["rpa-1", "dpa", "rpa-ard", "dpa-ard"];
/// Models without projections, drawn as horizontal lines.
const LEVELS: [&str; 2] = ["rbf-ard", "imq-ard"];
/// Numbers of projections: Fibonacci's, about evenly spaced on a log scale.
const COUNTS: [usize; 13] = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377];
const QUICK_COUNTS: [usize; 3] = [1, 5, 21];
const QUICK_SETS: [&str; 1] = ["autos"];

pub(crate) fn jobs(
    run: &Run,
    sets: &[String],
    folds: CrossValidation,
) -> Result<Vec<Job<'static>>> {
    let folder = run.data()?;
    let names: Vec<&str> = match sets {
        [] if run.quick => QUICK_SETS.to_vec(),
        [] => SETS.to_vec(),
        some => some.iter().map(String::as_str).collect(),
    };
    let counts = if run.quick { &QUICK_COUNTS[..] } else { &COUNTS[..] };
    let recipes = Recipe::sweep(&LEVELS, &MODELS, counts)?;
    let mut jobs = Vec::new();
    for name in names {
        jobs.extend(folds.jobs(&Arc::new(folder.uci(name)?), &recipes)?);
    }
    Ok(jobs)
}

pub(crate) fn section(results: &Results) -> Result<Section> {
    let sets = by(&results.records, |r| r.key.set.clone());
    let counts: Vec<f64> = results.records.iter().map(|r| r.key.j as f64).collect();
    let ends = (1.0, counts.iter().copied().fold(1.0, f64::max));
    let sweep = Sweep { models: &MODELS, levels: &LEVELS, ends };
    let (mut panels, mut found) = (Vec::new(), Vec::new());
    for (name, records) in &sets {
        let title = format!("{name}, n = {}, d = {}", records[0].key.rows, records[0].columns);
        panels.push(sweep.panel(title, ("test RMSE", rmse), records, |m| m == "dpa-ard"));
        found.push(sentence(name, records));
    }
    let figure = Figure {
        file: "projections.svg".into(),
        svg: chart::lines(&panels, panels.len().clamp(1, 3))?,
        caption:
            "Mean test RMSE (standardised) against the number of projections. Band: twice the \
                  standard deviation over the folds, for DPA-GP-ARD alone, as in the paper."
                .into(),
    };
    Ok(Section {
        id: NAME,
        title: "Convergence in the number of projections",
        paper: "RMSE converges fast to that of the RBF and IMQ kernels; DPA-GP improves on RPA-GP \
                by a small amount; length-scales before projection (-ARD) improve it dramatically \
                and converge much sooner.",
        found,
        figures: vec![figure],
        tables: Vec::new(),
    })
}

/// The number of projections at which DPA-GP-ARD comes within 5 % of RBF-ARD, and the RMSE of the
/// models in the middle and at the end.
fn sentence(set: &str, records: &[&Record]) -> String {
    let mean = |model: &str, j: Option<usize>| {
        let group: Vec<&Record> = records
            .iter()
            .filter(|r| r.key.model == model && j.is_none_or(|j| r.key.j == j))
            .copied()
            .collect();
        (!group.is_empty()).then(|| spread(&group, rmse)).map(|Spread { mean, .. }| mean)
    };
    let mut counts: Vec<usize> =
        records.iter().filter(|r| r.key.model == "dpa-ard").map(|r| r.key.j).collect();
    counts.sort_unstable();
    counts.dedup();
    let rbf = mean("rbf-ard", None).unwrap_or(f64::NAN);
    let near = counts.iter().find(|j| mean("dpa-ard", Some(**j)).is_some_and(|m| m < 1.05 * rbf));
    let near = near.map_or("at no J".into(), |j| format!("from J = {j}"));
    let at = |j: usize| {
        let value = |m| mean(m, Some(j)).map_or("–".into(), |v| format!("{v:.3}"));
        let [rpa, dpa, rpa_ard, dpa_ard] = MODELS.map(value);
        format!(
            "at J = {j} RPA-GP-1 {rpa}, DPA-GP {dpa}, RPA-GP-ARD {rpa_ard}, DPA-GP-ARD {dpa_ard}"
        )
    };
    let shown: Vec<usize> = counts.iter().copied().filter(|j| *j == 21).collect();
    let shown = shown.into_iter().chain(counts.last().copied().filter(|j| *j != 21));
    let shown: Vec<String> = shown.map(at).collect();
    format!("{set}: DPA-GP-ARD is within 5 % of RBF-ARD's {rbf:.3} {near}; {}.", shown.join("; "))
}
