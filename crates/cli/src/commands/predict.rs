//! `raysum predict`: mean, std, lower and upper for each row of a table, for each target.

use super::{Voice, streamed};
use crate::args::PredictArgs;
use crate::describe;
use anyhow::{Result, bail};
use raysum::fitted::Explanation;
use raysum::{Prediction, Stack};
use raysum_table::NewRows;

/// The results for each row and target.
const COLUMNS: [&str; 4] = ["mean", "std", "lower", "upper"];

/// The column with the distance of a row from the range of the training rows, in standard
/// deviations.
const EXTRAPOLATION: &str = "extrapolation";
/// The column with the prediction that contributions are added to, and what theirs begin with.
const BASELINE: &str = "baseline";
const CONTRIBUTION: &str = "contribution.";
/// Rows beyond this distance are counted in a note.
const FAR: f64 = 1.0;

pub(super) fn run(args: &PredictArgs, voice: Voice) -> Result<()> {
    let job = args.resolve(voice.json)?;
    let given = &args.quantiles;
    if let Some(k) = (1..given.len()).find(|k| given[..*k].contains(&given[*k])) {
        bail!("--quantiles has {} twice", given[k]);
    }
    let stacks = Stack::load_all(job.model)?;
    let names = names(&stacks, args);
    let mut outside = 0;
    streamed::run(&job, &stacks, &names, voice, |rows, chunk| {
        let mut names = names.iter();
        let mut add = |values: Vec<f64>| {
            if let Some(name) = names.next() {
                chunk.add(name.clone(), &rows.kept, values);
            }
        };
        for stack in &stacks {
            let p = predict(stack, rows)?;
            let (lower, upper) = p.interval(args.level)?;
            for values in [p.mean.clone(), p.std(), lower, upper] {
                add(values);
            }
            for probability in &args.quantiles {
                add(p.quantile(*probability)?);
            }
        }
        // All targets were fitted on the same rows.
        let extrapolation = stacks[0].extrapolation(&rows.x)?;
        outside += extrapolation.iter().filter(|distance| **distance > FAR).count();
        add(extrapolation);
        for stack in stacks.iter().filter(|_| args.gradient) {
            let slopes = stack.mean_gradient(&rows.x)?;
            for column in 0..stack.columns() {
                add((0..slopes.rows()).map(|i| slopes[(i, column)]).collect());
            }
        }
        for stack in stacks.iter().filter(|_| args.explain) {
            let Explanation { baseline, contributions } = stack.explain(&rows.x)?;
            add(vec![baseline; contributions.rows()]);
            for column in 0..contributions.columns() {
                add((0..contributions.rows()).map(|i| contributions[(i, column)]).collect());
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

/// The prediction of rows whose noise may be known.
fn predict(stack: &Stack, rows: &NewRows) -> raysum::Result<Prediction> {
    match &rows.noise_std {
        Some(noise_std) => stack.predict_with_noise(&rows.x, noise_std),
        None => stack.predict(&rows.x),
    }
}

/// The names of the columns.
fn names(stacks: &[Stack], args: &PredictArgs) -> Vec<String> {
    let mut names = Vec::new();
    for stack in stacks {
        let mark = describe::mark(stack.first(), stacks.len());
        names.extend(COLUMNS.map(|what| format!("{mark}{what}")));
        names.extend(args.quantiles.iter().map(|p| format!("{mark}q{p}")));
    }
    names.push(EXTRAPOLATION.into());
    for stack in stacks.iter().filter(|_| args.gradient) {
        let (model, mark) = (stack.first(), describe::mark(stack.first(), stacks.len()));
        let slope = |column| format!("{mark}slope_of_mean:{}", model.column_name(column));
        names.extend((0..model.columns()).map(slope));
    }
    for stack in stacks.iter().filter(|_| args.explain) {
        let (model, mark) = (stack.first(), describe::mark(stack.first(), stacks.len()));
        names.push(format!("{mark}{BASELINE}"));
        let contribution = |f| format!("{mark}{CONTRIBUTION}{}", model.feature_name(f));
        names.extend((0..model.relevance().len()).map(contribution));
    }
    names
}
