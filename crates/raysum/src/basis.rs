//! The eigenbasis of a one-dimensional kernel on the part of the line that the data occupies.
//!
//! A kernel k seen through data with distribution w has few eigenvalues that matter. With nodes u
//! on a lattice finer than the length-scale, weights w from the histogram of the data, and the
//! eigenpairs (λ_a, q_a) of W^½ k(u,u) W^½,
//!
//! ```text
//! φ_a(z) = λ_a^{-½} Σ_u k(z,u) w_u^½ q_a(u),      k(z,z') ≈ Σ_a φ_a(z) φ_a(z')
//! ```
//!
//! What is left out has trace Σ_{left out} λ_a under w: the sum of the variances that the data
//! would miss, which is what bounds the error of a likelihood. Nodes stand only in cells that hold
//! data and next to them, so a far outlier costs a few features and not a grid up to it. Outside
//! the data φ is the Nyström extension: covariances with the data stay right and decay to 0.
//!
//! φ and φ' come from a table of polynomials of degree 5, right to about 1e-10, and outside the
//! table from the sum itself.

use crate::error::{Error, Result};
use crate::kernel::SubKernel;
use crate::linalg;

/// Cells on either side of an occupied one that get a node too.
const MARGIN: usize = 3;
/// Widest lattice spacing, in length-scales: an RBF's aliasing error there is below 1e-13.
const WIDEST: f64 = 0.4;
/// Pieces of the table per cell. Even, so that nodes, where Matérn kernels have kinks, are ends.
const PIECES: usize = 4;
/// Coefficients per piece.
const TERMS: usize = 6;
/// No lattice is longer than this many cells, or holds more occupied nodes than the second number.
const LONGEST: i64 = 100_000;
const MOST_NODES: usize = 4_000;
/// Eigenvalues below this (of a matrix of trace 1) are rounding.
const ROUNDING: f64 = 1e-14;

/// The spacing of nodes at which a kernel's lattice leaves out less than `tolerance` of its
/// variance: the spectral mass beyond the lattice's highest frequency π/h.
pub fn lattice_spacing(kernel: SubKernel, tolerance: f64) -> f64 {
    use std::f64::consts::PI;
    let matern = |nu: f64, constant: f64| PI / (constant / tolerance).powf(0.5 / nu);
    let spacing = match kernel {
        SubKernel::Rbf | SubKernel::Cosine => WIDEST,
        // The spectrum is the Bessel function K₀, which falls as e^{−ω}.
        SubKernel::Imq => PI / (1.0 / tolerance).ln(),
        // ∫_Ω^∞ S dω / π for S ∝ (2ν + ω²)^{−ν−½} and large Ω, constants by ν.
        SubKernel::Matern12 => matern(0.5, 2.0 / PI),
        SubKernel::Matern32 => matern(1.5, 12.0 * 3.0_f64.sqrt() / (3.0 * PI)),
        SubKernel::Matern52 => matern(2.5, 16.0 * 5.0_f64.powf(2.5) / (15.0 * PI)),
    };
    spacing.clamp(1e-6, WIDEST)
}

/// The largest whole number up to `x`: as a cast, because a call would stop the loops around it
/// from being vectorised.
#[inline(always)]
fn floor(x: f64) -> i64 {
    let cut = x as i64;
    cut - i64::from(x < cut as f64)
}

/// How many data points lie in each cell of a lattice.
#[derive(Clone, Debug, PartialEq)]
pub struct Occupancy {
    spacing: f64,
    first: i64,
    counts: Vec<f64>,
}

impl Occupancy {
    /// Nothing yet, on a lattice with this spacing.
    pub fn new(spacing: f64) -> Self {
        Self { spacing, first: 0, counts: Vec::new() }
    }

    /// Counts points in. Fails if they are strewn over more cells than can be handled.
    pub fn add(&mut self, points: &[f64]) -> Result<()> {
        let cell = |z: f64| (z / self.spacing).floor();
        let (low, high) =
            points.iter().fold((f64::MAX, f64::MIN), |(l, h), &z| (l.min(z), h.max(z)));
        if points.is_empty() {
            return Ok(());
        }
        self.cover(cell(low), cell(high))?;
        for &z in points {
            self.counts[(floor(z / self.spacing) - self.first) as usize] += 1.0;
        }
        Ok(())
    }

    /// Makes room for cells `low` to `high`.
    fn cover(&mut self, low: f64, high: f64) -> Result<()> {
        let (from, to) = if self.counts.is_empty() {
            (low, high)
        } else {
            let last = self.first + self.counts.len() as i64 - 1;
            (low.min(self.first as f64), high.max(last as f64))
        };
        if to - from >= LONGEST as f64 || from.abs() > 1e15 || to.abs() > 1e15 {
            return Err(Error::BasisTooLarge);
        }
        let (from, to) = (from as i64, to as i64);
        let before = if self.counts.is_empty() { 0 } else { (self.first - from) as usize };
        let mut counts = vec![0.0; (to - from + 1) as usize];
        counts[before..before + self.counts.len()].copy_from_slice(&self.counts);
        (self.first, self.counts) = (from, counts);
        Ok(())
    }

    /// About how many features a basis over these points will have: three for four nodes.
    pub fn estimate(&self) -> usize {
        self.nodes().len() * 3 / 4
    }

    /// Cells with a node (occupied, or near one that is) and their weights, which sum to 1.
    fn nodes(&self) -> Vec<(i64, f64)> {
        let total: f64 = self.counts.iter().sum();
        let mut weights = vec![0.0_f64; self.counts.len() + 2 * MARGIN];
        for (i, &count) in self.counts.iter().enumerate().filter(|(_, c)| **c > 0.0) {
            weights[i + MARGIN] = count / total;
            // Nodes without data only steady the edges: a thousandth of a data point each.
            for near in &mut weights[i..=i + 2 * MARGIN] {
                *near = near.max(1e-3 / total);
            }
        }
        let sum: f64 = weights.iter().sum();
        let cells = weights.iter().enumerate().filter(|(_, w)| **w > 0.0);
        cells.map(|(i, w)| (self.first + i as i64 - MARGIN as i64, w / sum)).collect()
    }
}

/// The features φ of one view.
#[derive(Clone, Debug)]
pub struct Basis {
    kernel: SubKernel,
    spacing: f64,
    /// Cells of the nodes, in order; a node stands in the middle of its cell.
    cells: Vec<i64>,
    /// T with φ(z) = k(z, u)' T, row-major (nodes by features).
    transform: Vec<f64>,
    /// λ_a, falling.
    eigenvalues: Vec<f64>,
    table: Table,
}

impl Basis {
    /// The basis that leaves out at most `tolerance` of the kernel's variance over the data.
    pub fn new(kernel: SubKernel, occupancy: &Occupancy, tolerance: f64) -> Result<Self> {
        let (cells, weights): (Vec<i64>, Vec<f64>) = occupancy.nodes().into_iter().unzip();
        let m = cells.len();
        if m > MOST_NODES {
            return Err(Error::BasisTooLarge);
        }
        let h = occupancy.spacing;
        let root: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
        let mut matrix = vec![0.0; m * m];
        for i in 0..m {
            for k in 0..m {
                let gap = (cells[i] - cells[k]) as f64 * h;
                matrix[i * m + k] = root[i] * root[k] * kernel.value(gap * gap);
            }
        }
        let (values, vectors) = linalg::symmetric_eigen(&matrix, m);
        let mut left_out = 0.0;
        let mut keep = m;
        // Values come in rising order: drop small ones while their sum stays within tolerance.
        for value in &values {
            left_out += value.max(0.0);
            if left_out > tolerance && *value > ROUNDING {
                break;
            }
            keep -= 1;
        }
        let kept: Vec<usize> = (m - keep..m).rev().collect();
        let eigenvalues: Vec<f64> = kept.iter().map(|&a| values[a]).collect();
        let mut transform = Vec::with_capacity(m * keep);
        for i in 0..m {
            let entries = kept.iter().map(|&a| root[i] * vectors[a * m + i] / values[a].sqrt());
            transform.extend(entries);
        }
        Ok(Self::from_parts(kernel, h, cells, transform, eigenvalues))
    }

    /// A basis from what [`Basis::parts`] gives.
    pub(crate) fn from_parts(
        kernel: SubKernel,
        spacing: f64,
        cells: Vec<i64>,
        transform: Vec<f64>,
        eigenvalues: Vec<f64>,
    ) -> Self {
        let mut basis =
            Self { kernel, spacing, cells, transform, eigenvalues, table: Table::default() };
        basis.table = Table::new(&basis);
        basis
    }

    /// Spacing, cells of the nodes, and T: all that a file needs to keep (eigenvalues aside).
    pub(crate) fn parts(&self) -> (f64, &[i64], &[f64]) {
        (self.spacing, &self.cells, &self.transform)
    }

    /// Number of features.
    pub fn len(&self) -> usize {
        self.eigenvalues.len()
    }

    /// Whether there are no features: only if the tolerance lets the whole kernel go.
    pub fn is_empty(&self) -> bool {
        self.eigenvalues.is_empty()
    }

    /// λ_a, falling: the mean of φ_a² over the data.
    pub fn eigenvalues(&self) -> &[f64] {
        &self.eigenvalues
    }

    /// Writes φ(z).
    #[inline(always)]
    pub fn features(&self, z: f64, out: &mut [f64]) {
        match self.table.find(z) {
            Some((t, piece)) => polynomial(piece, t, out),
            None => self.sum(z, out, |kernel, s, _| kernel.value(s)),
        }
    }

    /// Writes φ'(z).
    #[inline(always)]
    pub fn slopes(&self, z: f64, out: &mut [f64]) {
        match self.table.find(z) {
            Some((t, piece)) => polynomial_slope(piece, t, self.table.scale, out),
            None => self.sum(z, out, |kernel, s, gap| 2.0 * kernel.value_and_slope(s).1 * gap),
        }
    }

    /// Σ_u f(k, (z−u)², z−u) T_u, without the table.
    #[inline(never)]
    fn sum(&self, z: f64, out: &mut [f64], f: impl Fn(SubKernel, f64, f64) -> f64) {
        out.fill(0.0);
        for (cell, row) in self.cells.iter().zip(self.transform.chunks(self.len().max(1))) {
            let gap = z - (*cell as f64 + 0.5) * self.spacing;
            let value = f(self.kernel, gap * gap, gap);
            out.iter_mut().zip(row).for_each(|(o, t)| *o += value * t);
        }
    }
}

/// φ on every node's cell as polynomials, a few pieces per cell.
#[derive(Clone, Debug, Default)]
struct Table {
    first: i64,
    /// Which cells have pieces: their place, or `u32::MAX`.
    places: Vec<u32>,
    /// Per piece: TERMS runs of one coefficient for every feature.
    coefficients: Vec<f64>,
    features: usize,
    /// 1/spacing.
    inverse: f64,
    /// dt/dz within a piece, where t runs from −1 to 1.
    scale: f64,
}

impl Table {
    fn new(basis: &Basis) -> Self {
        let (Some(&first), Some(&last)) = (basis.cells.first(), basis.cells.last()) else {
            return Self::default();
        };
        let features = basis.len();
        let mut places = vec![u32::MAX; (last - first + 1) as usize];
        for (place, &cell) in basis.cells.iter().enumerate() {
            places[(cell - first) as usize] = place as u32;
        }
        let fit = Interpolation::new();
        // φ at the interpolation points of all pieces, as one product k(points, u) T.
        let m = basis.cells.len();
        let points: Vec<f64> = basis
            .cells
            .iter()
            .flat_map(|&cell| (0..PIECES).map(move |piece| (cell, piece)))
            .flat_map(|(cell, piece)| {
                let middle = cell as f64 + (piece as f64 + 0.5) / PIECES as f64;
                fit.points.map(|t| (middle + 0.5 * t / PIECES as f64) * basis.spacing)
            })
            .collect();
        let mut kernel = Vec::with_capacity(points.len() * m);
        for z in &points {
            let gap = |cell: &i64| z - (*cell as f64 + 0.5) * basis.spacing;
            kernel.extend(basis.cells.iter().map(|cell| basis.kernel.value(gap(cell).powi(2))));
        }
        let values = linalg::row_major_product(&kernel, &basis.transform, m, features);
        let mut coefficients = vec![0.0; values.len()];
        let size = TERMS * features;
        if size > 0 {
            for (values, out) in values.chunks(size).zip(coefficients.chunks_mut(size)) {
                fit.coefficients(values, out, features);
            }
        }
        Self {
            first,
            places,
            coefficients,
            features,
            inverse: 1.0 / basis.spacing,
            scale: 2.0 * PIECES as f64 / basis.spacing,
        }
    }

    /// The piece that z lies in and z's place in it.
    #[inline(always)]
    fn find(&self, z: f64) -> Option<(f64, &[f64])> {
        let at = z * self.inverse;
        let cell = floor(at);
        let index = usize::try_from(cell.saturating_sub(self.first)).ok()?;
        let place = *self.places.get(index)?;
        if place == u32::MAX {
            return None;
        }
        let within = (at - cell as f64) * PIECES as f64;
        let piece = (within as usize).min(PIECES - 1);
        let t = 2.0 * (within - piece as f64) - 1.0;
        let size = TERMS * self.features;
        let start = (place as usize * PIECES + piece) * size;
        Some((t, &self.coefficients[start..start + size]))
    }
}

#[inline(always)]
fn polynomial(piece: &[f64], t: f64, out: &mut [f64]) {
    let r = out.len();
    let (c0, c1, c2) = (&piece[..r], &piece[r..2 * r], &piece[2 * r..3 * r]);
    let (c3, c4, c5) = (&piece[3 * r..4 * r], &piece[4 * r..5 * r], &piece[5 * r..6 * r]);
    for a in 0..r {
        out[a] = c0[a] + t * (c1[a] + t * (c2[a] + t * (c3[a] + t * (c4[a] + t * c5[a]))));
    }
}

#[inline(always)]
fn polynomial_slope(piece: &[f64], t: f64, scale: f64, out: &mut [f64]) {
    let r = out.len();
    let (c1, c2) = (&piece[r..2 * r], &piece[2 * r..3 * r]);
    let (c3, c4, c5) = (&piece[3 * r..4 * r], &piece[4 * r..5 * r], &piece[5 * r..6 * r]);
    for a in 0..r {
        let sum = c3[a] * 3.0 + t * (4.0 * c4[a] + t * (5.0 * c5[a]));
        out[a] = scale * (c1[a] + t * (2.0 * c2[a] + t * sum));
    }
}

/// Polynomial interpolation at Chebyshev points on [−1, 1].
struct Interpolation {
    points: [f64; TERMS],
    /// Coefficient k is Σ_i inverse[k][i] value_i.
    inverse: [[f64; TERMS]; TERMS],
}

impl Interpolation {
    fn new() -> Self {
        let n = TERMS as f64;
        let point = |i: usize| (std::f64::consts::PI * (i as f64 + 0.5) / n).cos();
        let points: [f64; TERMS] = std::array::from_fn(point);
        // T_j's coefficients by its recurrence; values to Chebyshev series by the discrete cosine.
        let mut chebyshev = [[0.0; TERMS]; TERMS];
        chebyshev[0][0] = 1.0;
        chebyshev[1][1] = 1.0;
        for j in 2..TERMS {
            for k in 0..TERMS {
                let shifted = if k > 0 { chebyshev[j - 1][k - 1] } else { 0.0 };
                chebyshev[j][k] = 2.0 * shifted - chebyshev[j - 2][k];
            }
        }
        let mut inverse = [[0.0; TERMS]; TERMS];
        for j in 0..TERMS {
            let weight = if j == 0 { 1.0 / n } else { 2.0 / n };
            for i in 0..TERMS {
                let at = (std::f64::consts::PI * j as f64 * (i as f64 + 0.5) / n).cos();
                for k in 0..TERMS {
                    inverse[k][i] += weight * at * chebyshev[j][k];
                }
            }
        }
        Self { points, inverse }
    }

    /// Coefficients (TERMS runs of r) from values at the points (TERMS runs of r).
    fn coefficients(&self, values: &[f64], out: &mut [f64], r: usize) {
        for (row, out) in self.inverse.iter().zip(out.chunks_mut(r)) {
            for (weight, values) in row.iter().zip(values.chunks(r)) {
                out.iter_mut().zip(values).for_each(|(o, v)| *o += weight * v);
            }
        }
    }
}
