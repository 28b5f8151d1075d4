//! Converts Rust errors to Python exceptions.

use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use raysum::Error;

/// File errors keep Python's class (`FileNotFoundError`, …), lack of memory is a `MemoryError`, and
/// everything else is a `ValueError` with the message of the error.
pub(crate) fn to_python(error: Error) -> PyErr {
    match error {
        Error::Io { ref reason, .. } => {
            std::io::Error::new(reason.kind(), error.to_string()).into()
        }
        Error::OutOfMemory { .. } => PyMemoryError::new_err(error.to_string()),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// Raises `MemoryError` if there is no memory for the 64-bit floats that `what` would take.
#[pyfunction]
pub(crate) fn require_memory(what: &str, numbers: u64) -> PyResult<()> {
    raysum::system::require_memory(format_args!("{what}"), numbers).map_err(to_python)
}
