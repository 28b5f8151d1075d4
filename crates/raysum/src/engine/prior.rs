//! The Gaussian-process prior at one θ: a sum of sub-kernels over views of the data, noise and mean.

use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::kernel::SubKernel;
use crate::linalg::Threads;
use crate::views::Views;
use std::ops::Range;

/// k(x, x') = Σ_j λ_j κ(|W_j (x − x')|): the paper's kernel with everything that scales an input
/// (P_j, A and ℓ_j) multiplied into one matrix.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AdditiveKernel {
    /// κ.
    pub sub_kernel: SubKernel,
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

    /// k(x, x): the prior variance of f.
    pub(crate) fn total_variance(&self) -> f64 {
        self.variances.iter().sum()
    }

    /// Fails unless every sub-kernel is one-dimensional, or a product of few that are: what the named
    /// engine needs.
    pub(crate) fn check_products(&self, engine: &'static str) -> Result<()> {
        let kernel = self.sub_kernel;
        match self.degrees.iter().find(|degree| !kernel.is_product(**degree)) {
            Some(&degree) => Err(Error::NoProductForm { engine, kernel: kernel.name(), degree }),
            None => Ok(()),
        }
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
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Prior {
    /// The kernel.
    pub kernel: AdditiveKernel,
    /// σ².
    pub noise_variance: f64,
    /// The constant mean c.
    pub mean: f64,
}
