//! The tests of the command line: one program, because each would link all of its dependencies again.

mod answers;
mod bad_input;
mod common;
#[cfg(unix)]
mod disk;
mod fuzz;
mod gaps;
#[cfg(unix)]
mod kill;
#[cfg(target_os = "linux")]
mod memory;
mod messages;
mod online;
#[cfg(unix)]
mod overwrite;
mod readme;
mod report;
#[cfg(unix)]
mod scales;
mod shapes;
mod signals;
mod stack;
mod streaming;
mod suggest;
mod tables;
mod workflow;
