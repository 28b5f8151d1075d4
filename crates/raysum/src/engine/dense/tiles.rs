//! Passes over the lower half of the n × n kernel matrix, tile by tile: all sub-kernels are summed
//! while a tile is in cache, so memory does not grow with their number.
//!
//! Bits do not depend on the number of threads: tiles have fixed bounds, and sums over tiles go to
//! a fixed number of accumulators that are added up in order.

use crate::data::Matrix;
use crate::engine::AdditiveKernel;
use crate::kernel::{Specialised, SubKernel};
use crate::linalg;
use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;
use std::ops::Range;

/// Columns of the matrix that one task takes.
const COLUMNS: usize = 32;
/// Rows of a tile: with its scratch it stays in the first-level cache.
const ROWS: usize = 256;
/// Views of a sub-kernel from which a tile is worked through view by view, all its columns at a
/// time: by columns first, the values of many views would not stay in the first-level cache; and
/// the gradient's sums are worth a product of matrices.
const MANY_VIEWS: usize = 16;
/// Accumulators of the gradient pass.
const ACCUMULATORS: usize = 32;

/// Writes K (without noise) of the sub-kernels `which` to the lower half of `out`, column-major.
pub(in crate::engine) fn kernel_matrix(
    kernel: &AdditiveKernel,
    which: Range<usize>,
    z: &[f64],
    n: usize,
    out: &mut [f64],
) {
    let blocks: Vec<_> = kernel.blocks().collect();
    let (blocks, variances) = (&blocks[which.clone()], &kernel.variances[which]);
    out.par_chunks_mut(COLUMNS * n).enumerate().for_each(|(chunk, out)| {
        let first = chunk * COLUMNS;
        let columns = first..(first + COLUMNS).min(n);
        for rows in row_tiles(first, n) {
            for column in columns.clone() {
                out[(column - first) * n..][rows.clone()].fill(0.0);
            }
            for (block, &variance) in blocks.iter().zip(variances) {
                let views = View { z: &z[block.start * n..block.end * n], n };
                let tile = ValueTile {
                    views,
                    columns: columns.clone(),
                    rows: rows.clone(),
                    variance,
                    out,
                };
                Arch::new().dispatch(With(kernel.sub_kernel, tile));
            }
        }
    });
}

/// Cross-covariances λ_j κ(z, z*) between n training rows and m new rows, added to `out` (n × m,
/// column-major) for the sub-kernels `which`.
pub(in crate::engine) fn cross_covariance(
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
            let tile = CrossTile {
                train: View { z: &z[block.start * n..block.end * n], n },
                new: View { z: &z_new[block.start * m..block.end * m], n: m },
                rows: rows.clone(),
                variance: kernel.variances[j],
                out,
            };
            Arch::new().dispatch(With(kernel.sub_kernel, tile));
        }
    }
}

/// Half the off-diagonal part of tr(B ∂K): with respect to the projected rows and to λ.
pub(super) struct Slopes {
    /// ∂/∂z, shaped like z.
    pub(super) z: Vec<f64>,
    /// Σ_{i>k} B_ik κ_j, for each j (the diagonal is left to the caller).
    pub(super) variances: Vec<f64>,
}

/// The partial sums that [`gradient`] makes for n rows.
pub(super) fn accumulators(n: usize) -> usize {
    ACCUMULATORS.min(n.div_ceil(COLUMNS))
}

/// One pass over B = Σ_t (a_t a_t' − K⁻¹) for the gradient; see [`Slopes`].
pub(super) fn gradient(
    kernel: &AdditiveKernel,
    z: &[f64],
    a: &[Vec<f64>],
    inverse: &[f64],
) -> Slopes {
    let n = a.first().map_or(0, Vec::len);
    let blocks: Vec<_> = kernel.blocks().collect();
    let chunks = n.div_ceil(COLUMNS);
    // Accumulator t takes the column chunks t, t + T, t + 2T, …: about equal shares of a triangle.
    let accumulators = accumulators(n);
    let parts: Vec<Slopes> = (0..accumulators)
        .into_par_iter()
        .map(|t| {
            let mut sum =
                Slopes { z: vec![0.0; z.len()], variances: vec![0.0; kernel.variances.len()] };
            let mut b = vec![0.0; ROWS * COLUMNS];
            for first in (t..chunks).step_by(accumulators).map(|chunk| chunk * COLUMNS) {
                let columns = first..(first + COLUMNS).min(n);
                for rows in row_tiles(first, n) {
                    fill_b(&mut b, a, inverse, &columns, &rows);
                    for (j, block) in blocks.iter().enumerate() {
                        let at = block.start * n..block.end * n;
                        let tile = SlopeTile {
                            views: View { z: &z[at.clone()], n },
                            columns: columns.clone(),
                            rows: rows.clone(),
                            variance: kernel.variances[j],
                            b: &b,
                            out: &mut sum.z[at],
                        };
                        sum.variances[j] += Arch::new().dispatch(With(kernel.sub_kernel, tile));
                    }
                }
            }
            sum
        })
        .collect();
    let mut parts = parts.into_iter();
    let mut total = parts.next().unwrap_or(Slopes { z: Vec::new(), variances: Vec::new() });
    for part in parts {
        total.z.iter_mut().zip(&part.z).for_each(|(t, p)| *t += p);
        total.variances.iter_mut().zip(&part.variances).for_each(|(t, p)| *t += p);
    }
    total
}

/// Gradient of Σ_i a_i k(z_i, z*) with respect to the m new points z* (m rows by all views).
pub(super) fn mean_slopes(
    kernel: &AdditiveKernel,
    (z, a): (&[f64], &[f64]),
    (z_new, m): (&[f64], usize),
) -> Matrix {
    let n = a.len();
    let mut out = Matrix::zeros(m, kernel.views.rows());
    for rows in row_tiles(0, n) {
        for (block, &variance) in kernel.blocks().zip(&kernel.variances) {
            let tile = MeanSlopeTile {
                train: View { z: &z[block.start * n..block.end * n], n },
                new: View { z: &z_new[block.start * m..block.end * m], n: m },
                rows: rows.clone(),
                a,
                variance,
                first_view: block.start,
                out: &mut out,
            };
            Arch::new().dispatch(With(kernel.sub_kernel, tile));
        }
    }
    out
}

fn row_tiles(first: usize, n: usize) -> impl Iterator<Item = Range<usize>> {
    (first..n).step_by(ROWS).map(move |start| start..(start + ROWS).min(n))
}

/// B on a tile, with zeros on and above the diagonal.
fn fill_b(
    b: &mut [f64],
    a: &[Vec<f64>],
    inverse: &[f64],
    columns: &Range<usize>,
    rows: &Range<usize>,
) {
    for (k, b) in columns.clone().zip(b.chunks_mut(ROWS)) {
        let below = |i: usize| if i > k { 1.0 } else { 0.0 };
        b.fill(0.0);
        for a in a {
            let inverse = &inverse[k * a.len()..];
            for (i, b) in rows.clone().zip(b.iter_mut()) {
                *b += below(i) * (a[i] * a[k] - inverse[i]);
            }
        }
    }
}

/// A pass over a tile with its kernel. A closure in its place would be compiled by itself, without
/// the vectors that the dispatch is for.
struct With<T>(SubKernel, T);

impl<T: Specialised> NullaryFnOnce for With<T> {
    type Output = T::Output;

    #[inline(always)]
    fn call(self) -> T::Output {
        self.0.specialise(self.1)
    }
}

/// The rows of one sub-kernel's projection: D runs of n values.
#[derive(Clone, Copy)]
struct View<'a> {
    z: &'a [f64],
    n: usize,
}

impl View<'_> {
    fn runs(&self) -> impl Iterator<Item = &[f64]> {
        self.z.chunks(self.n)
    }

    fn is_deep(&self) -> bool {
        self.z.len() >= MANY_VIEWS * self.n
    }
}

/// Squared distances of `rows` to one point, whose coordinates `at` gives run by run.
#[inline(always)]
fn squared_distances<'s>(
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
            for (s, z) in s.iter_mut().zip(run) {
                let gap = z - point;
                *s = gap * gap;
            }
        } else {
            for (s, z) in s.iter_mut().zip(run) {
                let gap = z - point;
                *s += gap * gap;
            }
        }
    }
    s
}

/// Adds squared distances of `rows` to each of some of them, view by view.
#[inline(always)]
fn add_squared_distances(
    scratch: &mut [[f64; ROWS]],
    train: View<'_>,
    rows: &Range<usize>,
    columns: &Range<usize>,
) {
    for run in train.runs() {
        let tile = &run[rows.clone()];
        for (s, point) in scratch.iter_mut().zip(&run[columns.clone()]) {
            for (s, z) in s.iter_mut().zip(tile) {
                let gap = z - point;
                *s += gap * gap;
            }
        }
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
    fn run(self, kernel: impl Fn(f64) -> (f64, f64) + Copy) {
        let Self { views, columns, rows, variance, out } = self;
        if views.is_deep() {
            let mut all = vec![[0.0; ROWS]; columns.len()];
            add_squared_distances(&mut all, views, &rows, &columns);
            for (column, s) in columns.clone().zip(&all) {
                let out = &mut out[(column - columns.start) * views.n..][rows.clone()];
                for (o, s) in out.iter_mut().zip(s) {
                    *o += variance * kernel(*s).0;
                }
            }
            return;
        }
        let mut scratch = [0.0; ROWS];
        for column in columns.clone() {
            let s =
                squared_distances(&mut scratch, views, &rows, |a| views.z[a * views.n + column]);
            let out = &mut out[(column - columns.start) * views.n..][rows.clone()];
            for (o, s) in out.iter_mut().zip(&*s) {
                *o += variance * kernel(*s).0;
            }
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
    fn run(self, kernel: impl Fn(f64) -> (f64, f64) + Copy) {
        let Self { train, new, rows, variance, out } = self;
        let mut scratch = [0.0; ROWS];
        for column in 0..new.n {
            let s = squared_distances(&mut scratch, train, &rows, |a| new.z[a * new.n + column]);
            let out = &mut out[column * train.n..][rows.clone()];
            for (o, s) in out.iter_mut().zip(&*s) {
                *o += variance * kernel(*s).0;
            }
        }
    }
}

struct SlopeTile<'a> {
    views: View<'a>,
    columns: Range<usize>,
    rows: Range<usize>,
    variance: f64,
    b: &'a [f64],
    out: &'a mut [f64],
}

impl Specialised for SlopeTile<'_> {
    type Output = f64;

    /// Adds 2 λ B_ik κ'(s) (z_i − z_k) to ∂/∂z_i, its negative to ∂/∂z_k, and returns Σ B κ.
    #[inline(always)]
    fn run(self, kernel: impl Fn(f64) -> (f64, f64) + Copy) -> f64 {
        let Self { views, columns, rows, variance, b, out } = self;
        let twice = 2.0 * variance;
        let mut total = 0.0;
        if views.is_deep() {
            let mut all = vec![[0.0; ROWS]; columns.len()];
            add_squared_distances(&mut all, views, &rows, &columns);
            for (s, b) in all.iter_mut().zip(b.chunks(ROWS)) {
                total += forces(kernel, &mut s[..rows.len()], b, twice);
            }
            let force = (all.as_flattened(), ROWS);
            linalg::add_springs(out, (views.z, views.n), force, (rows, columns));
            return total;
        }
        let mut scratch = [0.0; ROWS];
        for (column, b) in columns.zip(b.chunks(ROWS)) {
            let s =
                squared_distances(&mut scratch, views, &rows, |a| views.z[a * views.n + column]);
            total += forces(kernel, s, b, twice);
            for (run, out) in views.runs().zip(out.chunks_mut(views.n)) {
                push(run, out, column, &rows, s);
            }
        }
        total
    }
}

/// Turns squared distances to one point into forces 2 λ B κ'; returns Σ B κ.
#[inline(always)]
fn forces(kernel: impl Fn(f64) -> (f64, f64) + Copy, s: &mut [f64], b: &[f64], twice: f64) -> f64 {
    // Eight partial sums: a single one would keep the compiler from vectorising the loop.
    let mut lanes = [0.0; 8];
    for (s, b) in s.chunks_mut(8).zip(b.chunks(8)) {
        for ((s, b), lane) in s.iter_mut().zip(b).zip(&mut lanes) {
            let (value, slope) = kernel(*s);
            *lane += b * value;
            *s = twice * b * slope;
        }
    }
    lanes.iter().sum()
}

/// Adds the forces along one view between `rows` and a column to both.
#[inline(always)]
fn push(run: &[f64], out: &mut [f64], column: usize, rows: &Range<usize>, force: &[f64]) {
    let point = run[column];
    let mut lanes = [0.0; 8];
    let mut one = |z: f64, o: &mut f64, f: f64, lane: usize| {
        let push = f * (z - point);
        *o += push;
        lanes[lane] += push;
    };
    // Whole chunks of a known length become vectors; the same loop over slices does not.
    let (z, last_z) = run[rows.clone()].as_chunks::<8>();
    let (o, last_o) = out[rows.clone()].as_chunks_mut::<8>();
    let (f, last_f) = force.as_chunks::<8>();
    for ((z, o), f) in z.iter().zip(o).zip(f) {
        for lane in 0..8 {
            one(z[lane], &mut o[lane], f[lane], lane);
        }
    }
    for (lane, ((z, o), f)) in last_z.iter().zip(last_o).zip(last_f).enumerate() {
        one(*z, o, *f, lane);
    }
    out[column] -= lanes.iter().sum::<f64>();
}

struct MeanSlopeTile<'a> {
    train: View<'a>,
    new: View<'a>,
    rows: Range<usize>,
    a: &'a [f64],
    variance: f64,
    first_view: usize,
    out: &'a mut Matrix,
}

impl Specialised for MeanSlopeTile<'_> {
    type Output = ();

    /// Adds Σ_i 2 λ a_i κ'(s) (z* − z_i).
    #[inline(always)]
    fn run(self, kernel: impl Fn(f64) -> (f64, f64) + Copy) {
        let Self { train, new, rows, a, variance, first_view, out } = self;
        let mut scratch = [0.0; ROWS];
        for column in 0..new.n {
            let at = |view: usize| new.z[view * new.n + column];
            let force = squared_distances(&mut scratch, train, &rows, at);
            for (f, a) in force.iter_mut().zip(&a[rows.clone()]) {
                *f = 2.0 * variance * a * kernel(*f).1;
            }
            for (view, run) in train.runs().enumerate() {
                let mut lanes = [0.0; 8];
                for (f, z) in force.chunks(8).zip(run[rows.clone()].chunks(8)) {
                    for ((f, z), lane) in f.iter().zip(z).zip(&mut lanes) {
                        *lane += f * (at(view) - z);
                    }
                }
                out[(column, first_view + view)] += lanes.iter().sum::<f64>();
            }
        }
    }
}
