//! A column by its cuts: a monotone map that rises where the target changes.
//!
//! A kernel expects a function to change as fast everywhere, which the steps and thresholds of many
//! tables do not. Boosted trees find where they are. A column is mapped to a mixture of its ranks and
//! of the heights of the cuts below a value, so that rows on two sides of a step are far apart and
//! rows between two steps close together, and one length-scale suits the whole column.

use super::bins::{Bin, BinnedColumn};
use super::map::{ColumnMap, Knot, evenly};
use super::trees::cut_heights;
use super::{Standard, every_kth};
use crate::data::Dataset;
use crate::error::Result;

/// Rows that cuts are learned from, at most.
const MOST_ROWS: usize = 10_000;
/// The share of a map that follows the cuts; the rest follows the ranks.
const SHARE: f64 = 0.8;
/// Knots of a map beside those on both sides of cuts, at most.
const MORE_KNOTS: usize = 100;

/// The map of each column of training rows, for all their targets together.
pub(super) fn of_columns(data: &Dataset<'_>) -> Result<Vec<ColumnMap>> {
    let x = data.x();
    let rows = every_kth(x.rows(), MOST_ROWS);
    let some = x.gather(&rows)?;
    let columns: Vec<BinnedColumn> =
        (0..x.columns()).map(|c| BinnedColumn::new(&some, c)).collect();
    let chosen = |values: &[f64]| -> Vec<f64> { rows.iter().map(|&row| values[row]).collect() };
    let weights = data.weights().map(chosen);
    let mut heights: Vec<Vec<f64>> =
        columns.iter().map(|column| vec![0.0; column.bins.len() - 1]).collect();
    for y in data.targets() {
        // Every target counts alike, and squares of its values neither overflow nor underflow.
        let y = chosen(y);
        let scale = Standard::of_column(&y, weights.as_deref());
        let y: Vec<f64> = y.iter().map(|y| scale.apply(*y)).collect();
        let of_target = cut_heights(&columns, &y, weights.as_deref());
        for (sum, more) in heights.iter_mut().flatten().zip(of_target.iter().flatten()) {
            *sum += more;
        }
    }
    let standards = Standard::of_columns((&some).into())?;
    let each = columns.iter().zip(&heights).zip(&standards);
    Ok(each.map(|((column, heights), standard)| map(&column.bins, heights, standard)).collect())
}

/// The map of a column with these bins and the heights of the cuts between them.
fn map(bins: &[Bin], heights: &[f64], column: &Standard) -> ColumnMap {
    let rows: usize = bins.iter().map(|bin| bin.rows).sum();
    let all: f64 = heights.iter().sum();
    let (mut knots, mut kept) = (Vec::with_capacity(2 * bins.len()), Vec::new());
    let (mut before, mut height) = (0, 0.0);
    for (k, bin) in bins.iter().enumerate() {
        let cut = if all > 0.0 { SHARE * height / all } else { 0.0 };
        let mut knot = |value: f64, rank: f64, of_rows: f64| {
            let score = (1.0 - SHARE) * rank / rows as f64 + cut;
            knots.push(Knot { value, score, rows: of_rows });
        };
        let (first, last) = (before as f64 + 0.5, (before + bin.rows) as f64 - 0.5);
        if bin.low < bin.high {
            knot(bin.low, first, 0.5 * bin.rows as f64);
            knot(bin.high, last, 0.5 * bin.rows as f64);
        } else {
            knot(bin.low, 0.5 * (first + last), bin.rows as f64);
        }
        before += bin.rows;
        let of_cut = heights.get(k).copied().unwrap_or(0.0);
        if of_cut > 0.0 {
            kept.extend([knots.len() - 1, knots.len()]);
        }
        height += of_cut;
    }
    kept.extend(evenly(knots.len(), MORE_KNOTS));
    kept.sort_unstable();
    kept.dedup();
    ColumnMap::through(&knots, &kept, column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Matrix;

    fn maps(x: &Matrix, y: &[f64]) -> Vec<ColumnMap> {
        of_columns(&Dataset::new(x, y).unwrap()).unwrap()
    }

    #[test]
    fn a_column_rises_where_the_target_changes() {
        let x = Matrix::from_fn(400, 2, |i, c| ((i * (3 + 4 * c)) % 400) as f64 / 400.0);
        let y: Vec<f64> = (0..400).map(|i| if x[(i, 0)] > 0.6 { 2.0 } else { 0.0 }).collect();
        let maps = maps(&x, &y);
        assert!(maps.iter().all(ColumnMap::is_sound));
        let rise = |map: &ColumnMap, a: f64, b: f64| map.apply(b) - map.apply(a);
        // Most of the first column's rise is at the step, and that of the second one is even.
        assert!(rise(&maps[0], 0.59, 0.61) > 0.75 * rise(&maps[0], 0.0, 0.99));
        assert!(rise(&maps[1], 0.59, 0.61) < 0.05 * rise(&maps[1], 0.0, 0.99));
    }

    #[test]
    fn strange_columns_and_targets_are_no_trouble() {
        let strange = [f64::MAX, -f64::MAX, 0.0, 1e-300, 5e-324, 1.0];
        let x = Matrix::from_fn(60, 3, |i, c| [strange[i % 6], 7.0, i as f64][c]);
        let targets = [
            vec![3.0; 60],
            (0..60).map(|i| strange[(i * 5) % 6]).collect(),
            (0..60).map(|i| 1e-300 * f64::from(i)).collect(),
        ];
        for y in &targets {
            let maps = maps(&x, y);
            assert!(maps.iter().all(ColumnMap::is_sound), "{y:?}");
            assert_eq!(maps[1].apply(9.0), 0.0);
            for value in strange {
                assert!(maps[0].apply(value).is_finite() && maps[0].slope(value).is_finite());
            }
        }
    }
}
