//! A program from its arguments to its exit code: shared by `raysum` and the paper's experiments.

use crate::args::values::whole;
use crate::{interrupt, output, threads};
use anyhow::{Context, Result};
use clap::Args as ClapArgs;
use raysum_table::Note;
use std::process::ExitCode;

/// Options of every command.
#[derive(Clone, Copy, Debug, ClapArgs)]
pub struct ProgramArgs {
    /// Number of threads, at most the number of cores; results do not depend on it
    /// [default: all cores]
    #[arg(
        long, global = true, value_name = "N", value_parser = whole(1, u32::MAX),
        allow_hyphen_values = true
    )]
    threads: Option<u32>,

    /// Print only results and errors
    #[arg(long, short, global = true)]
    quiet: bool,

    /// Print details: the engine, its features, each evaluation
    #[arg(long, short, global = true, conflicts_with = "quiet")]
    verbose: bool,

    /// Print results as JSON, one object per line
    #[arg(long, global = true)]
    json: bool,
}

/// What a command prints beside its results.
#[derive(Clone, Copy, Debug)]
pub struct Voice {
    /// Print only results and errors.
    pub quiet: bool,
    /// Print every evaluation.
    pub verbose: bool,
    /// Print results as JSON.
    pub json: bool,
}

impl Voice {
    /// Prints notes about the data to standard error.
    pub(crate) fn notes(self, notes: &[Note]) {
        notes.iter().for_each(|note| self.note(note.text()));
    }

    /// Prints a note to standard error.
    pub fn note(self, note: &str) {
        if !self.quiet {
            output::say(&format!("note: {note}"));
        }
    }
}

/// Runs `body` with threads and a handler for Ctrl-C; an error is printed after the program's `name`.
pub fn run(
    name: &'static str,
    args: ProgramArgs,
    body: impl FnOnce(Voice) -> Result<()>,
) -> ExitCode {
    interrupt::install(name);
    let voice = Voice { quiet: args.quiet, verbose: args.verbose, json: args.json };
    let started = threads::start(args.threads).context("cannot start the threads");
    let done = started.and_then(|note| {
        note.iter().for_each(|note| voice.note(note));
        body(voice)
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // `raysum … | head` closes the pipe early, which is not a failure.
        Err(e) if output::is_broken_pipe(&e) => ExitCode::SUCCESS,
        Err(e) => {
            output::say(&format!("{name}: {}", output::sentence(&e)));
            ExitCode::FAILURE
        }
    }
}
