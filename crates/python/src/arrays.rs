//! NumPy arrays as the library's matrices, and back.

use crate::error::to_python;
use numpy::{
    PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use raysum::{Dataset, Labels, Matrix, MatrixRef};

/// Rows with their observations, owned by Python, for a job that may outlive a call.
pub(crate) struct Rows {
    x: Py<PyArray2<f64>>,
    labels: Labels<Py<PyArray1<f64>>>,
}

impl<'py> FromPyObject<'_, 'py> for Rows {
    type Error = PyErr;

    /// From X, a list of targets, sample weights or None, and known noise or None.
    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (x, targets, sample_weights, noise) = given.extract()?;
        Ok(Self { x, labels: Labels { targets, sample_weights, noise } })
    }
}

impl Rows {
    /// Borrows the arrays as a data set. With `few`, a single row suffices.
    pub(crate) fn borrow<T>(
        &self,
        py: Python<'_>,
        few: bool,
        body: impl FnOnce(&Dataset<'_>) -> PyResult<T>,
    ) -> PyResult<T> {
        let x = self.x.bind(py).try_readonly()?;
        let labels = self.labels.try_map(|array| array.bind(py).try_readonly())?;
        let make = if few { Dataset::labelled_rows } else { Dataset::labelled };
        let data = make(matrix(&x)?, labels.try_map(slice)?).map_err(to_python)?;
        body(&data)
    }
}

/// The values of a contiguous array.
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

/// An array that takes ownership of the values.
pub(crate) fn array(py: Python<'_>, values: Vec<f64>) -> Bound<'_, PyArray1<f64>> {
    PyArray1::from_vec(py, values)
}

/// A two-dimensional array that takes ownership of the values.
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
