//! `raysum sample`: functions drawn from a model, one column each, at the rows of a table.

use super::Voice;
use super::streamed::Streamed;
use crate::args::SampleArgs;
use crate::lines::Lines;
use crate::source::NewRows;
use crate::{describe, output};
use anyhow::Result;
use raysum::Model;

pub(super) fn run(args: &SampleArgs, voice: Voice) -> Result<()> {
    output::check(&args.output, [args.model.as_path(), &args.data])?;
    let models = Model::load_all(&args.model)?;
    let count = args.functions as usize;
    let mut drawn = Vec::new();
    for model in &models {
        drawn.push(if args.prior {
            model.prior_functions(count, args.seed)?
        } else {
            model.functions(count, args.seed)?
        });
    }
    let each = |rows: &NewRows| {
        let mut lines = Lines::new(rows.rows);
        for (model, functions) in models.iter().zip(&drawn) {
            let values = functions.evaluate(&rows.x)?;
            let mark = describe::mark(model, models.len());
            let names = (0..count).map(|s| format!("{mark}sample_{s}"));
            lines.add(names, &rows.kept, |i| (0..count).map(|s| values[(s, i)]).collect());
        }
        Ok(lines)
    };
    let (data, reading, output) = (&args.data, &args.reading, &args.output);
    let width = count.saturating_mul(models.len());
    Streamed { data, reading, output, width, voice }.run(&models[0], each)
}
