//! Named arrays, in which a model file keeps a posterior.

use crate::data::Matrix;

/// A named array of a posterior, as the model file keeps it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tensor {
    /// Its name.
    pub name: String,
    /// Its shape, row-major.
    pub shape: Vec<usize>,
    /// Its values.
    pub values: Vec<f64>,
}

impl Tensor {
    /// An array with this name.
    pub(crate) fn new(name: impl Into<String>, shape: Vec<usize>, values: Vec<f64>) -> Self {
        Self { name: name.into(), shape, values }
    }

    /// A matrix with this name.
    pub(crate) fn of(name: impl Into<String>, matrix: &Matrix) -> Self {
        Self::new(name, vec![matrix.rows(), matrix.columns()], matrix.as_slice().to_vec())
    }

    /// The values as a file keeps them.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    /// The array with this name, or a message that it is missing.
    pub(crate) fn find<'t>(
        tensors: &'t [Tensor],
        name: &str,
    ) -> std::result::Result<&'t Tensor, String> {
        tensors.iter().find(|t| t.name == name).ok_or(format!("array '{name}' is missing"))
    }

    /// A value that is a whole number of at most this size.
    pub(crate) fn whole(value: f64, most: f64) -> Option<i64> {
        (value.fract() == 0.0 && value.abs() <= most).then_some(value as i64)
    }

    /// Fails with a message unless the array has this shape.
    pub(crate) fn check_shape(&self, shape: &[usize]) -> std::result::Result<(), String> {
        if self.shape == shape {
            return Ok(());
        }
        Err(format!("array '{}' has shape {:?}", self.name, self.shape))
    }
}
