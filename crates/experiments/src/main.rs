//! The paper's experiments: `cargo run --release -p raysum-experiments -- all --data FOLDER`.

mod args;
mod chart;
mod faces;
mod journal;
mod kernels;
mod limit;
mod page;
mod paper;
mod peptides;
mod pool;
mod projections;
mod random;
mod record;
mod run;
mod scaling;
mod sets;
mod settings;
mod statistics;
mod summary;
mod synthetic;
mod task;
mod uci;

use clap::Parser;
use std::process::ExitCode;

/// The same allocator as the command `raysum`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = args::Args::parse();
    raysum_cli::program::run("raysum-experiments", args.program, |voice| {
        run::run(&args.experiment, voice)
    })
}
