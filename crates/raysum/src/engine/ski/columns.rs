//! Several vectors over the rows, side by side: row i of all of them is one run of memory, so that
//! work per row is shared and vectorised over the columns.

use super::lattice::TAPS;
use crate::linalg;
use rayon::prelude::*;

/// Columns come in such groups; those beyond what is wanted are zero.
pub(super) const LANES: usize = 8;
/// Rows that one task goes through.
pub(super) const ROWS: usize = 512;

/// n × width, row-major.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Columns {
    pub(super) width: usize,
    pub(super) values: Vec<f64>,
}

impl Columns {
    /// Zeros, for at least `columns` columns.
    pub(super) fn zeros(rows: usize, columns: usize) -> Self {
        let width = columns.next_multiple_of(LANES);
        Self { width, values: vec![0.0; rows * width] }
    }

    pub(super) fn rows(&self) -> usize {
        self.values.len() / self.width
    }

    /// Writes one column.
    pub(super) fn set(&mut self, column: usize, values: impl IntoIterator<Item = f64>) {
        let rows = self.values.chunks_mut(self.width);
        rows.zip(values).for_each(|(row, value)| row[column] = value);
    }

    pub(super) fn column(&self, column: usize) -> impl Iterator<Item = f64> + '_ {
        self.values.chunks(self.width).map(move |row| row[column])
    }

    /// Goes through blocks of rows on all threads.
    pub(super) fn each_block(&mut self, body: impl Fn(usize, &mut [f64]) + Sync + Send) {
        let blocks = self.values.par_chunks_mut(ROWS * self.width).enumerate();
        blocks.for_each(|(index, block)| body(index, block));
    }

    /// A block of rows.
    pub(super) fn block(&self, index: usize) -> &[f64] {
        let start = index * ROWS * self.width;
        &self.values[start..(start + ROWS * self.width).min(self.values.len())]
    }

    /// X'Y of these columns with others, row-major.
    pub(super) fn gram(&self, other: &Columns) -> Vec<f64> {
        let part = |index: usize| {
            let (a, b) = (self.block(index), other.block(index));
            let mut out = vec![0.0; self.width * other.width];
            linalg::add_row_major_gram(&mut out, a, b, a.len() / self.width);
            out
        };
        sum_of_blocks(self.rows(), self.width * other.width, part)
    }

    /// Takes X times a small row-major matrix away.
    pub(super) fn subtract_product(&mut self, x: &Columns, small: &[f64]) {
        self.each_block(|index, block| {
            linalg::subtract_row_major_product(block, x.block(index), small, x.width);
        });
    }

    /// Replaces X by X L⁻ᵀ for a triangular L as [`linalg::cholesky`] leaves it.
    pub(super) fn divide(&mut self, l: &[f64]) {
        let width = self.width;
        self.each_block(|_, block| {
            // Row-major rows are columns to the solver.
            linalg::solve_lower(l, width, block, linalg::Threads::One);
        });
    }
}

/// Adds multiples of a row to four rows that follow each other. Whole groups of columns go through
/// registers, which the compiler would not see by itself.
#[inline(always)]
pub(super) fn spread_row(nodes: &mut [f64], x: &[f64], factors: [f64; TAPS]) {
    let groups = x.len() / LANES;
    let (nodes, x) = (nodes.as_chunks_mut::<LANES>().0, x.as_chunks::<LANES>().0);
    for (a, factor) in factors.iter().enumerate() {
        for (node, x) in nodes[a * groups..(a + 1) * groups].iter_mut().zip(x) {
            let mut lanes = *node;
            for k in 0..LANES {
                lanes[k] += factor * x[k];
            }
            *node = lanes;
        }
    }
}

/// Adds to a row multiples of four rows that follow each other.
#[inline(always)]
pub(super) fn gather_row(out: &mut [f64], nodes: &[f64], factors: [f64; TAPS]) {
    let groups = out.len() / LANES;
    let (out, nodes) = (out.as_chunks_mut::<LANES>().0, nodes.as_chunks::<LANES>().0);
    let nodes = &nodes[..TAPS * groups];
    for (g, out) in out.iter_mut().enumerate() {
        let mut lanes = *out;
        for (a, factor) in factors.iter().enumerate() {
            let node = &nodes[a * groups + g];
            for k in 0..LANES {
                lanes[k] += factor * node[k];
            }
        }
        *out = lanes;
    }
}

/// Adds up what blocks of rows give, in order: the same bits on any number of threads.
pub(super) fn sum_of_blocks(
    rows: usize,
    len: usize,
    part: impl Fn(usize) -> Vec<f64> + Sync + Send,
) -> Vec<f64> {
    let parts: Vec<Vec<f64>> = (0..rows.div_ceil(ROWS)).into_par_iter().map(part).collect();
    let mut sum = vec![0.0; len];
    for part in parts {
        sum.iter_mut().zip(part).for_each(|(s, p)| *s += p);
    }
    sum
}

/// The dot product of each column with its fellow, for some rows of two row-major matrices.
pub(super) fn add_dots(sums: &mut [f64], a: &[f64], b: &[f64]) {
    let width = sums.len();
    for (a, b) in a.chunks(width).zip(b.chunks(width)) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
}
