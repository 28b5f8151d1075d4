//! `raysum predict`: mean, std, lower and upper for each row of a table, for each target.

use super::{Voice, fit, streamed};
use crate::args::PredictArgs;
use crate::describe;
use anyhow::Result;
use raysum::Model;

/// The results for each row and target.
const COLUMNS: [&str; 4] = ["mean", "std", "lower", "upper"];

/// The column with the distance of a row from the range of the training rows, in standard
/// deviations.
const EXTRAPOLATION: &str = "extrapolation";
/// Rows beyond this distance are counted in a note.
const FAR: f64 = 1.0;

pub(super) fn run(args: &PredictArgs, voice: Voice) -> Result<()> {
    let job = args.resolve(voice.json)?;
    let models = Model::load_all(job.model)?;
    let names = names(&models, args.gradient);
    let mut outside = 0;
    streamed::run(&job, &models, &names, voice, |rows, chunk| {
        let mut names = names.iter();
        let mut add = |values: Vec<f64>| {
            if let Some(name) = names.next() {
                chunk.add(name.clone(), &rows.kept, values);
            }
        };
        for model in &models {
            let p = fit::predict(model, &rows.x, rows.noise_std.as_deref())?;
            let (lower, upper) = p.interval(args.level)?;
            let std = p.std();
            [p.mean, std, lower, upper].into_iter().for_each(&mut add);
        }
        // All targets were fitted on the same rows.
        let extrapolation = models[0].extrapolation(&rows.x)?;
        outside += extrapolation.iter().filter(|distance| **distance > FAR).count();
        add(extrapolation);
        for model in models.iter().filter(|_| args.gradient) {
            let slopes = model.mean_gradient(&rows.x)?;
            for column in 0..model.columns() {
                add((0..slopes.rows()).map(|i| slopes[(i, column)]).collect());
            }
        }
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

/// The names of the columns.
fn names(models: &[Model], gradient: bool) -> Vec<String> {
    let mark = |model| describe::mark(model, models.len());
    let of_target = |model| COLUMNS.map(|what| format!("{}{what}", mark(model)));
    let mut names: Vec<String> = models.iter().flat_map(of_target).collect();
    names.push(EXTRAPOLATION.into());
    for model in models.iter().filter(|_| gradient) {
        let slope = |column| format!("{}slope_of_mean:{}", mark(model), model.column_name(column));
        names.extend((0..model.columns()).map(slope));
    }
    names
}
