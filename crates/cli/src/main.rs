//! The command `raysum`: arguments → resolved job → run → print.

mod args;
mod baseline;
mod commands;
mod describe;
mod interrupt;
mod lines;
mod npy;
mod output;
mod picture;
mod progress;
mod reproduce;
mod score;
mod source;
mod splits;
mod style;
mod table;

use clap::Parser;
use std::process::ExitCode;

/// An evaluation asks for large blocks again and again. The system's allocator hands them back in
/// between, and a quarter of the time went into getting them anew.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
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
