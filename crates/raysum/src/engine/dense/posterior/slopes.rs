//! The slope of the dense posterior's variance.

use super::{DensePosterior, gradient};
use crate::data::Matrix;
use crate::engine::VarianceSlopes;
use crate::kernel::Shape;
use crate::linalg::{self, Threads};

impl VarianceSlopes for DensePosterior {
    /// var = k(x, x) − k'K⁻¹k, so ∂var/∂z = −2 (K⁻¹k)'∂k/∂z: the slope of a mean with coefficients
    /// K⁻¹k, which are each row's own. Linear sub-kernels add the slope 2λz of λz² to it.
    fn slopes_of_variance(&self, x: &Matrix) -> Matrix {
        let (n, m) = (self.rows(), x.rows());
        let z = self.prior.kernel.project(x, Threads::One);
        let mut solved = self.cross(self.prior.kernel.all(), &z, m);
        linalg::solve_lower(&self.shared.factor, n, &mut solved, Threads::One);
        linalg::solve_lower_transposed(&self.shared.factor, n, &mut solved, Threads::One);
        let mut out = Matrix::zeros(m, self.prior.kernel.views.rows());
        for (i, coefficients) in solved.chunks(n).enumerate() {
            let own: Vec<f64> = z.iter().skip(i).step_by(m).copied().collect();
            let slopes = gradient::mean_slopes(
                &self.prior.kernel,
                (&self.shared.z, coefficients),
                (&own, 1),
            );
            out.row_mut(i).iter_mut().zip(slopes.as_slice()).for_each(|(o, s)| *o = -2.0 * s);
            for (j, block) in self.prior.kernel.blocks().enumerate() {
                if self.prior.kernel.shapes[j] == Shape::Linear {
                    out[(i, block.start)] +=
                        2.0 * self.prior.kernel.variances[j] * own[block.start];
                }
            }
        }
        out
    }
}
