//! `raysum fit`: fit on some of the rows, score the rest, fit on all, save.

use crate::args::FitArgs;
use crate::program::Voice;
use crate::progress::Reporter;
use crate::score::Scores;
use crate::{describe, interrupt, output, splits, style, tables};
use anyhow::Result;
use raysum::{Checkpoint, Config, Dataset, Fit, MatrixRef, Model, Prediction, Progress};
use raysum_table::{TrainingTable, escaped};
use serde_json::{Value, json};
use std::ops::{ControlFlow, Range};
use std::time::Instant;

/// From this many rows on, the hyperparameters found without the held-out rows are kept.
const MANY_ROWS: usize = 20_000;

/// Minimum number of held-out rows for a meaningful coverage.
const LEAST_HELD_OUT: usize = 10;

/// A model per target fitted on all rows, and the held-out scores of a fit without the held-out
/// rows.
struct Fitted {
    models: Vec<Model>,
    /// One per target, or none.
    holdouts: Vec<Holdout>,
    evaluations: usize,
    seconds: f64,
}

/// Scores on held-out rows.
struct Holdout {
    rows: usize,
    scores: Scores,
    standardised: Scores,
}

impl Holdout {
    /// Whether the 95 % intervals contain far fewer rows than chance explains.
    fn is_overconfident(&self) -> bool {
        let deviation = (0.95 * 0.05 / self.rows as f64).sqrt();
        self.rows >= LEAST_HELD_OUT && self.scores.coverage95 < 0.85 - 3.0 * deviation
    }
}

pub(super) fn run(args: &FitArgs, voice: Voice) -> Result<()> {
    let job = args.resolve()?;
    let mut checkpoint = job.checkpoint.map(Checkpoint::open).transpose()?;
    let table = tables::training(&job.table)?;
    voice.notes(&table.notes);
    if let Some(checkpoint) = &checkpoint {
        already(checkpoint).iter().for_each(|note| voice.note(note));
        interrupt::keeps(Some(checkpoint.path()));
    }
    for (name, y) in table.schema.labels.targets.iter().zip(&table.labels.targets) {
        if y.iter().all(|value| *value == y[0]) {
            let name = escaped(&name.name);
            voice.note(&format!("every value of the target '{name}' is {}", y[0]));
        }
    }
    let targets = table.labels.targets.len();
    // Together, or one after another.
    let step = if job.shared { targets } else { 1 };
    let groups = table.schema.groups();
    let mut all = Vec::new();
    for first in (0..targets).step_by(step) {
        let mut fit = HeldOutFit {
            config: &job.config,
            table: &table,
            groups: &groups,
            checkpoint: checkpoint.as_mut(),
            voice,
        };
        let mut fitted = fit.run(first..first + step, job.holdout)?;
        for (k, model) in fitted.models.iter_mut().enumerate() {
            attach(model, job.preset, &table, first + k)?;
        }
        all.push(fitted);
    }
    if let Some(path) = job.output {
        let mut models: Vec<&Model> = Vec::new();
        all.iter().for_each(|fitted| models.extend(&fitted.models));
        interrupt::whole(|| Model::save_all(models, path))?;
    }
    if let Some(checkpoint) = checkpoint {
        interrupt::keeps(None);
        checkpoint.remove();
    }
    let mut text = String::new();
    for fitted in &all {
        for k in 0..fitted.models.len() {
            if voice.json {
                output::print_json(&to_json(fitted, k, job.preset))?;
            } else {
                text += &summary(fitted, k, job.preset);
            }
        }
    }
    if voice.json {
        return Ok(());
    }
    text += &match job.output {
        Some(path) => format!("saved to {}\n", path.display()),
        None => "not saved (give -o FILE to save)\n".to_string(),
    };
    output::print_line(text.trim_end())
}

/// The note on the evaluations that a checkpoint has from an earlier run.
fn already(checkpoint: &Checkpoint) -> Option<String> {
    let known = checkpoint.evaluations();
    let path = checkpoint.path().display();
    (known > 0).then(|| format!("{path} holds {known} evaluations of an earlier run"))
}

/// The common input of the fits of a command.
struct HeldOutFit<'a> {
    config: &'a Config,
    table: &'a TrainingTable,
    /// The original column of each column of X.
    groups: &'a [usize],
    checkpoint: Option<&'a mut Checkpoint>,
    voice: Voice,
}

impl HeldOutFit<'_> {
    /// Holds out a share of the rows, fits to the others and scores; then fits to all rows,
    /// starting from the hyperparameters found.
    fn run(&mut self, targets: Range<usize>, share: f64) -> Result<Fitted> {
        let Self { config, table, groups, .. } = *self;
        let started = Instant::now();
        let mut evaluations = 0;
        let mut first: Option<Model> = None;
        let mut holdouts = Vec::new();
        let count = |models: &[Model]| models.first().map_or(0, |model| model.report().evaluations);
        if let Some(split) = splits::holdout(table.rows(), share, config.seed) {
            let (x, labels) = split.train(table);
            let data = labels.dataset(x, targets.clone())?.grouped(groups)?;
            let models = self.search(config, &data, None, "fit without held-out rows")?;
            let (x, labels) = split.test(table);
            for (model, y) in models.iter().zip(&labels.targets[targets.clone()]) {
                let unit = model.target_scale().std;
                let prediction = predict(model, x, labels.noise.as_deref())?;
                let standardised = Scores::standardised(y, &prediction, unit)?;
                let scores = standardised.in_units(unit);
                holdouts.push(Holdout { rows: y.len(), scores, standardised });
            }
            evaluations += count(&models);
            first = models.into_iter().next();
        }
        let data = table.labels.dataset(table, targets)?.grouped(groups)?;
        let models = match first {
            // A tenth more rows would hardly change the hyperparameters. Learned directions are
            // kept: held-out rows have determined when to stop.
            Some(found)
                if data.rows() > MANY_ROWS
                    || config.subset.is_some()
                    || config.learns_directions() =>
            {
                let fit = Fit::new(config).start_from(&found).shared(true);
                fit.condition(&data, found.hyperparameters())?
            }
            // From a good starting point, further starts would reach the same optimum.
            Some(found) => {
                let mut again = config.clone();
                again.starts = 1;
                self.search(&again, &data, Some(&found), "fit on all rows")?
            }
            None => self.search(config, &data, None, "fit on all rows")?,
        };
        evaluations += count(&models);
        Ok(Fitted { models, holdouts, evaluations, seconds: started.elapsed().as_secs_f64() })
    }

    fn search(
        &mut self,
        config: &Config,
        data: &Dataset<'_>,
        first: Option<&Model>,
        label: &str,
    ) -> Result<Vec<Model>> {
        let mut reporter = Reporter::new(label, self.voice);
        let progress = &mut |progress: &Progress| {
            reporter.evaluation(progress);
            ControlFlow::Continue(())
        };
        let mut fit = Fit::new(config).shared(true).progress(progress);
        if let Some(first) = first {
            fit = fit.start_from(first);
        }
        if let Some(checkpoint) = &mut self.checkpoint {
            fit = fit.checkpoint(checkpoint);
        }
        let models = fit.run(data)?;
        reporter.finish();
        Ok(models)
    }
}

/// Predictions of rows that may have known noise.
pub(crate) fn predict<'a>(
    model: &Model,
    x: impl Into<MatrixRef<'a>>,
    noise_std: Option<&[f64]>,
) -> Result<Prediction> {
    Ok(match noise_std {
        Some(noise_std) => model.predict_with_noise(x, noise_std)?,
        None => model.predict(x)?,
    })
}

/// Stores the schema, the target's name and the preset in the model.
pub(crate) fn attach(
    model: &mut Model,
    preset: &str,
    table: &TrainingTable,
    target: usize,
) -> Result<()> {
    model.set_schema(table.schema.clone())?;
    model.set_preset(preset);
    model.set_target_name(table.schema.labels.targets[target].name.as_str());
    Ok(())
}

fn to_json(fitted: &Fitted, k: usize, preset: &str) -> Value {
    let model = &fitted.models[k];
    let holdout = fitted.holdouts.get(k);
    let score = |pick: fn(&Holdout) -> f64| holdout.map(pick);
    json!({
        "model": preset,
        "target": model.target_name(),
        "engine": model.engine(),
        "features": model.features(),
        "n": model.report().rows,
        "d": model.columns(),
        "log_marginal_likelihood": model.log_marginal_likelihood(),
        "log_marginal_likelihood_error": model.likelihood_error(),
        "noise_std": model.noise_std(),
        "noise_varies": model.noise_varies(),
        "target_scale": model.target_transformation(),
        "shrinkage": model.report().shrinkage,
        "evaluations": fitted.evaluations,
        "fit_seconds": fitted.seconds,
        "holdout_rows": holdout.map_or(0, |h| h.rows),
        "holdout_rmse": score(|h| h.scores.rmse),
        "holdout_nlpd": score(|h| h.scores.nlpd),
        "holdout_crps": score(|h| h.scores.crps),
        "holdout_coverage95": score(|h| h.scores.coverage95),
        "holdout_rmse_standardised": score(|h| h.standardised.rmse),
        "holdout_nlpd_standardised": score(|h| h.standardised.nlpd),
        "hit_limit": model.report().hit_limit,
        "unconverged": model.report().unconverged,
        "rough": model.report().rough,
    })
}

fn summary(fitted: &Fitted, k: usize, preset: &str) -> String {
    let model = &fitted.models[k];
    let mut text = format!(
        "{preset} on {} rows × {} columns, target '{}', {}\n",
        model.report().rows,
        model.columns(),
        escaped(model.target_name().unwrap_or_default()),
        describe::engine(model)
    );
    let row = |name: &str, value: String| vec![name.to_string(), value];
    let mut rows: Vec<Vec<String>> = Vec::new();
    rows.extend(model.target_transformation().map(|name| row("scale of target", name)));
    rows.extend([
        row("log marginal likelihood", describe::likelihood(model)),
        row("noise std", describe::noise(model)),
        row("length-scales", describe::all_length_scales(model)),
        row("evaluations", describe::evaluations(model, fitted.evaluations)),
        row("time", style::seconds(fitted.seconds)),
    ]);
    match fitted.holdouts.get(k) {
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
    if let Some(h) = fitted.holdouts.get(k).filter(|h| h.is_overconfident()) {
        text += &format!(
            "the intervals are too narrow: they hold {:.0} % of the held-out rows where they should \
             hold 95 %; compare models with `raysum evaluate` before using them\n",
            100.0 * h.scores.coverage95
        );
    }
    if model.report().hit_limit {
        text += "the search ended at its limit of evaluations; raise --max-evaluations\n";
    }
    text += &describe::unconverged(model);
    text += &describe::rough(model);
    text += "relevance of the columns:\n";
    text += &describe::relevance(model, 8);
    text += &describe::noise_relevance(model, 8);
    text
}
