//! Kernel matrices, tile by tile, for every engine: all sub-kernels are summed while a tile is in
//! cache, so memory does not grow with their number. Tiles have fixed bounds, so bits do not depend
//! on the number of threads.

use super::prior::AdditiveKernel;
use crate::kernel::{ConstantKernel, Shape, Specialised, SubKernel};
use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;
use std::ops::Range;

/// Columns of the matrix that one task takes.
pub(super) const COLUMNS: usize = 32;
/// Rows of a tile: with its scratch it stays in the first-level cache.
pub(super) const ROWS: usize = 256;
/// Views of a sub-kernel from which a tile is worked through view by view, all its columns at a
/// time: by columns first, the values of many views would not stay in the first-level cache; and
/// the gradient's sums are worth a product of matrices.
const MANY_VIEWS: usize = 16;

/// Writes K (without noise) of the sub-kernels `which` to the lower half of `out`, column-major.
pub(super) fn kernel_matrix(
    kernel: &AdditiveKernel,
    which: Range<usize>,
    z: &[f64],
    n: usize,
    out: &mut [f64],
) {
    let blocks: Vec<_> = kernel.blocks().collect();
    out.par_chunks_mut(COLUMNS * n).enumerate().for_each(|(chunk, out)| {
        let first = chunk * COLUMNS;
        let columns = first..(first + COLUMNS).min(n);
        for rows in row_tiles(first, n) {
            for column in columns.clone() {
                out[(column - first) * n..][rows.clone()].fill(0.0);
            }
            for j in which.clone() {
                let (block, variance) = (&blocks[j], kernel.variances[j]);
                let views = View { z: &z[block.start * n..block.end * n], n };
                let (columns, rows) = (columns.clone(), rows.clone());
                match kernel.shapes[j] {
                    Shape::Linear => {
                        for column in columns {
                            let out = &mut out[(column - first) * n..][rows.clone()];
                            add_line(out, &views.z[rows.clone()], variance * views.z[column]);
                        }
                    }
                    Shape::Stationary(kernel) => {
                        let tile = ValueTile { views, columns, rows, variance, out };
                        Arch::new().dispatch(With(kernel, tile));
                    }
                }
            }
        }
    });
}

/// Cross-covariances λ_j κ(z, z*) between n training rows and m new rows, added to `out` (n × m,
/// column-major) for the sub-kernels `which`.
pub(super) fn cross_covariance(
    kernel: &AdditiveKernel,
    which: Range<usize>,
    (z, n): (&[f64], usize),
    (z_new, m): (&[f64], usize),
    out: &mut [f64],
) {
    let blocks: Vec<_> = kernel.blocks().collect();
    for rows in row_tiles(0, n) {
        for j in which.clone() {
            let block = blocks[j].clone();
            let train = View { z: &z[block.start * n..block.end * n], n };
            let new = View { z: &z_new[block.start * m..block.end * m], n: m };
            let (rows, variance) = (rows.clone(), kernel.variances[j]);
            match kernel.shapes[j] {
                Shape::Linear => {
                    for (out, point) in out.chunks_mut(n).zip(new.z) {
                        add_line(&mut out[rows.clone()], &train.z[rows.clone()], variance * point);
                    }
                }
                Shape::Stationary(kernel) => {
                    let tile = CrossTile { train, new, rows, variance, out };
                    Arch::new().dispatch(With(kernel, tile));
                }
            }
        }
    }
}

/// Adds slope · z.
pub(super) fn add_line(out: &mut [f64], z: &[f64], slope: f64) {
    out.iter_mut().zip(z).for_each(|(o, z)| *o += slope * z);
}

pub(super) fn row_tiles(first: usize, n: usize) -> impl Iterator<Item = Range<usize>> {
    (first..n).step_by(ROWS).map(move |start| start..(start + ROWS).min(n))
}

/// A pass over a tile with its kernel. A closure in its place would be compiled by itself, without
/// the vectors that the dispatch is for.
pub(super) struct With<T>(pub(super) SubKernel, pub(super) T);

impl<T: Specialised> NullaryFnOnce for With<T> {
    type Output = T::Output;

    #[inline(always)]
    fn call(self) -> T::Output {
        self.0.specialise(self.1)
    }
}

/// The rows of one sub-kernel's projection: D runs of n values.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) z: &'a [f64],
    pub(super) n: usize,
}

impl View<'_> {
    pub(super) fn runs(&self) -> impl Iterator<Item = &[f64]> {
        self.z.chunks(self.n)
    }

    pub(super) fn is_deep(&self) -> bool {
        self.z.len() >= MANY_VIEWS * self.n
    }
}

/// s of `rows` and one point, whose coordinates `at` gives run by run.
#[inline(always)]
pub(super) fn distances<'s>(
    kernel: impl ConstantKernel,
    scratch: &'s mut [f64; ROWS],
    train: View<'_>,
    rows: &Range<usize>,
    at: impl Fn(usize) -> f64,
) -> &'s mut [f64] {
    let s = &mut scratch[..rows.len()];
    for (a, run) in train.z.chunks(train.n).enumerate() {
        let point = at(a);
        let run = &run[rows.clone()];
        if a == 0 {
            for i in 0..run.len() {
                s[i] = kernel.part(run[i] - point);
            }
        } else {
            for i in 0..run.len() {
                s[i] += kernel.part(run[i] - point);
            }
        }
    }
    s
}

/// Adds s of `rows` and each of some of them, view by view.
#[inline(always)]
pub(super) fn add_distances(
    kernel: impl ConstantKernel,
    scratch: &mut [[f64; ROWS]],
    train: View<'_>,
    rows: &Range<usize>,
    columns: &Range<usize>,
) {
    for run in train.runs() {
        let tile = &run[rows.clone()];
        for (s, point) in scratch.iter_mut().zip(&run[columns.clone()]) {
            let s = &mut s[..tile.len()];
            for i in 0..tile.len() {
                s[i] += kernel.part(tile[i] - point);
            }
        }
    }
}

/// Adds λ κ(s). Here and above by index and not by a zip of iterators, whose making is a call that is not
/// always inlined: of few rows it takes as long as the loop.
#[inline(always)]
fn add_values(kernel: impl ConstantKernel, out: &mut [f64], s: &[f64], variance: f64) {
    let s = &s[..out.len()];
    for i in 0..out.len() {
        out[i] += variance * kernel.value_and_slope(s[i]).0;
    }
}

struct ValueTile<'a> {
    views: View<'a>,
    columns: Range<usize>,
    rows: Range<usize>,
    variance: f64,
    out: &'a mut [f64],
}

impl Specialised for ValueTile<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: ConstantKernel>(self, kernel: K) {
        let Self { views, columns, rows, variance, out } = self;
        if views.is_deep() {
            let mut all = vec![[0.0; ROWS]; columns.len()];
            add_distances(kernel, &mut all, views, &rows, &columns);
            for (column, s) in columns.clone().zip(&all) {
                let out = &mut out[(column - columns.start) * views.n..][rows.clone()];
                add_values(kernel, out, s, variance);
            }
            return;
        }
        let mut scratch = [0.0; ROWS];
        for column in columns.clone() {
            let s =
                distances(kernel, &mut scratch, views, &rows, |a| views.z[a * views.n + column]);
            let out = &mut out[(column - columns.start) * views.n..][rows.clone()];
            add_values(kernel, out, s, variance);
        }
    }
}

struct CrossTile<'a> {
    train: View<'a>,
    new: View<'a>,
    rows: Range<usize>,
    variance: f64,
    out: &'a mut [f64],
}

impl Specialised for CrossTile<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: ConstantKernel>(self, kernel: K) {
        let Self { train, new, rows, variance, out } = self;
        let mut scratch = [0.0; ROWS];
        for column in 0..new.n {
            let s = distances(kernel, &mut scratch, train, &rows, |a| new.z[a * new.n + column]);
            let out = &mut out[column * train.n..][rows.clone()];
            add_values(kernel, out, s, variance);
        }
    }
}
