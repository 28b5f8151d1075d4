//! The eigenbasis of a one-dimensional kernel on the part of the line that the data occupies.
//!
//! A kernel k under the data distribution w has few significant eigenvalues. With nodes u
//! on a lattice finer than the length-scale, weights w from the histogram of the data, and the
//! eigenpairs (λ_a, q_a) of W^½ k(u,u) W^½,
//!
//! ```text
//! φ_a(z) = λ_a^{-½} Σ_u k(z,u) w_u^½ q_a(u),      k(z,z') ≈ Σ_a φ_a(z) φ_a(z')
//! ```
//!
//! The omitted part has trace Σ_{omitted} λ_a under w: the sum of the variances that the data
//! lacks, which bounds the error of the likelihood. Nodes are only in cells that contain
//! data and next to them, so an outlier costs a few features and not a grid up to it. Outside
//! the data φ is the Nyström extension: covariances with the data stay exact and decay to 0.
//!
//! φ and φ' come from a table of polynomials, and outside the table from the sum itself.

mod occupancy;
mod table;

pub(crate) use occupancy::{Counts, Occupancy};
pub(crate) use table::{TablePlace, Weights};

use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::kernel::SubKernel;
use crate::linalg;
use table::FeatureTable;

/// Widest lattice spacing, in length-scales: an RBF's aliasing error there is below 1e-13.
const WIDEST: f64 = 0.4;
/// Maximum number of nodes of a basis.
const MOST_NODES: usize = 4_000;
/// Eigenvalues below this (of a matrix of trace 1) are rounding errors.
const ROUNDING: f64 = 1e-14;

/// The spacing of nodes at which a kernel's lattice leaves out less than `tolerance` of its
/// variance: the spectral mass beyond the lattice's highest frequency π/h.
pub(crate) fn lattice_spacing(kernel: SubKernel, tolerance: f64) -> f64 {
    use std::f64::consts::PI;
    let matern = |nu: f64, constant: f64| PI / (constant / tolerance).powf(0.5 / nu);
    let spacing = match kernel {
        SubKernel::Rbf | SubKernel::Cosine => WIDEST,
        // The spectrum is the Bessel function K₀, which falls as e^{−ω}.
        SubKernel::Imq => PI / (1.0 / tolerance).ln(),
        // ∫_Ω^∞ S dω / π for S ∝ (2ν + ω²)^{−ν−½} and large Ω, constants by ν.
        SubKernel::Matern12 | SubKernel::Laplace => matern(0.5, 2.0 / PI),
        SubKernel::Matern32 => matern(1.5, 12.0 * 3.0_f64.sqrt() / (3.0 * PI)),
        SubKernel::Matern52 => matern(2.5, 16.0 * 5.0_f64.powf(2.5) / (15.0 * PI)),
    };
    spacing.clamp(1e-6, WIDEST)
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

/// The eigenfunctions of a kernel seen through weighted nodes, `kernel(i, k)` between two of them,
/// but for those of small eigenvalues whose sum stays within `tolerance`: T (nodes by features) and
/// the eigenvalues, falling.
fn eigenfunctions(
    weights: &[f64],
    tolerance: f64,
    kernel: impl Fn(usize, usize) -> f64,
) -> (Matrix, Vec<f64>) {
    let m = weights.len();
    let root: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
    let matrix = Matrix::from_fn(m, m, |i, k| root[i] * root[k] * kernel(i, k));
    let (values, vectors) = linalg::symmetric_eigen(matrix.as_slice(), m);
    let mut left_out = 0.0;
    let small = values.iter().take_while(|value| {
        left_out += value.max(0.0);
        !(left_out > tolerance && **value > ROUNDING)
    });
    let keep = m - small.count();
    let eigenvalues: Vec<f64> = values.into_iter().rev().take(keep).collect();
    let scale: Vec<f64> = eigenvalues.iter().map(|value| value.sqrt()).collect();
    let entry = |i: usize, a: usize| root[i] * vectors[(m - 1 - a) * m + i] / scale[a];
    (Matrix::from_fn(m, keep, entry), eigenvalues)
}

/// The features φ of one view.
#[derive(Clone, Debug)]
pub(crate) struct Basis {
    nodes: Nodes,
    /// λ_a, falling.
    eigenvalues: Vec<f64>,
    table: FeatureTable,
}

impl Basis {
    /// The basis that leaves out at most `tolerance` of the kernel's variance over the data.
    pub(crate) fn new(kernel: SubKernel, occupancy: &Occupancy, tolerance: f64) -> Result<Self> {
        let (cells, weights): (Vec<i64>, Vec<f64>) = occupancy.nodes().into_iter().unzip();
        if cells.len() > MOST_NODES {
            return Err(Error::BasisTooLarge);
        }
        let spacing = occupancy.spacing;
        let value = |cells: u64| {
            let gap = cells as f64 * spacing;
            kernel.value(gap * gap)
        };
        // The kernel depends on how many cells apart two nodes are; see `values_at_points`.
        let span = cells.first().zip(cells.last()).map_or(0, |(first, last)| last.abs_diff(*first));
        let known = if span < (cells.len() * cells.len()) as u64 { span + 1 } else { 0 };
        let by_distance: Vec<f64> = (0..known).map(value).collect();
        let (transform, eigenvalues) = eigenfunctions(&weights, tolerance, |i, k| {
            let apart = cells[i].abs_diff(cells[k]);
            by_distance.get(apart as usize).copied().unwrap_or_else(|| value(apart))
        });
        Ok(Self::from_parts(kernel, spacing, cells, transform.into_row_major(), eigenvalues))
    }

    /// The basis of the linear kernel z·z': z itself is its only feature, and nothing is left out.
    pub(crate) fn line() -> Self {
        let (spacing, cells, transform) = (1.0, Vec::new(), Vec::new());
        Self::from_parts(SubKernel::Rbf, spacing, cells, transform, vec![1.0])
    }

    /// Whether this is [`Basis::line`], which needs no nodes.
    pub(crate) fn is_line(&self) -> bool {
        self.nodes.cells.is_empty()
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
        Self { table: FeatureTable::new(&nodes), nodes, eigenvalues }
    }

    /// This basis and more features, for points that it does not reach: the eigenfunctions of what
    /// it leaves out of the kernel there, k(z,z') − φ(z)'φ(z'), down to `tolerance`. The features
    /// so far stay as they are, and the new ones vanish where they span the kernel.
    pub(crate) fn extended(&self, occupancy: &Occupancy, tolerance: f64) -> Result<Self> {
        let (new, weights): (Vec<i64>, Vec<f64>) = occupancy.nodes().into_iter().unzip();
        let r = self.len();
        let Nodes { kernel, spacing, ref cells, ref transform } = self.nodes;
        let mut all = [cells.as_slice(), &new].concat();
        all.sort_unstable();
        all.dedup();
        let span = all.last().zip(all.first()).map_or(0, |(last, first)| last - first);
        if all.len() > MOST_NODES || span >= 2 * occupancy::LONGEST {
            return Err(Error::BasisTooLarge);
        }
        // φ at the new nodes, and what it leaves out there.
        let mut phi = Matrix::zeros(new.len(), r);
        for (i, cell) in new.iter().enumerate() {
            let z = (*cell as f64 + 0.5) * spacing;
            self.nodes.sum(z, phi.row_mut(i), |kernel, s, _| kernel.value(s));
        }
        let (own, values) = eigenfunctions(&weights, tolerance, |i, k| {
            let gap = (new[i] - new[k]) as f64 * spacing;
            kernel.value(gap * gap) - linalg::dot(phi.row(i), phi.row(k))
        });
        let more = values.len();
        // ψ = Σ_v T_v (k(z,v) − φ(z)'φ(v)), written as a sum over all nodes.
        let mut mixed = Matrix::zeros(r, more);
        for i in 0..new.len() {
            for (a, phi) in phi.row(i).iter().enumerate() {
                mixed.row_mut(a).iter_mut().zip(own.row(i)).for_each(|(x, t)| *x += phi * t);
            }
        }
        let mut joined = Matrix::zeros(all.len(), r + more);
        let place = |cell: &i64| all.partition_point(|other| other < cell);
        for (cell, old) in cells.iter().zip(transform.chunks(r.max(1))) {
            let row = joined.row_mut(place(cell));
            row[..r].copy_from_slice(old);
            for (a, t) in old.iter().enumerate() {
                row[r..].iter_mut().zip(mixed.row(a)).for_each(|(x, m)| *x -= t * m);
            }
        }
        for (i, cell) in new.iter().enumerate() {
            let row = &mut joined.row_mut(place(cell))[r..];
            row.iter_mut().zip(own.row(i)).for_each(|(x, t)| *x += t);
        }
        let eigenvalues = self.eigenvalues.iter().copied().chain(values).collect();
        Ok(Self::from_parts(kernel, spacing, all, joined.into_row_major(), eigenvalues))
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
    pub(crate) fn len(&self) -> usize {
        self.eigenvalues.len()
    }

    /// λ_a, falling: the mean of φ_a² over the data.
    pub(crate) fn eigenvalues(&self) -> &[f64] {
        &self.eigenvalues
    }

    /// The position of z in the table, which the other methods take so that it is looked up once.
    #[inline(always)]
    pub(crate) fn place(&self, z: f64) -> TablePlace {
        self.table.place(z)
    }

    /// Writes φ(z).
    #[inline(always)]
    pub(crate) fn features(&self, z: f64, place: TablePlace, out: &mut [f64]) {
        if !place.is_outside() {
            self.table.features(place, out);
        } else if self.is_line() {
            out[0] = z;
        } else {
            self.nodes.sum(z, out, |kernel, s, _| kernel.value(s));
        }
    }

    /// Writes φ'(z).
    #[inline(always)]
    pub(crate) fn slopes(&self, z: f64, place: TablePlace, out: &mut [f64]) {
        if !place.is_outside() {
            self.table.slopes(place, out);
        } else if self.is_line() {
            out[0] = 1.0;
        } else {
            self.nodes.sum(z, out, |kernel, s, gap| 2.0 * kernel.value_and_slope(s).1 * gap);
        }
    }

    /// Σ_a weights_a φ'_a(z).
    #[inline(always)]
    pub(crate) fn weighted_slope(&self, z: f64, place: TablePlace, weights: Weights<'_>) -> f64 {
        if self.is_line() {
            return weights.get(0);
        }
        if place.is_outside() {
            let mut slopes = vec![0.0; self.len()];
            self.slopes(z, place, &mut slopes);
            return slopes.iter().enumerate().map(|(a, slope)| weights.get(a) * slope).sum();
        }
        self.table.weighted_slope(place, weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_data_is_spanned_as_well_as_wide_data() {
        for width in [1e-6, 1e-3, 0.1, 1.0, 3.0, 5.0, 20.0] {
            let points: Vec<f64> = (0..500).map(|i| width * (f64::from(i) / 499.0 - 0.4)).collect();
            let mut counts = Counts::new(WIDEST);
            counts.add(&points[..200]).unwrap();
            let mut others = Counts::new(WIDEST);
            others.add(&points[200..]).unwrap();
            counts.merge(&others).unwrap();
            let basis = Basis::new(SubKernel::Rbf, &counts.settled(), 1e-12).unwrap();
            let mut phi = vec![0.0; basis.len()];
            let mut left_out = 0.0;
            for z in &points {
                basis.nodes.sum(*z, &mut phi, |kernel, s, _| kernel.value(s));
                left_out += (1.0 - linalg::dot(&phi, &phi)) / 500.0;
            }
            assert!(left_out < 1e-10, "width {width}: {left_out}, {} features", basis.len());
        }
    }
}
