//! The commands, one per file.

mod demo;
mod evaluate;
mod fit;
mod inspect;
mod online;
mod predict;
mod report;
mod sample;
mod streamed;
mod suggest;

use crate::args::{Command, ReproduceArgs};
use crate::program::Voice;
use anyhow::{Result, bail};

/// Runs a command.
pub(crate) fn run(command: &Command, voice: Voice) -> Result<()> {
    match command {
        Command::Fit(args) => fit::run(args, voice),
        Command::Predict(args) => predict::run(args, voice),
        Command::Sample(args) => sample::run(args, voice),
        Command::Suggest(args) => suggest::run(args, voice),
        Command::Evaluate(args) => evaluate::run(args, voice),
        Command::Update(args) => online::update(args, voice),
        Command::Stats(args) => online::stats(args, voice),
        Command::Merge(args) => online::merge(args, voice),
        Command::Report(args) => report::run(args, voice),
        Command::Inspect(args) => inspect::run(args, voice),
        Command::Demo(args) => demo::run(args, voice),
        Command::Reproduce(args) => bail!(moved(args)),
    }
}

/// The message that names the program of the experiments, with the equivalent command.
fn moved(args: &ReproduceArgs) -> String {
    let words: Vec<_> = args.words.iter().map(|word| word.to_string_lossy()).collect();
    let words = if words.is_empty() { "--help".into() } else { words.join(" ") };
    format!(
        "the paper's experiments are a separate program; in the sources of raysum, run: cargo \
         run --release -p raysum-experiments -- {words}"
    )
}
