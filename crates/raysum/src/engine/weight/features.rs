//! The features Φ of all sub-kernels: one basis per view, products of bases for degrees 2 and 3.

use crate::basis::{Basis, Occupancy, TablePlace, Weights};
use crate::engine::AdditiveKernel;
use crate::error::{Error, Result};
use crate::kernel::Shape;
use crate::linalg::dot;
use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;
use std::ops::Range;

/// Products of eigenfunctions that are looked at before some are kept.
const MOST_PRODUCTS: usize = 2_000_000;

/// One feature of a sub-kernel of degree 2 or 3: which eigenfunction of each view it multiplies.
pub(super) type Product = [u32; 3];

/// The features of one sub-kernel.
#[derive(Clone, Debug)]
pub(super) struct SubFeatures {
    /// Its views.
    pub(super) views: Range<usize>,
    /// Its features.
    pub(super) features: Range<usize>,
    /// For degrees above 1: one entry per feature.
    pub(super) products: Vec<Product>,
}

/// z ↦ φ(z), for all sub-kernels.
#[derive(Clone, Debug)]
pub(crate) struct FeatureMap {
    pub(super) views: Vec<Basis>,
    pub(super) blocks: Vec<SubFeatures>,
}

impl FeatureMap {
    /// The map that leaves out at most `tolerance` of every sub-kernel's variance over the data,
    /// which is counted in one occupancy per view (`None` for lines). The kernel's form is known to
    /// be right.
    pub(super) fn new(
        kernel: &AdditiveKernel,
        occupancies: &[Option<Occupancy>],
        tolerance: f64,
    ) -> Result<Self> {
        let each = kernel.shapes.iter().zip(&kernel.degrees);
        let shapes: Vec<(Shape, usize)> =
            each.flat_map(|(&shape, &d)| std::iter::repeat_n((shape, d), d)).collect();
        let views: Vec<Basis> = occupancies
            .par_iter()
            .zip(&shapes)
            .map(|(occupancy, &(shape, degree))| match (shape, occupancy) {
                (Shape::Stationary(kernel), Some(occupancy)) => {
                    Basis::new(kernel, occupancy, tolerance / (2 * degree) as f64)
                }
                _ => Ok(Basis::line()),
            })
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
            blocks.push(SubFeatures { views: block, features: next..next + len, products });
            next += len;
        }
        Ok(Self { views, blocks })
    }

    /// p, the number of features.
    pub(crate) fn len(&self) -> usize {
        self.blocks.last().map_or(0, |b| b.features.end)
    }

    /// The share of a sub-kernel's variance that its features leave out at a row: none of a line's.
    pub(super) fn left_out_share(&self, block: &SubFeatures, phi: &[f64]) -> f64 {
        if self.is_line(block) { 0.0 } else { left_out_share(phi) }
    }

    /// Whether a sub-kernel is linear.
    pub(super) fn is_line(&self, block: &SubFeatures) -> bool {
        self.views[block.views.start].is_line()
    }

    /// A value per sub-kernel, repeated for each of its features.
    pub(super) fn spread(&self, values: &[f64]) -> Vec<f64> {
        let blocks = self.blocks.iter().zip(values);
        blocks.flat_map(|(b, v)| std::iter::repeat_n(*v, b.features.len())).collect()
    }

    /// Finds the places of projected rows (one run of values per view) in the tables.
    pub(super) fn locate(&self, z: Vec<f64>, rows: usize) -> Located {
        let mut places = Vec::with_capacity(z.len());
        for (basis, z) in self.views.iter().zip(z.chunks(rows.max(1))) {
            places.extend(z.iter().map(|&z| basis.place(z)));
        }
        Located { rows, z, places }
    }

    /// Writes Φ: row-major, rows by p.
    ///
    /// One sub-kernel after another, so that the table of its view stays in the nearest cache.
    pub(super) fn apply(&self, at: &Located, out: &mut [f64]) {
        Arch::new().dispatch(Apply { map: self, at, out });
    }

    /// Σ_a (scale_i along_a − less_ia) ∂φ_a/∂z for each row i and view: rows by views, row-major
    /// like `less` (rows by p).
    pub(super) fn pull_back(
        &self,
        at: &Located,
        scale: &[f64],
        along: &[f64],
        less: &[f64],
    ) -> Vec<f64> {
        let mut out = vec![0.0; at.rows * self.views.len()];
        Arch::new().dispatch(PullBack { map: self, at, scale, along, less, out: &mut out });
        out
    }
}

/// 1 − |φ|², which rounding must not make negative.
fn left_out_share(phi: &[f64]) -> f64 {
    (1.0 - dot(phi, phi)).max(0.0)
}

/// Projected rows, and where they lie in the tables of a feature map.
#[derive(Default)]
pub(super) struct Located {
    rows: usize,
    z: Vec<f64>,
    places: Vec<TablePlace>,
}

impl Located {
    #[inline(always)]
    fn at(&self, view: usize, row: usize) -> (f64, TablePlace) {
        let index = view * self.rows + row;
        (self.z[index], self.places[index])
    }
}

// The loops over rows are types and not closures: a closure that can be called twice would be
// compiled on its own, without the instructions that `dispatch` finds on this machine.

struct Apply<'a> {
    map: &'a FeatureMap,
    at: &'a Located,
    out: &'a mut [f64],
}

impl NullaryFnOnce for Apply<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { map, at, out } = self;
        let p = map.len();
        let mut scratch = Scratch::new(map);
        for block in &map.blocks {
            for i in 0..at.rows {
                let out = &mut out[i * p..][block.features.clone()];
                if block.products.is_empty() {
                    let (z, place) = at.at(block.views.start, i);
                    map.views[block.views.start].features(z, place, out);
                    continue;
                }
                for (slot, view) in block.views.clone().enumerate() {
                    let (basis, (z, place)) = (&map.views[view], at.at(view, i));
                    basis.features(z, place, &mut scratch.values[slot][..basis.len()]);
                }
                for (out, product) in out.iter_mut().zip(&block.products) {
                    *out = (0..block.views.len())
                        .map(|slot| scratch.values[slot][product[slot] as usize])
                        .product();
                }
            }
        }
    }
}

struct PullBack<'a> {
    map: &'a FeatureMap,
    at: &'a Located,
    scale: &'a [f64],
    along: &'a [f64],
    less: &'a [f64],
    out: &'a mut [f64],
}

impl NullaryFnOnce for PullBack<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { map, at, scale, along, less, out } = self;
        let (p, views) = (map.len(), map.views.len());
        let mut scratch = Scratch::new(map);
        for block in &map.blocks {
            for i in 0..at.rows {
                let weights = Weights {
                    scale: scale[i],
                    along: &along[block.features.clone()],
                    less: &less[i * p..][block.features.clone()],
                };
                let out = &mut out[i * views..][block.views.clone()];
                if block.products.is_empty() {
                    let (z, place) = at.at(block.views.start, i);
                    out[0] = map.views[block.views.start].weighted_slope(z, place, weights);
                    continue;
                }
                for (slot, view) in block.views.clone().enumerate() {
                    let (basis, (z, place)) = (&map.views[view], at.at(view, i));
                    basis.features(z, place, &mut scratch.values[slot][..basis.len()]);
                    basis.slopes(z, place, &mut scratch.slopes[slot][..basis.len()]);
                }
                scratch.pull_back(&block.products, weights, out);
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

    /// Adds Σ_a weights_a ∂φ_a/∂z for each view of a sub-kernel.
    #[inline(always)]
    fn pull_back(&self, products: &[Product], weights: Weights<'_>, out: &mut [f64]) {
        let degree = out.len();
        for (a, product) in products.iter().enumerate() {
            let weight = weights.get(a);
            for (slot, out) in out.iter_mut().enumerate() {
                let others: f64 = (0..degree)
                    .filter(|o| *o != slot)
                    .map(|o| self.values[o][product[o] as usize])
                    .product();
                *out += weight * self.slopes[slot][product[slot] as usize] * others;
            }
        }
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
