//! `raysum predict`: one line of mean, std, lower, upper per row of the table.

use super::Voice;
use crate::args::PredictArgs;
use crate::lines::Lines;
use crate::{output, source};
use anyhow::Result;
use raysum::Model;

pub(super) fn run(args: &PredictArgs, voice: Voice) -> Result<()> {
    output::check(&args.output)?;
    let model = Model::load(&args.model)?;
    let table = source::new_rows(&args.data, &args.reading, &model)?;
    voice.notes(&table.notes);
    let p = model.predict(&table.x)?;
    let (lower, upper) = p.interval(args.level)?;
    let std = p.std();
    let mut names: Vec<String> = ["mean", "std", "lower", "upper"].map(str::to_string).into();
    let mut slopes = None;
    if args.gradient {
        slopes = Some(model.mean_gradient(&table.x)?);
        let name = |column| format!("slope_of_mean:{}", model.column_name(column));
        names.extend((0..model.columns()).map(name));
    }
    let lines = Lines::new(names, table.rows, &table.kept, |i| {
        let mut line = vec![p.mean[i], std[i], lower[i], upper[i]];
        line.extend(slopes.iter().flat_map(|slopes| slopes.row(i)));
        line
    });
    output::write(&args.output, |out| lines.write(voice.json, out))
}
