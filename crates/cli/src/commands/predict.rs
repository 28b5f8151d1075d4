//! `raysum predict`: one line of mean, std, lower, upper per row of the table, for each target.

use super::{Voice, fit};
use crate::args::PredictArgs;
use crate::lines::Lines;
use crate::{describe, output, source};
use anyhow::Result;
use raysum::Model;

/// What is said of each row and target.
const COLUMNS: [&str; 4] = ["mean", "std", "lower", "upper"];

pub(super) fn run(args: &PredictArgs, voice: Voice) -> Result<()> {
    output::check(&args.output)?;
    let models = Model::load_all(&args.model)?;
    let table = source::new_rows(&args.data, &args.reading, &models[0])?;
    voice.notes(&table.notes);
    let mut lines = Lines::new(table.rows);
    for model in &models {
        let mark = describe::mark(model, models.len());
        let p = fit::predict(model, &table.x, table.noise_std.as_deref())?;
        let (lower, upper) = p.interval(args.level)?;
        let std = p.std();
        let names = COLUMNS.map(|what| format!("{mark}{what}"));
        lines.add(names, &table.kept, |i| vec![p.mean[i], std[i], lower[i], upper[i]]);
        if args.gradient {
            let slopes = model.mean_gradient(&table.x)?;
            let name = |column| format!("{mark}slope_of_mean:{}", model.column_name(column));
            let names = (0..model.columns()).map(name);
            lines.add(names, &table.kept, |i| slopes.row(i).to_vec());
        }
    }
    output::write(&args.output, |out| lines.write(voice.json, out))
}
