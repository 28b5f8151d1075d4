//! The posterior on the grids: the coefficients of the training rows, spread onto the nodes. Its
//! size does not depend on the number of rows.
//!
//! ```text
//! mean = c + Σ_j λ_j w_j'T_j a_j,        a = W'K⁻¹(y − c)
//! var  = k(x, x) − |r(x)|²,              r(x) = Σ_j λ_j w_j'T_j B_j,   B = W'S R
//! ```
//!
//! with R R' ≈ (S K S + I)⁻¹ (`factor.rs`) and w the weights of the nodes around x, wherever x is.

mod draw;
mod exact;
mod file;

use super::columns::Columns;
use super::grid::Grid;
use super::system::System;
use super::{NAME, Ski, SkiOptions, factor};
use crate::data::Matrix;
use crate::engine::tiles;
use crate::engine::{
    Change, Components, Conditioned, Draws, Engine, LeaveOneOut, Marginals, Observations,
    Posterior, Prior, RowChanges, Rows, Tensor, VarianceSlopes,
};
use crate::error::{Error, Result, UpdateError};
use crate::linalg::{Threads, dot};
use crate::memory;
use exact::Solver;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Columns on the grids, as they are and multiplied by λ_j T_j.
#[derive(Debug)]
struct Loads {
    width: usize,
    plain: Vec<Vec<f64>>,
    multiplied: Vec<Vec<f64>>,
}

/// What the posteriors of several targets have in common.
#[derive(Debug)]
struct SkiShared {
    rows: usize,
    grids: Vec<Grid>,
    /// B.
    factor: Loads,
    /// For variances by a solve each.
    solver: Option<Solver>,
    options: SkiOptions,
    seed: u64,
    /// Data for drawing functions, computed on first use.
    noise: OnceLock<draw::DrawNoise>,
}

/// f given the training rows, on the grids.
#[derive(Debug)]
pub(crate) struct SkiPosterior {
    prior: Arc<Prior>,
    shared: Arc<SkiShared>,
    /// a.
    mean: Loads,
    standard_error: f64,
}

impl Loads {
    /// Columns on the grids, of which the file keeps the plain ones.
    fn new(grids: &[Grid], variances: &[f64], width: usize, plain: Vec<Vec<f64>>) -> Self {
        let multiplied =
            grids.iter().zip(variances).zip(&plain).map(|((grid, variance), plain)| {
                let mut values = plain.clone();
                if width == 1 {
                    // Transforms go by pairs of columns.
                    let mut pairs: Vec<f64> = values.iter().flat_map(|v| [*v, 0.0]).collect();
                    grid.multiply(&mut pairs, 2);
                    values = pairs.into_iter().step_by(2).collect();
                } else {
                    grid.multiply(&mut values, width);
                }
                values.iter_mut().for_each(|v| *v *= variance);
                values
            });
        let multiplied = multiplied.collect();
        Self { width, plain, multiplied }
    }

    /// The nodes of a grid that any row has reached.
    fn touched(&self, j: usize) -> Vec<usize> {
        let nodes = self.plain[j].chunks(self.width.max(1)).enumerate();
        nodes.filter(|(_, loads)| loads.iter().any(|v| *v != 0.0)).map(|(node, _)| node).collect()
    }
}

impl SkiPosterior {
    /// One posterior per target.
    pub(super) fn all(
        system: System,
        prior: &Arc<Prior>,
        options: &SkiOptions,
        seed: u64,
    ) -> Vec<Conditioned> {
        let System { operator, preconditioner, solved, log_marginal_likelihoods, .. } = system;
        let r = factor::low_rank(&operator, seed);
        let spread = |columns: &Columns| -> Vec<Vec<f64>> {
            (0..operator.grids.len()).map(|j| operator.spread(j, columns)).collect()
        };
        let factor = spread(&r);
        let width = r.width;
        drop(r);
        let means = spread(&solved.x);
        let variances = operator.variances.clone();
        let (rows, solver, grids) = if options.exact_variance {
            let copies = operator.grids.clone();
            (operator.rows(), Some(Solver::new(operator, preconditioner, options)), copies)
        } else {
            (operator.rows(), None, operator.grids)
        };
        let shared = Arc::new(SkiShared {
            rows,
            factor: Loads::new(&grids, &variances, width, factor),
            grids,
            solver,
            options: options.clone(),
            seed,
            noise: OnceLock::new(),
        });
        let conditioned = |(t, likelihood): (usize, f64)| -> Conditioned {
            let own = |values: &Vec<f64>| {
                values.iter().skip(t).step_by(solved.x.width).copied().collect::<Vec<f64>>()
            };
            let plain = means.iter().map(own).collect();
            let mean = Loads::new(&shared.grids, &variances, 1, plain);
            let standard_error = system.standard_error;
            let (prior, shared) = (Arc::clone(prior), Arc::clone(&shared));
            (likelihood, Box::new(Self { prior, shared, mean, standard_error }))
        };
        log_marginal_likelihoods.into_iter().enumerate().map(conditioned).collect()
    }

    /// w'T Y of some sub-kernels at projected points, for columns Y: one run per point.
    fn contract(&self, loads: &Loads, which: &Range<usize>, z: &[f64], m: usize) -> Vec<f64> {
        let mut out = vec![0.0; m * loads.width];
        for (j, block) in self.prior.kernel.blocks().enumerate().filter(|(j, _)| which.contains(j))
        {
            let columns = (&loads.multiplied[j][..], &loads.plain[j][..]);
            for (i, out) in out.chunks_mut(loads.width).enumerate() {
                let at = place(&block, z, m, i);
                let variance = self.prior.kernel.variances[j];
                self.shared.grids[j].contract(&at, None, columns, variance, out);
            }
        }
        out
    }

    /// The prior variance of some sub-kernels at projected points, as the grid has it.
    fn on_grid(&self, which: &Range<usize>, z: &[f64], m: usize) -> Vec<f64> {
        let mut out = vec![0.0; m];
        for (j, block) in self.prior.kernel.blocks().enumerate().filter(|(j, _)| which.contains(j))
        {
            for (i, out) in out.iter_mut().enumerate() {
                let own = self.shared.grids[j].variance(&place(&block, z, m, i));
                *out += self.prior.kernel.variances[j] * own;
            }
        }
        out
    }

    /// Two runs per point whose dot products are the covariances that the training rows explain.
    fn explained(&self, which: &Range<usize>, z: &[f64], m: usize) -> (Vec<f64>, Vec<f64>) {
        // A solve that does not converge leaves it to the factor, which explains less.
        let solver = self.shared.solver.as_ref();
        if let Some(Ok(both)) = solver.map(|s| s.explained(&self.prior, which, z, m)) {
            return both;
        }
        let r = self.contract(&self.shared.factor, which, z, m);
        (r.clone(), r)
    }

    /// The variance of the sum of some sub-kernels' functions, given what is explained of it.
    fn variances(
        &self,
        which: &Range<usize>,
        (z, m): (&[f64], usize),
        (left, right): (&[f64], &[f64]),
    ) -> Vec<f64> {
        let run = left.len() / m.max(1);
        let total: f64 = self.prior.kernel.variances[which.clone()].iter().sum();
        let own = self.on_grid(which, z, m).into_iter().enumerate().map(|(i, own)| {
            let at = i * run..(i + 1) * run;
            // Interpolation leaves out or adds a little; what it leaves out is not explained.
            (own.max(total) - dot(&left[at.clone()], &right[at])).max(0.0)
        });
        own.collect()
    }

    /// Mean (without c) and variance of the sum of some sub-kernels' functions.
    fn sum(&self, which: &Range<usize>, z: &[f64], m: usize) -> Marginals {
        let (left, right) = self.explained(which, z, m);
        Marginals {
            mean: self.contract(&self.mean, which, z, m),
            variance: self.variances(which, (z, m), (&left, &right)),
        }
    }

    /// The slopes of w'T Y along every view, each reduced to a number.
    fn slopes(
        &self,
        loads: &Loads,
        z: &[f64],
        m: usize,
        reduce: impl Fn(usize, &[f64]) -> f64,
    ) -> Matrix {
        let mut out = Matrix::zeros(m, self.prior.kernel.views.rows());
        let mut own = vec![0.0; loads.width];
        for (j, block) in self.prior.kernel.blocks().enumerate() {
            let columns = (&loads.multiplied[j][..], &loads.plain[j][..]);
            for i in 0..m {
                let at = place(&block, z, m, i);
                for (axis, view) in block.clone().enumerate() {
                    own.fill(0.0);
                    let variance = self.prior.kernel.variances[j];
                    self.shared.grids[j].contract(&at, Some(axis), columns, variance, &mut own);
                    out[(i, view)] = reduce(i, &own);
                }
            }
        }
        out
    }

    /// Fails unless the rows' coefficients K⁻¹(y − c), spread onto the grids, are those of the fit.
    fn check_rows(&self, z: &[f64], m: usize, coefficient: impl Fn(usize) -> f64) -> Result<()> {
        for (j, block) in self.prior.kernel.blocks().enumerate() {
            let (grid, known) = (&self.shared.grids[j], &self.mean.plain[j]);
            let mut found = vec![0.0; known.len()];
            let mut size = 0.0;
            for i in 0..m {
                let at = place(&block, z, m, i);
                if !grid.holds(&at) {
                    return Err(Error::NotTrainingRows { row: Some(i) });
                }
                let a = coefficient(i);
                size += a.abs();
                grid.spread(&at, a, &mut found);
            }
            // As good as the solve, and rounding.
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-4 * size;
            if !found.iter().zip(known).all(near) {
                return Err(Error::NotTrainingRows { row: None });
            }
        }
        Ok(())
    }
}

impl Posterior for SkiPosterior {
    fn engine(&self) -> &'static str {
        NAME
    }

    fn prior(&self) -> &Prior {
        &self.prior
    }

    fn standard_error(&self) -> f64 {
        self.standard_error
    }

    fn mean_of_projected(&self, z: Vec<f64>, rows: usize) -> Vec<f64> {
        let mean = self.contract(&self.mean, &self.prior.kernel.all(), &z, rows);
        mean.into_iter().map(|m| m + self.prior.mean).collect()
    }

    fn marginals(&self, x: &Matrix) -> Marginals {
        let z = self.prior.kernel.project(x, Threads::One);
        let mut f = self.sum(&self.prior.kernel.all(), &z, x.rows());
        f.mean.iter_mut().for_each(|m| *m += self.prior.mean);
        f
    }

    fn joint(&self, x: &Matrix) -> (Vec<f64>, Matrix) {
        self.joint_of(self.prior.kernel.all(), x)
    }

    fn joint_width(&self) -> usize {
        let SkiShared { solver, rows, factor, .. } = self.shared.as_ref();
        if solver.is_some() { (*rows).max(factor.width) } else { factor.width }
    }

    fn mean_slopes(&self, x: &Matrix) -> Matrix {
        let z = self.prior.kernel.project(x, Threads::One);
        self.slopes(&self.mean, &z, x.rows(), |_, own| own[0])
    }

    fn tensors(&self) -> Vec<Tensor> {
        self.arrays()
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

impl Components for SkiPosterior {
    fn marginals_of_each(&self, x: &Matrix) -> Vec<Marginals> {
        let z = self.prior.kernel.project(x, Threads::One);
        let one = |j: usize| self.sum(&(j..j + 1), &z, x.rows());
        self.prior.kernel.all().map(one).collect()
    }

    fn means_of_each(&self, x: &Matrix) -> Option<Vec<Vec<f64>>> {
        let z = self.prior.kernel.project(x, Threads::One);
        let mean = |j: usize| self.contract(&self.mean, &(j..j + 1), &z, x.rows());
        Some(self.prior.kernel.all().map(mean).collect())
    }

    fn joint_of(&self, which: Range<usize>, x: &Matrix) -> (Vec<f64>, Matrix) {
        let m = x.rows();
        let z = self.prior.kernel.project(x, Threads::All);
        let (left, right) = self.explained(&which, &z, m);
        let variances = self.variances(&which, (&z, m), (&left, &right));
        let mean = self.contract(&self.mean, &which, &z, m);
        let run = left.len() / m.max(1);
        let mut covariance = vec![0.0; m * m];
        tiles::kernel_matrix(&self.prior.kernel, which, &z, m, &mut covariance);
        let full = Matrix::from_fn(m, m, |i, j| {
            let (i, j) = (i.min(j), i.max(j));
            if i == j {
                return variances[i];
            }
            let (a, b) = (&left[i * run..(i + 1) * run], &right[j * run..(j + 1) * run]);
            covariance[i * m + j] - dot(a, b)
        });
        (mean, full)
    }
}

impl VarianceSlopes for SkiPosterior {
    fn slopes_of_variance(&self, x: &Matrix) -> Matrix {
        let (z, m) = (self.prior.kernel.project(x, Threads::One), x.rows());
        let solver = self.shared.solver.as_ref();
        if let Some(Ok(slopes)) = solver.map(|s| s.variance_slopes(&self.prior, &z, m)) {
            return slopes;
        }
        let factor = &self.shared.factor;
        let r = self.contract(factor, &self.prior.kernel.all(), &z, m);
        let run = factor.width;
        self.slopes(factor, &z, m, |i, own| -2.0 * dot(own, &r[i * run..(i + 1) * run]))
    }
}

impl LeaveOneOut for SkiPosterior {
    fn without_each(&self, x: &Matrix, y: &Observations) -> Result<Marginals> {
        let ([target], true) = (&y.targets[..], x.rows() == self.shared.rows) else {
            return Err(Error::NotTrainingRows { row: None });
        };
        memory::require(
            format_args!("leave-one-out of {} rows with the ski engine", x.rows()),
            memory::count(&[&[x.rows(), 2 * self.joint_width() + self.prior.kernel.views.rows()]]),
        )?;
        let (total, all) = (self.prior.kernel.stationary_variance(), self.prior.kernel.all());
        let z = self.prior.kernel.project(x, Threads::All);
        let mut f = self.sum(&all, &z, x.rows());
        f.mean.iter_mut().for_each(|m| *m += self.prior.mean);
        let on_grid = self.on_grid(&all, &z, x.rows());
        let kink = self.shared.grids.iter().any(Grid::has_kink);
        let missing = |own: &f64| if kink { (total - own).max(0.0) } else { 0.0 };
        let missing: Vec<f64> = on_grid.iter().map(missing).collect();
        let noise = |i: usize| y.variance(i, self.prior.noise_variance) / y.weight(i) + missing[i];
        self.check_rows(&z, x.rows(), |i| (target[i] - f.mean[i]) / noise(i))?;
        let mut loo = Marginals { mean: Vec::new(), variance: Vec::new() };
        for i in 0..x.rows() {
            // Dropping row i divides its residual and its variance by 1 − h_i; no variance comes
            // out above the prior's, whatever the errors of a row that stands alone.
            let variance = (f.variance[i] - missing[i]).max(0.0);
            let rest = (1.0 - variance / noise(i)).max(variance / total).max(f64::MIN_POSITIVE);
            loo.mean.push(target[i] - (target[i] - f.mean[i]) / rest);
            loo.variance.push(variance / rest + missing[i]);
        }
        Ok(loo)
    }
}

impl RowChanges for SkiPosterior {
    fn change(&self, rows: &Rows<'_>, change: Change) -> Result<Conditioned> {
        match change {
            // The rows so far are not kept.
            Change::Add | Change::Remove => Err(UpdateError::RowsNotKept.into()),
            Change::Replace => {
                let SkiShared { options, seed, .. } = self.shared.as_ref();
                let y = rows.observations.clone();
                Ski::new(rows.x.clone(), y, options.clone(), *seed).posterior(&self.prior)
            }
        }
    }
}

/// A point's values along the views of a sub-kernel, of m projected points.
fn place(views: &Range<usize>, z: &[f64], m: usize, point: usize) -> Vec<f64> {
    views.clone().map(|view| z[view * m + point]).collect()
}
