//! `raysum sample`: functions drawn from a model, one column each, at the rows of a table.

use super::Voice;
use crate::args::SampleArgs;
use crate::lines::Lines;
use crate::{output, source};
use anyhow::Result;
use raysum::Model;

pub(super) fn run(args: &SampleArgs, voice: Voice) -> Result<()> {
    output::check(&args.output)?;
    let model = Model::load(&args.model)?;
    let table = source::new_rows(&args.data, &args.reading, &model)?;
    voice.notes(&table.notes);
    let count = args.functions as usize;
    let functions = if args.prior {
        model.prior_functions(count, args.seed)?
    } else {
        model.functions(count, args.seed)?
    };
    let values = functions.evaluate(&table.x)?;
    let names = (0..count).map(|s| format!("sample_{s}")).collect();
    let at = |i: usize| (0..count).map(|s| values[(s, i)]).collect();
    let lines = Lines::new(names, table.rows, &table.kept, at);
    output::write(&args.output, |out| lines.write(voice.json, out))
}
