//! Seeded splits of rows: folds, and a held-out set.

use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use raysum::Labels;
use raysum::MatrixRef;
use raysum_table::TrainingTable;

/// The rows of one fold. All others are training rows; their indices are not stored, since they
/// would take the most memory on tables of millions of rows.
#[derive(Debug)]
pub struct Split {
    /// In the order of the table.
    pub test: Vec<usize>,
}

impl Split {
    fn new(test: &[usize]) -> Self {
        let mut test = test.to_vec();
        test.sort_unstable();
        Self { test }
    }

    /// The training rows, X without a copy.
    pub(crate) fn train<'a>(
        &'a self,
        table: &'a TrainingTable,
    ) -> (MatrixRef<'a>, Labels<Vec<f64>>) {
        let x = MatrixRef::from(table).without(&self.test);
        (x, table.labels.map(|values| self.train_of(values)))
    }

    /// The test rows, X without a copy.
    pub(crate) fn test<'a>(
        &'a self,
        table: &'a TrainingTable,
    ) -> (MatrixRef<'a>, Labels<Vec<f64>>) {
        let x = MatrixRef::from(table).choose(&self.test);
        (x, table.labels.map(|values| self.test_of(values)))
    }

    /// The values of the test rows.
    pub fn test_of(&self, values: &[f64]) -> Vec<f64> {
        self.test.iter().map(|&i| values[i]).collect()
    }

    /// The values of the other rows.
    pub fn train_of(&self, values: &[f64]) -> Vec<f64> {
        let mut train = Vec::with_capacity(values.len() - self.test.len());
        let mut start = 0;
        for &row in &self.test {
            train.extend_from_slice(&values[start..row]);
            start = row + 1;
        }
        train.extend_from_slice(&values[start..]);
        train
    }
}

/// Whether this number of folds leaves rows to fit.
pub fn are_enough(rows: usize, folds: usize) -> bool {
    rows >= folds && rows - rows.div_ceil(folds) >= 2
}

/// `folds` splits of nearly equal size; every row is in exactly one test set.
pub fn folds(rows: usize, folds: usize, seed: u64, repeat: u32) -> Vec<Split> {
    let order = permutation(rows, seed, repeat);
    (0..folds).map(|k| Split::new(&order[k * rows / folds..(k + 1) * rows / folds])).collect()
}

/// A held-out set of about this share, if there are enough rows for both sets.
pub(crate) fn holdout(rows: usize, share: f64, seed: u64) -> Option<Split> {
    let test = (rows as f64 * share).round() as usize;
    let test = if share > 0.0 && rows >= 10 { test.max(1) } else { test };
    if test == 0 || rows - test < 2 {
        return None;
    }
    // Repeat numbers count up from 0; the holdout takes the last one.
    Some(Split::new(&permutation(rows, seed, u32::MAX)[..test]))
}

/// The random numbers of one repeat. The number of the stream keeps them apart from those that a
/// fit draws from the same seed, and stays as it is: other numbers would mean other folds.
fn stream(seed: u64, repeat: u32) -> ChaCha8Rng {
    const SPLITS: u64 = 4;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(SPLITS << 32 | u64::from(repeat));
    rng
}

/// Fisher–Yates, written out so that the order does not depend on the version of a library.
fn permutation(rows: usize, seed: u64, repeat: u32) -> Vec<usize> {
    use rand::Rng;
    let mut rng = stream(seed, repeat);
    let mut order: Vec<usize> = (0..rows).collect();
    for i in (1..rows).rev() {
        order.swap(i, (rng.next_u64() % (i as u64 + 1)) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_cover_every_row_once() {
        for (rows, k) in [(23, 10), (10, 10), (100, 3)] {
            let splits = folds(rows, k, 1, 0);
            let mut tested: Vec<usize> = splits.iter().flat_map(|s| s.test.clone()).collect();
            tested.sort_unstable();
            assert_eq!(tested, (0..rows).collect::<Vec<_>>());
            let values: Vec<f64> = (0..rows).map(|i| i as f64).collect();
            for s in &splits {
                let (train, test) = (s.train_of(&values), s.test_of(&values));
                let others = values.iter().filter(|v| !test.contains(v)).copied();
                assert_eq!(train, others.collect::<Vec<_>>());
                assert!(s.test.len().abs_diff(rows / k) <= 1);
            }
        }
    }

    #[test]
    fn seeds_and_repeats_differ_and_repeat_themselves() {
        assert_eq!(permutation(50, 1, 0), permutation(50, 1, 0));
        assert_ne!(permutation(50, 1, 0), permutation(50, 1, 1));
        assert_ne!(permutation(50, 1, 0), permutation(50, 2, 0));
    }

    #[test]
    fn a_holdout_leaves_rows_to_fit() {
        assert_eq!(holdout(100, 0.1, 0).unwrap().test.len(), 10);
        assert_eq!(holdout(12, 0.01, 0).unwrap().test.len(), 1);
        assert!(holdout(3, 0.1, 0).is_none());
        assert!(holdout(2, 0.9, 0).is_none());
        assert!(holdout(100, 0.0, 0).is_none());
    }
}
