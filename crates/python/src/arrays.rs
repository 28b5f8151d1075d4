//! NumPy arrays as the library's matrices, and back.

use crate::error::to_python;
use numpy::{
    PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use raysum::{Dataset, Matrix, MatrixRef};

/// Rows with what was observed there, owned by Python: for a job that outlives a call.
pub(crate) struct Rows {
    x: Py<PyArray2<f64>>,
    targets: Vec<Py<PyArray1<f64>>>,
    weights: Option<Py<PyArray1<f64>>>,
    noise_std: Option<Py<PyArray1<f64>>>,
}

/// As Python hands them over: X, a list of targets, weights or None, known noise or None.
pub(crate) type Given<'py> = (
    Bound<'py, PyArray2<f64>>,
    Vec<Bound<'py, PyArray1<f64>>>,
    Option<Bound<'py, PyArray1<f64>>>,
    Option<Bound<'py, PyArray1<f64>>>,
);

impl From<Given<'_>> for Rows {
    fn from((x, targets, weights, noise_std): Given<'_>) -> Self {
        Self {
            x: x.unbind(),
            targets: targets.into_iter().map(Bound::unbind).collect(),
            weights: weights.map(Bound::unbind),
            noise_std: noise_std.map(Bound::unbind),
        }
    }
}

impl Rows {
    /// Borrows the arrays as a data set. With `few`, a single row will do.
    pub(crate) fn borrow<T>(
        &self,
        py: Python<'_>,
        few: bool,
        body: impl FnOnce(&Dataset<'_>) -> PyResult<T>,
    ) -> PyResult<T> {
        let borrow = |array: &Py<PyArray1<f64>>| Ok(array.bind(py).try_readonly()?);
        let x = self.x.bind(py).try_readonly()?;
        let targets: PyResult<Vec<_>> = self.targets.iter().map(borrow).collect();
        let weights = self.weights.as_ref().map(borrow).transpose()?;
        let noise_std = self.noise_std.as_ref().map(borrow).transpose()?;
        let targets = targets?;
        let slices: PyResult<Vec<&[f64]>> = targets.iter().map(slice).collect();
        let make = if few { Dataset::rows_of } else { Dataset::with_targets };
        let mut data = make(matrix(&x)?, &slices?).map_err(to_python)?;
        if let Some(weights) = &weights {
            data = data.weighted(slice(weights)?).map_err(to_python)?;
        }
        if let Some(noise_std) = &noise_std {
            data = data.with_noise_std(slice(noise_std)?).map_err(to_python)?;
        }
        body(&data)
    }
}

/// The values of an array without gaps.
pub(crate) fn slice<'a>(array: &'a PyReadonlyArray1<'_, f64>) -> PyResult<&'a [f64]> {
    Ok(array.as_slice()?)
}

/// A matrix in C or Fortran order, without a copy.
pub(crate) fn matrix<'a>(array: &'a PyReadonlyArray2<'_, f64>) -> PyResult<MatrixRef<'a>> {
    let [rows, columns] = *array.shape() else {
        return Err(PyValueError::new_err("X must have two dimensions"));
    };
    let values = array.as_slice()?;
    let make = if array.is_c_contiguous() {
        MatrixRef::from_row_major
    } else {
        MatrixRef::from_column_major
    };
    make(rows, columns, values).map_err(to_python)
}

/// An array that takes over the values.
pub(crate) fn array(py: Python<'_>, values: Vec<f64>) -> Bound<'_, PyArray1<f64>> {
    PyArray1::from_vec(py, values)
}

/// A two-dimensional array that takes over the values.
pub(crate) fn array_2d(py: Python<'_>, matrix: Matrix) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let shape = [matrix.rows(), matrix.columns()];
    array(py, matrix.into_row_major()).reshape(shape)
}

/// Row and column of the first value of `x` that is NaN or infinite, and how many there are.
#[pyfunction]
pub(crate) fn not_finite(
    py: Python<'_>,
    x: PyReadonlyArray2<'_, f64>,
) -> PyResult<Option<(usize, usize, usize)>> {
    let x = matrix(&x)?;
    py.detach(|| {
        if x.check_finite().is_ok() {
            return Ok(None);
        }
        let (mut first, mut count) = (None, 0);
        let mut values = vec![0.0; x.columns()];
        for row in 0..x.rows() {
            x.copy_row(row, &mut values).map_err(to_python)?;
            let bad = values.iter().enumerate().filter(|(_, value)| !value.is_finite());
            for (column, _) in bad {
                first.get_or_insert((row, column));
                count += 1;
            }
        }
        Ok(first.map(|(row, column)| (row, column, count)))
    })
}
