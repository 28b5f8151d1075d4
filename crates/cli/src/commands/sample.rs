//! `raysum sample`: functions drawn from a model, one column each, at the rows of a table.

use super::{Voice, streamed};
use crate::args::SampleArgs;
use crate::describe;
use anyhow::Result;
use raysum::Stack;

pub(super) fn run(args: &SampleArgs, voice: Voice) -> Result<()> {
    let job = args.resolve(voice.json)?;
    let stacks = Stack::load_all(job.model)?;
    let count = args.functions as usize;
    let (mut drawn, mut names) = (Vec::new(), Vec::new());
    for stack in &stacks {
        drawn.push(if args.prior {
            stack.prior_functions(count, args.seed)?
        } else {
            stack.functions(count, args.seed)?
        });
        let mark = describe::mark(stack.first(), stacks.len());
        names.extend((0..count).map(|s| format!("{mark}sample_{s}")));
    }
    streamed::run(&job, &stacks, &names, voice, |rows, chunk| {
        let mut names = names.iter().cloned();
        for functions in &drawn {
            let values = functions.evaluate(&rows.x)?;
            for (s, name) in (0..count).zip(names.by_ref()) {
                chunk.add(name, &rows.kept, (0..rows.x.rows()).map(|i| values[(s, i)]));
            }
        }
        Ok(())
    })
}
