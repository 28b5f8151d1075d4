//! Functions drawn from the dense posterior by Matheron's rule: a function of the prior, corrected
//! by what its own noisy values at the training rows miss of the targets,
//!
//! ```text
//! f(x) = c + h(x) + k(x, X) K⁻¹ (y − c − h(X) − ε),     ε ~ N(0, the rows' noise)
//! ```

use super::DensePosterior;
use crate::data::Matrix;
use crate::engine::Draws;
use crate::engine::path::{Draw, add_paths, evaluate_prior};
use crate::linalg::{self, Threads, dot};

impl Draws for DensePosterior {
    /// A path per sub-kernel, and K⁻¹(y − c − h(X) − ε).
    fn draw(&self, seed: u64, index: u32) -> Draw {
        let n = self.rows();
        Draw::conditioned(&self.prior, seed, index, |paths, normal| {
            let mut values: Vec<f64> =
                self.shared.noise.iter().map(|noise| noise.sqrt() * normal()).collect();
            add_paths(&self.prior.kernel, paths, &self.shared.z, &mut values);
            linalg::solve_lower(&self.shared.factor, n, &mut values, Threads::One);
            linalg::solve_lower_transposed(&self.shared.factor, n, &mut values, Threads::One);
            values.iter_mut().zip(&self.a).for_each(|(v, a)| *v = a - *v);
            values
        })
    }

    fn evaluate_draws(&self, draws: &[Draw], x: &Matrix) -> Matrix {
        let z = self.prior.kernel.views.project_each(x);
        let cross = self.cross(self.prior.kernel.all(), &z, x.rows());
        let mut out = evaluate_prior(&self.prior, draws, x);
        for (s, draw) in draws.iter().enumerate() {
            for (out, k) in out.row_mut(s).iter_mut().zip(cross.chunks(self.rows())) {
                *out += dot(k, &draw.weights);
            }
        }
        out
    }
}
