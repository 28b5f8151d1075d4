//! `raysum predict`: one line of mean, std, lower, upper per row of the table, for each target. The
//! table is read, predicted and written some rows at a time: it may be of any size.

use super::streamed::Streamed;
use super::{Voice, fit};
use crate::args::PredictArgs;
use crate::lines::Lines;
use crate::source::NewRows;
use crate::{describe, output};
use anyhow::Result;
use raysum::Model;

/// What is said of each row and target.
const COLUMNS: [&str; 4] = ["mean", "std", "lower", "upper"];

pub(super) fn run(args: &PredictArgs, voice: Voice) -> Result<()> {
    output::check(&args.output, [args.model.as_path(), &args.data])?;
    let models = Model::load_all(&args.model)?;
    let each = |rows: &NewRows| predicted(&models, rows, args);
    let (data, reading, output) = (&args.data, &args.reading, &args.output);
    let slopes = if args.gradient { models[0].columns() } else { 0 };
    let width = (COLUMNS.len() + slopes) * models.len();
    Streamed { data, reading, output, width, voice }.run(&models[0], each)
}

fn predicted(models: &[Model], rows: &NewRows, args: &PredictArgs) -> Result<Lines> {
    let mut lines = Lines::new(rows.rows);
    for model in models {
        let mark = describe::mark(model, models.len());
        let p = fit::predict(model, &rows.x, rows.noise_std.as_deref())?;
        let (lower, upper) = p.interval(args.level)?;
        let std = p.std();
        let names = COLUMNS.map(|what| format!("{mark}{what}"));
        lines.add(names, &rows.kept, |i| vec![p.mean[i], std[i], lower[i], upper[i]]);
        if args.gradient {
            let slopes = model.mean_gradient(&rows.x)?;
            let name = |column| format!("{mark}slope_of_mean:{}", model.column_name(column));
            let names = (0..model.columns()).map(name);
            lines.add(names, &rows.kept, |i| slopes.row(i).to_vec());
        }
    }
    Ok(lines)
}
