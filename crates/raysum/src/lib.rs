#![doc = include_str!("../../../README.md")]

pub mod basis;
mod checkpoint;
mod config;
mod data;
pub mod engine;
mod error;
mod expected;
pub mod file;
mod fit;
mod kernel;
mod linalg;
pub mod memory;
pub mod metrics;
mod model;
mod named;
mod online;
pub mod optimize;
mod parameters;
mod persist;
mod project;
pub mod rng;
mod scale;
mod schema;
mod spectrum;
mod views;

pub use checkpoint::Checkpoint;
pub use config::{Config, Degrees, EngineChoice, Optimizer, Shrinkage};
pub use data::{Dataset, Matrix, MatrixRef, RowStore};
pub use engine::ski::SkiOptions;
pub use error::{Error, Result};
pub use expected::{DirectionLaw, expected_kernel};
pub use fit::{Fit, Phase, Progress, ProgressFn};
pub use kernel::SubKernel;
pub use model::{Component, FitReport, Functions, Model, Prediction};
pub use online::Part;
pub use parameters::{Hyperparameters, Parameters};
pub use persist::FORMAT;
pub use project::{Directions, Projections};
pub use scale::{Scaler, Standard, StandardRows};
pub use schema::{
    DateOrder, DecimalMark, Feature, FeatureKind, Grouping, LabelColumn, Labels, MAX_CATEGORIES,
    NumberFormat, Schema,
};
pub use views::Views;

/// What fuzzers need and nobody else.
#[doc(hidden)]
pub mod fuzzing {
    /// The bytes of a model with their checksum put right.
    pub fn resealed(bytes: &[u8]) -> Option<Vec<u8>> {
        crate::persist::resealed(bytes)
    }
}
