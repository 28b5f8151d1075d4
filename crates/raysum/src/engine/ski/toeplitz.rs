//! Products with the kernel matrix of a regular grid: along each axis a symmetric Toeplitz matrix,
//! multiplied by fast Fourier transforms; over several axes their Kronecker product.

use super::lattice::Lattice;
use crate::kernel::SubKernel;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};
use std::sync::Arc;

/// κ between the nodes of one lattice, as the corner of a circulant matrix.
#[derive(Clone)]
pub(super) struct Toeplitz {
    nodes: usize,
    /// The circulant's eigenvalues over its size, which transforms back and forth multiply by.
    spectrum: Vec<f64>,
    forward: Arc<dyn Fft<f64>>,
    inverse: Arc<dyn Fft<f64>>,
}

impl std::fmt::Debug for Toeplitz {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Toeplitz").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

impl Toeplitz {
    pub(super) fn new(kernel: SubKernel, lattice: &Lattice) -> Self {
        let size = smooth(2 * lattice.nodes - 1);
        let mut planner = FftPlanner::new();
        let (forward, inverse) = (planner.plan_fft_forward(size), planner.plan_fft_inverse(size));
        let entry = |i: usize| {
            // Beyond the nodes the circle may hold anything that is symmetric.
            let gap = i.min(size - i) as f64 * lattice.spacing;
            Complex::new(kernel.value(gap * gap), 0.0)
        };
        let mut circle: Vec<Complex<f64>> = (0..size).map(entry).collect();
        forward.process(&mut circle);
        let spectrum = circle.iter().map(|c| c.re / size as f64).collect();
        Self { nodes: lattice.nodes, spectrum, forward, inverse }
    }

    /// Multiplies every line of `values` along an axis. Values are columns of an even number
    /// `width` side by side at each node; neighbours along the axis are `stride` nodes apart.
    fn apply(&self, values: &mut [f64], width: usize, stride: usize) {
        let (size, pairs) = (self.spectrum.len(), width / 2);
        let mut lines = vec![Complex::default(); size * pairs];
        let scratch = self.forward.get_inplace_scratch_len();
        let mut scratch =
            vec![Complex::default(); scratch.max(self.inverse.get_inplace_scratch_len())];
        let slab = self.nodes * stride * width;
        for slab in values.chunks_mut(slab) {
            for start in 0..stride {
                // Two real columns make one complex one: a real symmetric matrix keeps them apart.
                for (pair, line) in lines.chunks_mut(size).enumerate() {
                    for (i, value) in line[..self.nodes].iter_mut().enumerate() {
                        let at = (i * stride + start) * width + 2 * pair;
                        *value = Complex::new(slab[at], slab[at + 1]);
                    }
                    line[self.nodes..].fill(Complex::default());
                }
                self.forward.process_with_scratch(&mut lines, &mut scratch);
                for line in lines.chunks_mut(size) {
                    line.iter_mut().zip(&self.spectrum).for_each(|(v, s)| *v *= s);
                }
                self.inverse.process_with_scratch(&mut lines, &mut scratch);
                for (pair, line) in lines.chunks(size).enumerate() {
                    for (i, value) in line[..self.nodes].iter().enumerate() {
                        let at = (i * stride + start) * width + 2 * pair;
                        (slab[at], slab[at + 1]) = (value.re, value.im);
                    }
                }
            }
        }
    }
}

/// Multiplies columns on a grid by the Kronecker product of its axes' matrices. The last axis is
/// the one whose nodes are neighbours in memory.
pub(super) fn kronecker(axes: &[Toeplitz], values: &mut [f64], width: usize) {
    let mut stride = 1;
    for axis in axes.iter().rev() {
        axis.apply(values, width, stride);
        stride *= axis.nodes;
    }
}

/// The least number from `n` on that has no prime factor above 5: transforms of it are fast.
fn smooth(n: usize) -> usize {
    let is_smooth = |n: &usize| {
        let mut rest = *n;
        for p in [2, 3, 5] {
            while rest.is_multiple_of(p) {
                rest /= p;
            }
        }
        rest == 1
    };
    // There is a power of 2 at the latest.
    (n..=n.next_power_of_two()).find(is_smooth).unwrap_or(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_matrices_written_out() {
        let lattices = [
            Lattice { origin: 0.0, spacing: 0.3, nodes: 5 },
            Lattice { origin: 1.0, spacing: 0.2, nodes: 7 },
            Lattice { origin: -1.0, spacing: 0.5, nodes: 4 },
        ];
        for (kernel, degree) in [
            (SubKernel::Matern12, 1),
            (SubKernel::Rbf, 1),
            (SubKernel::Rbf, 2),
            (SubKernel::Rbf, 3),
        ] {
            let used = &lattices[..degree];
            let axes: Vec<_> = used.iter().map(|l| Toeplitz::new(kernel, l)).collect();
            let nodes: usize = used.iter().map(|l| l.nodes).product();
            let width = 4;
            let values: Vec<f64> = (0..nodes * width).map(|i| (i as f64 * 0.7).sin()).collect();
            let mut found = values.clone();
            kronecker(&axes, &mut found, width);
            let place = |mut node: usize| -> Vec<f64> {
                let mut z = Vec::new();
                for l in used.iter().rev() {
                    z.push(l.node(node % l.nodes));
                    node /= l.nodes;
                }
                z
            };
            for i in 0..nodes {
                for c in 0..width {
                    let mut sum = 0.0;
                    for k in 0..nodes {
                        let gaps = place(i).into_iter().zip(place(k));
                        let s = gaps.map(|(a, b)| (a - b).powi(2)).sum();
                        sum += kernel.value(s) * values[k * width + c];
                    }
                    assert!((sum - found[i * width + c]).abs() < 1e-12, "degree {degree}");
                }
            }
        }
    }

    #[test]
    fn sizes_have_small_factors_only() {
        assert_eq!([1, 7, 11, 1021, 1025].map(smooth), [1, 8, 12, 1024, 1080]);
    }
}
