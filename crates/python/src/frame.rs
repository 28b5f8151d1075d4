//! Encodes data frames, passed column by column, as the numbers that a model uses.

use crate::arrays::{array_2d, slice};
use numpy::{PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use raysum::Labels;
use raysum::schema::Schema;
use raysum_table::{
    Audience, Frame, Missing, Note, PredictionOptions, SchemaOptions, TrainingOptions,
    read_all_new, read_training,
};

/// The name of a frame in messages.
const NAME: &str = "X";
/// NumPy's representation of a missing date.
const NOT_A_TIME: i64 = i64::MIN;

/// A column: its name, its kind ("number", "boolean", "date", "text", "other"), its cells, and a
/// detail: for numbers whether they are floats, for dates the nanoseconds of their unit.
pub(crate) type GivenColumn<'py> = (String, String, Bound<'py, PyAny>, i64);
/// A target: its name, its values, and whether they were floats.
pub(crate) type GivenTarget<'py> = (String, PyReadonlyArray1<'py, f64>, bool);
/// A note, and whether it is a warning.
pub(crate) type GivenNote = (bool, String);
/// X, the rows that are left out, and notes.
pub(crate) type EncodedFrame<'py> = (Bound<'py, PyArray2<f64>>, Vec<usize>, Vec<GivenNote>);

/// A training frame, encoded.
#[pyclass(frozen, module = "raysum._raysum")]
pub(crate) struct TrainingFrame {
    /// The encoded features.
    #[pyo3(get)]
    x: Py<PyArray2<f64>>,
    /// The rows that are left out.
    #[pyo3(get)]
    left_out: Vec<usize>,
    /// Notes for the user, each with whether it is a warning.
    #[pyo3(get)]
    notes: Vec<GivenNote>,
    pub(crate) schema: Schema,
}

/// Reads a training frame.
#[pyfunction]
pub(crate) fn read_frame(
    py: Python<'_>,
    columns: Vec<GivenColumn<'_>>,
    named: bool,
    targets: Vec<GivenTarget<'_>>,
    missing: &str,
    categories: usize,
    least_rows: usize,
) -> PyResult<TrainingFrame> {
    let frame = with_targets(&columns, named, &targets)?;
    let labels = Labels::of_targets((columns.len()..frame.width()).collect());
    let missing = missing_rule(missing)?;
    let schema = SchemaOptions { missing, categories, ..SchemaOptions::default() };
    let options = TrainingOptions { schema, least_rows, ..TrainingOptions::default() };
    let table = py.detach(|| read_training(&frame, &options, |_| Ok(labels)));
    let table = table.map_err(to_value_error)?;
    Ok(TrainingFrame {
        x: array_2d(py, table.x.into_matrix().map_err(to_value_error)?)?.unbind(),
        left_out: table.left_out,
        notes: given(table.notes),
        schema: table.schema,
    })
}

/// Rows of a frame for a schema: the encoded features, the rows that are left out, and notes.
pub(crate) fn encode<'py>(
    py: Python<'py>,
    schema: &Schema,
    columns: &[GivenColumn<'py>],
    named: bool,
    rows: usize,
    missing: &str,
) -> PyResult<EncodedFrame<'py>> {
    let frame = frame(columns, named, rows)?;
    let missing = missing_rule(missing)?;
    let options = PredictionOptions { missing, ..PredictionOptions::default() };
    let read = py.detach(|| read_all_new(&frame, schema, &options)).map_err(to_value_error)?;
    let (mut chunks, notes) = read;
    // A frame is one chunk.
    let chunk = chunks.pop().ok_or_else(|| PyValueError::new_err("X has no rows"))?;
    let mut kept = chunk.kept.iter().peekable();
    let left_out = (0..rows).filter(|row| kept.next_if_eq(&row).is_none()).collect();
    // Targets are passed separately, so that a note on their absence is not needed.
    let notes = notes.into_iter().filter(|note| matches!(note, Note::Caution(_))).collect();
    Ok((array_2d(py, chunk.x)?, left_out, given(notes)))
}

/// A frame whose last columns are the targets.
pub(crate) fn with_targets(
    columns: &[GivenColumn<'_>],
    named: bool,
    targets: &[GivenTarget<'_>],
) -> PyResult<Frame> {
    let rows =
        targets.first().map_or(Ok(0), |(_, values, _)| Ok::<_, PyErr>(slice(values)?.len()))?;
    let mut frame = frame(columns, named, rows)?;
    for (name, values, floats) in targets {
        frame.push_numbers(name, slice(values)?.to_vec(), *floats);
    }
    Ok(frame)
}

fn frame(columns: &[GivenColumn<'_>], named: bool, rows: usize) -> PyResult<Frame> {
    let mut frame = Frame::new(NAME, Audience::Python, named, rows);
    for (name, kind, cells, extra) in columns {
        match kind.as_str() {
            "number" => frame.push_numbers(name, numbers(cells)?, *extra != 0),
            "boolean" => frame.push_booleans(name, numbers(cells)?),
            "date" => {
                let dates: PyReadonlyArray1<'_, i64> = cells.extract()?;
                let dates = dates.as_slice()?.iter();
                let present = dates.map(|date| (*date != NOT_A_TIME).then_some(date));
                frame.push_dates(name, present, i128::from(*extra));
            }
            "text" => {
                let cells = cells.cast::<PyList>()?;
                let text = |cell: Bound<'_, PyAny>| -> PyResult<Option<String>> {
                    if cell.is_none() {
                        return Ok(None);
                    }
                    Ok(Some(cell.cast::<PyString>()?.to_str()?.to_owned()))
                };
                let texts: Vec<Option<String>> = cells.iter().map(text).collect::<PyResult<_>>()?;
                frame.push_texts(name, texts.iter().map(Option::as_deref));
            }
            _ => frame.push_other(name, &cells.extract::<String>()?),
        }
    }
    Ok(frame)
}

fn numbers(cells: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let values: PyReadonlyArray1<'_, f64> = cells.extract()?;
    Ok(slice(&values)?.to_vec())
}

pub(crate) fn missing_rule(name: &str) -> PyResult<Missing> {
    match name {
        "error" => Ok(Missing::Error),
        "drop" => Ok(Missing::Drop),
        "mean" => Ok(Missing::Mean),
        "indicate" => Ok(Missing::Indicate),
        other => Err(PyValueError::new_err(format!("unknown rule for missing values: {other}"))),
    }
}

pub(crate) fn given(notes: Vec<Note>) -> Vec<GivenNote> {
    notes
        .into_iter()
        .map(|note| (matches!(note, Note::Caution(_)), note.text().to_owned()))
        .collect()
}

pub(crate) fn to_value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{error:#}"))
}
