//! The settings of the neighbors engine.

use super::values::number;
use clap::Args as ClapArgs;
use raysum::limits::{MAX_NEIGHBORS, written};

/// Settings of the neighbors engine only.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "The neighbors engine")]
pub(crate) struct NeighborsArgs {
    /// Rows that each training row is conditioned on [default: 30]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = number::<usize>(rule()))]
    pub(crate) neighbors: Option<usize>,

    /// Rows that each prediction is conditioned on [default: 200]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = number::<usize>(rule()))]
    pub(crate) prediction_neighbors: Option<usize>,
}

fn rule() -> String {
    format!("a whole number from 1 to {}", written(MAX_NEIGHBORS))
}
