//! `raysum fit`: fit without held-out rows, score these, fit on all rows, save.

use crate::args::{FitArgs, Recipe};
use crate::program::Voice;
use crate::progress::Reporter;
use crate::resolve::FitJob;
use crate::{held_out, interrupt, output, summary, tables, target_note};
use anyhow::{Result, anyhow};
use raysum::error::StackError;
use raysum::progress::Progress;
use raysum::{Checkpoint, Dataset, Error, Stack, StackFit};
use raysum_table::{TrainingTable, escaped};
use std::ops::ControlFlow;
use std::time::Instant;

pub(super) fn run(args: &FitArgs, voice: Voice) -> Result<()> {
    let job = args.resolve()?;
    let mut checkpoint = job.checkpoint.map(Checkpoint::open).transpose()?;
    let table = tables::training(&job.table)?;
    voice.notes(&table.notes);
    if let Some(checkpoint) = &checkpoint {
        already(checkpoint).iter().for_each(|note| voice.note(note));
        interrupt::keeps(Some(checkpoint.path()));
    }
    for (name, y) in table.schema.labels.targets.iter().zip(&table.labels.targets) {
        target_note::about(&escaped(&name.name), y).iter().for_each(|note| voice.note(note));
    }
    let groups = table.schema.groups();
    let targets = table.labels.targets.len();
    let data = table.labels.dataset(&table, 0..targets)?.grouped(&groups)?;
    let started = Instant::now();
    let mut stacks = fit(&job, &data, checkpoint.as_mut(), voice).map_err(|error| match error {
        error @ Error::Stack(StackError::TooFewRows { .. }) => {
            anyhow!(error).context(job.table.place.name().clone())
        }
        other => other.into(),
    })?;
    let seconds = started.elapsed().as_secs_f64();
    for (target, stack) in stacks.iter_mut().enumerate() {
        attach(stack, &table, target)?;
    }
    if let Some(path) = job.output {
        interrupt::whole(|| Stack::save_all(&stacks, path))?;
    }
    if let Some(checkpoint) = checkpoint {
        interrupt::keeps(None);
        checkpoint.remove();
    }
    if voice.json {
        for stack in &stacks {
            output::print_json(&held_out::fit_json(stack, job.model, seconds))?;
        }
        return Ok(());
    }
    let mut text = String::new();
    for stack in &stacks {
        text += &summary::text(stack, job.model, seconds);
    }
    text += &match job.output {
        Some(path) => format!("saved to {}\n", path.display()),
        None => "not saved (give -o FILE to save)\n".to_string(),
    };
    output::print_line(text.trim_end())
}

fn fit(
    job: &FitJob<'_>,
    data: &Dataset<'_>,
    checkpoint: Option<&mut Checkpoint>,
    voice: Voice,
) -> raysum::Result<Vec<Stack>> {
    let mut reporter = Reporter::new("fit", voice);
    let progress = &mut |progress: &Progress| {
        reporter.evaluation(progress);
        ControlFlow::Continue(())
    };
    let fit = match &job.recipe {
        Recipe::Auto(effort) => StackFit::auto(*effort).seed(job.seed),
        Recipe::One(config) => StackFit::one(job.model, config).shared(job.shared),
    };
    let mut fit = fit.held_out(job.held_out).intervals(job.intervals).progress(progress);
    if let Some(checkpoint) = checkpoint {
        fit = fit.checkpoint(checkpoint);
    }
    let stacks = fit.run(data);
    reporter.finish();
    stacks
}

/// The note on the evaluations that a checkpoint has from an earlier run.
fn already(checkpoint: &Checkpoint) -> Option<String> {
    let known = checkpoint.evaluations();
    let path = checkpoint.path().display();
    (known > 0).then(|| format!("{path} holds {known} evaluations of an earlier run"))
}

/// Stores the schema and the target's name in the model.
pub(crate) fn attach(stack: &mut Stack, table: &TrainingTable, target: usize) -> Result<()> {
    stack.set_schema(&table.schema)?;
    stack.set_target_name(&table.schema.labels.targets[target].name);
    Ok(())
}
