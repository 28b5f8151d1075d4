//! A low-rank factor for variances, by block Lanczos with full reorthogonalisation: R with
//! R R' ≈ (S K S + I)⁻¹, from Q'(S K S + I)Q = L L' and R = Q L⁻ᵀ.
//!
//! For any Q, R R' is at most the inverse that it approximates: a variance from it is never
//! too small. Q grows until the variances of a sample of training rows no longer change.

use super::columns::{Columns, LANES};
use super::operator::Operator;
use crate::linalg::{self, Threads};
use crate::rng::{Purpose, stream};
use rand_distr::{Distribution, StandardNormal};

/// Columns that Q grows by.
const STEP: usize = LANES;
/// The most columns of Q, and the most numbers.
const MOST_RANK: usize = 1024;
const MOST_NUMBERS: usize = 100_000_000;
/// Training rows whose variances are watched.
const WATCHED: usize = 256;
/// The change below which a watched variance has converged, relative to it and in units of the
/// noise.
const RELATIVE: f64 = 1e-3;
const ABSOLUTE: f64 = 1e-6;
/// A column is independent of others if this share of its squared length is.
const INDEPENDENT: f64 = 1e-22;

/// R.
pub(super) fn low_rank(operator: &Operator, seed: u64) -> Columns {
    let n = operator.rows();
    let most = MOST_RANK.min(n.next_multiple_of(STEP)).min((MOST_NUMBERS / n).max(STEP));
    let watched = watched(n, seed);
    let mut space = Space::default();
    let mut explained = vec![0.0; watched.len()];
    let mut next = start(operator, seed);
    while space.rank() < most && orthonormalise(&mut next, &space.q) {
        let Some(more) = space.grow(operator, next, &watched) else { break };
        let before = std::mem::replace(&mut explained, space.explained(watched.len()));
        let settled = watched.iter().zip(explained.iter().zip(before)).all(|(i, (now, before))| {
            let left = operator.variance(*i) - now;
            now - before <= RELATIVE * left.max(0.0) + ABSOLUTE
        });
        if settled && space.q.len() > 1 {
            break;
        }
        next = more;
    }
    space.root_of_inverse(n)
}

/// The space that Q spans.
#[derive(Default)]
struct Space {
    /// Q, block after block.
    q: Vec<Columns>,
    /// Q'AQ, a block column up to the diagonal for each block.
    projected: Vec<Vec<f64>>,
    /// The watched rows of S K S Q, for each block.
    seen: Vec<Vec<f64>>,
    /// L.
    factor: Vec<f64>,
}

impl Space {
    fn rank(&self) -> usize {
        self.q.len() * STEP
    }

    /// Adds a block, and returns the part of A times it outside the space. Rounding may prevent
    /// this: then nothing changes.
    fn grow(&mut self, operator: &Operator, block: Columns, watched: &[usize]) -> Option<Columns> {
        let mut product = operator.product(&block);
        let all = self.q.iter().chain([&block]);
        self.projected.push(all.flat_map(|old| old.gram(&product)).collect());
        let mut factor = assemble(&self.projected);
        if linalg::cholesky(&mut factor, self.rank() + STEP, Threads::One).is_err() {
            self.projected.pop();
            return None;
        }
        self.factor = factor;
        let row = |i: &usize| {
            let at = i * STEP..(i + 1) * STEP;
            product.values[at.clone()].iter().zip(&block.values[at]).map(|(a, q)| a - q)
        };
        self.seen.push(watched.iter().flat_map(row).collect());
        self.q.push(block);
        let parts = self.projected[self.q.len() - 1].chunks(STEP * STEP);
        self.q.iter().zip(parts).for_each(|(old, part)| product.subtract_product(old, part));
        Some(product)
    }

    /// What the space explains of the variance of each watched row, in units of its noise.
    fn explained(&self, watched: usize) -> Vec<f64> {
        let rank = self.rank();
        let mut whitened = vec![0.0; watched * rank];
        for (block, rows) in self.seen.iter().enumerate() {
            for (out, row) in whitened.chunks_mut(rank).zip(rows.chunks(STEP)) {
                out[block * STEP..][..STEP].copy_from_slice(row);
            }
        }
        linalg::solve_lower(&self.factor, rank, &mut whitened, Threads::One);
        whitened.chunks(rank).map(|w| linalg::dot(w, w)).collect()
    }

    /// R = Q L⁻ᵀ.
    fn root_of_inverse(self, n: usize) -> Columns {
        let mut r = Columns::zeros(n, self.rank().max(STEP));
        let width = r.width;
        for (block, columns) in self.q.iter().enumerate() {
            for (out, own) in r.values.chunks_mut(width).zip(columns.values.chunks(STEP)) {
                out[block * STEP..][..STEP].copy_from_slice(own);
            }
        }
        if !self.factor.is_empty() {
            r.divide(&self.factor);
        }
        r
    }
}

/// Rows spread over all of them.
fn watched(n: usize, seed: u64) -> Vec<usize> {
    let mut rng = stream(seed, Purpose::Probes, u32::MAX);
    rand::seq::index::sample(&mut rng, n, n.min(WATCHED)).into_vec()
}

/// Random columns, smoothed by the kernel.
fn start(operator: &Operator, seed: u64) -> Columns {
    let mut columns = Columns::zeros(operator.rows(), STEP);
    let mut rng = stream(seed, Purpose::Probes, u32::MAX - 1);
    columns.values.iter_mut().for_each(|v| *v = StandardNormal.sample(&mut rng));
    operator.product(&columns)
}

/// Makes columns orthonormal, also to those in `q`; those that depend on others become 0. False if
/// all do.
fn orthonormalise(columns: &mut Columns, q: &[Columns]) -> bool {
    let diagonal = |gram: &[f64]| -> Vec<f64> { gram.iter().step_by(STEP + 1).copied().collect() };
    let before = diagonal(&columns.gram(columns));
    let mut alive = [true; STEP];
    // Twice is enough (Parlett and Kahan).
    for _ in 0..2 {
        for old in q {
            let share = old.gram(columns);
            columns.subtract_product(old, &share);
        }
        let gram = columns.gram(columns);
        let mut l = vec![0.0; STEP * STEP];
        for k in 0..STEP {
            let entry = |i: usize| {
                let known: f64 = (0..k).map(|m| l[m * STEP + i] * l[m * STEP + k]).sum();
                gram[i * STEP + k] - known
            };
            let column: Vec<f64> = (k..STEP).map(entry).collect();
            alive[k] &= column[0] > INDEPENDENT * before[k];
            // A column that is dropped must not touch the others.
            let root = column[0].sqrt();
            for (i, value) in (k..STEP).zip(column) {
                l[k * STEP + i] = match (alive[k], i == k) {
                    (true, _) => value / root,
                    (false, own) => f64::from(u8::from(own)),
                };
            }
        }
        columns.divide(&l);
        // Whatever is left in a column that is dropped is rounding.
        for row in columns.values.chunks_mut(STEP) {
            row.iter_mut().zip(alive).filter(|(_, alive)| !alive).for_each(|(v, _)| *v = 0.0);
        }
    }
    alive.contains(&true)
}

/// The symmetric matrix whose block rows were given up to the diagonal, as columns.
fn assemble(rows: &[Vec<f64>]) -> Vec<f64> {
    let rank = rows.len() * STEP;
    let mut all = vec![0.0; rank * rank];
    for (s, row) in rows.iter().enumerate() {
        for (l, block) in row.chunks(STEP * STEP).enumerate() {
            for (k, value) in block.iter().enumerate() {
                // Entry (l·STEP + k/STEP, s·STEP + k%STEP), and its mirror image.
                let (i, j) = (l * STEP + k / STEP, s * STEP + k % STEP);
                all[j * rank + i] = *value;
                all[i * rank + j] = *value;
            }
        }
    }
    // Columns that were dropped.
    for k in 0..rank {
        if all[k * rank + k] == 0.0 {
            all[k * rank + k] = 1.0;
        }
    }
    all
}
