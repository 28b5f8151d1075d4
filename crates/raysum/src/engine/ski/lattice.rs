//! A regular lattice along one view, and cubic interpolation onto it (Keys 1981).
//!
//! The lattice has no end: nodes are stored where the training rows lie, but an interpolated kernel
//! is defined by the four nodes around any point. Predictions therefore extend beyond the stored
//! grid continuously.

use crate::error::{Error, Result};
use crate::kernel::SubKernel;

/// Cells between the outermost training row and the end of the stored nodes.
const MARGIN: usize = 4;
// The smallest grid leaves at least half of its nodes to the data between the margins.
const _: () = assert!(crate::limits::MIN_GRID_POINTS >= 4 * MARGIN);
/// The finest automatic spacing.
const FINEST: f64 = 1e-3;
/// Nodes that interpolate a point.
pub(super) const TAPS: usize = 4;
/// The most nodes of a sub-kernel's grid: 16 columns on it take 256 MB.
const MOST_NODES: usize = 1 << 21;

/// Equally spaced nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lattice {
    /// The first stored node.
    pub(super) origin: f64,
    /// The distance of neighbours, in length-scales.
    pub(super) spacing: f64,
    /// Stored nodes.
    pub(super) nodes: usize,
}

/// Four weights and their slopes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taps {
    /// The first of the four nodes, counted from the first stored one; beyond the stored nodes it
    /// may be any whole number.
    pub(super) first: f64,
    pub(super) weights: [f64; TAPS],
}

impl Lattice {
    /// A lattice of this spacing over the values from `low` to `high`.
    pub(super) fn spaced(low: f64, high: f64, spacing: f64) -> Result<Self> {
        let cells = ((high - low) / spacing).ceil().max(1.0);
        if cells >= MOST_NODES as f64 || cells.is_nan() {
            return Err(Error::GridTooLarge);
        }
        let nodes = cells as usize + 1 + 2 * MARGIN;
        Ok(Self { origin: low - MARGIN as f64 * spacing, spacing, nodes })
    }

    /// A lattice of this number of nodes over the values from `low` to `high`.
    pub(super) fn sized(low: f64, high: f64, nodes: usize) -> Self {
        let cells = nodes.saturating_sub(1 + 2 * MARGIN).max(1) as f64;
        // If all values are equal, any spacing is suitable.
        let spacing = if high > low { (high - low) / cells } else { 1.0 };
        Self { origin: low - MARGIN as f64 * spacing, spacing, nodes }
    }

    /// A place in cells from the first node.
    pub(super) fn position(&self, z: f64) -> f64 {
        (z - self.origin) / self.spacing
    }

    /// The place of a node.
    pub(super) fn node(&self, index: usize) -> f64 {
        self.origin + index as f64 * self.spacing
    }

    /// Whether all nodes around a position are stored.
    pub(super) fn holds(&self, position: f64) -> bool {
        position >= 1.0 && position < (self.nodes - 2) as f64
    }

    /// Σ_a w_a κ(u_a − u_b) for every stored node u_b: the interpolated kernel's row.
    pub(super) fn row(&self, kernel: SubKernel, taps: &Taps, out: &mut [f64]) {
        for (b, out) in out.iter_mut().enumerate() {
            let gap = |a: usize| (taps.first + a as f64 - b as f64) * self.spacing;
            *out = (0..TAPS).map(|a| taps.weights[a] * kernel.value(gap(a).powi(2))).sum();
        }
    }

    /// κ between nodes that are none to three cells apart.
    pub(super) fn lags(&self, kernel: SubKernel) -> [f64; TAPS] {
        [0.0, 1.0, 2.0, 3.0].map(|cells: f64| kernel.value((cells * self.spacing).powi(2)))
    }
}

/// Fails if a grid over these lattices has too many nodes.
pub(super) fn check_size(lattices: &[Lattice]) -> Result<()> {
    let nodes = lattices.iter().try_fold(1_usize, |all, l| all.checked_mul(l.nodes));
    if nodes.is_some_and(|n| n <= MOST_NODES) { Ok(()) } else { Err(Error::GridTooLarge) }
}

/// The weights at a position.
#[inline(always)]
pub(super) fn taps(position: f64) -> Taps {
    let cell = position.floor();
    Taps { first: cell - 1.0, weights: keys(position - cell) }
}

/// The slopes of the weights at a position, per cell.
#[inline(always)]
pub(super) fn taps_slope(position: f64) -> Taps {
    let cell = position.floor();
    let s = position - cell;
    let weights = [
        (2.0 - 1.5 * s) * s - 0.5,
        (4.5 * s - 5.0) * s,
        (4.0 - 4.5 * s) * s + 0.5,
        (1.5 * s - 1.0) * s,
    ];
    Taps { first: cell - 1.0, weights }
}

/// Keys' weights of the four nodes around a point that has gone the share `s` of its cell.
#[inline(always)]
pub(super) fn keys(s: f64) -> [f64; TAPS] {
    [
        ((1.0 - 0.5 * s) * s - 0.5) * s,
        (1.5 * s - 2.5) * s * s + 1.0,
        ((2.0 - 1.5 * s) * s + 0.5) * s,
        (0.5 * s - 0.5) * s * s,
    ]
}

/// Σ_ab v_a κ(u_a − u_b) w_b over the same four nodes.
#[inline(always)]
pub(super) fn between(lags: &[f64; TAPS], v: &[f64; TAPS], w: &[f64; TAPS]) -> f64 {
    let mut sum = 0.0;
    for a in 0..TAPS {
        for b in 0..TAPS {
            sum += v[a] * w[b] * lags[a.abs_diff(b)];
        }
    }
    sum
}

/// The spacing at which the interpolated kernel is nowhere off by more than about `tolerance`: on a
/// ladder, so that it stays as it is while a search moves by little.
pub(super) fn spacing(kernel: SubKernel, tolerance: f64) -> f64 {
    // The largest error at spacing h is factor · h^order, as measured by a test below.
    let (factor, order) = match kernel {
        SubKernel::Rbf => (0.065, 3.0),
        SubKernel::Cosine => (0.035, 3.0),
        SubKernel::Imq => (0.12, 3.0),
        SubKernel::Matern52 => (0.19, 3.0),
        SubKernel::Matern32 => (0.75, 3.0),
        // A kink at 0, which no polynomial follows: the error is that of rows in the same cell.
        SubKernel::Matern12 | SubKernel::Laplace => (0.25, 1.0),
    };
    let wanted = (tolerance / factor).powf(1.0 / order);
    let step = (wanted.log2() * 2.0).floor() / 2.0;
    step.exp2().clamp(FINEST, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest difference of the interpolated kernel from κ.
    fn error(kernel: SubKernel, h: f64) -> f64 {
        let mut worst = 0.0_f64;
        for cell in 0..(6.0 / h) as usize {
            for (s, t) in (0..10).flat_map(|s| (0..10).map(move |t| (s, t))) {
                let (s, t) = (f64::from(s) / 10.0, f64::from(t) / 10.0);
                let (u, v) = (keys(s), keys(t));
                let mut sum = 0.0;
                for (a, u) in u.iter().enumerate() {
                    for (b, v) in v.iter().enumerate() {
                        let gap = (cell as f64 + b as f64 - a as f64) * h;
                        sum += u * v * kernel.value(gap * gap);
                    }
                }
                let gap = (cell as f64 + t - s) * h;
                worst = worst.max((sum - kernel.value(gap * gap)).abs());
            }
        }
        worst
    }

    #[test]
    fn the_chosen_spacing_keeps_the_error_below_the_tolerance() {
        for (name, kernel) in SubKernel::ALL {
            let kernel = kernel.in_dimensions(1);
            for tolerance in [1e-2, 1e-3, 1e-4, 1e-5] {
                let h = spacing(kernel, tolerance);
                if h > 2e-3 {
                    let found = error(kernel, h);
                    assert!(found < tolerance, "{name} at {h}: {found} of {tolerance}");
                    // Not many times as fine as it must be: the ladder and the order leave room.
                    assert!(h >= 0.5 || found > 0.1 * tolerance, "{name} at {h}: {found}");
                }
            }
        }
    }

    #[test]
    fn weights_sum_to_one_and_reproduce_a_parabola() {
        for i in 0..20 {
            let s = f64::from(i) / 20.0;
            let (w, d) = (keys(s), taps_slope(7.0 + s));
            let at = |f: &dyn Fn(f64) -> f64, w: &[f64; 4]| -> f64 {
                (0..4).map(|a| w[a] * f(a as f64 - 1.0)).sum()
            };
            assert!((at(&|_| 1.0, &w) - 1.0).abs() < 1e-14);
            assert!((at(&|u| u * u, &w) - s * s).abs() < 1e-14);
            assert!((at(&|u| u * u, &d.weights) - 2.0 * s).abs() < 1e-14);
            assert_eq!(d.first, 6.0);
        }
    }

    #[test]
    fn a_lattice_covers_its_values_with_a_margin() {
        for lattice in [Lattice::spaced(-1.3, 2.9, 0.1).unwrap(), Lattice::sized(-1.3, 2.9, 64)] {
            for z in [-1.3, 0.0, 2.9] {
                let p = lattice.position(z);
                assert!(lattice.holds(p) && lattice.holds(p - 2.0) && lattice.holds(p + 2.0));
                let t = taps(p);
                let back: f64 =
                    (0..4).map(|a| t.weights[a] * lattice.node(t.first as usize + a)).sum();
                assert!((back - z).abs() < 1e-12);
            }
        }
        assert_eq!(Lattice::sized(1.0, 1.0, 20).nodes, 20);
        assert!(matches!(Lattice::spaced(0.0, 1e9, 0.1), Err(Error::GridTooLarge)));
    }
}
