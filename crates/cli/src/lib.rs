//! The command `raysum`: parse the arguments → resolve a job → run it → print. A library only so that its fuzzers
//! can get at it.

mod args;
mod baseline;
mod commands;
mod describe;
#[doc(hidden)]
pub mod fuzzing;
mod interrupt;
mod memory;
mod output;
mod picture;
mod progress;
mod reproduce;
mod resolve;
mod same_file;
mod score;
mod splits;
mod style;
mod tables;
mod threads;

use clap::Parser;
use std::process::ExitCode;

/// Does what the command line says.
pub fn run() -> ExitCode {
    let args = args::Args::parse();
    interrupt::install();
    match commands::run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        // `raysum … | head` closes the pipe early; that is no failure.
        Err(e) if output::is_broken_pipe(&e) => ExitCode::SUCCESS,
        Err(e) => {
            output::say(&format!("raysum: {e:#}"));
            ExitCode::FAILURE
        }
    }
}
