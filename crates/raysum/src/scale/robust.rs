//! A column by its mean and standard deviation, with far values drawn in.
//!
//! A value z standard deviations from the mean becomes z up to ten of them, and beyond that
//! ±10 (1 + ln(|z|/10)). A column that is 0 but in a few rows has values a hundred standard deviations out;
//! smooth functions that are free to bend would go anywhere from there on.

use super::map::DRAWN_IN_FROM;
use super::{ColumnMap, Standard};

/// The map of each column.
pub(super) fn of_columns(columns: &[Standard]) -> Vec<ColumnMap> {
    columns.iter().map(of).collect()
}

impl Standard {
    /// Whether the column has values so far from its mean that the robust scale draws them in.
    pub(crate) fn has_far_values(&self) -> bool {
        self.range.is_some_and(|(low, high)| {
            self.apply(low) < -DRAWN_IN_FROM || self.apply(high) > DRAWN_IN_FROM
        })
    }
}

/// The map of a column: a straight line up to where values are drawn in, or to the largest number there is.
fn of(column: &Standard) -> ColumnMap {
    let reach = |end: f64| (column.mean + end * column.std).clamp(f64::MIN, f64::MAX);
    let (low, high) = (reach(-DRAWN_IN_FROM), reach(DRAWN_IN_FROM));
    if low < high && column.std > 0.0 {
        ColumnMap::line((low, column.apply(low)), (high, column.apply(high)))
    } else {
        ColumnMap::constant(column.mean)
    }
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
        // Those of the training rows, and new ones on both sides, however far.
        for value in [5.0, 7.0, 1.0, 1e6, -1e6] {
            let z = column.apply(value);
            let expected = z.signum() * 10.0 * (1.0 + (z.abs() / 10.0).ln());
            assert!((map.apply(value) - expected).abs() < 1e-9, "{value}");
            let h = 1e-6 * value.abs();
            let difference = (map.apply(value + h) - map.apply(value - h)) / (2.0 * h);
            assert!((map.slope(value) - difference).abs() < 1e-6 * difference, "{value}");
        }
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
