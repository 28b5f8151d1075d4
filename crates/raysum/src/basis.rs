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
//! φ and φ' come from a table of polynomials, and outside the table from the sum itself.

mod table;

pub use table::{Place, Weights};

use crate::error::{Error, Result};
use crate::kernel::SubKernel;
use crate::linalg;
use std::collections::{BTreeMap, BTreeSet};
use table::Table;

/// Cells on either side of an occupied one that get a node too.
const MARGIN: usize = 3;
/// Widest lattice spacing, in length-scales: an RBF's aliasing error there is below 1e-13.
const WIDEST: f64 = 0.4;
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

/// The largest whole number up to `x`: as a cast, because on an old instruction set, which is the
/// one compiled for, the library's floor is a call for every value.
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

    /// Takes over the counts of other points.
    pub fn merge(&mut self, other: &Occupancy) -> Result<()> {
        if other.counts.is_empty() {
            return Ok(());
        }
        let last = other.first + other.counts.len() as i64 - 1;
        self.cover(other.first as f64, last as f64)?;
        let offset = (other.first - self.first) as usize;
        for (count, more) in self.counts[offset..].iter_mut().zip(&other.counts) {
            *count += more;
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

/// The features as a sum over nodes, φ(z) = T' k(u, z).
#[derive(Clone, Debug)]
struct Nodes {
    kernel: SubKernel,
    spacing: f64,
    /// Cells of the nodes, in order; a node stands in the middle of its cell.
    cells: Vec<i64>,
    /// T, row-major (nodes by features).
    transform: Vec<f64>,
}

impl Nodes {
    fn features(&self) -> usize {
        self.transform.len().checked_div(self.cells.len()).unwrap_or(0)
    }

    /// Writes Σ_u f(k, (z−u)², z−u) T_u.
    #[inline(never)]
    fn sum(&self, z: f64, out: &mut [f64], f: impl Fn(SubKernel, f64, f64) -> f64) {
        out.fill(0.0);
        for (cell, row) in self.cells.iter().zip(self.transform.chunks(out.len().max(1))) {
            let gap = z - (*cell as f64 + 0.5) * self.spacing;
            let value = f(self.kernel, gap * gap, gap);
            out.iter_mut().zip(row).for_each(|(o, t)| *o += value * t);
        }
    }
}

/// The eigenvalues of a symmetric m × m matrix, falling, but for small ones whose sum stays within
/// `tolerance`; which they are, and all eigenvectors one after another.
fn leading(matrix: &[f64], m: usize, tolerance: f64) -> (Vec<usize>, Vec<f64>, Vec<f64>) {
    let (values, vectors) = linalg::symmetric_eigen(matrix, m);
    let mut left_out = 0.0;
    let mut keep = m;
    for value in &values {
        left_out += value.max(0.0);
        if left_out > tolerance && *value > ROUNDING {
            break;
        }
        keep -= 1;
    }
    let kept: Vec<usize> = (m - keep..m).rev().collect();
    let eigenvalues = kept.iter().map(|&a| values[a]).collect();
    (kept, eigenvalues, vectors)
}

/// The features φ of one view.
#[derive(Clone, Debug)]
pub struct Basis {
    nodes: Nodes,
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
        let (kept, eigenvalues, vectors) = leading(&matrix, m, tolerance);
        let mut transform = Vec::with_capacity(m * kept.len());
        for i in 0..m {
            let pairs = kept.iter().zip(&eigenvalues);
            transform.extend(pairs.map(|(a, value)| root[i] * vectors[a * m + i] / value.sqrt()));
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
        let nodes = Nodes { kernel, spacing, cells, transform };
        Self { table: Table::new(&nodes), nodes, eigenvalues }
    }

    /// This basis and more features, for points that it does not reach: the eigenfunctions of what
    /// it leaves out of the kernel there, k(z,z') − φ(z)'φ(z'), down to `tolerance`. The features so
    /// far stay as they are, and the new ones vanish where they span the kernel.
    pub fn extended(&self, occupancy: &Occupancy, tolerance: f64) -> Result<Self> {
        let (new, weights): (Vec<i64>, Vec<f64>) = occupancy.nodes().into_iter().unzip();
        let (m, r) = (new.len(), self.len());
        let Nodes { kernel, spacing, ref cells, ref transform } = self.nodes;
        let all: BTreeSet<i64> = cells.iter().chain(&new).copied().collect();
        let span = all.last().zip(all.first()).map_or(0, |(last, first)| last - first);
        if all.len() > MOST_NODES || span >= 2 * LONGEST {
            return Err(Error::BasisTooLarge);
        }
        // φ at the new nodes, and what it leaves out there.
        let mut phi = vec![0.0; m * r];
        for (cell, row) in new.iter().zip(phi.chunks_mut(r.max(1))) {
            self.nodes.sum((*cell as f64 + 0.5) * spacing, row, |kernel, s, _| kernel.value(s));
        }
        let root: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
        let mut matrix = vec![0.0; m * m];
        for i in 0..m {
            for k in 0..m {
                let gap = (new[i] - new[k]) as f64 * spacing;
                let known = linalg::dot(&phi[i * r..(i + 1) * r], &phi[k * r..(k + 1) * r]);
                matrix[i * m + k] = root[i] * root[k] * (kernel.value(gap * gap) - known);
            }
        }
        let (kept, values, vectors) = leading(&matrix, m, tolerance);
        let more = kept.len();
        let weight = |i: usize, a: usize| root[i] * vectors[kept[a] * m + i] / values[a].sqrt();
        // ψ = Σ_v T_v (k(z,v) − φ(z)'φ(v)), written as a sum over all nodes.
        let mut mixed = vec![0.0; r * more];
        for i in 0..m {
            for (phi, mixed) in phi[i * r..].iter().zip(mixed.chunks_mut(more.max(1))) {
                mixed.iter_mut().enumerate().for_each(|(a, x)| *x += phi * weight(i, a));
            }
        }
        let width = r + more;
        let index: BTreeMap<i64, usize> = all.iter().enumerate().map(|(i, c)| (*c, i)).collect();
        let mut joined = vec![0.0; all.len() * width];
        for (cell, old) in cells.iter().zip(transform.chunks(r.max(1))) {
            let row = &mut joined[index[cell] * width..][..width];
            row[..r].copy_from_slice(old);
            for (t, mixed) in old.iter().zip(mixed.chunks(more.max(1))) {
                row[r..].iter_mut().zip(mixed).for_each(|(x, m)| *x -= t * m);
            }
        }
        for (i, cell) in new.iter().enumerate() {
            let row = &mut joined[index[cell] * width + r..][..more];
            row.iter_mut().enumerate().for_each(|(a, x)| *x += weight(i, a));
        }
        let eigenvalues = self.eigenvalues.iter().copied().chain(values).collect();
        let cells = all.into_iter().collect();
        Ok(Self::from_parts(kernel, spacing, cells, joined, eigenvalues))
    }

    /// The distance between nodes.
    pub(crate) fn spacing(&self) -> f64 {
        self.nodes.spacing
    }

    /// Spacing, cells of the nodes, and T: all that a file needs to keep (eigenvalues aside).
    pub(crate) fn parts(&self) -> (f64, &[i64], &[f64]) {
        (self.nodes.spacing, &self.nodes.cells, &self.nodes.transform)
    }

    /// The nodes u.
    pub(crate) fn node_points(&self) -> Vec<f64> {
        let point = |cell: &i64| (*cell as f64 + 0.5) * self.nodes.spacing;
        self.nodes.cells.iter().map(point).collect()
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

    /// Where z lies in the table; the other methods want it, so that it is looked up once.
    #[inline(always)]
    pub fn place(&self, z: f64) -> Place {
        self.table.place(z)
    }

    /// Writes φ(z).
    #[inline(always)]
    pub fn features(&self, z: f64, place: Place, out: &mut [f64]) {
        if place.is_outside() {
            self.nodes.sum(z, out, |kernel, s, _| kernel.value(s));
        } else {
            self.table.features(place, out);
        }
    }

    /// Writes φ'(z).
    #[inline(always)]
    pub fn slopes(&self, z: f64, place: Place, out: &mut [f64]) {
        if place.is_outside() {
            self.nodes.sum(z, out, |kernel, s, gap| 2.0 * kernel.value_and_slope(s).1 * gap);
        } else {
            self.table.slopes(place, out);
        }
    }

    /// Σ_a weights_a φ'_a(z).
    #[inline(always)]
    pub fn weighted_slope(&self, z: f64, place: Place, weights: Weights<'_>) -> f64 {
        if place.is_outside() {
            let mut slopes = vec![0.0; self.len()];
            self.slopes(z, place, &mut slopes);
            return slopes.iter().enumerate().map(|(a, slope)| weights.get(a) * slope).sum();
        }
        self.table.weighted_slope(place, weights)
    }
}
