//! The command `raysum`: parse the arguments → resolve a job → run it → print. It is a library for
//! the fuzzers and for the paper's experiments; its items are not a stable interface.

#[doc(hidden)]
pub mod args;
mod baseline;
mod commands;
mod describe;
#[doc(hidden)]
pub mod fuzzing;
mod held_out;
#[doc(hidden)]
pub mod interrupt;
mod memory;
#[doc(hidden)]
pub mod output;
mod picture;
#[doc(hidden)]
pub mod program;
#[doc(hidden)]
pub mod progress;
mod resolve;
mod same_file;
#[doc(hidden)]
pub mod splits;
#[doc(hidden)]
pub mod style;
mod summary;
mod tables;
mod target_note;
mod threads;

use clap::Parser;
use std::process::ExitCode;

/// Runs the command line.
pub fn run() -> ExitCode {
    let args = args::Args::parse();
    program::run("raysum", args.program, |voice| commands::run(&args.command, voice))
}
