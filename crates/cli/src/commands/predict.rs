//! `raysum predict`: mean, std, lower and upper for each row of a table, for each target.

use super::{Voice, fit, streamed};
use crate::args::PredictArgs;
use crate::describe;
use anyhow::Result;
use raysum::Model;
use raysum_table::{AnswerChunk, NewRows};

/// What is said of each row and target.
const COLUMNS: [&str; 4] = ["mean", "std", "lower", "upper"];

pub(super) fn run(args: &PredictArgs, voice: Voice) -> Result<()> {
    let job = args.resolve(voice.json)?;
    let models = Model::load_all(job.model)?;
    let names: Vec<String> = models.iter().flat_map(|m| names(m, models.len(), args)).collect();
    streamed::run(&job, &models, &names, voice, |rows, chunk| {
        let mut names = names.iter().cloned();
        models.iter().try_for_each(|model| predict(model, rows, args, &mut names, chunk))
    })
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
