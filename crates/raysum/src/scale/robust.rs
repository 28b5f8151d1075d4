//! A column by its mean and standard deviation, with far values drawn in.
//!
//! A value z standard deviations from the mean becomes z up to ten of them, and beyond that
//! ±10 (1 + ln(|z|/10)). A column that is 0 but in a few rows has values a hundred standard deviations out;
//! smooth functions that are free to bend would go anywhere from there on.

use super::{ColumnMap, Standard};

/// Standard deviations from the mean from which values are drawn in.
const FAR: f64 = 10.0;
/// The ratio of the distances of two knots: between them the map is a straight line.
const STEP: f64 = 1.2;

/// The map of each column.
pub(super) fn of_columns(columns: &[Standard]) -> Vec<ColumnMap> {
    columns.iter().map(of).collect()
}

impl Standard {
    /// Whether the column has values so far from its mean that the robust scale draws them in.
    pub(crate) fn has_far_values(&self) -> bool {
        let (low, high) = ends(self);
        low < -FAR || high > FAR
    }
}

/// The smallest and the largest value of a column, standardised.
fn ends(column: &Standard) -> (f64, f64) {
    let (low, high) = column.range.unwrap_or((column.mean, column.mean));
    (column.apply(low), column.apply(high))
}

/// The map of a column, with knots where it bends and at its smallest and largest value.
fn of(column: &Standard) -> ColumnMap {
    let (low, high) = ends(column);
    let distances = || std::iter::successors(Some(FAR), |distance| Some(distance * STEP));
    let mut knots: Vec<f64> = distances().take_while(|z| *z < -low).map(|z| -z).collect();
    knots.push(low);
    knots.extend(distances().take_while(|z| *z < high));
    knots.push(high);
    knots.sort_by(f64::total_cmp);
    let (least, most) = column.range.unwrap_or((column.mean, column.mean));
    let value = |z: f64| match z {
        _ if z == low => least,
        _ if z == high => most,
        _ => (column.mean + z * column.std).clamp(least, most),
    };
    let points = knots.iter().map(|z| (value(*z), drawn_in(*z)));
    let slope = |z: f64| FAR / z.abs().max(FAR) / column.std;
    ColumnMap::through_points(points, (slope(low), slope(high)))
}

fn drawn_in(z: f64) -> f64 {
    if z.abs() <= FAR { z } else { z.signum() * FAR * (1.0 + (z.abs() / FAR).ln()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_values_are_standardised_and_far_ones_drawn_in() {
        let mut values = vec![3.0; 10_000];
        values[7] = 5.0;
        values[9] = 3.5;
        let column = Standard::of(&values);
        let map = of(&column);
        assert!(column.has_far_values() && map.is_sound());
        assert!((map.apply(3.0) - column.apply(3.0)).abs() < 1e-12);
        let far = column.apply(5.0);
        assert!(far > 90.0 && (map.apply(5.0) - 10.0 * (1.0 + (far / 10.0).ln())).abs() < 1e-9);
        // Twice as far out is little farther, and the slope is that of the map.
        assert!(map.apply(7.0) - map.apply(5.0) < 11.0);
        let slope = (map.apply(7.0) - map.apply(6.0)).min(map.apply(5.0) - map.apply(4.99));
        assert!(slope > 0.0 && (map.slope(6.5) - (map.apply(7.0) - map.apply(6.0))).abs() < 1e-9);
    }

    #[test]
    fn a_column_without_far_values_keeps_its_scale() {
        let values: Vec<f64> = (0..100).map(|i| f64::from(i * i)).collect();
        let column = Standard::of(&values);
        let map = of(&column);
        assert!(!column.has_far_values() && map.is_sound());
        for value in [-500.0, 0.0, 77.0, 9_801.0, 20_000.0] {
            assert!((map.apply(value) - column.apply(value)).abs() < 1e-12, "{value}");
        }
    }

    #[test]
    fn constants_and_extreme_numbers_are_no_trouble() {
        for values in [
            vec![4.0; 5],
            vec![f64::MAX, -f64::MAX, 0.0],
            vec![5e-324, 0.0, 1e-323],
            [vec![1e16; 999], vec![1e16 + 2.0]].concat(),
            [vec![0.0; 999], vec![f64::MAX]].concat(),
        ] {
            let map = of(&Standard::of(&values));
            assert!(map.is_sound(), "{map:?}");
            for value in [values[0], values[1], f64::MAX, f64::MIN] {
                assert!(map.apply(value).is_finite() && map.slope(value).is_finite());
            }
        }
    }
}
