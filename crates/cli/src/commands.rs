//! The commands, one per file, and what they share.

mod demo;
mod evaluate;
mod fit;
mod inspect;
mod online;
mod predict;
mod sample;
mod streamed;

use crate::args::{Args, Command};
use crate::{output, reproduce, threads};
use anyhow::{Context, Result};
use raysum_table::Note;

/// How a command talks, apart from its results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Voice {
    /// Print nothing but results and errors.
    pub(crate) quiet: bool,
    /// Print every evaluation.
    pub(crate) verbose: bool,
    /// Print results as JSON.
    pub(crate) json: bool,
}

impl Voice {
    /// Notes about the data go to standard error.
    pub(crate) fn notes(self, notes: &[Note]) {
        notes.iter().for_each(|note| self.note(note.text()));
    }

    /// A note goes to standard error.
    pub(crate) fn note(self, note: &str) {
        if !self.quiet {
            output::say(&format!("note: {note}"));
        }
    }
}

/// Runs a command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let voice = Voice { quiet: args.quiet, verbose: args.verbose, json: args.json };
    let note = threads::start(args.threads).context("cannot start the threads")?;
    note.iter().for_each(|note| voice.note(note));
    match &args.command {
        Command::Fit(args) => fit::run(args, voice),
        Command::Predict(args) => predict::run(args, voice),
        Command::Sample(args) => sample::run(args, voice),
        Command::Evaluate(args) => evaluate::run(args, voice),
        Command::Update(args) => online::update(args, voice),
        Command::Stats(args) => online::stats(args, voice),
        Command::Merge(args) => online::merge(args, voice),
        Command::Inspect(args) => inspect::run(args, voice),
        Command::Demo(args) => demo::run(args, voice),
        Command::Reproduce(args) => reproduce::run(args, voice),
    }
}
