//! The dense posterior: projected training rows, a = K⁻¹(y − c) and the Cholesky factor.

mod draw;
mod slopes;

use super::{NAME, gradient};
use crate::data::Matrix;
use crate::engine::{
    Components, Draws, LeaveOneOut, Marginals, Observations, Posterior, Prior, RowChanges, Tensor,
    VarianceSlopes, tiles,
};
use crate::error::Result;
use crate::linalg::{self, Threads, dot};
use std::ops::Range;
use std::sync::Arc;

/// f given the training rows, by dense algebra.
#[derive(Debug)]
pub(crate) struct DensePosterior {
    prior: Arc<Prior>,
    /// What does not depend on the target.
    shared: Arc<DenseShared>,
    /// a = K⁻¹(y − c).
    a: Vec<f64>,
}

/// What the posteriors of several targets have in common.
#[derive(Debug)]
pub(super) struct DenseShared {
    /// Projected training rows, one run of n values per view.
    pub(super) z: Vec<f64>,
    /// The noise of each row, v/w.
    pub(super) noise: Vec<f64>,
    /// The weight of each row, w.
    pub(super) weights: Vec<f64>,
    /// The diagonal of K⁻¹, for leave-one-out.
    pub(super) precision: Vec<f64>,
    /// The Cholesky factor of K in the lower half, n × n.
    pub(super) factor: Vec<f64>,
}

impl DensePosterior {
    pub(super) fn new(prior: Arc<Prior>, shared: Arc<DenseShared>, a: Vec<f64>) -> Self {
        Self { prior, shared, a }
    }

    pub(super) fn rows(&self) -> usize {
        self.a.len()
    }

    pub(super) fn shared(&self) -> &DenseShared {
        &self.shared
    }

    /// The prior, to share.
    pub(super) fn shared_prior(&self) -> &Arc<Prior> {
        &self.prior
    }

    /// a = K⁻¹(y − c).
    pub(super) fn coefficients(&self) -> &[f64] {
        &self.a
    }

    /// Covariance of the training rows (n) with new rows (m) for some sub-kernels.
    fn cross(&self, which: Range<usize>, z_new: &[f64], m: usize) -> Vec<f64> {
        let mut out = vec![0.0; self.rows() * m];
        tiles::cross_covariance(
            &self.prior.kernel,
            which,
            (&self.shared.z, self.rows()),
            (z_new, m),
            &mut out,
        );
        out
    }

    /// k'a for each column of `cross`.
    fn means(&self, cross: &[f64]) -> Vec<f64> {
        cross.chunks(self.rows()).map(|k| dot(k, &self.a)).collect()
    }

    /// total − |L⁻¹k|² for each column of `cross`; rounding must not make it negative.
    fn variances(&self, mut cross: Vec<f64>, total: &[f64]) -> Vec<f64> {
        linalg::solve_lower(&self.shared.factor, self.rows(), &mut cross, Threads::One);
        let each = cross.chunks(self.rows()).zip(total);
        each.map(|(v, total)| (total - dot(v, v)).max(0.0)).collect()
    }

    /// Reads the arrays that [`Posterior::tensors`] wrote.
    pub(crate) fn from_tensors(
        prior: &Arc<Prior>,
        tensors: &[Tensor],
    ) -> std::result::Result<Self, String> {
        let take = |name| Tensor::find(tensors, name);
        let (z, a, packed) = (take("z")?, take("a")?, take("factor")?);
        let (precision, noise, weights) = (take("precision")?, take("noise")?, take("weights")?);
        let n = a.values.len();
        if n == 0 {
            return Err("there are no rows".into());
        }
        z.check_shape(&[prior.kernel.views.rows(), n])?;
        a.check_shape(&[n])?;
        precision.check_shape(&[n])?;
        noise.check_shape(&[n])?;
        weights.check_shape(&[n])?;
        packed.check_shape(&[n * (n + 1) / 2])?;
        let factor = linalg::unpack_lower(&packed.values, n);
        if (0..n).any(|k| factor[k * n + k] <= 0.0) {
            return Err("array 'factor' has a pivot that is not positive".into());
        }
        for tensor in [precision, noise, weights] {
            if tensor.values.iter().any(|p| *p <= 0.0) {
                return Err(format!("array '{}' has an entry that is not positive", tensor.name));
            }
        }
        let shared = DenseShared {
            z: z.values.clone(),
            noise: noise.values.clone(),
            weights: weights.values.clone(),
            precision: precision.values.clone(),
            factor,
        };
        Ok(Self::new(Arc::clone(prior), Arc::new(shared), a.values.clone()))
    }
}

impl Posterior for DensePosterior {
    fn engine(&self) -> &'static str {
        NAME
    }

    fn prior(&self) -> &Prior {
        &self.prior
    }

    fn keeps_rows(&self) -> bool {
        true
    }

    fn mean_of_projected(&self, z: Vec<f64>, rows: usize) -> Vec<f64> {
        let cross = self.cross(self.prior.kernel.all(), &z, rows);
        self.means(&cross).into_iter().map(|m| m + self.prior.mean).collect()
    }

    fn marginals(&self, x: &Matrix) -> Marginals {
        let z_new = self.prior.kernel.project(x, Threads::One);
        let cross = self.cross(self.prior.kernel.all(), &z_new, x.rows());
        let mean = self.means(&cross).into_iter().map(|m| m + self.prior.mean).collect();
        let kernel = &self.prior.kernel;
        let total = kernel.variances_at(kernel.all(), &z_new, x.rows());
        Marginals { mean, variance: self.variances(cross, &total) }
    }

    fn joint(&self, x: &Matrix) -> (Vec<f64>, Matrix) {
        self.joint_of(self.prior.kernel.all(), x)
    }

    fn joint_width(&self) -> usize {
        self.rows()
    }

    fn mean_slopes(&self, x: &Matrix) -> Matrix {
        let z_new = self.prior.kernel.project(x, Threads::One);
        gradient::mean_slopes(&self.prior.kernel, (&self.shared.z, &self.a), (&z_new, x.rows()))
    }

    fn tensors(&self) -> Vec<Tensor> {
        let n = self.rows();
        let DenseShared { z, noise, weights, precision, factor } = self.shared.as_ref();
        let packed = linalg::pack_lower(factor, n);
        vec![
            Tensor::new("z", vec![z.len() / n, n], z.clone()),
            Tensor::new("a", vec![n], self.a.clone()),
            Tensor::new("noise", vec![n], noise.clone()),
            Tensor::new("weights", vec![n], weights.clone()),
            Tensor::new("precision", vec![n], precision.clone()),
            Tensor::new("factor", vec![packed.len()], packed),
        ]
    }

    fn components(&self) -> Option<&dyn Components> {
        Some(self)
    }

    fn variance_slopes(&self) -> Option<&dyn VarianceSlopes> {
        Some(self)
    }

    fn draws(&self) -> Option<&dyn Draws> {
        Some(self)
    }

    fn leave_one_out(&self) -> Option<&dyn LeaveOneOut> {
        Some(self)
    }

    fn row_changes(&self) -> Option<&dyn RowChanges> {
        Some(self)
    }
}

impl Components for DensePosterior {
    fn marginals_of_each(&self, x: &Matrix) -> Vec<Marginals> {
        let z_new = self.prior.kernel.project(x, Threads::One);
        let component = |j: usize| {
            let cross = self.cross(j..j + 1, &z_new, x.rows());
            let mean = self.means(&cross);
            let total = self.prior.kernel.variances_at(j..j + 1, &z_new, x.rows());
            Marginals { mean, variance: self.variances(cross, &total) }
        };
        self.prior.kernel.all().map(component).collect()
    }

    fn means_of_each(&self, x: &Matrix) -> Option<Vec<Vec<f64>>> {
        let z_new = self.prior.kernel.project(x, Threads::One);
        let mean = |j: usize| self.means(&self.cross(j..j + 1, &z_new, x.rows()));
        Some(self.prior.kernel.all().map(mean).collect())
    }

    fn joint_of(&self, which: Range<usize>, x: &Matrix) -> (Vec<f64>, Matrix) {
        let (n, m) = (self.rows(), x.rows());
        let z_new = self.prior.kernel.project(x, Threads::All);
        let mut cross = self.cross(which.clone(), &z_new, m);
        let mean = self.means(&cross);
        let mut covariance = vec![0.0; m * m];
        tiles::kernel_matrix(&self.prior.kernel, which, &z_new, m, &mut covariance);
        linalg::solve_lower(&self.shared.factor, n, &mut cross, Threads::All);
        linalg::subtract_gram(&mut covariance, &cross, n, Threads::All);
        let full = Matrix::from_fn(m, m, |i, j| {
            let value = covariance[i.min(j) * m + i.max(j)];
            if i == j { value.max(0.0) } else { value }
        });
        (mean, full)
    }
}

impl LeaveOneOut for DensePosterior {
    fn without_each(&self, x: &Matrix, y: &Observations) -> Result<Marginals> {
        self.check_rows(x, y)?;
        let (n, y) = (self.rows(), &y.targets[0]);
        let DenseShared { precision, noise, .. } = self.shared.as_ref();
        // Rasmussen and Williams, eq. 5.12: of y, so the noise is taken off the variance.
        let mean = (0..n).map(|i| y[i] - self.a[i] / precision[i]).collect();
        let variance = (0..n).map(|i| (1.0 / precision[i] - noise[i]).max(0.0)).collect();
        Ok(Marginals { mean, variance })
    }
}
