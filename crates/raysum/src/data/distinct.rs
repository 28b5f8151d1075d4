//! Equal rows as one row that counts as often, in an order of their own.
//!
//! The likelihood is the same, of a smaller matrix. And a search amplifies rounding: on a dozen rows
//! that say little, sums in another order end in predictions that differ in the fifth digit. In this
//! form weights, repetitions and the order of both lead it through the same numbers.

use super::{Dataset, Matrix};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};

/// Of more rows than this it is not worth its while: rounding matters less, and sorting more.
const MOST: usize = 10_000;

/// The distinct rows of a data set, and how often each counts.
pub(crate) struct Distinct {
    x: Matrix,
    targets: Vec<Vec<f64>>,
    weights: Vec<f64>,
    noise_std: Option<Vec<f64>>,
}

impl Distinct {
    /// `None` if every row counts once and no two are equal, or if there are many.
    pub(crate) fn of(data: &Dataset<'_>) -> Option<Self> {
        if data.rows() > MOST || (data.weights().is_none() && all_differ(data)) {
            return None;
        }
        let mut order: Vec<usize> = (0..data.rows()).collect();
        let x = data.x().gather(&order);
        order.sort_by(|a, b| compare(&x, data, *a, *b));
        let groups = order.chunk_by(|a, b| compare(&x, data, *a, *b) == Ordering::Equal);
        let (mut rows, mut weights) = (Vec::new(), Vec::new());
        for group in groups {
            rows.push(group[0]);
            weights.push(group.iter().map(|i| data.weights().map_or(1.0, |w| w[*i])).sum());
        }
        if rows.len() == data.rows() && data.weights().is_none() {
            return None;
        }
        let pick = |values: &[f64]| rows.iter().map(|i| values[*i]).collect();
        Some(Self {
            x: x.gather(&rows),
            targets: data.targets().iter().map(|y| pick(y)).collect(),
            weights,
            noise_std: data.noise_std().map(pick),
        })
    }

    /// X alone, for an owner.
    pub(crate) fn into_x(self) -> Matrix {
        self.x
    }

    /// The rows as a data set.
    pub(crate) fn dataset(&self) -> Dataset<'_> {
        Dataset {
            x: (&self.x).into(),
            targets: self.targets.iter().map(Vec::as_slice).collect(),
            weights: Some(&self.weights),
            noise_std: self.noise_std.as_deref(),
        }
    }
}

/// Whether no two rows can be equal: what most tables are, found without a copy of them.
fn all_differ(data: &Dataset<'_>) -> bool {
    let mut seen = HashSet::with_capacity(data.rows());
    data.x().in_blocks(|_, values| {
        for row in values.chunks(data.columns()) {
            let mut hash = DefaultHasher::new();
            // Zeros of both signs are equal.
            row.iter().for_each(|value| hash.write_u64((value + 0.0).to_bits()));
            seen.insert(hash.finish());
        }
    });
    seen.len() == data.rows()
}

/// By inputs, then by what was observed there; all of it is finite.
fn compare(x: &Matrix, data: &Dataset<'_>, a: usize, b: usize) -> Ordering {
    let order = |u: f64, v: f64| u.partial_cmp(&v).unwrap_or(Ordering::Equal);
    let inputs = x.row(a).iter().zip(x.row(b)).map(|(u, v)| order(*u, *v));
    let observed = data.targets().iter().copied().chain(data.noise_std());
    let observed = observed.map(|values| order(values[a], values[b]));
    inputs.chain(observed).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_and_weights_are_one_thing() {
        let x = Matrix::from_row_major(5, 1, vec![2.0, 1.0, 2.0, 1.0, 2.0]).unwrap();
        let repeated = Dataset::new(&x, &[0.0, 5.0, 0.0, 6.0, 0.0]).unwrap();
        let repeated = Distinct::of(&repeated).unwrap();
        let x = Matrix::from_row_major(3, 1, vec![1.0, 2.0, 1.0]).unwrap();
        let weighted = Dataset::new(&x, &[6.0, 0.0, 5.0]).unwrap();
        assert!(Distinct::of(&weighted).is_none());
        let weighted = Distinct::of(&weighted.weighted(&[1.0, 3.0, 1.0]).unwrap()).unwrap();
        assert_eq!(repeated.x.as_slice(), [1.0, 1.0, 2.0]);
        assert_eq!(repeated.targets, [[5.0, 6.0, 0.0]]);
        assert_eq!(repeated.weights, [1.0, 1.0, 3.0]);
        let whole = |d: &Distinct| (d.x.clone(), d.targets.clone(), d.weights.clone());
        assert_eq!(whole(&repeated), whole(&weighted));
    }

    #[test]
    fn known_noise_tells_rows_apart() {
        let x = Matrix::zeros(3, 1);
        let data = Dataset::new(&x, &[1.0; 3]).unwrap();
        let data = data.with_noise_std(&[0.2, 0.1, 0.2]).unwrap();
        let distinct = Distinct::of(&data).unwrap();
        assert_eq!(distinct.noise_std.unwrap(), [0.1, 0.2]);
        assert_eq!(distinct.weights, [1.0, 2.0]);
    }
}
