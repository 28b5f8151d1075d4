//! Scales by the training rows: mean 0 and standard deviation 1, with far values drawn in or not, ranks or
//! cuts of columns, and powers of targets.

mod bins;
mod curve;
mod cuts;
mod evidence;
mod map;
mod merged;
mod power;
mod quadrature;
mod ranks;
mod robust;
mod rows;
mod scaler;
mod trees;

pub(crate) use map::ColumnMap;
pub(crate) use merged::ColumnSums;
pub(crate) use power::Power;
pub(crate) use rows::StandardRows;
pub(crate) use scaler::{LearnedScales, MapKind, Scaler};

use crate::data::MatrixRef;
use crate::error::Result;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::convert::Infallible;

/// Standardised inputs are clipped here. Training values are far smaller (at most √n), and a
/// value this far outside is infinitely far for every kernel, so products stay finite.
const FAR: f64 = 1e9;
/// Columns that are processed together: those of one cache line.
const TOGETHER: usize = 8;

/// Mean and standard deviation of one column.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standard {
    /// The mean.
    pub mean: f64,
    /// The (population) standard deviation; 0 for a constant column.
    pub std: f64,
    /// The smallest and the largest value; `None` in models that were saved before these were kept.
    #[serde(default)]
    pub range: Option<(f64, f64)>,
}

impl Standard {
    /// Mean and standard deviation of `values`.
    pub fn of(values: &[f64]) -> Self {
        Self::of_column(values, None)
    }

    pub(crate) fn of_column(values: &[f64], weights: Option<&[f64]>) -> Self {
        let Ok(columns) = Self::measured((values.len(), 1), weights, |block| {
            block(0, values);
            Ok::<(), Infallible>(())
        });
        columns[0]
    }

    /// Mean and standard deviation of every column, without overflow or cancellation for any
    /// finite input: values are divided by the largest first, and shifted by the first one.
    pub fn of_columns(x: MatrixRef<'_>) -> Result<Vec<Self>> {
        Self::of_weighted(x, None)
    }

    pub(crate) fn of_weighted(x: MatrixRef<'_>, weights: Option<&[f64]>) -> Result<Vec<Self>> {
        Self::measured((x.rows(), x.columns()), weights, |block| x.in_blocks(block))
    }

    /// The columns of rows that `pass` goes through, as often as it is called.
    fn measured<E>(
        (rows, columns): (usize, usize),
        weights: Option<&[f64]>,
        pass: impl Fn(&mut dyn FnMut(usize, &[f64])) -> std::result::Result<(), E>,
    ) -> std::result::Result<Vec<Self>, E> {
        // Weights are divided by the largest too: their sum must not overflow.
        let heaviest = weights.map_or(1.0, |w| w.iter().fold(0.0_f64, |m, w| m.max(*w)));
        let weight = |i: usize| weights.map_or(1.0, |w| w[i] / heaviest);
        let n: f64 = (0..rows).map(weight).sum();
        let mut columns = vec![Measured::default(); columns];
        pass(&mut |first, values| {
            each(first, values, &mut columns, |i, column, v| {
                if i == 0 {
                    *column =
                        Measured { first: v, constant: true, range: (v, v), ..Measured::default() };
                }
                column.range = (column.range.0.min(v), column.range.1.max(v));
                column.largest = column.largest.max(v.abs());
                column.constant &= v == column.first;
            });
        })?;
        pass(&mut |first, values| {
            each(first, values, &mut columns, |i, column, v| {
                column.mean += weight(i) * column.shifted(v);
            });
        })?;
        columns.iter_mut().for_each(|column| column.mean /= n);
        pass(&mut |first, values| {
            each(first, values, &mut columns, |i, column, v| {
                column.variance += weight(i) * (column.shifted(v) - column.mean).powi(2);
            });
        })?;
        Ok(columns.iter().map(|column| column.standard(n)).collect())
    }

    /// The standardised value; 0 in a constant column, which carries no information.
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

impl Standard {
    /// The distance of a value from the range of the training rows, in standard deviations: 0
    /// inside it, and in a constant column, on which no prediction depends.
    pub fn beyond(&self, value: f64) -> f64 {
        let Some((low, high)) = self.range else { return 0.0 };
        let nearest = value.clamp(low, high);
        (self.apply(value) - self.apply(nearest)).abs()
    }

    /// Extends the range by more values.
    pub(crate) fn extend_range(&mut self, (low, high): (f64, f64)) {
        self.range = self.range.map(|range| (range.0.min(low), range.1.max(high)));
    }

    /// The smallest and the largest value of each column, if there are rows.
    pub(crate) fn ranges(x: MatrixRef<'_>) -> Result<Vec<(f64, f64)>> {
        let mut ranges = Vec::new();
        x.in_blocks(|_, values| {
            for row in values.chunks(x.columns()) {
                if ranges.is_empty() {
                    ranges = row.iter().map(|v| (*v, *v)).collect();
                }
                for (range, v) in ranges.iter_mut().zip(row) {
                    *range = (range.0.min(*v), range.1.max(*v));
                }
            }
        })?;
        Ok(ranges)
    }

    /// A variance in standardised units, from a standard deviation; finite whatever the units.
    pub(crate) fn scaled_square(&self, std: f64) -> f64 {
        (std / self.std).min(FAR).powi(2)
    }
}

/// Statistics of a column under construction.
#[derive(Clone, Copy, Default)]
struct Measured {
    first: f64,
    constant: bool,
    /// The largest absolute value.
    largest: f64,
    range: (f64, f64),
    /// Mean and variance of the shifted values, or their sums so far.
    mean: f64,
    variance: f64,
}

impl Measured {
    /// The value in units of the largest, from the first one.
    fn shifted(&self, value: f64) -> f64 {
        value / self.largest - self.first / self.largest
    }

    /// The result, where rows count n times in all.
    fn standard(&self, n: f64) -> Standard {
        let Self { first, largest, mean, .. } = *self;
        let range = Some(self.range);
        if self.constant {
            return Standard { mean: first, std: 0.0, range };
        }
        let std = ((self.variance / n).sqrt() * largest).max(f64::MIN_POSITIVE);
        // Two halves, because first + mean·largest may overflow on the way.
        Standard { mean: ((first / largest) + mean) * largest, std, range }
    }
}

/// The numbers of every k-th row, `most` at most. Of sorted tables these are as even as the rows themselves.
fn every_kth(rows: usize, most: usize) -> Vec<usize> {
    (0..rows).step_by(rows.div_ceil(most).max(1)).collect()
}

/// Calls `body` for every value of a block of rows with its row and its column, column by column.
fn each(
    first: usize,
    values: &[f64],
    columns: &mut [Measured],
    add: impl Fn(usize, &mut Measured, f64) + Sync,
) {
    let width = columns.len();
    columns.par_chunks_mut(TOGETHER).enumerate().for_each(|(group, columns)| {
        for (k, row) in values.chunks(width).enumerate() {
            let values = &row[group * TOGETHER..];
            columns.iter_mut().zip(values).for_each(|(column, v)| add(first + k, column, *v));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Standard {
        Standard::of(values)
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
    fn weights_count_as_repetitions() {
        let (few, weights) = ([1.0, 5.0, -2.0], [1.0, 3.0, 2.0]);
        let weighted = Standard::of_column(&few, Some(&weights));
        let repeated = of(&[1.0, 5.0, 5.0, 5.0, -2.0, -2.0]);
        assert!((weighted.mean - repeated.mean).abs() < 1e-15);
        assert!((weighted.std - repeated.std).abs() < 1e-15);
    }

    #[test]
    fn values_beyond_the_range_are_told_by_their_distance() {
        let s = of(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!((s.beyond(1.0), s.beyond(2.7), s.beyond(4.0)), (0.0, 0.0, 0.0));
        assert!((s.beyond(0.0) - 1.0 / s.std).abs() < 1e-12);
        assert!((s.beyond(6.5) - 2.5 / s.std).abs() < 1e-12);
        assert!(s.beyond(f64::MAX).is_finite());
        assert_eq!(of(&[7.0, 7.0]).beyond(9.0), 0.0);
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
