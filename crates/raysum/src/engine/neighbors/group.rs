//! Eight groups of rows side by side: each a row behind the rows that it is conditioned on.
//!
//! With N the rows conditioned on, r = y − c, and the Cholesky factor L of their kernel matrix plus
//! noise,
//!
//! ```text
//! w = K_N⁻¹ k,   u = r_i − w'r_N,   v = k_ii − k'K_N⁻¹k,   log p(y_i | y_N) = −½ (u²/v + log 2πv)
//! ∂v = ∂k_ii − 2w'∂k + w'∂K_N w,   ∂u = a'∂K_N w − a'∂k,   a = K_N⁻¹ r_N
//! ```
//!
//! so with g = ∂/∂v = ½ (u²/v − 1)/v, b = ∂/∂u · a = −(u/v) a, and i as the last row,
//! ŵ = (w, −1), b̂ = (b, 0), the derivative with respect to the kernel matrix of the whole group has
//! rank two:
//!
//! ```text
//! G = g ŵŵ' + ½ (b̂ŵ' + ŵb̂')
//! ```
//!
//! No inverse is needed, and several targets differ only in the sums g and b.

use super::lanes::{Factor, LANES, Lane, add_product, dot, map, row_start};
use crate::engine::AdditiveKernel;
use crate::engine::tiles::With;
use crate::kernel::{ConstantKernel, Shape, Specialised, half_sign};
use pulp::{Arch, NullaryFnOnce};
use std::ops::Range;

/// Rows that groups are made of.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    /// Projected rows, row by row.
    pub(super) z: &'a [f64],
    pub(super) views: usize,
    /// The noise v/w of each row, and its slope 1/w.
    pub(super) noise: &'a [(f64, f64)],
    /// y − c, of each target.
    pub(super) residuals: &'a [Vec<f64>],
}

impl<'a> Source<'a> {
    pub(super) fn row(&self, row: usize) -> &'a [f64] {
        &self.z[row * self.views..][..self.views]
    }
}

/// Memory for eight groups.
#[derive(Debug)]
pub(super) struct Group {
    /// Most rows that a row is conditioned on.
    size: usize,
    views: usize,
    /// Projected rows, point by point; the row itself is the last one.
    pub(super) z: Vec<Lane>,
    noise: Vec<Lane>,
    /// ∂/∂σ² of the noise.
    noise_slopes: Vec<Lane>,
    /// For each target the residuals of all points, in turn replaced by L⁻¹r_N.
    residuals: Vec<Vec<Lane>>,
    /// The number of rows that each group really has.
    counts: [usize; LANES],
    factor: Factor,
    /// κ and κ' of each pair, for each stationary sub-kernel in turn, where a gradient is wanted.
    pairs: Option<Vec<(Lane, Lane)>>,
    /// The view and the variance of each linear sub-kernel.
    lines: Vec<(usize, f64)>,
    /// After [`Group::condition`] v, which may be anything where the row's own noise is not in it.
    pub(super) variance: Lane,
    /// After [`Group::condition`] w'r_N, for each target.
    pub(super) means: Vec<Lane>,
    /// ŵ and b̂.
    w: Vec<Lane>,
    b: Vec<Lane>,
    /// ∂/∂z, shaped like z.
    pub(super) slopes: Vec<Lane>,
}

impl Group {
    /// For rows conditioned on at most `size` others, with these numbers of views and targets, and with
    /// gradients or without.
    pub(super) fn new(size: usize, views: usize, targets: usize, gradients: bool) -> Self {
        let zeros = |count: usize| vec![[0.0; LANES]; count];
        Self {
            size,
            views,
            z: zeros((size + 1) * views),
            noise: zeros(size + 1),
            noise_slopes: zeros(size + 1),
            residuals: vec![zeros(size + 1); targets],
            counts: [0; LANES],
            factor: Factor::default(),
            pairs: gradients.then(Vec::new),
            lines: Vec::new(),
            variance: [0.0; LANES],
            means: zeros(targets),
            w: zeros(size + 1),
            b: zeros(size + 1),
            slopes: zeros((size + 1) * views),
        }
    }

    /// The points of a group, the row itself included.
    pub(super) fn points(&self) -> usize {
        self.size + 1
    }

    /// Makes one of the groups: a row, projected, with its own noise, and the rows before it.
    pub(super) fn place(
        &mut self,
        lane: usize,
        source: Source<'_>,
        rows: &[u32],
        own: (&[f64], (f64, f64)),
    ) {
        let (z, noise) = own;
        self.counts[lane] = rows.len();
        for place in 0..self.size {
            // Places that are left over have the row itself, and are taken out of the matrix later.
            let row = rows.get(place).map(|row| *row as usize);
            let z = row.map_or(z, |row| source.row(row));
            let out = &mut self.z[place * self.views..][..self.views];
            out.iter_mut().zip(z).for_each(|(out, z)| out[lane] = *z);
            let noise = row.map_or((0.0, 0.0), |row| source.noise[row]);
            (self.noise[place][lane], self.noise_slopes[place][lane]) = noise;
            for (out, residuals) in self.residuals.iter_mut().zip(source.residuals) {
                out[place][lane] = row.map_or(0.0, |row| residuals[row]);
            }
        }
        let out = &mut self.z[self.size * self.views..][..self.views];
        out.iter_mut().zip(z).for_each(|(out, z)| out[lane] = *z);
        (self.noise[self.size][lane], self.noise_slopes[self.size][lane]) = noise;
    }

    /// The distribution of each group's row given the rows before it: [`Group::variance`] and
    /// [`Group::means`]. The error is a pivot that is not positive.
    pub(super) fn condition(&mut self, kernel: &AdditiveKernel) -> std::result::Result<(), usize> {
        let (size, views) = (self.size, self.views);
        self.factor.reset(size + 1);
        let (out, lines) = (&mut self.factor.rows, &mut self.lines);
        lines.clear();
        self.pairs.iter_mut().for_each(Vec::clear);
        for (j, block) in kernel.blocks().enumerate() {
            let variance = kernel.variances[j];
            match kernel.shapes[j] {
                Shape::Linear => lines.push((block.start, variance)),
                Shape::Stationary(kernel) => {
                    let pairs = self.pairs.as_mut();
                    let pass = PairValues { z: &self.z, views, block, variance, out, pairs };
                    Arch::new().dispatch(With(kernel, pass));
                }
            }
        }
        if !lines.is_empty() {
            Arch::new().dispatch(LinearValues { z: &self.z, views, each: lines, out });
        }
        for (point, noise) in self.noise.iter().enumerate() {
            let diagonal = &mut out[row_start(point) + point];
            *diagonal = map(|lane| diagonal[lane] + noise[lane]);
        }
        self.take_out_places();
        self.factor.factorise(size)?;
        self.variance = self.factor.reduce_last(size);
        let last = &self.factor.rows[row_start(size)..][..size];
        for (residuals, mean) in self.residuals.iter_mut().zip(&mut self.means) {
            self.factor.solve(residuals, size);
            *mean = dot(last, residuals);
        }
        Ok(())
    }

    /// Makes places without a row independent of all others.
    fn take_out_places(&mut self) {
        for lane in 0..LANES {
            for place in self.counts[lane]..self.size {
                let start = row_start(place);
                self.factor.rows[start..start + place].iter_mut().for_each(|k| k[lane] = 0.0);
                self.factor.rows[start + place][lane] = 1.0;
                for below in place + 1..=self.size {
                    self.factor.rows[row_start(below) + place][lane] = 0.0;
                }
            }
        }
    }

    /// Prepares the gradient after [`Group::condition`]: g, and ∂/∂u of each target.
    pub(super) fn differentiate(&mut self, of_u: &[Lane]) {
        let size = self.size;
        self.w[..size].copy_from_slice(&self.factor.rows[row_start(size)..][..size]);
        self.factor.solve_transposed(&mut self.w[..size]);
        self.w[size] = [-1.0; LANES];
        self.b.fill([0.0; LANES]);
        for (residuals, of_u) in self.residuals.iter().zip(of_u) {
            for (b, residual) in self.b[..size].iter_mut().zip(residuals) {
                add_product(b, of_u, residual);
            }
        }
        self.factor.solve_transposed(&mut self.b[..size]);
        self.slopes.fill([0.0; LANES]);
    }

    /// Σ ŵ = w'1 − 1.
    pub(super) fn weight_sum(&self) -> Lane {
        map(|lane| self.w.iter().map(|w| w[lane]).sum())
    }

    /// ∂/∂σ².
    pub(super) fn noise_slope(&self, g: &Lane) -> Lane {
        let mut sum = [0.0; LANES];
        for (point, slope) in self.noise_slopes.iter().enumerate() {
            add_product(&mut sum, &self.diagonal(g, point), slope);
        }
        sum
    }

    /// The diagonal of G at one point.
    fn diagonal(&self, g: &Lane, point: usize) -> Lane {
        let (w, b) = (&self.w[point], &self.b[point]);
        map(|lane| g[lane] * w[lane] * w[lane] + b[lane] * w[lane])
    }

    /// Adds what the sub-kernels contribute to ∂/∂z, and to ∂/∂λ of each.
    pub(super) fn add_slopes(
        &mut self,
        kernel: &AdditiveKernel,
        g: &Lane,
        of_variances: &mut [Lane],
    ) {
        let views = self.views;
        let trace = (0..self.points()).fold([0.0; LANES], |sum, point| {
            let own = self.diagonal(g, point);
            map(|lane| sum[lane] + own[lane])
        });
        let all = row_start(self.points()) - self.points();
        let mut known = self.pairs.as_deref().unwrap_or(&[]).chunks(all.max(1));
        for ((j, block), total) in kernel.blocks().enumerate().zip(of_variances) {
            let variance = kernel.variances[j];
            let (z, w, b, slopes) = (&self.z, &self.w, &self.b, &mut self.slopes);
            let sum = match kernel.shapes[j] {
                Shape::Linear => line_slopes(z, (views, block.start), variance, (g, w, b), slopes),
                Shape::Stationary(kernel) => {
                    let pairs = known.next().unwrap_or(&[]);
                    let pass =
                        PairSlopes { z, views, block, variance, g, w, b, pairs, out: slopes };
                    let sum = if kernel.is_taxicab() {
                        Arch::new().dispatch(TaxicabSlopes(pass))
                    } else {
                        Arch::new().dispatch(pass)
                    };
                    map(|lane| sum[lane] + trace[lane])
                }
            };
            *total = map(|lane| total[lane] + sum[lane]);
        }
    }
}

/// Adds λ κ to the packed matrix, and keeps κ and κ'.
struct PairValues<'a> {
    z: &'a [Lane],
    views: usize,
    block: Range<usize>,
    variance: f64,
    out: &'a mut [Lane],
    pairs: Option<&'a mut Vec<(Lane, Lane)>>,
}

impl Specialised for PairValues<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: ConstantKernel>(self, kernel: K) {
        let Self { z, views, block, variance, out, mut pairs } = self;
        for p in 0..z.len() / views {
            let own = &z[p * views..][block.clone()];
            let (row, diagonal) = out[row_start(p)..][..=p].split_at_mut(p);
            for (q, out) in row.iter_mut().enumerate() {
                let s = distance(kernel, own, &z[q * views..][block.clone()]);
                let (mut values, mut slopes) = ([0.0; LANES], [0.0; LANES]);
                for lane in 0..LANES {
                    (values[lane], slopes[lane]) = kernel.value_and_slope(s[lane]);
                    out[lane] += variance * values[lane];
                }
                if let Some(pairs) = &mut pairs {
                    pairs.push((values, slopes));
                }
            }
            diagonal[0].iter_mut().for_each(|k| *k += variance);
        }
    }
}

#[inline(always)]
fn distance(kernel: impl ConstantKernel, a: &[Lane], b: &[Lane]) -> Lane {
    let mut s = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            s[lane] += kernel.part(a[lane] - b[lane]);
        }
    }
    s
}

/// Adds Σ λ z z' over linear sub-kernels, each given by its view and its λ.
struct LinearValues<'a> {
    z: &'a [Lane],
    views: usize,
    each: &'a [(usize, f64)],
    out: &'a mut [Lane],
}

impl NullaryFnOnce for LinearValues<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { z, views, each, out } = self;
        for p in 0..z.len() / views {
            for (q, out) in out[row_start(p)..][..=p].iter_mut().enumerate() {
                let mut sum = *out;
                for (view, variance) in each {
                    let (a, b) = (&z[p * views + view], &z[q * views + view]);
                    for lane in 0..LANES {
                        sum[lane] += variance * a[lane] * b[lane];
                    }
                }
                *out = sum;
            }
        }
    }
}

/// Adds 4 λ G_pq κ'(s) pull(z_p − z_q) to ∂/∂z_p, its negative to ∂/∂z_q, and returns Σ 2 G_pq κ over
/// pairs. The pull is the gap itself.
struct PairSlopes<'a> {
    z: &'a [Lane],
    views: usize,
    block: Range<usize>,
    variance: f64,
    g: &'a Lane,
    w: &'a [Lane],
    b: &'a [Lane],
    /// κ and κ' of each pair.
    pairs: &'a [(Lane, Lane)],
    out: &'a mut [Lane],
}

impl NullaryFnOnce for PairSlopes<'_> {
    type Output = Lane;

    #[inline(always)]
    fn call(self) -> Lane {
        self.pulling(|gap| gap)
    }
}

/// The same for the Laplace kernel, whose pull is half of the gap's sign.
struct TaxicabSlopes<'a>(PairSlopes<'a>);

impl NullaryFnOnce for TaxicabSlopes<'_> {
    type Output = Lane;

    #[inline(always)]
    fn call(self) -> Lane {
        self.0.pulling(half_sign)
    }
}

impl PairSlopes<'_> {
    #[inline(always)]
    fn pulling(self, pull: impl Fn(f64) -> f64) -> Lane {
        let Self { z, views, block, variance, g, w, b, pairs, out } = self;
        let mut pairs = pairs.iter();
        let mut total = [0.0; LANES];
        for p in 0..z.len() / views {
            let (others, own_out) = out.split_at_mut(p * views);
            let own_out = &mut own_out[block.clone()];
            let own = &z[p * views..][block.clone()];
            // G_pq = ŵ_q (g ŵ_p + ½ b̂_p) + b̂_q ½ ŵ_p.
            let of_w = map(|lane| g[lane] * w[p][lane] + 0.5 * b[p][lane]);
            let of_b = map(|lane| 0.5 * w[p][lane]);
            for (q, (values, slopes)) in (0..p).zip(&mut pairs) {
                let other = &z[q * views..][block.clone()];
                let mut force = [0.0; LANES];
                for lane in 0..LANES {
                    let pair = 2.0 * (w[q][lane] * of_w[lane] + b[q][lane] * of_b[lane]);
                    total[lane] += pair * values[lane];
                    force[lane] = 2.0 * variance * pair * slopes[lane];
                }
                let other_out = &mut others[q * views..][block.clone()];
                let ends = own.iter().zip(other).zip(own_out.iter_mut().zip(other_out));
                for ((a, b), (own_out, other_out)) in ends {
                    // Copies, which cannot overlap: the loop would not become vectors without.
                    let (mut pulled, mut pushed) = (*own_out, *other_out);
                    for lane in 0..LANES {
                        let push = force[lane] * pull(a[lane] - b[lane]);
                        pulled[lane] += push;
                        pushed[lane] -= push;
                    }
                    (*own_out, *other_out) = (pulled, pushed);
                }
            }
        }
        total
    }
}

/// The same for a linear sub-kernel, by the rank of G: adds 2 λ (G z)_p, and returns z'G z.
fn line_slopes(
    z: &[Lane],
    (views, view): (usize, usize),
    variance: f64,
    (g, w, b): (&Lane, &[Lane], &[Lane]),
    out: &mut [Lane],
) -> Lane {
    let along = |vector: &[Lane]| {
        let mut sum = [0.0; LANES];
        for (v, z) in vector.iter().zip(z[view..].iter().step_by(views)) {
            add_product(&mut sum, v, z);
        }
        sum
    };
    let (of_w, of_b) = (along(w), along(b));
    let places = out[view..].iter_mut().step_by(views);
    for ((w, b), out) in w.iter().zip(b).zip(places) {
        for lane in 0..LANES {
            let of_pair = w[lane] * (2.0 * g[lane] * of_w[lane] + of_b[lane]);
            out[lane] += variance * (of_pair + b[lane] * of_w[lane]);
        }
    }
    map(|lane| of_w[lane] * (g[lane] * of_w[lane] + of_b[lane]))
}
