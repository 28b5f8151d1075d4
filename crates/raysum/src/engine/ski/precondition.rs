//! The preconditioner: a partial Cholesky factorisation with pivoting, S K S ≈ L L', and
//! P = L L' + I.
//!
//! Pivots are chosen greedily among a sample of the rows, by the kernel itself; the columns of all
//! rows are then products of the operator with unit vectors. P also shapes the probes: from N(0, P)
//! they see of log|S K S + I| only what P misses.

use super::columns::{Columns, LANES, sum_of_blocks};
use super::operator::Operator;
use crate::engine::Prior;
use crate::engine::tiles;
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
/// their noise; then few iterations suffice.
const LEFT: f64 = 2e-3;
/// Columns of S K S that are computed at a time.
const TOGETHER: usize = 32;

/// P = L L' + I.
#[derive(Debug)]
pub(super) struct Preconditioner {
    /// L, as many columns as there are pivots.
    factor: Columns,
    /// The Cholesky factor of I + L'L.
    inner: Vec<f64>,
}

impl Preconditioner {
    pub(super) fn new(operator: &Operator, prior: &Prior, seed: u64) -> Result<Self> {
        let mut pivots = choose(operator, prior, seed);
        let columns = columns(operator, &pivots);
        let all = pivots.len();
        // Interpolation may make a pivot non-positive; then half of the pivots are used.
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
        let values = if rank == all {
            columns
        } else {
            columns.chunks(all.max(1)).flat_map(|row| row[..rank].iter().copied()).collect()
        };
        let mut new = Self { factor: Columns { width: rank, values }, inner: Vec::new() };
        if rank > 0 {
            new.factor.divide(&corner);
            new.inner = sum_of_blocks(operator.rows(), rank * rank, |index| {
                let mut gram = vec![0.0; rank * rank];
                linalg::add_gram(&mut gram, new.factor.block(index), rank, Threads::One);
                gram
            });
            (0..rank).for_each(|k| new.inner[k * rank + k] += 1.0);
            linalg::cholesky(&mut new.inner, rank, Threads::All)?;
        }
        Ok(new)
    }

    fn rank(&self) -> usize {
        self.factor.width
    }

    /// log|P|.
    pub(super) fn log_determinant(&self) -> f64 {
        linalg::log_determinant(&self.inner, self.rank())
    }

    /// P⁻¹ V = V − L (I + L'L)⁻¹ L'V.
    pub(super) fn solve(&self, v: &Columns) -> Columns {
        let mut out = v.clone();
        let (rank, width) = (self.rank(), v.width);
        if rank == 0 {
            return out;
        }
        let inner = self.factor.gram(v);
        // The solver takes columns.
        let mut turned: Vec<f64> =
            (0..width).flat_map(|c| inner.iter().skip(c).step_by(width).copied()).collect();
        linalg::solve_lower(&self.inner, rank, &mut turned, Threads::One);
        linalg::solve_lower_transposed(&self.inner, rank, &mut turned, Threads::One);
        let small: Vec<f64> =
            (0..rank).flat_map(|k| turned.iter().skip(k).step_by(rank).copied()).collect();
        out.subtract_product(&self.factor, &small);
        out
    }

    /// Y with P⁻¹ = I − Y Y', some columns at a time.
    pub(super) fn deflation(&self) -> impl Iterator<Item = Columns> + '_ {
        let (rank, mut all) = (self.rank(), self.factor.clone());
        if rank > 0 {
            all.divide(&self.inner);
        }
        (0..rank).step_by(TOGETHER).map(move |first| {
            let count = TOGETHER.min(rank - first);
            let mut out = Columns::zeros(all.rows(), count);
            let rows = out.values.chunks_mut(count.next_multiple_of(LANES));
            for (out, row) in rows.zip(all.values.chunks(rank)) {
                out[..count].copy_from_slice(&row[first..first + count]);
            }
            out
        })
    }

    /// Probes from N(0, P) in the columns from `first` on: L ε₁ + ε₂. Their ε₂ do not depend on P,
    /// so that the likelihood they estimate changes smoothly with θ.
    pub(super) fn probes(&self, seed: u64, out: &mut Columns, first: usize, count: usize) {
        let (n, rank, width) = (out.rows(), self.rank(), out.width);
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
            out.subtract_product(&self.factor, &small);
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
    let total = prior.kernel.stationary_variance();
    let mut left: Vec<f64> =
        rows.iter().map(|&i| total * operator.scales[i] * operator.scales[i]).collect();
    let z = operator.places(&rows);
    let mut factor: Vec<Vec<f64>> = Vec::new();
    let mut pivots = Vec::new();
    while pivots.len() < most && left.iter().sum::<f64>() > LEFT * m as f64 {
        let largest = |a: &usize, b: &usize| left[*a].total_cmp(&left[*b]);
        let Some(pivot) = (0..m).max_by(largest).filter(|p| left[*p] > LEFT) else { break };
        // S K S between the candidates and the pivot, without interpolation.
        let own: Vec<f64> = z.iter().skip(pivot).step_by(m).copied().collect();
        let (mut column, all) = (vec![0.0; m], 0..prior.kernel.degrees.len());
        tiles::cross_covariance(&prior.kernel, all, (&z, m), (&own, 1), &mut column);
        for (value, row) in column.iter_mut().zip(&rows) {
            *value *= operator.scales[*row] * operator.scales[rows[pivot]];
        }
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
