//! `raysum fit`: fit on part of the rows, score the rest, fit on all, save.

use super::Voice;
use crate::args::FitArgs;
use crate::progress::Reporter;
use crate::score::Scores;
use crate::source::{self, ATTACHMENT, TrainingTable};
use crate::{describe, interrupt, output, splits, style};
use anyhow::Result;
use raysum::{Config, Dataset, Hyperparameters, Model};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::time::Instant;

/// From this many rows on, the hyperparameters found without the held-out rows are kept.
const MANY_ROWS: usize = 20_000;

/// A model fitted on all rows, and how a fit on part of them scored on the rest.
struct Fitted {
    model: Model,
    holdout: Option<Holdout>,
    evaluations: usize,
    seconds: f64,
}

/// Scores on held-out rows.
struct Holdout {
    rows: usize,
    scores: Scores,
    standardised: Scores,
}

pub(super) fn run(args: &FitArgs, voice: Voice) -> Result<()> {
    let config = args.settings.config(&args.model)?;
    if let Some(path) = &args.output {
        output::check(path)?;
    }
    let table = source::training(&args.table)?;
    voice.notes(&table.notes);
    let mut fitted = fit(&config, &table, args.holdout, voice)?;
    attach(&mut fitted.model, &args.model, &table)?;
    if let Some(path) = &args.output {
        interrupt::whole(|| fitted.model.save(path))?;
    }
    if voice.json {
        return output::print_line(&to_json(&fitted, &args.model).to_string());
    }
    let mut text = summary(&fitted, &args.model, &table);
    text += &match &args.output {
        Some(path) => format!("saved to {}\n", path.display()),
        None => "not saved (give -o FILE to save)\n".to_string(),
    };
    output::print_line(text.trim_end())
}

/// Holds out a share of the rows, fits to the others and scores; then fits to all rows, starting
/// from the hyperparameters found.
fn fit(config: &Config, table: &TrainingTable, share: f64, voice: Voice) -> Result<Fitted> {
    let started = Instant::now();
    let mut evaluations = 0;
    let mut first: Option<Model> = None;
    let mut holdout = None;
    if let Some(split) = splits::holdout(table.y.len(), share, config.seed) {
        let (x, y) = table.part(&split.train);
        let model =
            search(config, &Dataset::new(x, &y)?, None, "fit without held-out rows", voice)?;
        let (x, y) = table.part(&split.test);
        let unit = model.scaler().y.std;
        let standardised = Scores::standardised(&y, &model.predict(x)?, unit);
        let scores = standardised.in_units(unit);
        holdout = Some(Holdout { rows: y.len(), scores, standardised });
        evaluations += model.report().evaluations;
        first = Some(model);
    }
    let data = Dataset::new(&table.x, &table.y)?;
    let model = match first {
        // A tenth more of so many rows would not move the hyperparameters. Learned directions are
        // kept: held-out rows have told when to stop.
        Some(found)
            if data.rows() > MANY_ROWS || config.subset.is_some() || config.learn_directions =>
        {
            let (projections, found) = (found.projections(), found.hyperparameters());
            config.condition_along(&data, projections.clone(), found.clone())?
        }
        // Starting from a good point, further starts would find the same again.
        Some(found) => {
            let again = Config { starts: 1, ..config.clone() };
            search(&again, &data, Some(found.hyperparameters()), "fit on all rows", voice)?
        }
        None => search(config, &data, None, "fit on all rows", voice)?,
    };
    evaluations += model.report().evaluations;
    Ok(Fitted { model, holdout, evaluations, seconds: started.elapsed().as_secs_f64() })
}

fn search(
    config: &Config,
    data: &Dataset<'_>,
    first: Option<&Hyperparameters>,
    label: &str,
    voice: Voice,
) -> Result<Model> {
    let mut reporter = Reporter::new(label, voice);
    let model = config.fit_from(data, first, &mut |progress| {
        reporter.evaluation(progress);
        ControlFlow::Continue(())
    })?;
    reporter.finish();
    Ok(model)
}

/// Keeps with the model where it came from and how tables are encoded for it.
pub(crate) fn attach(model: &mut Model, preset: &str, table: &TrainingTable) -> Result<()> {
    model.column_names = Some(table.encoding.expanded_names());
    model.attachments.insert(ATTACHMENT.into(), serde_json::to_value(&table.encoding)?);
    model.attachments.insert("preset".into(), Value::from(preset));
    Ok(())
}

fn to_json(fitted: &Fitted, preset: &str) -> Value {
    let model = &fitted.model;
    let score = |pick: fn(&Holdout) -> f64| fitted.holdout.as_ref().map(pick);
    json!({
        "model": preset,
        "engine": model.engine(),
        "features": model.features(),
        "n": model.report().rows,
        "d": model.columns(),
        "log_marginal_likelihood": model.log_marginal_likelihood(),
        "noise_std": model.noise_std(),
        "evaluations": fitted.evaluations,
        "fit_seconds": fitted.seconds,
        "holdout_rows": fitted.holdout.as_ref().map_or(0, |h| h.rows),
        "holdout_rmse": score(|h| h.scores.rmse),
        "holdout_nlpd": score(|h| h.scores.nlpd),
        "holdout_crps": score(|h| h.scores.crps),
        "holdout_coverage95": score(|h| h.scores.coverage95),
        "holdout_rmse_standardised": score(|h| h.standardised.rmse),
        "holdout_nlpd_standardised": score(|h| h.standardised.nlpd),
        "hit_limit": model.report().hit_limit,
    })
}

fn summary(fitted: &Fitted, preset: &str, table: &TrainingTable) -> String {
    let model = &fitted.model;
    let mut text = format!(
        "{preset} on {} rows × {} columns, target '{}', {}\n",
        model.report().rows,
        model.columns(),
        table.encoding.target,
        describe::engine(model)
    );
    let row = |name: &str, value: String| vec![name.to_string(), value];
    let mut rows = vec![
        row("log marginal likelihood", style::number(model.log_marginal_likelihood())),
        row("noise std", style::number(model.noise_std())),
        row("evaluations", fitted.evaluations.to_string()),
        row("time", style::seconds(fitted.seconds)),
    ];
    match &fitted.holdout {
        Some(h) => {
            let share = style::number(h.standardised.rmse);
            rows.push(row("held-out rows", h.rows.to_string()));
            rows.push(row("  RMSE", style::number(h.scores.rmse)));
            rows.push(row("  RMSE / std of target", share));
            rows.push(row("  NLPD", style::number(h.scores.nlpd)));
            rows.push(row(
                "  inside 95 % interval",
                format!("{:.0} %", 100.0 * h.scores.coverage95),
            ));
        }
        None => rows.push(row("held-out rows", "none".into())),
    }
    text += &style::columns(&rows);
    if model.report().hit_limit {
        text += "the search ended at its limit of evaluations; raise --max-evaluations\n";
    }
    text += "relevance of the columns:\n";
    text += &describe::relevance(model, 8);
    text
}
