#![doc = include_str!("../README.md")]

mod basis;
mod checkpoint;
mod config;
mod data;
mod engine;
mod error;
mod file;
mod fit;
mod kernel;
pub mod limits;
mod linalg;
mod memory;
pub mod metrics;
mod model;
mod named;
mod online;
mod optimize;
mod parameters;
mod persist;
mod project;
mod rng;
mod scale;
pub mod schema;
mod spectrum;
pub mod stack;
mod views;

pub use checkpoint::Checkpoint;
pub use config::Config;
pub use data::{Dataset, Labels, Matrix, MatrixRef, RowStore};
pub use error::{Error, Result, StackError, TermError};
pub use file::AtomicFile;
pub use fit::{Fit, Phase, Progress, ProgressFn};
pub use memory::{available as available_memory, require as require_memory};
pub use model::{Component, FitReport, Functions, Model, Prediction, Scores};
pub use online::Part;
pub use parameters::{Hyperparameters, TermHyperparameters};
pub use persist::FORMAT;
pub use project::Projections;
pub use scale::Standard;
pub use stack::{Effort, Intervals, Stack, StackFit, cross_calibrated};

/// What a [`Config`] is made of.
pub mod settings {
    pub use crate::config::{
        ColumnsScale, ConfigPatch, Degrees, EngineChoice, LengthScalePrior, LengthScales, Noise,
        Optimizer, Shrinkage, TargetScale, Term,
    };
    pub use crate::engine::neighbors::NeighborsOptions;
    pub use crate::engine::ski::SkiOptions;
    pub use crate::kernel::{Shape, SubKernel};
    pub use crate::project::Directions;
}

/// Support for fuzzers only.
#[doc(hidden)]
pub mod fuzzing {
    /// The bytes of a model with a corrected checksum.
    pub fn resealed(bytes: &[u8]) -> Option<Vec<u8>> {
        crate::persist::resealed(bytes)
    }
}
