//! The slope of the weight-space posterior's variance.

use super::WeightPosterior;
use crate::data::Matrix;
use crate::engine::VarianceSlopes;
use crate::linalg::{self, Threads};

impl VarianceSlopes for WeightPosterior {
    /// var = φ'Σφ + Σ_j λ_j (1 − |φ_j|²), so ∂var/∂z_j = 2 φ_j'(z)·[(Σφ)_j − λ_j φ_j]. Features of
    /// lines leave nothing out, so that the second term is missing there.
    fn slopes_of_variance(&self, x: &Matrix) -> Matrix {
        let (p, rows) = (self.map.len(), x.rows());
        let z = self.prior.kernel.project(x, Threads::One);
        let at = self.map.locate(z, rows);
        let mut phi = vec![0.0; rows * p];
        self.map.apply(&at, &mut phi);
        let sigma =
            self.covariance.get_or_init(|| self.solution.covariance(self.prior.noise_variance).0);
        let mut less = vec![0.0; rows * p];
        linalg::symmetric_product(sigma, &phi, p, &mut less);
        let left_out = self.map.blocks.iter().zip(&self.prior.kernel.variances);
        let left_out = left_out.map(|(b, v)| if self.map.is_line(b) { 0.0 } else { *v });
        let variances = self.map.spread(&left_out.collect::<Vec<f64>>());
        for (less, phi) in less.chunks_mut(p).zip(phi.chunks(p)) {
            for ((less, phi), variance) in less.iter_mut().zip(phi).zip(&variances) {
                *less = 2.0 * (variance * phi - *less);
            }
        }
        let slopes = self.map.pull_back(&at, &vec![0.0; rows], &vec![0.0; p], &less);
        let views = self.map.views.len();
        Matrix::from_fn(rows, views, |i, j| slopes[i * views + j])
    }
}
