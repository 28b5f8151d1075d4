//! Mean, standard deviation and range of columns, as sums over rows that add up.

use super::Standard;
use crate::data::MatrixRef;
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// What is known of a column of some rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ColumnSums {
    /// The sum of the sample weights, or the number of rows.
    weight: f64,
    mean: f64,
    std: f64,
    range: (f64, f64),
}

impl ColumnSums {
    /// Of every column; there must be a row.
    pub(crate) fn of_columns(x: MatrixRef<'_>, weights: Option<&[f64]>) -> Result<Vec<Self>> {
        let weight = total(x.rows(), weights);
        let columns = Standard::of_weighted(x, weights)?;
        Ok(columns.into_iter().map(|column| Self::new(column, weight)).collect())
    }

    /// Of some values; there must be one.
    pub(crate) fn of_values(values: &[f64], weights: Option<&[f64]>) -> Self {
        Self::new(Standard::of_column(values, weights), total(values.len(), weights))
    }

    fn new(column: Standard, weight: f64) -> Self {
        let range = column.range.unwrap_or((column.mean, column.mean));
        Self { weight, mean: column.mean, std: column.std, range }
    }

    /// The sum of the sample weights.
    pub(crate) fn weight(&self) -> f64 {
        self.weight
    }

    /// Adds the same column of other rows (Chan, Golub and LeVeque 1983). Shares of the weight and
    /// standard deviations instead of squares keep every number finite.
    pub(crate) fn merge(&mut self, other: &Self) {
        let weight = self.weight + other.weight;
        let (a, b) = (self.weight / weight, other.weight / weight);
        let gap = other.mean - self.mean;
        let mean =
            if gap.is_finite() { self.mean + b * gap } else { a * self.mean + b * other.mean };
        let half = other.mean / 2.0 - self.mean / 2.0;
        let largest = self.std.max(other.std).max(half.abs());
        if largest > 0.0 {
            let part = |value: f64| (value / largest).powi(2);
            let variance = a * part(self.std) + b * part(other.std) + 4.0 * a * b * part(half);
            self.std = (variance.sqrt() * largest).min(f64::MAX);
        }
        self.range = (self.range.0.min(other.range.0), self.range.1.max(other.range.1));
        (self.weight, self.mean) = (weight, mean);
    }

    /// The scale of the column.
    pub(crate) fn standard(&self) -> Standard {
        let Self { mean, std, range, .. } = *self;
        if range.0 == range.1 {
            return Standard { mean: range.0, std: 0.0, range: Some(range) };
        }
        let mean = mean.clamp(range.0, range.1);
        Standard { mean, std: std.max(f64::MIN_POSITIVE), range: Some(range) }
    }
}

fn total(rows: usize, weights: Option<&[f64]>) -> f64 {
    weights.map_or(rows as f64, |weights| weights.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(parts: &[&[f64]]) -> Standard {
        let mut sums = ColumnSums::of_values(parts[0], None);
        parts[1..].iter().for_each(|part| sums.merge(&ColumnSums::of_values(part, None)));
        sums.standard()
    }

    #[test]
    fn parts_have_the_scale_of_the_whole() {
        let values: Vec<f64> = (0..50).map(|i| 1e6 + f64::from(i * i % 17)).collect();
        let whole = Standard::of(&values);
        let found = merged(&[&values[..3], &values[3..4], &values[4..31], &values[31..]]);
        assert_eq!(found.range, whole.range);
        assert!((found.mean - whole.mean).abs() < 1e-9, "{found:?} and {whole:?}");
        assert!((found.std - whole.std).abs() < 1e-9, "{found:?} and {whole:?}");
    }

    #[test]
    fn weights_count_as_repetitions() {
        let mut sums = ColumnSums::of_values(&[1.0, 5.0], Some(&[1.0, 3.0]));
        sums.merge(&ColumnSums::of_values(&[-2.0], Some(&[2.0])));
        let repeated = Standard::of(&[1.0, 5.0, 5.0, 5.0, -2.0, -2.0]);
        assert!((sums.standard().mean - repeated.mean).abs() < 1e-14);
        assert!((sums.standard().std - repeated.std).abs() < 1e-14);
        assert_eq!(sums.weight(), 6.0);
    }

    #[test]
    fn constants_and_huge_values_are_no_trouble() {
        let constant = merged(&[&[7.0, 7.0], &[7.0]]);
        assert_eq!((constant.mean, constant.std), (7.0, 0.0));
        let huge = merged(&[&[f64::MAX], &[-f64::MAX], &[0.0]]);
        assert!(huge.mean.is_finite() && huge.std.is_finite() && huge.std > 1e307, "{huge:?}");
    }
}
