//! `raysum predict`: mean, std, lower and upper for each row of a table, for each target.

use super::{Voice, fit, streamed};
use crate::args::PredictArgs;
use crate::describe;
use anyhow::Result;
use raysum::Model;
use raysum_table::{AnswerChunk, NewRows};

/// What is said of each row and target.
const COLUMNS: [&str; 4] = ["mean", "std", "lower", "upper"];

/// How far a row is outside the range of the training rows, in standard deviations.
const EXTRAPOLATION: &str = "extrapolation";
/// Rows from this distance on are worth a note.
const FAR: f64 = 1.0;

pub(super) fn run(args: &PredictArgs, voice: Voice) -> Result<()> {
    let job = args.resolve(voice.json)?;
    let models = Model::load_all(job.model)?;
    let each = models.iter().flat_map(|m| names(m, models.len(), args));
    let names: Vec<String> = each.chain([EXTRAPOLATION.into()]).collect();
    let mut outside = 0;
    streamed::run(&job, &models, &names, voice, |rows, chunk| {
        let mut names = names.iter().cloned();
        models.iter().try_for_each(|model| predict(model, rows, args, &mut names, chunk))?;
        // All targets were fitted on the same rows.
        let extrapolation = models[0].extrapolation(&rows.x)?;
        outside += extrapolation.iter().filter(|distance| **distance > FAR).count();
        chunk.add(EXTRAPOLATION.into(), &rows.kept, extrapolation);
        Ok(())
    })?;
    if outside > 0 {
        let rows = if outside == 1 { "1 row is".into() } else { format!("{outside} rows are") };
        voice.note(&format!(
            "{}: {rows} more than one standard deviation outside the range of the training rows; \
             predictions there are guesses (see the column {EXTRAPOLATION})",
            job.place.name()
        ));
    }
    Ok(())
}

/// The names of the columns of one target.
fn names(model: &Model, targets: usize, args: &PredictArgs) -> Vec<String> {
    let mark = describe::mark(model, targets);
    let slopes = model.columns() * usize::from(args.gradient);
    let slope = |column| format!("{mark}slope_of_mean:{}", model.column_name(column));
    COLUMNS.iter().map(|what| format!("{mark}{what}")).chain((0..slopes).map(slope)).collect()
}

fn predict(
    model: &Model,
    rows: &NewRows,
    args: &PredictArgs,
    names: &mut impl Iterator<Item = String>,
    chunk: &mut AnswerChunk,
) -> Result<()> {
    let p = fit::predict(model, &rows.x, rows.noise_std.as_deref())?;
    let (lower, upper) = p.interval(args.level)?;
    let std = p.std();
    for (values, name) in [p.mean, std, lower, upper].into_iter().zip(names.by_ref()) {
        chunk.add(name, &rows.kept, values);
    }
    if args.gradient {
        let slopes = model.mean_gradient(&rows.x)?;
        for (column, name) in (0..model.columns()).zip(names) {
            chunk.add(name, &rows.kept, (0..slopes.rows()).map(|i| slopes[(i, column)]));
        }
    }
    Ok(())
}
