//! Functions drawn from the posterior on the grids, by Matheron's rule through the factor: a
//! function h of the prior, less what its own noisy values at the training rows say of it,
//!
//! ```text
//! f(x) = c + h(x) + m(x) − r(x)'(B'h(U) + e),     e ~ N(0, R'R)
//! ```
//!
//! h(U) are values at the nodes, which the rows' are interpolated from, and R'R = I − B'T B is the
//! covariance of R'ε for the rows' own noise ε. So no training row is needed.

use super::{Grid, SkiPosterior};
use crate::data::Matrix;
use crate::engine::Draws;
use crate::engine::path::{Draw, evaluate_prior};
use crate::linalg::{self, dot};

/// What does not depend on the function that is drawn.
#[derive(Debug)]
pub(super) struct DrawNoise {
    /// A root of R'R = I − B'T B, its columns one after another.
    root: Vec<f64>,
    /// The nodes of each grid that B is not 0 at.
    touched: Vec<Vec<usize>>,
    /// The places of all nodes of each grid.
    places: Vec<Vec<f64>>,
}

impl Draws for SkiPosterior {
    /// A path per sub-kernel, and B'h(U) + e.
    fn draw(&self, seed: u64, index: u32) -> Draw {
        let (shared, width) = (&self.shared, self.shared.factor.width);
        let noise = shared.noise.get_or_init(|| self.noise());
        Draw::conditioned(&self.prior, seed, index, |paths, normal| {
            let mut weights = vec![0.0; width];
            for column in noise.root.chunks(width.max(1)) {
                let white = normal();
                weights.iter_mut().zip(column).for_each(|(w, r)| *w += white * r);
            }
            for (j, (path, grid)) in paths.iter().zip(&shared.grids).enumerate() {
                let (loads, touched) = (&shared.factor.plain[j], &noise.touched[j]);
                let mut h = vec![0.0; grid.nodes()];
                path.add(&noise.places[j], touched, self.prior.kernel.variances[j].sqrt(), &mut h);
                for &node in touched {
                    let loads = &loads[node * width..(node + 1) * width];
                    weights.iter_mut().zip(loads).for_each(|(w, b)| *w += h[node] * b);
                }
            }
            weights
        })
    }

    fn evaluate_draws(&self, draws: &[Draw], x: &Matrix) -> Matrix {
        let (m, width) = (x.rows(), self.shared.factor.width);
        let z = self.prior.kernel.views.project_each(x);
        let all = self.prior.kernel.all();
        let mean = self.contract(&self.mean, &all, &z, m);
        let r = self.contract(&self.shared.factor, &all, &z, m);
        let mut out = evaluate_prior(&self.prior, draws, x);
        for (s, draw) in draws.iter().enumerate() {
            for (i, out) in out.row_mut(s).iter_mut().enumerate() {
                *out += mean[i] - dot(&r[i * width..(i + 1) * width], &draw.weights);
            }
        }
        out
    }
}

impl SkiPosterior {
    fn noise(&self) -> DrawNoise {
        let factor = &self.shared.factor;
        let width = factor.width;
        let mut covariance = vec![0.0; width * width];
        for (plain, multiplied) in factor.plain.iter().zip(&factor.multiplied) {
            let nodes = plain.len() / width.max(1);
            linalg::add_row_major_gram(&mut covariance, plain, multiplied, nodes);
        }
        for (k, value) in covariance.iter_mut().enumerate() {
            *value = f64::from(u8::from(k % (width + 1) == 0)) - *value;
        }
        let touched = (0..self.shared.grids.len()).map(|j| factor.touched(j)).collect();
        let places = self.shared.grids.iter().map(Grid::places).collect();
        DrawNoise { root: linalg::symmetric_root(&covariance, width), touched, places }
    }
}
