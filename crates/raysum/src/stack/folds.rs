//! The rows that are held out, and the rows that are fitted without them.

use crate::data::{Dataset, Labels};
use crate::error::{Result, StackError};
use crate::limits::MIN_FOLD_ROWS;
use crate::rng::random_key;
use crate::scale::Standard;

/// Number of blocks of held-out rows.
pub(super) const BLOCKS: usize = 5;
/// Up to this number of rows every row is held out once; with more, some of them are, all at once.
const FEW_ROWS: usize = 1_500;
/// The share of more rows that is held out, and its bounds.
const SHARE: usize = 8;
const HELD_OUT: (usize, usize) = (600, 4_000);

/// Held-out rows in blocks, and the fits that they are held out from.
pub(super) struct Folds {
    /// Their numbers; of equal rows the first one's alone.
    pub(super) blocks: Vec<Vec<usize>>,
    /// The sample weights of these, with those of the rows that equal them.
    pub(super) weights: Vec<Vec<f64>>,
    /// The rows of each fit, in order: one fit for each block, or one for all blocks.
    pub(super) fits: Vec<Vec<usize>>,
}

impl Folds {
    /// Splits rows at random, which the seed and their values alone decide: equal rows are held out
    /// together. Fails if there are too few distinct rows.
    pub(super) fn new(data: &Dataset<'_>, seed: u64) -> Result<Self> {
        let keys = keys(data, seed)?;
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_unstable_by_key(|&row| (keys[row], row));
        // The number of each row's group of equal rows, in a random order of groups.
        let (mut group, mut groups, mut firsts) = (vec![0; keys.len()], 0, Vec::new());
        for (place, &row) in order.iter().enumerate() {
            if place == 0 || keys[row] != keys[order[place - 1]] {
                groups += 1;
                firsts.push(row);
            }
            group[row] = groups - 1;
        }
        if groups < MIN_FOLD_ROWS {
            return Err(StackError::TooFewRows { rows: groups }.into());
        }
        let held = if groups <= FEW_ROWS {
            groups
        } else {
            (groups / SHARE).clamp(HELD_OUT.0, HELD_OUT.1)
        };
        let block = |of: usize| {
            let mut rows: Vec<usize> = (of..held).step_by(BLOCKS).map(|g| firsts[g]).collect();
            rows.sort_unstable();
            rows
        };
        let others = |out: &dyn Fn(usize) -> bool| -> Vec<usize> {
            (0..keys.len()).filter(|&row| !out(group[row])).collect()
        };
        let fits = if held == groups {
            (0..BLOCKS).map(|of| others(&|group| group % BLOCKS == of)).collect()
        } else {
            vec![others(&|group| group < held)]
        };
        let mut totals = vec![0.0; groups];
        for (row, group) in group.iter().enumerate() {
            totals[*group] += data.weights().map_or(1.0, |weights| weights[row]);
        }
        let blocks: Vec<Vec<usize>> = (0..BLOCKS).map(block).collect();
        let weight = |rows: &Vec<usize>| rows.iter().map(|&row| totals[group[row]]).collect();
        let weights = blocks.iter().map(weight).collect();
        Ok(Self { blocks, weights, fits })
    }

    /// The blocks that are held out from fit number `fit`.
    pub(super) fn blocks_of(&self, fit: usize) -> std::ops::Range<usize> {
        if self.fits.len() == 1 { 0..self.blocks.len() } else { fit..fit + 1 }
    }

    /// Whether every row is held out once, from a fit of its own.
    pub(super) fn are_all(&self) -> bool {
        self.fits.len() > 1
    }
}

/// A random number for each row, which equal rows share. A row with the weight of its copies has the
/// number that they have.
fn keys(data: &Dataset<'_>, seed: u64) -> Result<Vec<u64>> {
    let weights = data.weights();
    let scales = Standard::of_weighted(data.x(), weights)?;
    let targets: Vec<(Standard, &[f64])> =
        data.targets().iter().map(|y| (Standard::of_column(y, weights), *y)).collect();
    let mut keys = Vec::with_capacity(data.rows());
    data.x().in_blocks(|first, values| {
        for (i, row) in values.chunks(data.columns().max(1)).enumerate() {
            let x = row.iter().zip(&scales).map(|(v, scale)| scale.apply(*v));
            let y = targets.iter().map(|(scale, y)| scale.apply(y[first + i]));
            keys.push(random_key(seed, x.chain(y)));
        }
    })?;
    Ok(keys)
}

/// The labels of some rows.
pub(super) fn labels(data: &Dataset<'_>, rows: &[usize]) -> Labels<Vec<f64>> {
    data.labels().gather(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Matrix;

    #[test]
    fn every_row_is_held_out_once_and_equal_rows_together() {
        let x = Matrix::from_fn(90, 2, |i, j| ((i % 60) * (j + 1)) as f64);
        let y: Vec<f64> = (0..90).map(|i| f64::from(i % 60)).collect();
        let data = Dataset::new(&x, &y).unwrap();
        let folds = Folds::new(&data, 1).unwrap();
        assert_eq!((folds.blocks.len(), folds.fits.len()), (BLOCKS, BLOCKS));
        let mut held: Vec<usize> = folds.blocks.concat();
        held.sort_unstable();
        // Of two equal rows the first one is scored.
        assert_eq!(held, (0..60).collect::<Vec<_>>());
        for (block, fit) in folds.blocks.iter().zip(&folds.fits) {
            for row in block {
                assert!(!fit.contains(row) && !fit.contains(&(row + 60)), "{row}");
            }
        }
    }

    #[test]
    fn of_many_rows_some_are_held_out_from_one_fit() {
        let x = Matrix::from_fn(9_000, 1, |i, _| i as f64);
        let y: Vec<f64> = (0..9_000).map(f64::from).collect();
        let folds = Folds::new(&Dataset::new(&x, &y).unwrap(), 1).unwrap();
        let held: usize = folds.blocks.iter().map(Vec::len).sum();
        assert_eq!((folds.fits.len(), held, folds.fits[0].len()), (1, 1125, 9_000 - 1125));
        assert_eq!(folds.blocks_of(0), 0..BLOCKS);
    }

    #[test]
    fn the_order_and_the_units_of_rows_do_not_matter() {
        let x = Matrix::from_fn(50, 1, |i, _| (i as f64).sin());
        let y: Vec<f64> = (0..50).map(|i| f64::from(i).cos()).collect();
        let folds = Folds::new(&Dataset::new(&x, &y).unwrap(), 1).unwrap();
        let back: Vec<usize> = (0..50).rev().collect();
        let (turned, y2) = (x.gather(&back), back.iter().map(|&i| 1000.0 * y[i] + 3.0));
        let y2: Vec<f64> = y2.collect();
        let other = Folds::new(&Dataset::new(&turned, &y2).unwrap(), 1).unwrap();
        for (a, b) in folds.blocks.iter().zip(&other.blocks) {
            let mut b: Vec<usize> = b.iter().map(|&i| 49 - i).collect();
            b.sort_unstable();
            assert_eq!(*a, b);
        }
    }

    #[test]
    fn weights_count_as_copies() {
        let x = Matrix::from_fn(40, 2, |i, j| ((i * (3 + j)) % 17) as f64);
        let y: Vec<f64> = (0..40).map(|i| f64::from(i).sin()).collect();
        let counts: Vec<usize> = (0..40).map(|i| 1 + i % 3).collect();
        let weights: Vec<f64> = counts.iter().map(|n| *n as f64).collect();
        let labels = Labels {
            targets: vec![y.as_slice()],
            sample_weights: Some(weights.as_slice()),
            noise: None,
        };
        let weighted = Folds::new(&Dataset::labelled(&x, labels).unwrap(), 1).unwrap();
        let rows: Vec<usize> = (0..40).flat_map(|i| vec![i; counts[i]]).collect();
        let copied: Vec<f64> = rows.iter().map(|&i| y[i]).collect();
        let x = x.gather(&rows);
        let copied = Folds::new(&Dataset::new(&x, &copied).unwrap(), 1).unwrap();
        assert_eq!(weighted.weights, copied.weights);
        for (a, b) in weighted.blocks.iter().zip(&copied.blocks) {
            assert_eq!(*a, b.iter().map(|&row| rows[row]).collect::<Vec<_>>());
        }
    }

    #[test]
    fn few_distinct_rows_are_refused() {
        let x = Matrix::from_fn(30, 1, |i, _| (i % 5) as f64);
        let y: Vec<f64> = (0..30).map(|i| f64::from(i % 5)).collect();
        let e = Folds::new(&Dataset::new(&x, &y).unwrap(), 1).err().unwrap();
        assert!(matches!(e, crate::Error::Stack(StackError::TooFewRows { rows: 5 })), "{e}");
    }
}
