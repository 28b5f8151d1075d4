//! Columns in bins: neighbouring values that trees do not tell apart.

use crate::data::Matrix;

/// Bins that a column would have if all were full. A bin and the next one have more rows than a full one, so
/// there are at most twice as many.
const FULL_BINS: usize = 1_000;

/// A column in bins, each full at most or of equal values.
pub(super) struct BinnedColumn {
    /// The smallest and the largest value of each bin, rising, and the number of its rows.
    pub(super) bins: Vec<Bin>,
    /// The bin of each row.
    pub(super) of_rows: Vec<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bin {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) rows: usize,
}

impl BinnedColumn {
    /// Column c of some rows.
    pub(super) fn new(x: &Matrix, c: usize) -> Self {
        let mut order: Vec<usize> = (0..x.rows()).collect();
        order.sort_unstable_by(|&a, &b| x[(a, c)].total_cmp(&x[(b, c)]));
        let full = x.rows().div_ceil(FULL_BINS);
        let mut bins: Vec<Bin> = Vec::new();
        let mut of_rows = vec![0; x.rows()];
        for ties in order.chunk_by(|&a, &b| x[(a, c)] == x[(b, c)]) {
            let value = x[(ties[0], c)];
            match bins.last_mut() {
                Some(bin) if bin.rows + ties.len() <= full => {
                    (bin.high, bin.rows) = (value, bin.rows + ties.len());
                }
                _ => bins.push(Bin { low: value, high: value, rows: ties.len() }),
            }
            ties.iter().for_each(|&row| of_rows[row] = (bins.len() - 1) as u16);
        }
        Self { bins, of_rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_every_row_between_their_ends() {
        // Ten values, all different ones, and one that half of the rows have.
        let columns: [fn(usize) -> f64; 3] = [
            |i| (i % 10) as f64,
            |i| (i as f64 * 0.7).sin(),
            |i| if i % 2 == 0 { 0.5 } else { (i as f64 * 0.7).sin() },
        ];
        for column in columns {
            let x = Matrix::from_fn(5_000, 1, |i, _| column(i));
            let BinnedColumn { bins, of_rows } = BinnedColumn::new(&x, 0);
            assert!(bins.len() <= 2 * FULL_BINS && bins.windows(2).all(|b| b[0].high < b[1].low));
            for (i, bin) in of_rows.iter().enumerate() {
                let Bin { low, high, .. } = bins[usize::from(*bin)];
                assert!((low..=high).contains(&column(i)));
            }
            assert_eq!(bins.iter().map(|bin| bin.rows).sum::<usize>(), 5_000);
            let wide = bins.iter().filter(|bin| bin.low < bin.high);
            assert!(wide.map(|bin| bin.rows).max().unwrap_or(0) <= 5);
        }
    }
}
