#![doc = include_str!("../README.md")]

mod basis;
mod checkpoint;
mod config;
mod data;
pub mod distributed;
mod engine;
pub mod error;
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
pub mod suggest;
mod views;

pub use checkpoint::Checkpoint;
pub use config::Config;
pub use data::{Dataset, Labels, Matrix, MatrixRef, RowStore};
pub use error::{Error, Result};
pub use fit::Fit;
pub use model::{Functions, Model, Prediction, Scores};
pub use online::Shard;
pub use persist::FORMAT;
pub use stack::{Effort, Intervals, Stack, StackFit};

/// What a fitted [`Model`] says about itself.
pub mod fitted {
    pub use crate::model::{Component, Explanation, FitReport};
    pub use crate::parameters::{Hyperparameters, TermHyperparameters};
    pub use crate::project::Projections;
    pub use crate::scale::Standard;
}

/// What a fit reports while it runs.
pub mod progress {
    pub use crate::fit::{Phase, Progress, ProgressFn};
}

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

/// Files that are written whole, and memory: what programs around the library need too.
pub mod system {
    pub use crate::file::AtomicFile;
    pub use crate::memory::{available as available_memory, require as require_memory};
}

/// Support for fuzzers only.
#[doc(hidden)]
pub mod fuzzing {
    /// The bytes of a model with a corrected checksum.
    pub fn resealed(bytes: &[u8]) -> Option<Vec<u8>> {
        crate::persist::resealed(bytes)
    }
}
