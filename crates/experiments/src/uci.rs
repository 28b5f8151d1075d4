//! The supplementary table, and the figure "DPA vs GAM": every model on every UCI set.

use crate::chart::{self, Axis, Group};
use crate::journal::Results;
use crate::page::{Cell, Figure, Section, Table};
use crate::paper::{self, Published};
use crate::pool::Job;
use crate::record::Record;
use crate::run::Run;
use crate::statistics::{Spread, clearly_larger};
use crate::summary::{by, listed, rmse, spread};
use crate::task::{CrossValidation, Recipe};
use anyhow::Result;
use raysum_cli::style;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) const NAME: &str = "uci";

/// The models of the paper's table and figure, in the order of ours.
const MODELS: [&str; 11] = [
    "rbf-ard",
    "imq-ard",
    "gam",
    "single-rp",
    "rpa-1",
    "rpa-2",
    "rpa-3",
    "dpa",
    "rpa-ard",
    "dpa-ard",
    "dpa-ard-ski",
];
/// Those of the figure.
const DRAWN: [&str; 5] = ["rbf-ard", "gam", "rpa-1", "dpa", "dpa-ard"];
/// Those for sets that the paper does not have, some of them large; the dense one up to a limit.
const LARGER_MODELS: [&str; 3] = ["rbf-ard", "gam", "dpa-ard"];
const LARGE: usize = 5_000;
const QUICK_SETS: [&str; 4] = ["challenger", "autos", "servo", "machine"];

/// What to run; the defaults are the paper's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) sets: Vec<String>,
    pub(crate) models: Vec<String>,
    /// Whether to run the other sets in the folder, too.
    pub(crate) larger: bool,
}

pub(crate) fn jobs(
    run: &Run,
    wanted: &Wanted,
    folds: CrossValidation,
) -> Result<Vec<Job<'static>>> {
    let folder = run.data()?;
    let published = paper::sets()?;
    let mut sets = match wanted.sets.as_slice() {
        [] if run.quick => QUICK_SETS.map(String::from).to_vec(),
        [] => published.clone(),
        some => some.to_vec(),
    };
    if wanted.larger {
        sets.extend(folder.names("uci")?.into_iter().filter(|name| !published.contains(name)));
    }
    let mut read: Vec<_> = sets.iter().map(|s| folder.uci(s)).collect::<Result<_>>()?;
    read.sort_by_key(|set| set.x.rows());
    let mut jobs = Vec::new();
    for set in read {
        let rows = set.x.rows();
        let known = published.contains(&set.name);
        let models: Vec<&str> = match wanted.models.as_slice() {
            [] if known => MODELS.to_vec(),
            [] => LARGER_MODELS.into_iter().filter(|m| rows <= LARGE || *m != "rbf-ard").collect(),
            some => some.iter().map(String::as_str).collect(),
        };
        let recipes: Vec<_> = models.into_iter().map(Recipe::preset).collect::<Result<_>>()?;
        let folds = match (known, rows <= LARGE) {
            (true, _) => folds,
            (false, true) => CrossValidation { repeats: 1, ..folds },
            // One fold of many held-out rows suffices.
            (false, false) => CrossValidation { repeats: 1, run: 1, ..folds },
        };
        jobs.extend(folds.jobs(&Arc::new(set), &recipes)?);
    }
    Ok(jobs)
}

/// A cell of our table.
struct Ours {
    set: String,
    rows: usize,
    columns: usize,
    model: String,
    rmse: Spread,
    /// Not significantly worse than the best model of its set.
    bold: bool,
    paper: Option<Published>,
    nlpd: f64,
    coverage95: f64,
    seconds: f64,
}

impl Ours {
    /// The difference to the paper's mean in standard errors of both.
    fn difference(&self) -> Option<f64> {
        let paper = self.paper?;
        let error = self.rmse.standard_error().hypot(paper.standard_error());
        (error > 0.0).then(|| (self.rmse.mean - paper.mean) / error)
    }

    /// Whether it is above the paper's mean by more than a standard error of that.
    fn is_above(&self) -> bool {
        self.paper.is_some_and(|p| self.rmse.mean > p.mean + p.standard_error())
    }
}

fn cells(results: &Results) -> Result<Vec<Ours>> {
    let published = paper::table()?;
    let sets = by(&results.records, |r| (r.key.rows, r.key.set.clone()));
    let mut cells = Vec::new();
    for ((rows, set), records) in &sets {
        let models = by(records.iter().copied(), |r| place(&r.key.model));
        let best =
            models.values().min_by(|a, b| spread(a, rmse).mean.total_cmp(&spread(b, rmse).mean));
        for group in models.values() {
            let model = &group[0].key.model;
            let cell = published.iter().find(|c| c.set == *set && c.model == model);
            cells.push(Ours {
                set: set.clone(),
                rows: *rows,
                columns: group[0].columns,
                model: model.clone(),
                rmse: spread(group, rmse),
                bold: best.is_some_and(|best| !worse(group, best)),
                paper: cell.and_then(|c| c.rmse),
                nlpd: spread(group, |r| r.scores.nlpd).mean,
                coverage95: spread(group, |r| r.scores.coverage95).mean,
                seconds: results.seconds(|k| k.set == *set && k.model == *model)
                    / group.len() as f64,
            });
        }
    }
    Ok(cells)
}

/// The place of a model in the table.
fn place(model: &str) -> (usize, String) {
    (MODELS.iter().position(|m| *m == model).unwrap_or(MODELS.len()), model.into())
}

/// Whether one model is significantly worse than another on their common folds.
fn worse(group: &[&Record], best: &[&Record]) -> bool {
    let fold = |r: &Record| (r.key.repeat, r.key.fold);
    let of_best: BTreeMap<_, f64> = best.iter().map(|r| (fold(r), rmse(r))).collect();
    let pairs: Vec<(f64, f64)> =
        group.iter().filter_map(|r| Some((rmse(r), *of_best.get(&fold(r))?))).collect();
    let (values, best): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    clearly_larger(&values, &best)
}

pub(crate) fn section(results: &Results) -> Result<Section> {
    let cells = cells(results)?;
    Ok(Section {
        id: NAME,
        title: "The UCI sets: every model",
        paper: "RBF-ARD and IMQ-ARD are generally the best and perform alike; DPA-GP-ARD matches \
                them with 20 one-dimensional projections that are not learned; GAM does \
                surprisingly well but falls behind on the larger sets; a single projection is \
                beaten by all; there is little to no loss by SKI.",
        found: found(&cells, results),
        figures: vec![figure(&cells)?],
        tables: vec![table(&cells)],
    })
}

fn found(cells: &[Ours], results: &Results) -> Vec<String> {
    let published: Vec<&Ours> = cells.iter().filter(|c| c.paper.is_some()).collect();
    let above: Vec<String> = published
        .iter()
        .filter(|c| c.is_above())
        .map(|c| format!("{} on {}", paper::name(&c.model), c.set))
        .collect();
    let mut found = vec![format!(
        "{} of {} cells are at or below the paper's mean plus one standard error; above it: {}.",
        published.len() - above.len(),
        published.len(),
        listed(&above)
    )];
    let models = MODELS.iter().map(|model| {
        let of: Vec<&Ours> = cells.iter().filter(|c| c.model == *model).collect();
        let bold = of.iter().filter(|c| c.bold).count();
        (!of.is_empty()).then(|| format!("{} on {bold} of {}", paper::name(model), of.len()))
    });
    let models: Vec<String> = models.flatten().collect();
    found.push(format!("Not clearly worse than the best: {}.", listed(&models)));
    let ours: Vec<&Record> = results.records.iter().filter(|r| r.key.model == "dpa-ard").collect();
    if !ours.is_empty() {
        found.push(format!(
            "The 95 % intervals of DPA-GP-ARD hold {:.1} % of the held-out values.",
            100.0 * spread(&ours, |r| r.scores.coverage95).mean
        ));
        found.push(format!(
            "Its {} fits took {} on one core each, those of all models {}.",
            ours.len(),
            style::seconds(results.seconds(|k| k.model == "dpa-ard")),
            style::seconds(results.seconds(|_| true))
        ));
    }
    found
}

fn figure(cells: &[Ours]) -> Result<Figure> {
    let series: Vec<_> = DRAWN.iter().map(|m| (paper::name(m), paper::look_of(m))).collect();
    let mut groups: Vec<Group> = Vec::new();
    for cell in cells {
        let label = format!("{} ({})", cell.set, cell.rows);
        if groups.last().is_none_or(|g| g.label != label) {
            groups.push(Group { label, dots: vec![None; DRAWN.len()] });
        }
        if let (Some(k), Some(group)) =
            (DRAWN.iter().position(|m| *m == cell.model), groups.last_mut())
        {
            group.dots[k] = Some((cell.rmse.mean, 2.0 * cell.rmse.standard_error()));
        }
    }
    let y = Axis { label: "test RMSE (standardised)".into(), log: true, range: None };
    Ok(Figure {
        file: "uci.svg".into(),
        svg: chart::dots(&series, &groups, &y)?,
        caption: "Mean RMSE over the folds with twice its standard error; sets by their number of \
                  rows (in brackets)."
            .into(),
    })
}

fn table(cells: &[Ours]) -> Table {
    let models: Vec<&str> =
        MODELS.into_iter().filter(|m| cells.iter().any(|c| c.model == *m)).collect();
    let mut header = vec!["set".to_string(), "n".into(), "d".into()];
    header.extend(models.iter().map(|m| paper::name(m)));
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    let mut last = String::new();
    for cell in cells {
        if cell.set != last {
            last.clone_from(&cell.set);
            let [n, d] = [cell.rows, cell.columns].map(|v| Cell::plain(v.to_string()));
            let mut row = vec![Cell::plain(&cell.set), n, d];
            row.resize_with(header.len(), Cell::default);
            rows.push(row);
        }
        if let (Some(k), Some(row)) =
            (models.iter().position(|m| *m == cell.model), rows.last_mut())
        {
            row[k + 3] = shown(cell);
        }
    }
    Table {
        caption: "Mean RMSE ± twice the standard deviation over the folds; below it the paper's \
                  mean and the difference in standard errors of both. Bold: not clearly worse than \
                  the best of the row (one-sided t-test, paired by fold, 5 %). Shaded: above the \
                  paper's mean by more than its standard error."
            .into(),
        header,
        rows,
    }
}

fn shown(cell: &Ours) -> Cell {
    let paper = cell.paper.map_or(String::new(), |p| format!("paper {:.2}", p.mean));
    let difference = cell.difference().map_or(String::new(), |d| format!(" ({d:+.1})"));
    Cell {
        text: format!("{:.3} ± {:.2}", cell.rmse.mean, 2.0 * cell.rmse.sd),
        note: paper + &difference,
        bold: cell.bold,
        marked: cell.is_above(),
    }
}

/// The table in long form, as CSV.
pub(crate) fn summary(results: &Results) -> Result<String> {
    let mut text = String::from(
        "set,rows,columns,model,folds,rmse_mean,rmse_two_sd,bold,paper_mean,paper_two_sd,\
         paper_bold,difference_in_standard_errors,nlpd,coverage95,seconds_per_fit\n",
    );
    for c in cells(results)? {
        let paper = c
            .paper
            .map_or(",,".into(), |p| format!("{},{},{}", p.mean, p.two_sd, u8::from(p.bold)));
        let difference = c.difference().map_or(String::new(), |d| format!("{d:.2}"));
        text += &format!(
            "{},{},{},{},{},{:.5},{:.5},{},{paper},{difference},{:.4},{:.4},{:.3}\n",
            c.set,
            c.rows,
            c.columns,
            c.model,
            c.rmse.count,
            c.rmse.mean,
            2.0 * c.rmse.sd,
            u8::from(c.bold),
            c.nlpd,
            c.coverage95,
            c.seconds
        );
    }
    Ok(text)
}
