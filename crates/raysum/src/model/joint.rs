//! Joint predictions at several rows: covariances and samples.

use super::{Model, require};
use crate::data::{Matrix, MatrixRef};
use crate::error::Result;
use crate::linalg;
use crate::rng::{Purpose, stream};
use rand_distr::{Distribution, StandardNormal};

impl Model {
    /// Mean and full covariance of f at the rows of `x`.
    pub fn joint<'a>(&self, x: impl Into<MatrixRef<'a>>) -> Result<(Vec<f64>, Matrix)> {
        self.check_untransformed("covariance of predictions")?;
        let rows = self.rows_for_joint(self.check(x)?)?;
        let (mean, covariance) = self.posterior.joint(&rows);
        let mean = mean.iter().map(|f| self.scaler.undo_mean(f + self.prior().mean)).collect();
        Ok((mean, self.in_units_squared(&covariance)))
    }

    /// All rows, standardised, if there is memory for their covariance in two units.
    pub(super) fn rows_for_joint(&self, x: MatrixRef<'_>) -> Result<Matrix> {
        let (m, views) = (x.rows(), self.prior().kernel.views.rows());
        let width = 2 * self.posterior.joint_width() + views + x.columns() + 4;
        require(x, "the covariance of predictions", &[&[m, m, 2], &[m, width]])?;
        self.standardised(x)
    }

    pub(super) fn in_units_squared(&self, covariance: &Matrix) -> Matrix {
        let m = covariance.rows();
        Matrix::from_fn(m, m, |i, j| self.scaler.undo_variance(covariance[(i, j)]))
    }

    /// Joint samples of f at the rows of `x`: one row per sample.
    pub fn sample<'a>(
        &self,
        x: impl Into<MatrixRef<'a>>,
        samples: usize,
        seed: u64,
    ) -> Result<Matrix> {
        let x = self.check(x)?;
        let m = x.rows();
        // The covariance, its root, the workspace, and the samples.
        let scratch = linalg::symmetric_root_scratch(m);
        require(x, &format!("{samples} samples"), &[&[m, m, 2], &[scratch], &[samples, m]])?;
        let rows = self.rows_for_joint(x)?;
        let (mean, covariance) = self.posterior.joint(&rows);
        let root = linalg::symmetric_root(covariance.as_slice(), m);
        let mut rng = stream(seed, Purpose::Samples, 0);
        let mut out = Matrix::zeros(samples, m);
        for s in 0..samples {
            let white: Vec<f64> = (0..m).map(|_| StandardNormal.sample(&mut rng)).collect();
            for (i, out) in out.row_mut(s).iter_mut().enumerate() {
                let f: f64 = mean[i] + (0..m).map(|k| root[k * m + i] * white[k]).sum::<f64>();
                *out = self.scaler.undo(f + self.prior().mean);
            }
        }
        Ok(out)
    }
}
