//! The command `raysum`.

use std::process::ExitCode;

/// Each evaluation allocates large blocks. The system's allocator returns them to the system in
/// between, and allocating them again took a quarter of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    raysum_cli::run()
}
