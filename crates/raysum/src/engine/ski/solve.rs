//! Preconditioned conjugate gradients for several right-hand sides at once, and what their steps
//! imply for the log determinant.
//!
//! Each column has its own steps and shares the products with all others. The steps of a column
//! that starts from 0 are those of Lanczos' method from it, in coordinates where P is the identity:
//! its tridiagonal matrix is a quadrature rule for functions of P⁻¹ᐟ² (S K S + I) P⁻¹ᐟ².

use super::columns::{Columns, add_dots, sum_of_blocks};
use super::operator::Operator;
use super::precondition::Preconditioner;
use crate::error::{Error, Result};
use crate::linalg;

/// The stopping criterion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The residual, as a share of the right-hand side.
    pub(super) tolerance: f64,
    pub(super) iterations: usize,
}

/// Solutions, and the steps to them.
pub(super) struct Solved {
    pub(super) x: Columns,
    /// P⁻¹ times what was to be solved for at the start: the right-hand side, if that was 0.
    pub(super) shaped: Columns,
    /// (α, β) of each step of each column.
    steps: Vec<Vec<(f64, f64)>>,
}

impl Solved {
    /// e₁' log(T) e₁ of a column's tridiagonal matrix T.
    pub(super) fn quadrature_of_log(&self, column: usize) -> f64 {
        let steps = &self.steps[column];
        let m = steps.len();
        let mut t = vec![0.0; m * m];
        let mut before = 0.0;
        for (k, (alpha, beta)) in steps.iter().enumerate() {
            t[k * m + k] = 1.0 / alpha + before;
            before = beta / alpha;
            if k + 1 < m {
                let side = beta.sqrt() / alpha;
                (t[k * m + k + 1], t[(k + 1) * m + k]) = (side, side);
            }
        }
        let (values, vectors) = linalg::symmetric_eigen(&t, m);
        let weighted = values.iter().zip(vectors.chunks(m.max(1)));
        // Of a matrix that is at least a little positive; rounding must not make it 0.
        weighted.map(|(value, vector)| vector[0].powi(2) * value.max(1e-300).ln()).sum()
    }
}

/// Solves (S K S + I) X = B, from X = `start`.
pub(super) fn solve(
    operator: &Operator,
    preconditioner: &Preconditioner,
    b: &Columns,
    start: Option<Columns>,
    limits: Limits,
) -> Result<Solved> {
    let (n, width) = (b.rows(), b.width);
    let goal: Vec<f64> =
        dots(b, b).iter().map(|s| s * limits.tolerance * limits.tolerance).collect();
    let mut residual = b.clone();
    let mut x = match start {
        None => Columns::zeros(n, width),
        Some(x) => {
            let product = operator.product(&x);
            let entries = residual.values.iter_mut().zip(&product.values);
            entries.for_each(|(r, p)| *r -= p);
            x
        }
    };
    let mut steps = vec![Vec::new(); width];
    let mut squares = dots(&residual, &residual);
    let mut done: Vec<bool> = squares.iter().zip(&goal).map(|(s, g)| s <= g).collect();
    let first = preconditioner.solve(&residual);
    let mut along = dots(&residual, &first);
    let mut direction = first.clone();
    for _ in 0..limits.iterations {
        if done.iter().all(|d| *d) {
            break;
        }
        let product = operator.product(&direction);
        let curvature = dots(&direction, &product);
        let alpha: Vec<f64> = (0..width)
            .map(|c| if done[c] || curvature[c] <= 0.0 { 0.0 } else { along[c] / curvature[c] })
            .collect();
        add_scaled(&mut x, &direction, &alpha);
        let back: Vec<f64> = alpha.iter().map(|a| -a).collect();
        add_scaled(&mut residual, &product, &back);
        squares = dots(&residual, &residual);
        let shaped = preconditioner.solve(&residual);
        let next = dots(&residual, &shaped);
        let beta: Vec<f64> = (0..width)
            .map(|c| if alpha[c] > 0.0 && along[c] > 0.0 { next[c] / along[c] } else { 0.0 })
            .collect();
        for c in (0..width).filter(|c| alpha[*c] > 0.0) {
            steps[c].push((alpha[c], beta[c].max(0.0)));
            done[c] = squares[c] <= goal[c];
        }
        direction.each_block(|index, block| {
            for (d, s) in block.chunks_mut(width).zip(shaped.block(index).chunks(width)) {
                for ((d, s), beta) in d.iter_mut().zip(s).zip(&beta) {
                    *d = s + beta * *d;
                }
            }
        });
        along = next;
    }
    if done.iter().all(|d| *d) {
        return Ok(Solved { x, shaped: first, steps });
    }
    let share = |c: usize| (squares[c] / goal[c]).sqrt() * limits.tolerance;
    let residual = (0..width).filter(|c| !done[*c]).map(share).fold(0.0, f64::max);
    Err(Error::NotConverged {
        iterations: limits.iterations,
        residual,
        tolerance: limits.tolerance,
    })
}

/// The dot product of each column with its fellow.
pub(super) fn dots(a: &Columns, b: &Columns) -> Vec<f64> {
    sum_of_blocks(a.rows(), a.width, |index| {
        let mut sums = vec![0.0; a.width];
        add_dots(&mut sums, a.block(index), b.block(index));
        sums
    })
}

/// X += Y diag(factors).
fn add_scaled(x: &mut Columns, y: &Columns, factors: &[f64]) {
    let width = x.width;
    x.each_block(|index, block| {
        for (x, y) in block.chunks_mut(width).zip(y.block(index).chunks(width)) {
            for ((x, y), f) in x.iter_mut().zip(y).zip(factors) {
                *x += f * y;
            }
        }
    });
}
