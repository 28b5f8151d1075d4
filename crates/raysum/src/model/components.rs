//! The functions that a model adds up.

use super::{Model, join, require};
use crate::data::{Matrix, MatrixRef};
use crate::engine::Marginals;
use crate::error::{Error, Result};

/// One sub-kernel's function f_j at some rows, without the constant.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// The mean of f_j.
    pub mean: Vec<f64>,
    /// The variance of f_j.
    pub variance: Vec<f64>,
}

impl Model {
    /// Each sub-kernel's function at the rows of `x`; together with the constant they sum to the
    /// predicted mean. Where the target is transformed, functions and constant are those of the
    /// transformed target, in its standard deviations.
    pub fn components<'a>(&self, x: impl Into<MatrixRef<'a>>) -> Result<Vec<Component>> {
        let x = self.check(x)?;
        let sub_kernels = self.prior().kernel.all().len();
        require(x, "components", &[&[x.rows(), 4, sub_kernels + 1]])?;
        let components = self.ability(self.posterior.components(), "components")?;
        let blocks = self.by_block(x, |rows| components.marginals_of_each(rows))?;
        let mut parts: Vec<Vec<Marginals>> =
            self.prior().kernel.degrees.iter().map(|_| Vec::new()).collect();
        for block in blocks {
            for (part, marginals) in parts.iter_mut().zip(block) {
                part.push(marginals);
            }
        }
        let component = |part| {
            let f = join(part);
            Component {
                mean: f.mean.iter().map(|m| m * self.scaler.unit()).collect(),
                variance: f.variance.iter().map(|v| self.scaler.undo_variance(*v)).collect(),
            }
        };
        Ok(parts.into_iter().map(component).collect())
    }

    /// The constant that components are added to, in their units.
    pub fn constant(&self) -> f64 {
        self.scaler.undo_mean(self.prior().mean)
    }

    /// Mean and full covariance of one sub-kernel's function f_j at the rows of `x`, without the
    /// constant. Its level is less certain than its shape, because levels can be exchanged between
    /// functions; the covariance separates the two.
    pub fn component_joint<'a>(
        &self,
        j: usize,
        x: impl Into<MatrixRef<'a>>,
    ) -> Result<(Vec<f64>, Matrix)> {
        let x = self.check(x)?;
        if j >= self.prior().kernel.all().end {
            let rule = "below the number of sub-kernels".into();
            return Err(Error::OutOfRange { name: "the component", value: j as f64, rule });
        }
        let components = self.ability(self.posterior.components(), "components")?;
        let rows = self.rows_for_joint(x)?;
        let (mean, covariance) = components.joint_of(j..j + 1, &rows);
        let mean = mean.iter().map(|f| f * self.scaler.unit()).collect();
        Ok((mean, self.in_units_squared(&covariance)))
    }
}
