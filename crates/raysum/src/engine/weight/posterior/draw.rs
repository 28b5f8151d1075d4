//! Functions drawn from the weight-space posterior.
//!
//! Where the basis holds the whole kernel, f is φ'w with weights drawn from N(μ, Σ). What it leaves
//! out is drawn from the prior: with e_j the coefficients of a path h_j in the basis,
//!
//! ```text
//! f = c + Σ_j [φ_j'w_j + λ_j^½ (h_j − φ_j'e_j)],     e_j = T'h_j(u)
//! ```
//!
//! h_j − φ_j'e_j has covariance κ − φ_j'φ_j and none with φ_j'e_j: so f has the covariance that
//! [`Posterior::joint`](crate::engine::Posterior::joint) gives, inside the data and outside.

use super::WeightPosterior;
use crate::basis::Basis;
use crate::data::Matrix;
use crate::engine::Draws;
use crate::engine::path::{Draw, Path, Waves};
use crate::engine::weight::features::{FeatureMap, SubFeatures};
use crate::linalg::{self, Threads, dot};

/// The share of a sub-kernel's variance that may be missing without a path in its place: about
/// what the tables of a basis are right to. Inside the data that spares all the waves.
const NEGLIGIBLE: f64 = 1e-9;

impl Draws for WeightPosterior {
    /// A path per sub-kernel and two runs of p coefficients: w, and w − λ^½ e for where the path
    /// is added.
    fn draw(&self, seed: u64, index: u32) -> Draw {
        let (p, solution) = (self.map.len(), &self.solution);
        Draw::conditioned(&self.prior, seed, index, |paths, normal| {
            // σ Λ^½ L⁻ᵀ times white noise has covariance Σ.
            let mut w: Vec<f64> = (0..p).map(|_| normal()).collect();
            linalg::solve_lower_transposed(&solution.factor, p, &mut w, Threads::One);
            let sigma = self.prior.noise_variance.sqrt();
            for ((w, root), mean) in w.iter_mut().zip(solution.root.iter()).zip(&solution.mean) {
                *w = mean + sigma * root * *w;
            }
            let e =
                self.map.blocks.iter().zip(paths).flat_map(|(b, h)| coefficients(&self.map, b, h));
            let less: Vec<f64> =
                w.iter().zip(solution.root.iter()).zip(e).map(|((w, r), e)| w - r * e).collect();
            w.extend(less);
            w
        })
    }

    fn evaluate_draws(&self, draws: &[Draw], x: &Matrix) -> Matrix {
        let (p, rows) = (self.map.len(), x.rows());
        let z = self.prior.kernel.views.project_each(x);
        let mut phi = vec![0.0; rows * p];
        self.map.apply(&self.map.locate(z.clone(), rows), &mut phi);
        // Features go to the left half, for w, or to the right one, for w − λ^½ e and a path.
        let mut halves = vec![0.0; rows * 2 * p];
        let mut with_path = vec![Vec::new(); self.map.blocks.len()];
        for (i, (phi, halves)) in phi.chunks(p).zip(halves.chunks_mut(2 * p)).enumerate() {
            for (block, with_path) in self.map.blocks.iter().zip(&mut with_path) {
                let own = &phi[block.features.clone()];
                let mut start = block.features.start;
                if self.map.left_out_share(block, own) > NEGLIGIBLE {
                    with_path.push(i);
                    start += p;
                }
                halves[start..start + own.len()].copy_from_slice(own);
            }
        }
        let mut out = Matrix::zeros(draws.len(), rows);
        for (s, draw) in draws.iter().enumerate() {
            let out = out.row_mut(s);
            for (out, halves) in out.iter_mut().zip(halves.chunks(2 * p)) {
                *out = self.prior.mean + dot(halves, &draw.weights);
            }
            let blocks = self.map.blocks.iter().zip(&with_path).zip(&self.prior.kernel.variances);
            for (((block, which), variance), path) in blocks.zip(&draw.paths) {
                let z = &z[block.views.start * rows..block.views.end * rows];
                path.add(z, which, variance.sqrt(), out);
            }
        }
        out
    }
}

/// e = T'h(u), the coefficients of a path in the basis of its sub-kernel.
fn coefficients(map: &FeatureMap, block: &SubFeatures, path: &Path) -> Vec<f64> {
    let views = &map.views[block.views.clone()];
    if let Path::Line(slope) = path {
        return vec![*slope];
    }
    if let [basis] = views {
        let nodes = basis.node_points();
        let mut values = vec![0.0; nodes.len()];
        let all: Vec<usize> = (0..nodes.len()).collect();
        path.add(&nodes, &all, 1.0, &mut values);
        let (_, _, transform) = basis.parts();
        return linalg::row_major_product(&values, transform, nodes.len(), basis.len());
    }
    // Over the product of the views' nodes T' works on each view alone, and so does each wave,
    // which is a product of one factor per view: the grid of nodes is never needed.
    let Path::Waves(path) = path else { return Vec::new() };
    let waves: Vec<WavesInBasis> =
        views.iter().enumerate().map(|(v, b)| WavesInBasis::new(path, v, b)).collect();
    let mut out = vec![0.0; block.products.len()];
    for m in 0..crate::engine::path::WAVES {
        for (out, product) in out.iter_mut().zip(&block.products) {
            let (mut re, mut im) = (1.0, 0.0);
            for (wave, &a) in waves.iter().zip(product) {
                let (c, s) = wave.at(m, a as usize);
                (re, im) = (re * c - im * s, re * s + im * c);
            }
            *out += re;
        }
    }
    out
}

/// T' applied to every wave of a path along one view: real and imaginary parts, M by features.
struct WavesInBasis {
    real: Vec<f64>,
    imaginary: Vec<f64>,
    features: usize,
}

impl WavesInBasis {
    fn new(path: &Waves, view: usize, basis: &Basis) -> Self {
        let nodes = basis.node_points();
        let (_, _, transform) = basis.parts();
        let (real, imaginary) = path.along(view, &nodes);
        let apply =
            |wave: &[f64]| linalg::row_major_product(wave, transform, nodes.len(), basis.len());
        Self { real: apply(&real), imaginary: apply(&imaginary), features: basis.len() }
    }

    fn at(&self, m: usize, a: usize) -> (f64, f64) {
        let index = m * self.features + a;
        (self.real[index], self.imaginary[index])
    }
}
