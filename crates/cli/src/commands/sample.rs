//! `raysum sample`: functions drawn from a model, one column each, at the rows of a table.

use super::Voice;
use crate::args::SampleArgs;
use crate::lines::Lines;
use crate::{describe, output, source};
use anyhow::Result;
use raysum::Model;

pub(super) fn run(args: &SampleArgs, voice: Voice) -> Result<()> {
    output::check(&args.output)?;
    let models = Model::load_all(&args.model)?;
    let table = source::new_rows(&args.data, &args.reading, &models[0])?;
    voice.notes(&table.notes);
    let count = args.functions as usize;
    let mut lines = Lines::new(table.rows);
    for model in &models {
        let functions = if args.prior {
            model.prior_functions(count, args.seed)?
        } else {
            model.functions(count, args.seed)?
        };
        let values = functions.evaluate(&table.x)?;
        let mark = describe::mark(model, models.len());
        let names = (0..count).map(|s| format!("{mark}sample_{s}"));
        lines.add(names, &table.kept, |i| (0..count).map(|s| values[(s, i)]).collect());
    }
    output::write(&args.output, |out| lines.write(voice.json, out))
}
