//! The command `raysum`.

use std::process::ExitCode;

/// An evaluation asks for large blocks again and again. The system's allocator hands them back in
/// between, and a quarter of the time went into getting them anew.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    raysum_cli::run()
}
