//! Variances by a solve for every point: as good as the solver's tolerance, at the cost of keeping
//! the training rows and of conjugate gradients at every prediction.

use super::place;
use crate::data::Matrix;
use crate::engine::Prior;
use crate::engine::ski::SkiOptions;
use crate::engine::ski::columns::Columns;
use crate::engine::ski::operator::Operator;
use crate::engine::ski::precondition::Preconditioner;
use crate::engine::ski::solve::{Limits, solve};
use crate::error::Result;
use std::ops::Range;

/// Points that are solved for together.
const TOGETHER: usize = 16;

/// The training rows, as an operator.
#[derive(Debug)]
pub(super) struct Solver {
    pub(super) operator: Operator,
    preconditioner: Preconditioner,
    limits: Limits,
}

impl Solver {
    pub(super) fn new(
        operator: Operator,
        preconditioner: Preconditioner,
        options: &SkiOptions,
    ) -> Self {
        Self { operator, preconditioner, limits: options.limits() }
    }

    /// S k(X, x) of some sub-kernels for some of m projected points, and A⁻¹ times it.
    fn columns(
        &self,
        prior: &Prior,
        which: &Range<usize>,
        z: &[f64],
        m: usize,
        points: &Range<usize>,
    ) -> Result<(Columns, Columns)> {
        let mut sides = Columns::zeros(self.operator.rows(), points.len());
        let width = sides.width;
        let mut grids: Vec<Vec<f64>> = Vec::new();
        for (j, block) in prior.kernel.blocks().enumerate() {
            let grid = &self.operator.grids[j];
            let mut values = vec![0.0; grid.nodes() * width];
            if which.contains(&j) {
                for (c, i) in points.clone().enumerate() {
                    let at = place(&block, z, m, i);
                    for (node, k) in grid.row(&at, None).iter().enumerate() {
                        values[node * width + c] = prior.kernel.variances[j] * k;
                    }
                }
            }
            grids.push(values);
        }
        self.operator.gather(&grids, &mut sides);
        let solved = solve(&self.operator, &self.preconditioner, &sides, None, self.limits)?;
        Ok((sides, solved.x))
    }

    /// S k(X, x) and A⁻¹ S k(X, x): one run of n each per point.
    pub(super) fn explained(
        &self,
        prior: &Prior,
        which: &Range<usize>,
        z: &[f64],
        m: usize,
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for start in (0..m).step_by(TOGETHER) {
            let points = start..(start + TOGETHER).min(m);
            let (sides, solved) = self.columns(prior, which, z, m, &points)?;
            for c in 0..points.len() {
                left.extend(sides.column(c));
                right.extend(solved.column(c));
            }
        }
        Ok((left, right))
    }

    /// −2 ∂k(x, X) S A⁻¹ S k(X, x).
    pub(super) fn variance_slopes(&self, prior: &Prior, z: &[f64], m: usize) -> Result<Matrix> {
        let mut out = Matrix::zeros(m, prior.kernel.views.rows());
        let all = 0..prior.kernel.degrees.len();
        for start in (0..m).step_by(TOGETHER) {
            let points = start..(start + TOGETHER).min(m);
            let (_, solved) = self.columns(prior, &all, z, m, &points)?;
            let multiplied = self.operator.on_grids(&solved);
            for (j, block) in prior.kernel.blocks().enumerate() {
                let grid = &self.operator.grids[j];
                let mut own = vec![0.0; solved.width];
                let plain = self.operator.spread(j, &solved);
                for (c, i) in points.clone().enumerate() {
                    let at = place(&block, z, m, i);
                    for (axis, view) in block.clone().enumerate() {
                        own.fill(0.0);
                        let variance = prior.kernel.variances[j];
                        let columns = (&multiplied[j][..], &plain[..]);
                        grid.contract(&at, Some(axis), columns, variance, &mut own);
                        out[(i, view)] = -2.0 * own[c];
                    }
                }
            }
        }
        Ok(out)
    }
}
