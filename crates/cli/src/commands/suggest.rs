//! `raysum suggest`: the next rows to try.

use crate::args::SuggestArgs;
use crate::output;
use crate::program::Voice;
use anyhow::{Context, Result, bail};
use raysum::Stack;
use raysum::suggest::Goal;
use raysum_table::{
    AnswerChunk, ChosenCells, KeptCells, KeptColumn, OutputFormat, SearchSpace, TableWriter,
    schema_of,
};
use std::path::Path;

/// Probability of the intervals that are shown.
const LEVEL: f64 = 0.95;

pub(super) fn run(args: &SuggestArgs, voice: Voice) -> Result<()> {
    output::check(&args.output, [args.model.as_path()])?;
    let format = match OutputFormat::of(&args.output)? {
        Some(format) => format,
        None if voice.json => OutputFormat::JSON_LINES,
        None => OutputFormat::CSV,
    };
    let stacks = Stack::load_all(&args.model)?;
    let stack = chosen(&stacks, args.target.as_deref(), &args.model)?;
    let place = || args.model.display().to_string();
    let schema = schema_of(stacks.iter().map(Stack::first));
    let scales = stack.first().column_scales();
    let space = SearchSpace::new(&schema, scales, &args.bounds).with_context(place)?;
    let goal = if args.maximize { Goal::Maximize } else { Goal::Minimize };
    let points =
        stack.suggest(&space.variables, args.count, goal, args.seed).with_context(place)?;
    let prediction = stack.predict(&space.rows(&points))?;
    let (lower, upper) = prediction.interval(LEVEL)?;
    let column = |(name, cells)| {
        let cells = match cells {
            ChosenCells::Texts(texts) | ChosenCells::Dates(texts) => KeptCells::Texts(texts),
            ChosenCells::Numbers(numbers) => KeptCells::Numbers(numbers),
            ChosenCells::Integers(whole) => {
                KeptCells::Numbers(whole.into_iter().map(|value| value as f64).collect())
            }
        };
        KeptColumn { name, cells }
    };
    let columns = space.columns(&points).into_iter().map(column).collect();
    let mut chunk = AnswerChunk::new(args.count, columns);
    let all: Vec<usize> = (0..args.count).collect();
    let std = prediction.std();
    for (name, values) in
        [("mean", &prediction.mean), ("std", &std), ("lower", &lower), ("upper", &upper)]
    {
        chunk.add(name.into(), &all, values.iter().copied());
    }
    output::write(&args.output, |out| {
        let mut table = TableWriter::new(format, out)?;
        table.write(&chunk)?;
        table.finish()
    })
}

/// The target that is asked for, or the only one.
fn chosen<'s>(stacks: &'s [Stack], name: Option<&str>, file: &Path) -> Result<&'s Stack> {
    let of = |stack: &Stack| stack.first().target_name().unwrap_or("y").to_string();
    let names = || stacks.iter().map(of).collect::<Vec<_>>().join(", ");
    let found = match name {
        Some(name) => stacks.iter().find(|stack| of(stack) == name),
        None if stacks.len() > 1 => bail!(
            "{}: the model has several targets; name one of them with --target: {}",
            file.display(),
            names()
        ),
        None => stacks.first(),
    };
    found.with_context(|| {
        let name = name.unwrap_or_default();
        format!("{}: the model has no target '{name}'; it has {}", file.display(), names())
    })
}
