//! What goes wrong in Rust, as Python says it.

use pyo3::PyErr;
use pyo3::exceptions::PyValueError;
use raysum::Error;

/// Files keep the class that Python has for them (`FileNotFoundError`, …); all else is a
/// `ValueError` with the words of the error.
pub(crate) fn to_python(error: Error) -> PyErr {
    match error {
        Error::Io { ref reason, .. } => {
            std::io::Error::new(reason.kind(), error.to_string()).into()
        }
        other => PyValueError::new_err(other.to_string()),
    }
}
