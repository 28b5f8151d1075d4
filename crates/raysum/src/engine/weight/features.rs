//! The features Φ of all sub-kernels: one basis per view, products of bases for degrees 2 and 3.

use crate::basis::{Basis, Occupancy};
use crate::engine::AdditiveKernel;
use crate::error::{Error, Result};
use crate::kernel::SubKernel;
use crate::linalg::dot;
use pulp::Arch;
use rayon::prelude::*;
use std::ops::Range;

/// Rows that one task takes.
const CHUNK: usize = 64;
/// Products of eigenfunctions that are looked at before some are kept.
const MOST_PRODUCTS: usize = 2_000_000;

/// One feature of a sub-kernel of degree 2 or 3: which eigenfunction of each view it multiplies.
pub(super) type Product = [u32; 3];

/// The features of one sub-kernel.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Its views.
    pub(super) views: Range<usize>,
    /// Its features.
    pub(super) features: Range<usize>,
    /// For degrees above 1: one entry per feature.
    pub(super) products: Vec<Product>,
}

/// z ↦ φ(z), for all sub-kernels.
#[derive(Clone, Debug)]
pub struct FeatureMap {
    pub(super) views: Vec<Basis>,
    pub(super) blocks: Vec<Block>,
}

/// Fails unless the kernel's sub-kernels are sums or products of one-dimensional ones.
pub(super) fn check_form(kernel: &AdditiveKernel) -> Result<()> {
    for &degree in &kernel.degrees {
        if degree > 3 || (degree > 1 && kernel.sub_kernel != SubKernel::Rbf) {
            return Err(Error::NoWeightForm { kernel: kernel.sub_kernel.name(), degree });
        }
    }
    Ok(())
}

impl FeatureMap {
    /// The map that leaves out at most `tolerance` of every sub-kernel's variance over the data,
    /// which is counted in one occupancy per view. The kernel's form is known to be right.
    pub(super) fn new(
        kernel: &AdditiveKernel,
        occupancies: &[Occupancy],
        tolerance: f64,
    ) -> Result<Self> {
        let degree_of: Vec<usize> =
            kernel.degrees.iter().flat_map(|&d| std::iter::repeat_n(d, d)).collect();
        let views: Vec<Basis> = occupancies
            .par_iter()
            .zip(&degree_of)
            .map(|(o, &degree)| Basis::new(kernel.sub_kernel, o, tolerance / (2 * degree) as f64))
            .collect::<Result<_>>()?;
        Self::assemble(kernel, views, |_, views| products(views, tolerance / 2.0))
    }

    /// A map from its bases; `products` gives the products of sub-kernel j, of degree 2 or 3, from
    /// the bases of its views.
    pub(super) fn assemble<E>(
        kernel: &AdditiveKernel,
        views: Vec<Basis>,
        products: impl Fn(usize, &[Basis]) -> std::result::Result<Vec<Product>, E>,
    ) -> std::result::Result<Self, E> {
        let mut blocks = Vec::with_capacity(kernel.degrees.len());
        let mut next = 0;
        for (j, block) in kernel.blocks().enumerate() {
            let (products, len) = match &views[block.clone()] {
                [only] => (Vec::new(), only.len()),
                several => {
                    let products = products(j, several)?;
                    let len = products.len();
                    (products, len)
                }
            };
            blocks.push(Block { views: block, features: next..next + len, products });
            next += len;
        }
        Ok(Self { views, blocks })
    }

    /// p, the number of features.
    pub fn len(&self) -> usize {
        self.blocks.last().map_or(0, |b| b.features.end)
    }

    /// Whether there are no features.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A value per sub-kernel, repeated for each of its features.
    pub(super) fn spread(&self, values: &[f64]) -> Vec<f64> {
        let blocks = self.blocks.iter().zip(values);
        blocks.flat_map(|(b, v)| std::iter::repeat_n(*v, b.features.len())).collect()
    }

    /// Φ for `rows` projected rows (one run of values per view): row-major, rows by p.
    pub(super) fn apply(&self, z: &[f64], rows: usize, out: &mut [f64]) {
        let p = self.len();
        if p == 0 {
            return;
        }
        out.par_chunks_mut(CHUNK * p).enumerate().for_each(|(chunk, out)| {
            let mut scratch = Scratch::new(self);
            Arch::new().dispatch(
                #[inline(always)]
                || {
                    for (i, out) in out.chunks_mut(p).enumerate() {
                        self.row(z, rows, chunk * CHUNK + i, out, &mut scratch);
                    }
                },
            );
        });
    }

    #[inline(always)]
    fn row(&self, z: &[f64], rows: usize, i: usize, out: &mut [f64], scratch: &mut Scratch) {
        for block in &self.blocks {
            let out = &mut out[block.features.clone()];
            if block.products.is_empty() {
                let view = block.views.start;
                self.views[view].features(z[view * rows + i], out);
                continue;
            }
            for (slot, view) in block.views.clone().enumerate() {
                let basis = &self.views[view];
                basis.features(z[view * rows + i], &mut scratch.values[slot][..basis.len()]);
            }
            for (out, product) in out.iter_mut().zip(&block.products) {
                *out = (0..block.views.len())
                    .map(|slot| scratch.values[slot][product[slot] as usize])
                    .product();
            }
        }
    }

    /// Σ_a weights_a ∂φ_a/∂z for each row and view, where `weights` gives a row's weights: rows by
    /// views, row-major.
    pub(super) fn pull_back(
        &self,
        z: &[f64],
        rows: usize,
        weights: impl Fn(usize, &mut [f64]) + Sync,
    ) -> Vec<f64> {
        let (p, views) = (self.len(), self.views.len());
        let mut out = vec![0.0; rows * views];
        out.par_chunks_mut(CHUNK * views).enumerate().for_each(|(chunk, out)| {
            let mut scratch = Scratch::new(self);
            let mut row_weights = vec![0.0; p];
            Arch::new().dispatch(
                #[inline(always)]
                || {
                    for (i, out) in out.chunks_mut(views).enumerate() {
                        let row = chunk * CHUNK + i;
                        weights(row, &mut row_weights);
                        self.pull_back_row(z, rows, row, &row_weights, out, &mut scratch);
                    }
                },
            );
        });
        out
    }

    #[inline(always)]
    fn pull_back_row(
        &self,
        z: &[f64],
        rows: usize,
        i: usize,
        weights: &[f64],
        out: &mut [f64],
        scratch: &mut Scratch,
    ) {
        for block in &self.blocks {
            let weights = &weights[block.features.clone()];
            for (slot, view) in block.views.clone().enumerate() {
                let basis = &self.views[view];
                let at = z[view * rows + i];
                basis.slopes(at, &mut scratch.slopes[slot][..basis.len()]);
                if block.products.is_empty() {
                    out[view] = dot(weights, &scratch.slopes[slot][..basis.len()]);
                } else {
                    basis.features(at, &mut scratch.values[slot][..basis.len()]);
                }
            }
            let degree = block.views.len();
            for (weight, product) in weights.iter().zip(&block.products) {
                for slot in 0..degree {
                    let others: f64 = (0..degree)
                        .filter(|o| *o != slot)
                        .map(|o| scratch.values[o][product[o] as usize])
                        .product();
                    let slope = scratch.slopes[slot][product[slot] as usize];
                    out[block.views.start + slot] += weight * slope * others;
                }
            }
        }
    }
}

/// Room for the eigenfunctions of up to three views.
struct Scratch {
    values: [Vec<f64>; 3],
    slopes: [Vec<f64>; 3],
}

impl Scratch {
    fn new(map: &FeatureMap) -> Self {
        let longest = map.views.iter().map(Basis::len).max().unwrap_or(0);
        let room = || std::array::from_fn(|_| vec![0.0; longest]);
        Self { values: room(), slopes: room() }
    }
}

/// The products of eigenfunctions with the largest products of eigenvalues, such that the others'
/// sum is at most `tolerance`.
fn products(views: &[Basis], tolerance: f64) -> Result<Vec<Product>> {
    let count: usize = views.iter().map(Basis::len).product();
    if count > MOST_PRODUCTS {
        return Err(Error::BasisTooLarge);
    }
    let mut all: Vec<(f64, Product)> = vec![(1.0, [0; 3])];
    for (slot, view) in views.iter().enumerate() {
        let extend = |(value, product): (f64, Product)| {
            view.eigenvalues().iter().enumerate().map(move |(a, eigenvalue)| {
                let mut product = product;
                product[slot] = a as u32;
                (value * eigenvalue, product)
            })
        };
        all = all.into_iter().flat_map(extend).collect();
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut left_out = 0.0;
    while let Some((value, _)) = all.last() {
        left_out += value;
        if left_out > tolerance {
            break;
        }
        all.pop();
    }
    Ok(all.into_iter().map(|(_, product)| product).collect())
}
