//! CoEPrA's peptides: RMSE and marginal likelihood against the number of projections, with more
//! than 5,000 columns.

use crate::chart::{self, Panel};
use crate::journal::Results;
use crate::page::{Figure, Section};
use crate::pool::Job;
use crate::record::Record;
use crate::run::Run;
use crate::summary::{Sweep, by, rmse, spread};
use crate::task::{CrossValidation, Recipe};
use anyhow::Result;
use std::sync::Arc;

pub(crate) const NAME: &str = "peptides";

const SETS: [&str; 3] = ["coepra1", "coepra2", "coepra3"];
const MODELS: [&str; 2] = ["rpa-1", "dpa-ard"];
const LEVELS: [&str; 2] = ["rbf-ard", "gam"];
const COUNTS: [usize; 8] = [1, 2, 5, 13, 34, 89, 233, 377];
const QUICK_COUNTS: [usize; 2] = [1, 13];
/// Maximum number of evaluations of a search: with thousands of length-scales and tens of rows the
/// likelihood keeps rising slightly without better predictions.
const EVALUATIONS: usize = 50;
const QUICK_EVALUATIONS: usize = 10;

pub(crate) fn jobs(run: &Run, folds: CrossValidation) -> Result<Vec<Job<'static>>> {
    let folder = run.data()?;
    let (sets, counts) =
        if run.quick { (&SETS[1..2], &QUICK_COUNTS[..]) } else { (&SETS[..], &COUNTS[..]) };
    let mut recipes = Recipe::sweep(&LEVELS, &MODELS, counts)?;
    let most = if run.quick { QUICK_EVALUATIONS } else { EVALUATIONS };
    recipes.iter_mut().for_each(|recipe| recipe.config.max_evaluations = Some(most));
    let mut jobs = Vec::new();
    for name in sets {
        jobs.extend(folds.jobs(&Arc::new(folder.extra(name)?), &recipes)?);
    }
    Ok(jobs)
}

/// The negative log marginal likelihood per training row.
fn loss(record: &Record) -> f64 {
    -record.log_marginal_likelihood / record.key.rows as f64
}

pub(crate) fn section(results: &Results) -> Result<Section> {
    let sets = by(&results.records, |r| r.key.set.clone());
    let counts = results.records.iter().filter(|r| MODELS.contains(&r.key.model.as_str()));
    let ends = (1.0, counts.map(|r| r.key.j as f64).fold(1.0, f64::max));
    let sweep = Sweep { models: &MODELS, levels: &LEVELS, ends };
    let panels = |pick: fn(&Record) -> f64, label: &str| -> Vec<Panel> {
        let panel = |(name, records): (&String, &Vec<&Record>)| {
            let title = format!("{name}, n = {}, d = {}", records[0].key.rows, records[0].columns);
            sweep.panel(title, (label, pick), records, |_| false)
        };
        sets.iter().map(panel).collect()
    };
    let mut all = panels(rmse, "test RMSE");
    let columns = all.len().max(1);
    all.extend(panels(loss, "negative log likelihood / n"));
    let figure = Figure {
        file: "peptides.svg".into(),
        svg: chart::lines(&all, columns)?,
        caption: format!(
            "Above: mean test RMSE (standardised). Below: negative log marginal likelihood of the \
             training rows, per row of the set. Searches of at most {EVALUATIONS} evaluations."
        ),
    };
    Ok(Section {
        id: NAME,
        title: "Peptides: more than 5,000 columns",
        paper: "DPA-GP-ARD is competitive with GAM for the best number of projections; the \
                marginal likelihood greatly favours it with few projections, which need not be the \
                best by RMSE.",
        found: sets.iter().map(|(name, records)| sentence(name, records)).collect(),
        figures: vec![figure],
        tables: Vec::new(),
    })
}

fn sentence(set: &str, records: &[&Record]) -> String {
    let ours = records.iter().copied().filter(|r| r.key.model == "dpa-ard");
    let groups = by(ours, |r| r.key.j);
    let best = |pick: fn(&Record) -> f64| {
        let means = groups.iter().map(|(j, group)| (*j, spread(group, pick).mean));
        means.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, f64::NAN))
    };
    let of = |model: &str, pick: fn(&Record) -> f64| {
        let group: Vec<&Record> =
            records.iter().filter(|r| r.key.model == model).copied().collect();
        spread(&group, pick).mean
    };
    let ((j_error, error), (j_loss, least)) = (best(rmse), best(loss));
    format!(
        "{set}: DPA-GP-ARD is best by RMSE at J = {j_error} ({error:.3}; GAM {:.3}, RBF-ARD \
         {:.3}), and by log marginal likelihood at J = {j_loss} ({:.2} per row; GAM {:.2}, \
         RBF-ARD {:.2}).",
        of("gam", rmse),
        of("rbf-ard", rmse),
        -least,
        -of("gam", loss),
        -of("rbf-ard", loss)
    )
}
