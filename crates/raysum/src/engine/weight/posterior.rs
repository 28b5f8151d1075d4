//! The weight-space posterior: feature map, statistics and the factor of C. No training rows.

mod draw;
mod slopes;

use super::NAME;
use super::features::{Block, FeatureMap, Product};
use super::statistics::{Solution, Statistics};
use crate::basis::Basis;
use crate::data::Matrix;
use crate::engine::streams::blocks;
use crate::engine::{
    Change, Conditioned, Draw, Marginals, Observations, Posterior, Prior, Rows, Summary, Tensor,
};
use crate::error::{Error, Result};
use crate::kernel::SubKernel;
use crate::linalg::{self, Threads, dot};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// f given the training rows, by their statistics.
#[derive(Debug)]
pub struct WeightPosterior {
    pub(super) map: Arc<FeatureMap>,
    statistics: Statistics,
    solution: Solution,
    /// Σ, made when components are first asked for.
    covariance: OnceLock<Vec<f64>>,
}

impl WeightPosterior {
    /// One posterior per target of the statistics; they share what does not depend on it.
    pub(super) fn all(
        map: impl Into<Arc<FeatureMap>>,
        statistics: &Statistics,
        prior: &Prior,
    ) -> Result<Vec<Self>> {
        let map = map.into();
        let variances = map.spread(&prior.kernel.variances);
        let solutions = Solution::all(statistics, &variances, prior.noise_variance)?;
        let posterior = |(target, solution): (usize, Solution)| Self {
            map: Arc::clone(&map),
            statistics: statistics.target(target),
            solution,
            covariance: OnceLock::new(),
        };
        Ok(solutions.into_iter().enumerate().map(posterior).collect())
    }

    /// The posterior of the only target of the statistics.
    pub(super) fn one(
        map: impl Into<Arc<FeatureMap>>,
        statistics: &Statistics,
        prior: &Prior,
    ) -> Result<Self> {
        Self::all(map, statistics, prior)?.pop().ok_or(Error::NoTargets)
    }

    /// With its likelihood, for the world outside.
    pub(super) fn conditioned(self) -> Conditioned {
        (self.log_marginal_likelihood(), Box::new(self))
    }

    /// log p(y).
    pub fn log_marginal_likelihood(&self) -> f64 {
        self.solution.log_marginal_likelihood
    }

    /// The statistics of the training rows.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Φ at new rows, row-major.
    pub(super) fn features(&self, prior: &Prior, x: &Matrix) -> Vec<f64> {
        let z = prior.kernel.project(x, Threads::One);
        let mut phi = vec![0.0; x.rows() * self.map.len()];
        self.map.apply(&self.map.locate(z, x.rows()), &mut phi);
        phi
    }

    /// L⁻¹ Λ^½ φ for each row of Φ: its squared length times σ² is φ'Σφ.
    fn whitened(&self, phi: &[f64]) -> Vec<f64> {
        let p = self.map.len();
        let mut v = phi.to_vec();
        for row in v.chunks_mut(p) {
            row.iter_mut().zip(self.solution.root.iter()).for_each(|(v, r)| *v *= r);
        }
        // Row-major Φ is Φ' in columns, which is what the solve wants.
        linalg::solve_lower(&self.solution.factor, p, &mut v, Threads::One);
        v
    }

    /// The prior variance that the basis leaves out at a row, Σ_j λ_j (1 − |φ_j|²): far from the
    /// data it is all of it.
    fn left_out(&self, prior: &Prior, phi: &[f64]) -> f64 {
        let blocks = self.map.blocks.iter().zip(&prior.kernel.variances);
        blocks
            .map(|(block, variance)| variance * left_out_share(&phi[block.features.clone()]))
            .sum()
    }

    fn variances(&self, prior: &Prior, phi: &[f64]) -> Vec<f64> {
        let p = self.map.len();
        let whitened = self.whitened(phi);
        phi.chunks(p)
            .zip(whitened.chunks(p))
            .map(|(phi, v)| prior.noise_variance * dot(v, v) + self.left_out(prior, phi))
            .collect()
    }

    fn means(&self, prior: &Prior, phi: &[f64]) -> Vec<f64> {
        let mean = |row| dot(row, &self.solution.mean) + prior.mean;
        phi.chunks(self.map.len()).map(mean).collect()
    }

    /// Reads the arrays that [`Posterior::tensors`] wrote.
    pub(crate) fn from_tensors(
        prior: &Prior,
        tensors: &[Tensor],
    ) -> std::result::Result<Self, String> {
        prior.kernel.check_products(NAME).map_err(|e| e.to_string())?;
        let map = read_map(prior, tensors)?;
        Tensor::find(tensors, "moments")?.check_shape(&[map.len()])?;
        let statistics = Statistics::from_tensors(tensors)?;
        Self::one(map, &statistics, prior).map_err(|e| e.to_string())
    }
}

/// 1 − |φ|², which rounding must not make negative.
pub(super) fn left_out_share(phi: &[f64]) -> f64 {
    (1.0 - dot(phi, phi)).max(0.0)
}

/// The feature map of a file, with every size checked.
fn read_map(prior: &Prior, tensors: &[Tensor]) -> std::result::Result<FeatureMap, String> {
    let kernel = &prior.kernel;
    let views = (0..kernel.views.rows()).map(|view| {
        read_basis(kernel.sub_kernel, view, tensors).map_err(|what| format!("view {view}: {what}"))
    });
    let views = views.collect::<std::result::Result<_, _>>()?;
    FeatureMap::assemble(kernel, views, |j, views| read_products(j, views, tensors))
}

fn read_basis(
    kernel: SubKernel,
    view: usize,
    tensors: &[Tensor],
) -> std::result::Result<Basis, String> {
    let take = |name: &str| Tensor::find(tensors, &format!("{name}.{view}"));
    let (spacing, cells) = (take("spacing")?, take("cells")?);
    let (eigenvalues, transform) = (take("eigenvalues")?, take("transform")?);
    let (m, r) = (cells.values.len(), eigenvalues.values.len());
    if transform.shape != [m, r] || m == 0 || r == 0 || spacing.values.len() != 1 {
        return Err("its arrays do not fit together".into());
    }
    let spacing = spacing.values[0];
    if !(spacing > 0.0 && spacing <= 1.0) {
        return Err("its spacing is out of range".into());
    }
    let cells: Option<Vec<i64>> = cells.values.iter().map(|c| Tensor::whole(*c, 1e15)).collect();
    let cells = cells.ok_or("its cells are not whole numbers")?;
    let rising = cells.windows(2).all(|pair| pair[0] < pair[1]);
    if !rising || cells[m - 1] - cells[0] > 200_000 {
        return Err("its cells are out of order".into());
    }
    let (transform, eigenvalues) = (transform.values.clone(), eigenvalues.values.clone());
    Ok(Basis::from_parts(kernel, spacing, cells, transform, eigenvalues))
}

fn read_products(
    j: usize,
    views: &[Basis],
    tensors: &[Tensor],
) -> std::result::Result<Vec<Product>, String> {
    let tensor = Tensor::find(tensors, &format!("products.{j}"))?;
    let read = |row: &[f64]| -> Option<Product> {
        let mut product = [0; 3];
        for (slot, view) in views.iter().enumerate() {
            let index = Tensor::whole(row[slot], 1e9)?;
            product[slot] = (0..view.len() as i64).contains(&index).then_some(index as u32)?;
        }
        Some(product)
    };
    let rows: Option<Vec<Product>> = tensor.values.chunks_exact(3).map(read).collect();
    let rows = rows.filter(|rows| !rows.is_empty());
    rows.ok_or(format!("array '{}' names features that are not there", tensor.name))
}

impl Posterior for WeightPosterior {
    fn engine(&self) -> &'static str {
        NAME
    }

    fn features(&self) -> Option<usize> {
        Some(self.map.len())
    }

    fn mean(&self, prior: &Prior, x: &Matrix) -> Vec<f64> {
        self.means(prior, &self.features(prior, x))
    }

    fn marginals(&self, prior: &Prior, x: &Matrix) -> Marginals {
        let phi = self.features(prior, x);
        Marginals { mean: self.means(prior, &phi), variance: self.variances(prior, &phi) }
    }

    fn joint(&self, prior: &Prior, which: Range<usize>, x: &Matrix) -> (Vec<f64>, Matrix) {
        let (p, m) = (self.map.len(), x.rows());
        let mut phi = self.features(prior, x);
        let blocks = &self.map.blocks[which.clone()];
        let own = blocks.first().map_or(0..0, |first| {
            first.features.start..blocks.last().map_or(0, |last| last.features.end)
        });
        for row in phi.chunks_mut(p) {
            row[..own.start].fill(0.0);
            row[own.end..].fill(0.0);
        }
        let mean = phi.chunks(p).map(|row| dot(row, &self.solution.mean)).collect();
        let whitened = self.whitened(&phi);
        let z = prior.kernel.project(x, Threads::All);
        let mut covariance = Matrix::zeros(m, m);
        for i in 0..m {
            for k in 0..=i {
                let (a, b) = (&phi[i * p..(i + 1) * p], &phi[k * p..(k + 1) * p]);
                // What the basis leaves out keeps its prior covariance, sub-kernel by sub-kernel.
                let mut left_out = 0.0;
                for (block, variance) in blocks.iter().zip(&prior.kernel.variances[which.clone()]) {
                    let f = block.features.clone();
                    left_out += variance
                        * if i == k {
                            left_out_share(&a[f])
                        } else {
                            let gap = |view: usize| z[view * m + i] - z[view * m + k];
                            let s = block.views.clone().map(|view| gap(view).powi(2)).sum();
                            prior.kernel.sub_kernel.value(s) - dot(&a[f.clone()], &b[f])
                        };
                }
                let (v, w) = (&whitened[i * p..(i + 1) * p], &whitened[k * p..(k + 1) * p]);
                let value = prior.noise_variance * dot(v, w) + left_out;
                covariance[(i, k)] = value;
                covariance[(k, i)] = value;
            }
        }
        (mean, covariance)
    }

    fn components(&self, prior: &Prior, x: &Matrix) -> Vec<Marginals> {
        let p = self.map.len();
        let sigma =
            self.covariance.get_or_init(|| self.solution.covariance(prior.noise_variance).0);
        let phi = self.features(prior, x);
        let blocks = self.map.blocks.iter().zip(&prior.kernel.variances);
        let component = |(block, variance): (&Block, &f64)| {
            let at = &block.features;
            let mut f = Marginals { mean: Vec::new(), variance: Vec::new() };
            for row in phi.chunks(p) {
                let own = &row[at.clone()];
                f.mean.push(dot(own, &self.solution.mean[at.clone()]));
                let spread: f64 = at
                    .clone()
                    .zip(own)
                    .map(|(a, phi)| phi * dot(&sigma[a * p + at.start..a * p + at.end], own))
                    .sum();
                f.variance.push(spread.max(0.0) + variance * left_out_share(own));
            }
            f
        };
        blocks.map(component).collect()
    }

    fn mean_slopes(&self, prior: &Prior, x: &Matrix) -> Matrix {
        let z = prior.kernel.project(x, Threads::One);
        let at = self.map.locate(z, x.rows());
        let (one, nothing) = (vec![1.0; x.rows()], vec![0.0; x.rows() * self.map.len()]);
        let slopes = self.map.pull_back(&at, &one, &self.solution.mean, &nothing);
        Matrix::from_fn(x.rows(), self.map.views.len(), |i, j| slopes[i * self.map.views.len() + j])
    }

    fn variance_slopes(&self, prior: &Prior, x: &Matrix) -> Matrix {
        self.slopes_of_variance(prior, x)
    }

    fn draw(&self, prior: &Prior, seed: u64, index: u32) -> Draw {
        self.draw_function(prior, seed, index)
    }

    fn evaluate_draws(&self, prior: &Prior, draws: &[Draw], x: &Matrix) -> Matrix {
        self.evaluate_functions(prior, draws, x)
    }

    fn leave_one_out(&self, prior: &Prior, x: &Matrix, y: &Observations) -> Result<Marginals> {
        let ([target], true) = (&y.targets[..], x.rows() as u64 == self.statistics.rows) else {
            return Err(Error::NotTrainingRows { row: None });
        };
        let p = self.map.len();
        let noise = prior.noise_variance;
        let mut loo = Marginals { mean: Vec::new(), variance: Vec::new() };
        let mut moments = vec![0.0; p];
        for range in blocks(x.rows(), 512) {
            let rows: Vec<usize> = range.clone().collect();
            let phi = self.features(prior, &x.gather(&rows));
            let means = self.means(prior, &phi);
            let precision: Vec<f64> = range.clone().map(|i| y.precision(i, noise)).collect();
            let targets = &target[range];
            let weigh = |(y, r): (&f64, &f64)| (y - prior.mean) * r;
            let weighted: Vec<f64> = targets.iter().zip(&precision).map(weigh).collect();
            linalg::add_product(&mut moments, &phi, &weighted);
            let whitened = self.whitened(&phi);
            for (i, (phi, v)) in phi.chunks(p).zip(whitened.chunks(p)).enumerate() {
                // Dropping row i divides its residual and its variance by 1 − h_i.
                let spread = dot(v, v);
                let rest = (1.0 - precision[i] * spread).max(1e-12);
                let residual = (targets[i] - means[i]) / rest;
                loo.mean.push(targets[i] - residual);
                loo.variance.push(noise * spread / rest + self.left_out(prior, phi));
            }
        }
        let known = &self.statistics.targets[0].moments;
        let size = known.iter().fold(1.0_f64, |m, b| m.max(b.abs()));
        let same = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * size;
        if !moments.iter().zip(known).all(same) {
            return Err(Error::NotTrainingRows { row: None });
        }
        Ok(loo)
    }

    fn summarise(&self, prior: &Prior, rows: &Rows<'_>) -> Summary {
        self.summary(prior, rows)
    }

    fn change(
        &self,
        prior: &Prior,
        statistics: Option<&Statistics>,
        rows: &Rows<'_>,
        change: Change,
    ) -> Result<Conditioned> {
        self.changed(prior, statistics, rows, change)
    }

    fn frame(&self) -> Vec<Tensor> {
        let mut all = Vec::new();
        for (view, basis) in self.map.views.iter().enumerate() {
            let (spacing, cells, transform) = basis.parts();
            let (m, r) = (cells.len(), basis.len());
            let cells = cells.iter().map(|c| *c as f64).collect();
            all.push(Tensor::new(format!("spacing.{view}"), vec![1], vec![spacing]));
            all.push(Tensor::new(format!("cells.{view}"), vec![m], cells));
            all.push(Tensor::new(
                format!("eigenvalues.{view}"),
                vec![r],
                basis.eigenvalues().to_vec(),
            ));
            all.push(Tensor::new(format!("transform.{view}"), vec![m, r], transform.to_vec()));
        }
        for (j, block) in self.map.blocks.iter().enumerate().filter(|(_, b)| b.views.len() > 1) {
            let values: Vec<f64> =
                block.products.iter().flatten().map(|index| f64::from(*index)).collect();
            all.push(Tensor::new(format!("products.{j}"), vec![block.products.len(), 3], values));
        }
        all
    }

    fn tensors(&self) -> Vec<Tensor> {
        let mut all = self.frame();
        all.extend(self.statistics.tensors());
        all
    }
}
