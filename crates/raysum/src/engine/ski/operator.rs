//! S K S + I as an operator on columns, where K = Σ_j λ_j W_j T_j W_j' is the interpolated kernel
//! matrix and S = D^{-½} makes the noise D of every row the unit.
//!
//! Rows are spread onto the grids, multiplied there, and gathered: O(J (n + m log m)) per column.
//! Sub-kernels are spread on as many threads as there are, each in a fixed number of parts, and rows
//! gathered in blocks, so the bits do not depend on the number of threads.

use super::columns::{Columns, ROWS, add_dots, gather_row, spread_row};
use super::grid::{Around, Grid, OnGrid};
use super::lattice::{Lattice, TAPS};
use rayon::prelude::*;
use std::ops::Range;

/// Tasks that spreading is cut into at least, as far as sub-kernels and rows allow.
const TASKS: usize = 8;
/// Rows below which cutting does not pay.
const FEW_ROWS: usize = 8192;

/// The interpolated kernel matrix of the training rows.
#[derive(Debug)]
pub(super) struct Operator {
    pub(super) grids: Vec<Grid>,
    /// λ_j.
    pub(super) variances: Vec<f64>,
    /// The rows' positions on the lattices: a run of n for each view.
    pub(super) positions: Vec<f64>,
    /// What interpolation takes from each row's prior variance, where the kernel has a kink at 0: much
    /// more than from its covariances. It is added to the noise, so that the diagonal of the kernel
    /// matrix is right. (For a smooth kernel all errors are alike, and better left to cancel.)
    pub(super) missing: Vec<f64>,
    /// The diagonal of S.
    pub(super) scales: Vec<f64>,
}

/// What a bilinear form of S K S says about K's parts.
pub(super) struct FormSlopes {
    /// ∂/∂z: a run of n for each view.
    pub(super) z: Vec<f64>,
    /// ∂/∂λ_j.
    pub(super) variances: Vec<f64>,
}

impl FormSlopes {
    pub(super) fn add(&mut self, other: &FormSlopes) {
        self.z.iter_mut().zip(&other.z).for_each(|(a, b)| *a += b);
        self.variances.iter_mut().zip(&other.variances).for_each(|(a, b)| *a += b);
    }
}

impl Operator {
    /// For rows at these positions, with noise of their own.
    pub(super) fn new(
        grids: Vec<Grid>,
        variances: Vec<f64>,
        positions: Vec<f64>,
        noise: impl Fn(usize) -> f64,
        n: usize,
    ) -> Self {
        let (missing, scales) = (vec![0.0; n], vec![1.0; n]);
        let mut new = Self { grids, variances, positions, missing, scales };
        if new.grids.iter().any(Grid::has_kink) {
            let total: f64 = new.variances.iter().sum();
            let missing = |i| (total - new.on_grid(i)).max(0.0);
            new.missing = (0..n).into_par_iter().map(missing).collect();
        }
        new.scales = (0..n).map(|i| (noise(i) + new.missing[i]).sqrt().recip()).collect();
        new
    }

    /// The nodes of all grids.
    pub(super) fn nodes(&self) -> usize {
        self.grids.iter().map(Grid::nodes).sum()
    }

    /// The prior variance of a row as the grids have it.
    fn on_grid(&self, row: usize) -> f64 {
        let own =
            |j: usize| self.variances[j] * self.grids[j].variance_at(self.positions_of(j, row));
        (0..self.grids.len()).map(own).sum()
    }

    /// The positions of one row along the views of a sub-kernel.
    fn positions_of(&self, j: usize, row: usize) -> impl Iterator<Item = f64> + '_ {
        let n = self.rows();
        self.views(j).map(move |view| self.positions[view * n + row])
    }

    pub(super) fn rows(&self) -> usize {
        self.scales.len()
    }

    /// The views of a sub-kernel.
    fn views(&self, j: usize) -> Range<usize> {
        let start = self.grids[..j].iter().map(Grid::degree).sum();
        start..start + self.grids[j].degree()
    }

    /// The positions of some rows along the views of a sub-kernel.
    fn positions(&self, j: usize, rows: &Range<usize>) -> Vec<&[f64]> {
        let n = self.rows();
        self.views(j).map(|v| &self.positions[v * n + rows.start..v * n + rows.end]).collect()
    }

    /// z of some rows, one run per view.
    pub(super) fn places(&self, rows: &[usize]) -> Vec<f64> {
        let n = self.rows();
        let lattices = self.grids.iter().flat_map(|grid| &grid.lattices);
        let place = |(view, lattice): (usize, &Lattice)| {
            let run = &self.positions[view * n..(view + 1) * n];
            rows.iter().map(|&i| lattice.origin + run[i] * lattice.spacing).collect::<Vec<f64>>()
        };
        lattices.enumerate().flat_map(place).collect()
    }

    /// W_j'S X on the grid of a sub-kernel.
    pub(super) fn spread(&self, j: usize, x: &Columns) -> Vec<f64> {
        let (n, grid) = (self.rows(), &self.grids[j]);
        let parts = if n < FEW_ROWS { 1 } else { TASKS.div_ceil(self.grids.len()) };
        let size = n.div_ceil(parts);
        let part = |part: usize| {
            let rows = part * size..((part + 1) * size).min(n);
            let mut out = vec![0.0; grid.nodes() * x.width];
            grid.vectorise(Spread {
                grid,
                positions: &self.positions(j, &rows),
                scales: &self.scales[rows.clone()],
                x: &x.values[rows.start * x.width..rows.end * x.width],
                width: x.width,
                out: &mut out,
            });
            out
        };
        let mut parts: Vec<Vec<f64>> = (0..parts).into_par_iter().map(part).collect();
        let mut sum = parts.swap_remove(0);
        for part in parts {
            sum.iter_mut().zip(part).for_each(|(s, p)| *s += p);
        }
        sum
    }

    /// λ_j T_j W_j'S X of every sub-kernel.
    pub(super) fn on_grids(&self, x: &Columns) -> Vec<Vec<f64>> {
        let one = |j: usize| {
            let mut values = self.spread(j, x);
            self.grids[j].multiply(&mut values, x.width);
            values.iter_mut().for_each(|v| *v *= self.variances[j]);
            values
        };
        (0..self.grids.len()).into_par_iter().map(one).collect()
    }

    /// Adds S Σ_j W_j U_j for columns U_j on the grids.
    pub(super) fn gather(&self, grids: &[Vec<f64>], out: &mut Columns) {
        let (n, width) = (self.rows(), out.width);
        out.each_block(|index, block| {
            let rows = index * ROWS..(index * ROWS + ROWS).min(n);
            for (j, values) in grids.iter().enumerate() {
                let grid = &self.grids[j];
                grid.vectorise(Gather {
                    grid,
                    positions: &self.positions(j, &rows),
                    scales: &self.scales[rows.clone()],
                    values,
                    width,
                    out: block,
                });
            }
        });
    }

    /// (S K S + I) X.
    pub(super) fn product(&self, x: &Columns) -> Columns {
        let mut out = x.clone();
        self.gather(&self.on_grids(x), &mut out);
        out
    }

    /// The diagonal of S K S at a row.
    pub(super) fn variance(&self, row: usize) -> f64 {
        self.scales[row].powi(2) * self.on_grid(row)
    }

    /// Adds Σ_i f_i ∂K_ii to slopes.
    pub(super) fn add_diagonal(&self, factors: &[f64], slopes: &mut FormSlopes) {
        let n = self.rows();
        let one = |(j, (z, variance)): (usize, (&mut [f64], &mut f64))| {
            let grid = &self.grids[j];
            for (i, factor) in factors.iter().enumerate() {
                *variance += factor * grid.variance_at(self.positions_of(j, i));
                for axis in 0..grid.degree() {
                    let slope = grid.variance_slope(self.positions_of(j, i), axis);
                    z[axis * n + i] += factor * self.variances[j] * slope;
                }
            }
        };
        let mut runs = Vec::new();
        let mut rest = &mut slopes.z[..];
        for grid in &self.grids {
            let (own, after) = rest.split_at_mut(grid.degree() * n);
            runs.push(own);
            rest = after;
        }
        runs.into_par_iter().zip(&mut slopes.variances).enumerate().for_each(one);
    }

    /// The derivatives of Σ_c f_c a_c'S K S b_c, where S stays as it is; without `b` it is `a` again.
    pub(super) fn slopes(&self, factors: &[f64], a: &Columns, b: Option<&Columns>) -> FormSlopes {
        let n = self.rows();
        let one = |j: usize| {
            let grid = &self.grids[j];
            let mut on_a = self.spread(j, a);
            let on_b = b.map(|b| {
                let mut on_b = self.spread(j, b);
                grid.multiply(&mut on_b, b.width);
                on_b
            });
            let plain = on_a.clone();
            grid.multiply(&mut on_a, a.width);
            let mut sums = vec![0.0; a.width];
            add_dots(&mut sums, &plain, on_b.as_ref().unwrap_or(&on_a));
            let variance: f64 = sums.iter().zip(factors).map(|(s, f)| s * f).sum();
            let twice: Vec<f64> = factors.iter().map(|f| 2.0 * f).collect();
            let mut z = vec![0.0; grid.degree() * n];
            for (axis, run) in z.chunks_mut(n).enumerate() {
                run.par_chunks_mut(ROWS).enumerate().for_each(|(index, run)| {
                    let rows = index * ROWS..index * ROWS + run.len();
                    let positions = &self.positions(j, &rows);
                    let mut side = |rows: &[f64], values: &[f64], factors: &[f64]| {
                        let out = &mut *run;
                        grid.vectorise(Slope { grid, axis, positions, factors, rows, values, out });
                    };
                    match b.zip(on_b.as_ref()) {
                        None => side(a.block(index), &on_a, &twice),
                        Some((b, on_b)) => {
                            side(a.block(index), on_b, factors);
                            side(b.block(index), &on_a, factors);
                        }
                    }
                    for (value, scale) in run.iter_mut().zip(&self.scales[rows]) {
                        *value *= scale * self.variances[j];
                    }
                });
            }
            (z, variance)
        };
        let parts: Vec<_> = (0..self.grids.len()).into_par_iter().map(one).collect();
        let mut slopes = FormSlopes { z: Vec::new(), variances: Vec::new() };
        for (z, variance) in parts {
            slopes.z.extend(z);
            slopes.variances.push(variance);
        }
        slopes
    }
}

struct Spread<'a> {
    grid: &'a Grid,
    positions: &'a [&'a [f64]],
    scales: &'a [f64],
    x: &'a [f64],
    width: usize,
    out: &'a mut [f64],
}

impl OnGrid for Spread<'_> {
    #[inline(always)]
    fn run<const D: usize>(self) {
        let Self { grid, positions, scales, x, width, out } = self;
        for (i, (x, scale)) in x.chunks_exact(width).zip(scales).enumerate() {
            let at = Around::new(row::<D>(positions, i));
            grid.each_run(
                &at,
                #[inline(always)]
                |first, outer| {
                    let nodes = &mut out[first * width..(first + TAPS) * width];
                    spread_row(nodes, x, at.last().map(|w| w * outer * scale));
                },
            );
        }
    }
}

struct Gather<'a> {
    grid: &'a Grid,
    positions: &'a [&'a [f64]],
    scales: &'a [f64],
    values: &'a [f64],
    width: usize,
    out: &'a mut [f64],
}

impl OnGrid for Gather<'_> {
    #[inline(always)]
    fn run<const D: usize>(self) {
        let Self { grid, positions, scales, values, width, out } = self;
        for (i, (out, scale)) in out.chunks_exact_mut(width).zip(scales).enumerate() {
            let at = Around::new(row::<D>(positions, i));
            grid.each_run(
                &at,
                #[inline(always)]
                |first, outer| {
                    let nodes = &values[first * width..(first + TAPS) * width];
                    gather_row(out, nodes, at.last().map(|w| w * outer * scale));
                },
            );
        }
    }
}

struct Slope<'a> {
    grid: &'a Grid,
    axis: usize,
    positions: &'a [&'a [f64]],
    factors: &'a [f64],
    /// Columns at the rows, and what they meet on the grid.
    rows: &'a [f64],
    values: &'a [f64],
    out: &'a mut [f64],
}

impl OnGrid for Slope<'_> {
    #[inline(always)]
    fn run<const D: usize>(self) {
        let Self { grid, axis, positions, factors, rows, values, out } = self;
        let width = factors.len();
        let mut met = vec![0.0; width];
        for (i, out) in out.iter_mut().enumerate() {
            let at = Around::new(row::<D>(positions, i)).sloping(grid, axis, positions[axis][i]);
            met.fill(0.0);
            grid.each_run(
                &at,
                #[inline(always)]
                |first, outer| {
                    let nodes = &values[first * width..(first + TAPS) * width];
                    gather_row(&mut met, nodes, at.last().map(|w| w * outer));
                },
            );
            let x = &rows[i * width..(i + 1) * width];
            *out += met.iter().zip(x).zip(factors).map(|((m, x), f)| m * x * f).sum::<f64>();
        }
    }
}

/// The positions of row `i`.
#[inline(always)]
fn row<const D: usize>(positions: &[&[f64]], i: usize) -> [f64; D] {
    let mut own = [0.0; D];
    for k in 0..D {
        own[k] = positions[k][i];
    }
    own
}
