//! The dense engine: the n × n kernel matrix and one Cholesky factorisation, for any kernel.
//!
//! With K the kernel matrix plus σ²I and a = K⁻¹(y − c),
//!
//! ```text
//! log p(y) = −½ (y−c)'a − ½ log|K| − n/2 log 2π
//! ∂ log p  =  ½ tr(B ∂K),   B = a a' − K⁻¹        (Rasmussen and Williams, eq. 5.9)
//! ```
//!
//! Two n × n buffers are all the memory there is, whatever the number of sub-kernels.

mod posterior;
mod tiles;

pub use posterior::DensePosterior;

use super::{Engine, Evaluation, Posterior, Prior};
use crate::data::Matrix;
use crate::error::Result;
use crate::linalg::{self, Threads};

/// The engine's name.
pub const NAME: &str = "dense";

/// Training rows and the two buffers.
#[derive(Debug)]
pub struct Dense {
    x: Matrix,
    y: Vec<f64>,
    factor: Vec<f64>,
    inverse: Vec<f64>,
}

/// What a factorisation at one θ gives, apart from the factor itself.
struct Solved {
    /// The projected rows.
    z: Vec<f64>,
    /// a = K⁻¹(y − c).
    a: Vec<f64>,
    log_marginal_likelihood: f64,
}

impl Dense {
    /// Takes standardised rows.
    pub fn new(x: Matrix, y: Vec<f64>) -> Self {
        let n = y.len();
        Self { x, y, factor: vec![0.0; n * n], inverse: Vec::new() }
    }

    /// Factorises K in place and solves for a.
    fn factorise(&mut self, prior: &Prior) -> Result<Solved> {
        let n = self.y.len();
        let z = prior.kernel.project(&self.x, Threads::All);
        tiles::kernel_matrix(&prior.kernel, &z, n, &mut self.factor);
        for i in 0..n {
            self.factor[i * n + i] += prior.noise_variance;
        }
        linalg::cholesky(&mut self.factor, n, Threads::All)?;
        let residual: Vec<f64> = self.y.iter().map(|y| y - prior.mean).collect();
        let mut a = residual.clone();
        linalg::solve_lower(&self.factor, n, &mut a, Threads::One);
        linalg::solve_lower_transposed(&self.factor, n, &mut a, Threads::One);
        let quadratic: f64 = residual.iter().zip(&a).map(|(r, a)| r * a).sum();
        let log_marginal_likelihood = -0.5
            * (quadratic
                + linalg::log_determinant(&self.factor, n)
                + n as f64 * (2.0 * std::f64::consts::PI).ln());
        Ok(Solved { z, a, log_marginal_likelihood })
    }

    fn invert(&mut self) {
        let n = self.y.len();
        self.inverse.resize(n * n, 0.0);
        linalg::inverse(&self.factor, n, &mut self.inverse, Threads::All);
    }
}

impl Engine for Dense {
    fn evaluate(&mut self, prior: &Prior) -> Result<Evaluation> {
        let n = self.y.len();
        let solved = self.factorise(prior)?;
        self.invert();
        let slopes = tiles::gradient(&prior.kernel, &solved.z, &solved.a, &self.inverse);
        let trace: f64 = (0..n).map(|i| solved.a[i] * solved.a[i] - self.inverse[i * n + i]).sum();
        let views = linalg::transposed_product(&slopes.z, self.x.as_slice(), n, Threads::All);
        Ok(Evaluation {
            log_marginal_likelihood: solved.log_marginal_likelihood,
            views: Matrix::from_row_major(prior.kernel.views.rows(), self.x.columns(), views)?,
            variances: slopes.variances.iter().map(|v| v + 0.5 * trace).collect(),
            noise_variance: 0.5 * trace,
            mean: solved.a.iter().sum(),
        })
    }

    fn posterior(&mut self, prior: &Prior) -> Result<(f64, Box<dyn Posterior>)> {
        let n = self.y.len();
        let solved = self.factorise(prior)?;
        self.invert();
        let precision = (0..n).map(|i| self.inverse[i * n + i]).collect();
        let factor = self.factor.clone();
        let posterior = DensePosterior::new(solved.z, solved.a, precision, factor);
        Ok((solved.log_marginal_likelihood, Box::new(posterior)))
    }
}
