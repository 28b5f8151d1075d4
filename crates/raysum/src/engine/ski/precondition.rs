//! The preconditioner: a partial Cholesky factorisation with pivoting, S K S ≈ L L', and
//! P = L L' + I.
//!
//! Pivots are chosen greedily among a sample of the rows, by the kernel itself; the columns of all
//! rows are then products of the operator with unit vectors. P also shapes the probes: from N(0, P)
//! they see of log|S K S + I| only what P misses.

use super::columns::{Columns, LANES, ROWS, sum_of_blocks};
use super::operator::Operator;
use crate::engine::Prior;
use crate::error::Result;
use crate::linalg::{self, Threads};
use crate::rng::{Purpose, stream};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

/// Rows that pivots are chosen from, at most.
const CANDIDATES: usize = 1024;
/// The most pivots, and the most numbers that L may hold.
const MOST_RANK: usize = 256;
const MOST_NUMBERS: usize = 100_000_000;
/// Pivots are chosen until rows have less than this left of their variance on average, in units of
/// their noise: then a few iterations do the rest.
const LEFT: f64 = 2e-3;
/// Columns of S K S that are computed at a time.
const TOGETHER: usize = 32;

/// P = L L' + I.
#[derive(Debug)]
pub(super) struct Preconditioner {
    rank: usize,
    /// L, n × rank, row-major.
    factor: Vec<f64>,
    /// The Cholesky factor of I + L'L.
    inner: Vec<f64>,
}

impl Preconditioner {
    pub(super) fn new(operator: &Operator, prior: &Prior, seed: u64) -> Result<Self> {
        let mut pivots = choose(operator, prior, seed);
        let columns = columns(operator, &pivots);
        let all = pivots.len();
        // Interpolation may undo a pivot that the kernel found worth having; then half must do.
        let corner = loop {
            let rank = pivots.len();
            let mut corner: Vec<f64> =
                pivots.iter().flat_map(|&p| columns[p * all..][..rank].iter().copied()).collect();
            if linalg::cholesky(&mut corner, rank, Threads::One).is_ok() {
                break corner;
            }
            pivots.truncate(rank / 2);
        };
        let rank = pivots.len();
        let mut factor: Vec<f64> = if rank == all {
            columns
        } else {
            columns.chunks(all.max(1)).flat_map(|row| row[..rank].iter().copied()).collect()
        };
        let mut inner = vec![0.0; rank * rank];
        if rank > 0 {
            factor.par_chunks_mut(ROWS * rank).for_each(|rows| {
                linalg::solve_lower(&corner, rank, rows, Threads::One);
            });
            inner = sum_of_blocks(operator.rows(), rank * rank, |index| {
                let mut gram = vec![0.0; rank * rank];
                let rows = &factor[index * ROWS * rank..];
                let rows = &rows[..rows.len().min(ROWS * rank)];
                linalg::add_gram(&mut gram, rows, rank, Threads::One);
                gram
            });
            (0..rank).for_each(|k| inner[k * rank + k] += 1.0);
            linalg::cholesky(&mut inner, rank, Threads::All)?;
        }
        Ok(Self { rank, factor, inner })
    }

    fn block(&self, index: usize) -> &[f64] {
        let start = (index * ROWS * self.rank).min(self.factor.len());
        &self.factor[start..(start + ROWS * self.rank).min(self.factor.len())]
    }

    /// log|P|.
    pub(super) fn log_determinant(&self) -> f64 {
        linalg::log_determinant(&self.inner, self.rank)
    }

    /// P⁻¹ V = V − L (I + L'L)⁻¹ L'V.
    pub(super) fn solve(&self, v: &Columns) -> Columns {
        let mut out = v.clone();
        if self.rank == 0 {
            return out;
        }
        let (rank, width) = (self.rank, v.width);
        let part = |index: usize| {
            let mut out = vec![0.0; rank * width];
            let rows = v.block(index);
            linalg::add_row_major_gram(&mut out, self.block(index), rows, rows.len() / width);
            out
        };
        let inner = sum_of_blocks(v.rows(), rank * width, part);
        // The solver wants columns.
        let mut turned: Vec<f64> =
            (0..width).flat_map(|c| inner.iter().skip(c).step_by(width).copied()).collect();
        linalg::solve_lower(&self.inner, rank, &mut turned, Threads::One);
        linalg::solve_lower_transposed(&self.inner, rank, &mut turned, Threads::One);
        let small: Vec<f64> =
            (0..rank).flat_map(|k| turned.iter().skip(k).step_by(rank).copied()).collect();
        out.each_block(|index, block| {
            linalg::subtract_row_major_product(block, self.block(index), &small, rank);
        });
        out
    }

    /// Y with P⁻¹ = I − Y Y', some columns at a time.
    pub(super) fn deflation(&self) -> impl Iterator<Item = Columns> + '_ {
        let mut all = self.factor.clone();
        if self.rank > 0 {
            all.par_chunks_mut(ROWS * self.rank).for_each(|rows| {
                linalg::solve_lower(&self.inner, self.rank, rows, Threads::One);
            });
        }
        (0..self.rank).step_by(TOGETHER).map(move |first| {
            let count = TOGETHER.min(self.rank - first);
            let mut out = Columns::zeros(all.len() / self.rank, count);
            let rows = out.values.chunks_mut(count.next_multiple_of(LANES));
            for (out, row) in rows.zip(all.chunks(self.rank)) {
                out[..count].copy_from_slice(&row[first..first + count]);
            }
            out
        })
    }

    /// Probes from N(0, P) in the columns from `first` on: L ε₁ + ε₂. Their ε₂ do not depend on P,
    /// so that the likelihood they estimate changes smoothly with θ.
    pub(super) fn probes(&self, seed: u64, out: &mut Columns, first: usize, count: usize) {
        let (n, rank, width) = (out.rows(), self.rank, out.width);
        let draw = |probe: usize| -> Vec<f64> {
            let mut rng = stream(seed, Purpose::Probes, probe as u32 + 1);
            (0..n + rank).map(|_| StandardNormal.sample(&mut rng)).collect()
        };
        let probes: Vec<Vec<f64>> = (0..count).into_par_iter().map(draw).collect();
        let mut small = vec![0.0; rank * width];
        for (p, probe) in probes.iter().enumerate() {
            out.set(first + p, probe[..n].iter().copied());
            for (k, e) in probe[n..].iter().enumerate() {
                small[k * width + first + p] = -e;
            }
        }
        if rank > 0 {
            out.each_block(|index, block| {
                linalg::subtract_row_major_product(block, self.block(index), &small, rank);
            });
        }
    }
}

/// Pivots: rows that have the most variance left when those before them are known.
fn choose(operator: &Operator, prior: &Prior, seed: u64) -> Vec<usize> {
    let n = operator.rows();
    let mut rng = stream(seed, Purpose::Probes, 0);
    let rows = rand::seq::index::sample(&mut rng, n, n.min(CANDIDATES)).into_vec();
    let m = rows.len();
    let most = MOST_RANK.min(m / 2).min((MOST_NUMBERS / n).max(16));
    let total = prior.kernel.total_variance();
    let mut left: Vec<f64> =
        rows.iter().map(|&i| total * operator.scales[i] * operator.scales[i]).collect();
    let mut factor: Vec<Vec<f64>> = Vec::new();
    let mut pivots = Vec::new();
    while pivots.len() < most && left.iter().sum::<f64>() > LEFT * m as f64 {
        let largest = |a: &usize, b: &usize| left[*a].total_cmp(&left[*b]);
        let Some(pivot) = (0..m).max_by(largest).filter(|p| left[*p] > LEFT) else { break };
        let mut column = operator.exact(prior, &rows, &[rows[pivot]]);
        for before in &factor {
            let share = before[pivot];
            column.iter_mut().zip(before).for_each(|(c, b)| *c -= share * b);
        }
        let root = left[pivot].sqrt();
        column.iter_mut().for_each(|c| *c /= root);
        left.iter_mut().zip(&column).for_each(|(l, c)| *l = (*l - c * c).max(0.0));
        left[pivot] = 0.0;
        factor.push(column);
        pivots.push(rows[pivot]);
    }
    pivots
}

/// The columns of S K S at the pivots, row-major.
fn columns(operator: &Operator, pivots: &[usize]) -> Vec<f64> {
    let (n, rank) = (operator.rows(), pivots.len());
    let mut all = vec![0.0; n * rank];
    for (group, pivots) in pivots.chunks(TOGETHER).enumerate() {
        let mut units = Columns::zeros(n, pivots.len());
        for (c, &pivot) in pivots.iter().enumerate() {
            units.values[pivot * units.width + c] = 1.0;
        }
        let mut out = Columns::zeros(n, pivots.len());
        operator.gather(&operator.on_grids(&units), &mut out);
        let rows = all.par_chunks_mut(rank).zip(out.values.par_chunks(out.width));
        rows.for_each(|(row, own)| {
            row[group * TOGETHER..][..pivots.len()].copy_from_slice(&own[..pivots.len()]);
        });
    }
    all
}
