//! The likelihood of target values as a function of the columns with noise, by which the scale of the
//! target is chosen.
//!
//! What a scale should make normal are the errors, not the values: a target that follows a skewed
//! column is skewed too, and its errors need not be. As Box and Cox (1964) did with linear regression,
//! the values are therefore compared by their likelihood given the columns. The model is a Gaussian
//! process of fixed length-scales over the ranks of the columns, whose variances are found for each
//! scale: one factorisation serves all scales.

use super::{every_kth, ranks};
use crate::data::{Matrix, MatrixRef};
use crate::error::Result;
use crate::linalg::{dot, symmetric_eigen};

/// At most this many rows are compared, and fewer of wide tables.
const MOST_ROWS: usize = 1_000;
const LEAST_ROWS: usize = 200;
const NUMBERS: usize = 500_000;
/// Ratios of signal to noise that are tried: from a hundredth to a million, by factors of about 3.
const RATIOS: std::ops::RangeInclusive<i32> = -4..=12;

/// Some rows, and the eigenvalues and eigenvectors of their covariance.
pub(super) struct Evidence {
    /// The numbers of the rows.
    pub(super) rows: Vec<usize>,
    values: Vec<f64>,
    vectors: Vec<f64>,
}

impl Evidence {
    /// Of every k-th row.
    pub(super) fn new(x: MatrixRef<'_>) -> Result<Self> {
        let most = (NUMBERS / x.columns().max(1)).clamp(LEAST_ROWS, MOST_ROWS);
        let rows = every_kth(x.rows(), most);
        let some = x.gather(&rows)?;
        let maps = ranks::of_columns((&some).into())?;
        let scores = Matrix::from_fn(rows.len(), x.columns(), |i, c| maps[c].apply(some[(i, c)]));
        let d = maps.iter().filter(|map| !map.is_constant()).count().max(1) as f64;
        let square: Vec<f64> =
            (0..rows.len()).map(|i| dot(scores.row(i), scores.row(i)) / d).collect();
        let covariance = Matrix::from_fn(rows.len(), rows.len(), |i, j| {
            let linear = dot(scores.row(i), scores.row(j)) / d;
            let distance = square[i] + square[j] - 2.0 * linear;
            0.5 * linear + 0.5 * (-0.5 * distance.max(0.0)).exp()
        });
        let (values, vectors) = symmetric_eigen(covariance.as_slice(), rows.len());
        Ok(Self { rows, values, vectors })
    }

    /// The log density of the values of these rows, at the variances that make it the highest, per
    /// row and up to a constant.
    pub(super) fn log_density(&self, y: &[f64]) -> f64 {
        let n = y.len() as f64;
        let mean = y.iter().sum::<f64>() / n;
        let centred: Vec<f64> = y.iter().map(|y| y - mean).collect();
        let along: Vec<f64> =
            self.vectors.chunks(y.len()).map(|vector| dot(vector, &centred).powi(2)).collect();
        let density = |ratio: f64| {
            let variance = |value: &f64| ratio * value.max(0.0) + 1.0;
            let squares = along.iter().zip(&self.values).map(|(a, value)| a / variance(value));
            let noise = squares.sum::<f64>() / n;
            let logs = self.values.iter().map(|value| variance(value).ln()).sum::<f64>() / n;
            -0.5 * (noise.ln() + logs)
        };
        RATIOS.map(|power| density(10_f64.powf(0.5 * f64::from(power)))).fold(f64::MIN, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn densities_are_those_of_the_covariance() {
        let x = Matrix::from_fn(12, 2, |i, j| ((i * (3 + 4 * j)) % 12) as f64);
        let evidence = Evidence::new((&x).into()).unwrap();
        let y: Vec<f64> = (0..12).map(|i| (x[(i, 0)] / 3.0).sin() + 0.1 * x[(i, 1)]).collect();
        let found = evidence.log_density(&y);
        // The values in other units have a density that is lower by the logarithm of the unit.
        let other: Vec<f64> = y.iter().map(|y| 5.0 - 7.0 * y).collect();
        assert!((evidence.log_density(&other) - (found - 7.0_f64.ln())).abs() < 1e-12);
        // Values that the columns explain are more likely than the same in another order.
        let mut shuffled = y.clone();
        shuffled.rotate_left(5);
        assert!(found > evidence.log_density(&shuffled) + 0.1);
        let total: f64 = evidence.values.iter().sum();
        assert!((total - 12.0).abs() < 1e-9, "{total}");
    }
}
