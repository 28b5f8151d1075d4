//! A column by its ranks: a monotone map to normal scores, learned from the training rows.
//!
//! The value with mid-rank r of n becomes Φ⁻¹(r/n), where ties share their mean rank; values between
//! are interpolated. Outliers come close and crowded regions are spread out, so one length-scale suits
//! the whole column.

use super::map::{ColumnMap, Knot, evenly};
use super::{Standard, every_kth};
use crate::data::MatrixRef;
use crate::error::Result;
use statrs::distribution::{ContinuousCDF, Normal};

/// Rows that ranks are learned from, at most: more would not move the map.
const MOST_ROWS: usize = 100_000;
/// Knots of a map, at most.
const MOST_KNOTS: usize = 1_000;

/// The map of each column of training rows.
pub(super) fn of_columns(x: MatrixRef<'_>) -> Result<Vec<ColumnMap>> {
    let rows = every_kth(x.rows(), MOST_ROWS);
    let some = x.gather(&rows)?;
    let column = |c: usize| of((0..some.rows()).map(|i| some[(i, c)]).collect());
    Ok((0..x.columns()).map(column).collect())
}

/// The map of a column.
pub(super) fn of(mut values: Vec<f64>) -> ColumnMap {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len() as f64;
    let normal = Normal::standard();
    let mut all = Vec::new();
    let mut before = 0.0;
    for ties in values.chunk_by(|a, b| a == b) {
        let rows = ties.len() as f64;
        let score = normal.inverse_cdf((before + 0.5 * rows) / n);
        all.push(Knot { value: ties[0], score, rows });
        before += rows;
    }
    ColumnMap::through(&all, &evenly(all.len(), MOST_KNOTS), &Standard::of(&values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_standardised_normal_scores_and_ties_share_theirs() {
        let values = vec![3.0, 1.0, 2.0, 2.0, 100.0];
        let ranks = of(values.clone());
        let scores: Vec<f64> = values.iter().map(|v| ranks.apply(*v)).collect();
        let mean = scores.iter().sum::<f64>() / 5.0;
        let variance = scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / 5.0;
        assert!(mean.abs() < 1e-14 && (variance - 1.0).abs() < 1e-14);
        // Mid-ranks 0.5, 2, 2, 3.5 and 4.5 of 5, before standardisation.
        let normal = Normal::standard();
        let raw = [0.7, 0.1, 0.4, 0.4, 0.9].map(|p| normal.inverse_cdf(p));
        let (a, b) = (scores[0] - scores[1], raw[0] - raw[1]);
        for k in 1..5 {
            assert!(((scores[k] - scores[1]) * b - (raw[k] - raw[1]) * a).abs() < 1e-12);
        }
    }
}
