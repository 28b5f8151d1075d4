//! The Gaussian-process prior at one θ: a sum of sub-kernels over views of the data, noise and mean.

use crate::data::Matrix;
use crate::error::{Result, TermError};
use crate::kernel::Shape;
use crate::linalg::Threads;
use crate::views::Views;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// k(x, x') = Σ_j λ_j κ_j(|W_j (x − x')|): the paper's kernel with everything that scales an input
/// (P_j, A and ℓ_j) multiplied into one matrix, and a κ of its own for each sub-kernel. A linear
/// sub-kernel is λ_j (W_j x)(W_j x').
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AdditiveKernel {
    /// κ_j.
    pub shapes: Vec<Shape>,
    /// D_j, the number of rows of each W_j.
    pub degrees: Vec<usize>,
    /// W = diag(1/ℓ) P A, all sub-kernels stacked (Σ D_j rows by d columns): the views of the data.
    pub views: Views,
    /// λ_j = s·α_j, the prior variance of each sub-kernel's function.
    pub variances: Vec<f64>,
}

impl AdditiveKernel {
    /// z = W x for every row of `x`: one contiguous run of values per view.
    pub(crate) fn project(&self, x: &Matrix, threads: Threads) -> Vec<f64> {
        self.views.project(x, threads)
    }

    /// The numbers of all sub-kernels.
    pub(crate) fn all(&self) -> Range<usize> {
        0..self.degrees.len()
    }

    /// The prior variance of what the stationary sub-kernels add up to, which is the same
    /// everywhere.
    pub(crate) fn stationary_variance(&self) -> f64 {
        let each = self.shapes.iter().zip(&self.variances);
        each.filter(|(shape, _)| **shape != Shape::Linear).map(|(_, variance)| variance).sum()
    }

    /// k(x, x) of the sub-kernels `which` at `m` projected points, one run of values per view.
    pub(crate) fn variances_at(&self, which: Range<usize>, z: &[f64], m: usize) -> Vec<f64> {
        let mut total = vec![0.0; m];
        for (j, block) in self.blocks().enumerate().filter(|(j, _)| which.contains(j)) {
            let variance = self.variances[j];
            match self.shapes[j] {
                Shape::Stationary(_) => total.iter_mut().for_each(|total| *total += variance),
                Shape::Linear => {
                    let line = &z[block.start * m..block.end * m];
                    total.iter_mut().zip(line).for_each(|(total, z)| *total += variance * z * z);
                }
            }
        }
        total
    }

    /// Fails unless every sub-kernel is linear, one-dimensional, or a product of few that are: what
    /// the named engine needs.
    pub(crate) fn check_products(&self, engine: &'static str) -> Result<()> {
        for (&shape, &degree) in self.shapes.iter().zip(&self.degrees) {
            if let Shape::Stationary(kernel) = shape
                && !kernel.is_product(degree)
            {
                let kernel = kernel.name();
                return Err(TermError::NoProductForm { engine, kernel, degree, term: None }.into());
            }
        }
        Ok(())
    }

    /// The shape of the sub-kernel that each view belongs to.
    pub(crate) fn shapes_of_views(&self) -> impl Iterator<Item = Shape> + '_ {
        let each = self.shapes.iter().zip(&self.degrees);
        each.flat_map(|(shape, degree)| std::iter::repeat_n(*shape, *degree))
    }

    /// The rows of W that belong to each sub-kernel.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.degrees.iter().scan(0, |start, degree| {
            let block = *start..*start + degree;
            *start = block.end;
            Some(block)
        })
    }
}

/// The Gaussian-process prior and noise at one θ, in standardised units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Prior {
    /// The kernel.
    pub kernel: AdditiveKernel,
    /// σ².
    pub noise_variance: f64,
    /// The constant mean c.
    pub mean: f64,
}
