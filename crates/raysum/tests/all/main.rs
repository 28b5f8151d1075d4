//! The tests of the library's public interface: one program, because each would link all of its dependencies
//! again.

mod architecture;
mod checkpoint;
mod common;
mod explain;
mod fixtures;
mod functions;
mod known_truth;
mod learned;
mod memory;
mod model_file;
mod neighbors;
mod observations;
mod online;
mod properties;
mod stack;
mod stack_truth;
mod stored_rows;
mod stress;
mod sums;
mod target_scale;
mod varying_noise;
