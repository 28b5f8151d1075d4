//! The report on fitted models and some rows, and the card about them, as HTML.

use crate::arrays::Rows;
use crate::error::to_python;
use crate::model::Model;
use crate::threads::compute;
use pyo3::prelude::*;
use raysum::system::AtomicFile;
use raysum_report::Subject;
use std::io::Write;
use std::path::PathBuf;

/// What the name of the data is where they are arrays.
const SOURCE: &str = "X, y";

/// A page about a model and rows with their targets; `commands` make it again.
#[pyfunction]
pub(crate) fn report(
    py: Python<'_>,
    model: &Model,
    rows: Rows,
    commands: Vec<String>,
    threads: usize,
) -> PyResult<String> {
    rows.borrow(py, true, |data| {
        let (expected, found) = (model.targets.len(), data.targets().len());
        if found != expected {
            return Err(to_python(raysum::Error::TargetCount { expected, found }));
        }
        let subject = Subject {
            stacks: &model.targets,
            x: data.x(),
            targets: data.targets().to_vec(),
            first_row: 0,
            left_out: &[],
            source: SOURCE,
            notes: Vec::new(),
            commands: commands.clone(),
        };
        compute(py, threads, || raysum_report::page(&subject))
    })
}

/// Writes a text to a file, atomically.
#[pyfunction]
pub(crate) fn write_text(py: Python<'_>, path: PathBuf, text: &str) -> PyResult<()> {
    py.detach(|| {
        let mut file = AtomicFile::new(&path)?;
        file.write_all(text.as_bytes())?;
        file.commit()?;
        Ok(())
    })
}

/// A card about a model, as a fragment of HTML.
#[pyfunction]
pub(crate) fn card(model: &Model, title: &str) -> String {
    raysum_report::card(title, &model.targets)
}
