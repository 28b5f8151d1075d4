//! The compiled part of the Python package, which `python/raysum` calls to fit and evaluate models.
//!
//! It takes NumPy arrays that the Python side has checked (64-bit floats, in C or Fortran order),
//! borrows them without a copy, and releases the GIL while it works. Frames with text, dates or
//! missing values are passed column by column.

// PyO3 passes arguments by value.
#![allow(clippy::needless_pass_by_value)]

mod arrays;
mod describe;
mod distributed;
mod error;
mod fit;
mod frame;
mod job;
mod model;
mod report;
mod settings;
mod shards;
mod suggest;
mod threads;

use pyo3::prelude::*;

#[pymodule]
mod _raysum {
    #[pymodule_export]
    use super::arrays::not_finite;
    #[pymodule_export]
    use super::distributed::{
        DriverJob, FrameSchema, agree, merge_answers, merge_summaries, run_task, summarise_frame,
        version,
    };
    #[pymodule_export]
    use super::error::require_memory;
    #[pymodule_export]
    use super::fit::fit;
    #[pymodule_export]
    use super::frame::{TrainingFrame, read_frame};
    #[pymodule_export]
    use super::job::leave;
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::report::{card, report, write_text};
    #[pymodule_export]
    use super::settings::{limits, names, preset};
}
