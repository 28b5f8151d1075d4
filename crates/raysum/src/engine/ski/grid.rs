//! The grid of one sub-kernel: a lattice for each of its views, the kernel between their nodes, and
//! the interpolated kernel between any point and them.

use super::lattice::{Lattice, TAPS, Taps, between, taps, taps_slope};
use super::toeplitz::{Toeplitz, kronecker};
use crate::kernel::{MOST_FACTORS, SubKernel};
use pulp::{Arch, NullaryFnOnce};

/// Lattices, and T.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    kernel: SubKernel,
    pub(super) lattices: Vec<Lattice>,
    axes: Vec<Toeplitz>,
    /// κ between neighbours along each view.
    lags: Vec<[f64; TAPS]>,
    shape: [usize; MOST_FACTORS],
}

/// The stored nodes around a point, as runs of four along the last of D views.
#[derive(Clone, Copy)]
pub(super) struct Around<const D: usize> {
    first: [usize; D],
    weights: [[f64; TAPS]; D],
}

impl<const D: usize> Around<D> {
    /// The nodes around positions that are on the stored grid.
    #[inline(always)]
    pub(super) fn new(positions: [f64; D]) -> Self {
        let mut at = Self { first: [0; D], weights: [[0.0; TAPS]; D] };
        for k in 0..D {
            let Taps { first, weights } = taps(positions[k]);
            at.first[k] = first as usize;
            at.weights[k] = weights;
        }
        at
    }

    /// The weights within a run.
    #[inline(always)]
    pub(super) fn last(&self) -> &[f64; TAPS] {
        &self.weights[D - 1]
    }

    /// With the slope along one view in the place of its weights, per unit of z.
    #[inline(always)]
    pub(super) fn sloping(mut self, grid: &Grid, axis: usize, position: f64) -> Self {
        let spacing = grid.lattices[axis].spacing;
        self.weights[axis] = taps_slope(position).weights.map(|w| w / spacing);
        self
    }
}

/// A computation over the nodes around points, compiled for each number of views.
pub(super) trait OnGrid {
    /// Runs it with D views.
    fn run<const D: usize>(self);
}

/// A computation that is compiled for the machine's vectors too. It has to be a type and not a
/// closure, as elsewhere, or its loops would not get them.
struct Vectorised<'a, B> {
    grid: &'a Grid,
    body: B,
}

impl<B: OnGrid> NullaryFnOnce for Vectorised<'_, B> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.grid.specialise(self.body);
    }
}

impl Grid {
    pub(super) fn new(kernel: SubKernel, lattices: Vec<Lattice>) -> Self {
        let axes = lattices.iter().map(|l| Toeplitz::new(kernel, l)).collect();
        let lags = lattices.iter().map(|l| l.lags(kernel)).collect();
        let mut shape = [1; MOST_FACTORS];
        shape.iter_mut().zip(&lattices).for_each(|(n, lattice)| *n = lattice.nodes);
        Self { kernel, lattices, axes, lags, shape }
    }

    #[inline(always)]
    pub(super) fn degree(&self) -> usize {
        self.lattices.len()
    }

    /// Whether the kernel has a kink at 0, which interpolation rounds off.
    pub(super) fn has_kink(&self) -> bool {
        self.kernel.has_kink()
    }

    pub(super) fn nodes(&self) -> usize {
        self.shape.iter().product()
    }

    /// The places of all nodes: one run per view.
    pub(super) fn places(&self) -> Vec<f64> {
        let mut after = self.nodes();
        let mut all = Vec::with_capacity(self.degree() * self.nodes());
        for lattice in &self.lattices {
            after /= lattice.nodes;
            all.extend((0..self.nodes()).map(|node| lattice.node(node / after % lattice.nodes)));
        }
        all
    }

    /// T times columns.
    pub(super) fn multiply(&self, values: &mut [f64], width: usize) {
        kronecker(&self.axes, values, width);
    }

    /// Runs a computation with the grid's number of views as a constant.
    #[inline(always)]
    fn specialise(&self, body: impl OnGrid) {
        match self.degree() {
            1 => body.run::<1>(),
            2 => body.run::<2>(),
            _ => body.run::<3>(),
        }
    }

    /// The same for many points, with all the machine has.
    pub(super) fn vectorise(&self, body: impl OnGrid) {
        Arch::new().dispatch(Vectorised { grid: self, body });
    }

    /// Calls `body` for every run of four nodes, with its first node and the other views' weight.
    #[inline(always)]
    pub(super) fn each_run<const D: usize>(
        &self,
        at: &Around<D>,
        mut body: impl FnMut(usize, f64),
    ) {
        let node = |index: &[usize]| {
            index.iter().zip(&self.shape).fold(0, |node, (i, nodes)| node * nodes + i)
        };
        match D {
            1 => body(at.first[0], 1.0),
            2 => {
                for a in 0..TAPS {
                    body(node(&[at.first[0] + a, at.first[1]]), at.weights[0][a]);
                }
            }
            _ => {
                for (a, b) in (0..TAPS).flat_map(|a| (0..TAPS).map(move |b| (a, b))) {
                    let first = node(&[at.first[0] + a, at.first[1] + b, at.first[2]]);
                    body(first, at.weights[0][a] * at.weights[1][b]);
                }
            }
        }
    }

    /// The positions of a point along D views.
    fn position<const D: usize>(&self, z: &[f64]) -> [f64; D] {
        let mut positions = [0.0; D];
        positions.iter_mut().zip(self.positions(z)).for_each(|(p, own)| *p = own);
        positions
    }

    /// The positions of a point.
    fn positions<'a>(&'a self, z: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        self.lattices.iter().zip(z).map(|(lattice, z)| lattice.position(*z))
    }

    /// Whether all nodes around a point are stored.
    pub(super) fn holds(&self, z: &[f64]) -> bool {
        self.lattices.iter().zip(self.positions(z)).all(|(l, p)| l.holds(p))
    }

    /// Adds λ w(z)'T Y for columns Y on the grid, given as λ T Y for stored nodes and as they are
    /// for the others; with `axis` its slope along that view.
    pub(super) fn contract(
        &self,
        z: &[f64],
        axis: Option<usize>,
        (multiplied, plain): (&[f64], &[f64]),
        variance: f64,
        out: &mut [f64],
    ) {
        let width = out.len();
        if self.holds(z) {
            self.specialise(Contract { grid: self, z, axis, values: multiplied, out });
        } else {
            for (weight, own) in self.row(z, axis).iter().zip(plain.chunks(width)) {
                out.iter_mut().zip(own).for_each(|(o, v)| *o += variance * weight * v);
            }
        }
    }

    /// Spreads a value at a point that the grid holds onto the nodes around it.
    pub(super) fn spread(&self, z: &[f64], value: f64, out: &mut [f64]) {
        self.specialise(SpreadOne { grid: self, z, value, out });
    }

    /// w(z)'T: the interpolated kernel between a point anywhere and the nodes; with `axis` its
    /// slope along that view.
    pub(super) fn row(&self, z: &[f64], axis: Option<usize>) -> Vec<f64> {
        let mut all = vec![1.0];
        for (k, (lattice, position)) in self.lattices.iter().zip(self.positions(z)).enumerate() {
            let mut around = if axis == Some(k) { taps_slope(position) } else { taps(position) };
            if axis == Some(k) {
                around.weights.iter_mut().for_each(|w| *w /= lattice.spacing);
            }
            let mut own = vec![0.0; lattice.nodes];
            lattice.row(self.kernel, &around, &mut own);
            all = all.iter().flat_map(|a| own.iter().map(move |b| a * b)).collect();
        }
        all
    }

    /// w(z)'T w(z): what the interpolated kernel makes of κ(0) = 1.
    pub(super) fn variance(&self, z: &[f64]) -> f64 {
        self.variance_at(self.positions(z))
    }

    /// The same at a point's positions.
    pub(super) fn variance_at(&self, positions: impl Iterator<Item = f64>) -> f64 {
        let own = |(lags, position)| {
            let w = taps(position).weights;
            between(lags, &w, &w)
        };
        self.lags.iter().zip(positions).map(own).product()
    }

    /// Its slope along one view.
    pub(super) fn variance_slope(&self, positions: impl Iterator<Item = f64>, axis: usize) -> f64 {
        let own = |(k, (lags, position)): (usize, (&[f64; TAPS], f64))| {
            let w = taps(position).weights;
            if k == axis {
                let slopes = taps_slope(position).weights;
                2.0 * between(lags, &slopes, &w) / self.lattices[k].spacing
            } else {
                between(lags, &w, &w)
            }
        };
        self.lags.iter().zip(positions).enumerate().map(own).product()
    }
}

struct Contract<'a> {
    grid: &'a Grid,
    z: &'a [f64],
    axis: Option<usize>,
    values: &'a [f64],
    out: &'a mut [f64],
}

impl OnGrid for Contract<'_> {
    fn run<const D: usize>(self) {
        let Self { grid, z, axis, values, out } = self;
        let positions: [f64; D] = grid.position(z);
        let mut at = Around::new(positions);
        if let Some(axis) = axis {
            at = at.sloping(grid, axis, positions[axis]);
        }
        let width = out.len();
        grid.each_run(&at, |first, outer| {
            let nodes = &values[first * width..(first + TAPS) * width];
            for (node, weight) in nodes.chunks(width).zip(at.last()) {
                let weight = outer * weight;
                out.iter_mut().zip(node).for_each(|(o, v)| *o += weight * v);
            }
        });
    }
}

struct SpreadOne<'a> {
    grid: &'a Grid,
    z: &'a [f64],
    value: f64,
    out: &'a mut [f64],
}

impl OnGrid for SpreadOne<'_> {
    fn run<const D: usize>(self) {
        let Self { grid, z, value, out } = self;
        let at = Around::<D>::new(grid.position(z));
        grid.each_run(&at, |first, outer| {
            let nodes = &mut out[first..first + TAPS];
            nodes.iter_mut().zip(at.last()).for_each(|(o, w)| *o += outer * w * value);
        });
    }
}
