//! Suggestions of rows to try, in the user's columns.

use crate::threads::compute;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use raysum::Stack;
use raysum::suggest::Goal;
use raysum_table::{ChosenCells, ColumnRange, SearchSpace, schema_of};

/// A column, the kind of its range, and its ends or options as text.
pub(crate) type GivenRange = (String, String, Vec<String>);

/// A column's name, NumPy's name of the type of its cells, and these.
pub(crate) type Suggested<'py> = (String, &'static str, Bound<'py, PyAny>);

/// The suggested cells of each column.
pub(crate) fn suggest<'py>(
    py: Python<'py>,
    stacks: &[Stack],
    target: usize,
    ranges: Vec<GivenRange>,
    (count, maximize, seed): (usize, bool, u64),
    threads: usize,
) -> PyResult<Vec<Suggested<'py>>> {
    let schema = schema_of(stacks.iter().map(Stack::first));
    let ranges: Vec<_> = ranges.into_iter().map(range).collect::<PyResult<_>>()?;
    let stack = &stacks[target];
    let space = SearchSpace::new(&schema, stack.first().column_scales(), &ranges)
        .map_err(|error| PyValueError::new_err(format!("{error:#}")))?;
    let goal = if maximize { Goal::Maximize } else { Goal::Minimize };
    let points = compute(py, threads, || stack.suggest(&space.variables, count, goal, seed))?;
    let column = |(name, cells): (String, ChosenCells)| {
        Ok(match cells {
            ChosenCells::Texts(texts) => (name, "object", texts.into_bound_py_any(py)?),
            ChosenCells::Dates(texts) => (name, "datetime64[s]", texts.into_bound_py_any(py)?),
            ChosenCells::Integers(whole) => (name, "int64", whole.into_bound_py_any(py)?),
            ChosenCells::Numbers(numbers) => (name, "float64", numbers.into_bound_py_any(py)?),
        })
    };
    space.columns(&points).into_iter().map(column).collect()
}

fn range((name, kind, words): GivenRange) -> PyResult<(String, ColumnRange)> {
    let whole = |k: usize| {
        words[k].parse::<i64>().map_err(|_| {
            PyValueError::new_err(format!("bounds of '{name}': {} is too large.", words[k]))
        })
    };
    let range = match (kind.as_str(), words.as_slice()) {
        ("between", [low, high]) => ColumnRange::Between(low.clone(), high.clone()),
        ("whole", [_, _]) => ColumnRange::Whole(whole(0)?, whole(1)?),
        _ => ColumnRange::OneOf(words.clone()),
    };
    Ok((name, range))
}
