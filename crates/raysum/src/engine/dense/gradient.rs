//! Gradients by passes over the kernel matrix, tile by tile: of the likelihood, and of the mean.
//!
//! Bits do not depend on the number of threads: sums over tiles go to a fixed number of accumulators
//! that are added up in order.

use crate::data::Matrix;
use crate::engine::AdditiveKernel;
use crate::engine::tiles::{
    COLUMNS, ROWS, View, With, add_distances, add_line, distances, row_tiles,
};
use crate::kernel::{ConstantKernel, Shape, Specialised};
use crate::linalg;
use pulp::Arch;
use rayon::prelude::*;
use std::ops::Range;

/// Accumulators of the likelihood's gradient.
const ACCUMULATORS: usize = 32;

/// Half of tr(B ∂K) with respect to the projected rows and to λ. [`gradient`] gives the
/// off-diagonal part of it.
pub(super) struct Slopes {
    /// ∂/∂z, shaped like z.
    pub(super) z: Vec<f64>,
    /// Σ_{i>k} B_ik κ_j, for each j.
    pub(super) variances: Vec<f64>,
}

impl Slopes {
    /// Adds the diagonal of B: κ_j is 1 there, or z² where it is linear.
    pub(super) fn add_diagonal(&mut self, kernel: &AdditiveKernel, z: &[f64], b: &[f64]) {
        let (n, trace) = (b.len(), b.iter().sum::<f64>());
        for (j, block) in kernel.blocks().enumerate() {
            if kernel.shapes[j] != Shape::Linear {
                self.variances[j] += 0.5 * trace;
                continue;
            }
            let at = block.start * n..block.end * n;
            for ((slope, z), b) in self.z[at.clone()].iter_mut().zip(&z[at]).zip(b) {
                *slope += kernel.variances[j] * b * z;
                self.variances[j] += 0.5 * b * z * z;
            }
        }
    }
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
                        sum.variances[j] += match kernel.shapes[j] {
                            Shape::Linear => tile.line(),
                            Shape::Stationary(kernel) => Arch::new().dispatch(With(kernel, tile)),
                        };
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
        for (j, block) in kernel.blocks().enumerate() {
            let variance = kernel.variances[j];
            let tile = MeanSlopeTile {
                train: View { z: &z[block.start * n..block.end * n], n },
                new: View { z: &z_new[block.start * m..block.end * m], n: m },
                rows: rows.clone(),
                a,
                variance,
                first_view: block.start,
                out: &mut out,
            };
            match kernel.shapes[j] {
                Shape::Linear => tile.line(),
                Shape::Stationary(kernel) => Arch::new().dispatch(With(kernel, tile)),
            }
        }
    }
    out
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
        b.fill(0.0);
        for a in a {
            let inverse = &inverse[k * a.len()..][rows.clone()];
            let (own, others) = (a[k], &a[rows.clone()]);
            for (i, (b, (a, inverse))) in b.iter_mut().zip(others.iter().zip(inverse)).enumerate() {
                let below = if rows.start + i > k { 1.0 } else { 0.0 };
                *b += below * (a * own - inverse);
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

impl SlopeTile<'_> {
    /// The same for a linear sub-kernel: adds λ B_ik z_k to ∂/∂z_i and λ B_ik z_i to ∂/∂z_k, and
    /// returns Σ B z z'.
    fn line(self) -> f64 {
        let Self { views, columns, rows, variance, b, out } = self;
        let z = views.z;
        let mut total = 0.0;
        for (column, b) in columns.zip(b.chunks(ROWS)) {
            let b = &b[..rows.len()];
            let along = linalg::dot(b, &z[rows.clone()]);
            add_line(&mut out[rows.clone()], b, variance * z[column]);
            out[column] += variance * along;
            total += along * z[column];
        }
        total
    }
}

impl Specialised for SlopeTile<'_> {
    type Output = f64;

    /// Adds 2 λ B_ik κ'(s) pull(z_i − z_k) to ∂/∂z_i, its negative to ∂/∂z_k, and returns Σ B κ.
    #[inline(always)]
    fn run<K: ConstantKernel>(self, kernel: K) -> f64 {
        let Self { views, columns, rows, variance, b, out } = self;
        let twice = 2.0 * variance;
        let mut total = 0.0;
        let mut products = [0.0; ROWS];
        if views.is_deep() {
            let mut all = vec![[0.0; ROWS]; columns.len()];
            add_distances(kernel, &mut all, views, &rows, &columns);
            for (s, b) in all.iter_mut().zip(b.chunks(ROWS)) {
                total += forces(kernel, &mut s[..rows.len()], b, twice, &mut products);
            }
            if K::SPRINGS {
                let force = (all.as_flattened(), ROWS);
                linalg::add_springs(out, (views.z, views.n), force, (rows, columns));
                return total;
            }
            for (run, out) in views.runs().zip(out.chunks_mut(views.n)) {
                for (column, force) in columns.clone().zip(&all) {
                    push(kernel, run, out, column, &rows, &force[..rows.len()]);
                }
            }
            return total;
        }
        let mut scratch = [0.0; ROWS];
        for (column, b) in columns.zip(b.chunks(ROWS)) {
            let s =
                distances(kernel, &mut scratch, views, &rows, |a| views.z[a * views.n + column]);
            total += forces(kernel, s, b, twice, &mut products);
            for (run, out) in views.runs().zip(out.chunks_mut(views.n)) {
                push(kernel, run, out, column, &rows, s);
            }
        }
        total
    }
}

/// Turns s of one point and others into forces 2 λ B κ'; returns Σ B κ. The terms of that sum go to
/// `products` first: in a loop with the sums, the compiler would not vectorise the kernel.
#[inline(always)]
fn forces(
    kernel: impl ConstantKernel,
    s: &mut [f64],
    b: &[f64],
    twice: f64,
    products: &mut [f64; ROWS],
) -> f64 {
    let n = s.len();
    let (b, products) = (&b[..n], &mut products[..n]);
    for i in 0..n {
        let (value, slope) = kernel.value_and_slope(s[i]);
        products[i] = b[i] * value;
        s[i] = twice * b[i] * slope;
    }
    linalg::sum(products)
}

/// Adds the forces along one view between `rows` and a column to both.
#[inline(always)]
fn push(
    kernel: impl ConstantKernel,
    run: &[f64],
    out: &mut [f64],
    column: usize,
    rows: &Range<usize>,
    force: &[f64],
) {
    let point = run[column];
    let mut lanes = [0.0; 8];
    let mut one = |z: f64, o: &mut f64, f: f64, lane: usize| {
        let push = f * kernel.pull(z - point);
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

impl MeanSlopeTile<'_> {
    /// The same for a linear sub-kernel: adds Σ_i λ a_i z_i.
    fn line(self) {
        let Self { train, new, rows, a, variance, first_view, out } = self;
        let slope = variance * linalg::dot(&a[rows.clone()], &train.z[rows]);
        (0..new.n).for_each(|column| out[(column, first_view)] += slope);
    }
}

impl Specialised for MeanSlopeTile<'_> {
    type Output = ();

    /// Adds Σ_i 2 λ a_i κ'(s) pull(z* − z_i).
    #[inline(always)]
    fn run<K: ConstantKernel>(self, kernel: K) {
        let Self { train, new, rows, a, variance, first_view, out } = self;
        let mut scratch = [0.0; ROWS];
        for column in 0..new.n {
            let at = |view: usize| new.z[view * new.n + column];
            let force = distances(kernel, &mut scratch, train, &rows, at);
            let a = &a[rows.clone()];
            for i in 0..a.len() {
                force[i] = 2.0 * variance * a[i] * kernel.value_and_slope(force[i]).1;
            }
            for (view, run) in train.runs().enumerate() {
                let (mut lanes, point) = ([0.0; 8], at(view));
                let ((f, last_f), (z, last_z)) =
                    (force.as_chunks::<8>(), run[rows.clone()].as_chunks::<8>());
                for (f, z) in f.iter().zip(z) {
                    for lane in 0..8 {
                        lanes[lane] += f[lane] * kernel.pull(point - z[lane]);
                    }
                }
                for ((f, z), lane) in last_f.iter().zip(last_z).zip(&mut lanes) {
                    *lane += f * kernel.pull(point - z);
                }
                out[(column, first_view + view)] += lanes.iter().sum::<f64>();
            }
        }
    }
}
