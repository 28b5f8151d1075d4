//! The settings of the engine.

use crate::error::{Error, Result};
use crate::limits::{MAX_NEIGHBORS, written};
use serde::{Deserialize, Serialize};

/// Settings of the neighbors engine; the defaults suit most data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NeighborsOptions {
    /// Rows that a training row is conditioned on.
    pub neighbors: usize,
    /// Rows that a prediction is conditioned on.
    pub prediction_neighbors: usize,
}

impl Default for NeighborsOptions {
    fn default() -> Self {
        Self { neighbors: 30, prediction_neighbors: 200 }
    }
}

impl NeighborsOptions {
    /// Fails on invalid settings.
    pub fn check(&self) -> Result<()> {
        for (name, count) in [
            ("the number of neighbors", self.neighbors),
            ("the number of prediction neighbors", self.prediction_neighbors),
        ] {
            if !(1..=MAX_NEIGHBORS).contains(&count) {
                let rule = format!("1 or more, and at most {}", written(MAX_NEIGHBORS)).into();
                return Err(Error::OutOfRange { name, value: count as f64, rule });
            }
        }
        Ok(())
    }
}
