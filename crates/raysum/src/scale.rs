//! Standardisation: columns to mean 0 and standard deviation 1 by the training rows, and back.

use crate::data::{Matrix, MatrixRef};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Standardised inputs are cut off here. No training value comes near (it is at most √n), and a
/// value this far outside is infinitely far for every kernel, so products stay finite.
const FAR: f64 = 1e9;

/// Mean and standard deviation of one column.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standard {
    /// The mean.
    pub mean: f64,
    /// The (population) standard deviation; 0 for a constant column.
    pub std: f64,
}

impl Standard {
    /// Mean and standard deviation of `values`, without overflow or cancellation for any finite
    /// input: values are divided by the largest first, and shifted by the first one.
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let largest = values.clone().fold(0.0_f64, |m, v| m.max(v.abs()));
        let first = values.clone().next().unwrap_or(0.0);
        if values.clone().all(|v| v == first) {
            return Self { mean: first, std: 0.0 };
        }
        let shifted = values.map(|v| v / largest - first / largest);
        let n = shifted.clone().count() as f64;
        let mean = shifted.clone().sum::<f64>() / n;
        let variance = shifted.map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
        let std = (variance.sqrt() * largest).max(f64::MIN_POSITIVE);
        // Two halves, because first + mean·largest may overflow on the way.
        Self { mean: ((first / largest) + mean) * largest, std }
    }

    /// The standardised value. Everything in a constant column becomes 0: it carries nothing.
    pub fn apply(&self, value: f64) -> f64 {
        if self.std == 0.0 {
            return 0.0;
        }
        let gap = value - self.mean;
        if gap.is_finite() {
            (gap / self.std).clamp(-FAR, FAR)
        } else {
            // The difference of two huge values overflows; that of their halves does not.
            ((value / 2.0 - self.mean / 2.0) / self.std * 2.0).clamp(-FAR, FAR)
        }
    }
}

/// Standardisation of X and of y.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaler {
    /// One entry per column of X.
    pub x: Vec<Standard>,
    /// The target. Its `std` is never 0.
    pub y: Standard,
}

impl Scaler {
    /// Learns the scales from training rows.
    pub fn fit(x: MatrixRef<'_>, y: &[f64]) -> Self {
        let columns = (0..x.columns())
            .map(|j| Standard::of((0..x.rows()).map(move |i| x.at(i, j))))
            .collect();
        let mut target = Standard::of(y.iter().copied());
        if target.std == 0.0 {
            // A constant target says nothing of its scale; its own size is the best guess, and
            // keeps every predicted standard deviation finite and above 0.
            target.std = if target.mean == 0.0 { 1.0 } else { target.mean.abs() };
        }
        Self { x: columns, y: target }
    }

    /// Standardised copy of `y`.
    pub fn apply_y(&self, y: &[f64]) -> Vec<f64> {
        y.iter().map(|&v| self.y.apply(v)).collect()
    }

    /// A standardised mean in the target's units.
    pub fn undo_mean(&self, value: f64) -> f64 {
        self.y.mean + value * self.y.std
    }

    /// A standardised variance in the target's units, squared.
    pub fn undo_variance(&self, value: f64) -> f64 {
        value * self.y.std * self.y.std
    }
}

/// Rows that are standardised as they are read, block by block.
#[derive(Clone, Debug)]
pub struct StandardRows<'a> {
    x: MatrixRef<'a>,
    columns: Vec<Standard>,
}

impl<'a> StandardRows<'a> {
    /// The rows of `x` under this scaler.
    pub fn new(x: MatrixRef<'a>, scaler: &Scaler) -> Self {
        Self { x, columns: scaler.x.clone() }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.x.rows()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A standardised copy of some rows.
    pub fn block(&self, range: Range<usize>) -> Matrix {
        let mut out = Matrix::zeros(range.len(), self.columns.len());
        let d = self.columns.len().max(1);
        out.as_mut_slice().par_chunks_mut(256 * d).enumerate().for_each(|(chunk, out)| {
            for (i, out) in out.chunks_mut(d).enumerate() {
                let row = range.start + chunk * 256 + i;
                for (j, (out, column)) in out.iter_mut().zip(&self.columns).enumerate() {
                    *out = column.apply(self.x.at(row, j));
                }
            }
        });
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Standard {
        Standard::of(values.iter().copied())
    }

    #[test]
    fn matches_the_textbook() {
        let s = of(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(s.mean, 2.5);
        assert!((s.std - 1.25_f64.sqrt()).abs() < 1e-15);
        assert!((s.apply(4.0) - 1.5 / 1.25_f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn is_finite_at_the_ends_of_the_range() {
        for values in [
            [1e300, -1e300, 0.0],
            [f64::MAX, -f64::MAX, 0.0],
            [1e-300, 2e-300, 3e-300],
            [5e-324, 0.0, 5e-324],
            [1e12, 1e12 + 1e-3, 1e12 + 2e-3],
        ] {
            let s = of(&values);
            assert!(s.mean.is_finite() && s.std.is_finite() && s.std > 0.0, "{values:?}: {s:?}");
            for v in values {
                assert!(s.apply(v).abs() < 2.0, "{values:?}: {v} -> {}", s.apply(v));
            }
            assert!(s.apply(f64::MAX).is_finite() && s.apply(f64::MIN).is_finite());
        }
    }

    #[test]
    fn a_constant_column_becomes_zero_everywhere() {
        let s = of(&[7.0, 7.0]);
        assert_eq!((s.mean, s.std), (7.0, 0.0));
        assert_eq!(s.apply(9.0), 0.0);
    }

    #[test]
    fn a_small_spread_on_a_large_mean_is_kept() {
        let s = of(&[1e12 - 1.0, 1e12, 1e12 + 1.0]);
        assert!((s.std - (2.0_f64 / 3.0).sqrt()).abs() < 1e-3);
    }
}
