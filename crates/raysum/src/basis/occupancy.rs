//! The occupied cells of a lattice on the line, and the nodes of a basis.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Cells on either side of an occupied one that get a node too.
const MARGIN: usize = 3;
/// Data in fewer cells than this gets a finer lattice: few nodes side by side span a kernel less
/// well than many do.
const DOZEN: usize = 12;
/// How much finer at most.
const FINER: usize = 8;
/// Maximum length of a lattice in cells.
pub(super) const LONGEST: i64 = 100_000;

/// The largest whole number up to `x`: as a cast, because on an old instruction set, which is the
/// one compiled for, the library's floor is a call for every value.
#[inline(always)]
fn floor(x: f64) -> i64 {
    let cut = x as i64;
    cut - i64::from(x < cut as f64)
}

/// How many data points lie in each cell of a lattice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Occupancy {
    pub(super) spacing: f64,
    first: i64,
    counts: Vec<f64>,
}

impl Occupancy {
    /// An empty count on a lattice with this spacing.
    pub(crate) fn new(spacing: f64) -> Self {
        Self { spacing, first: 0, counts: Vec::new() }
    }

    /// Whether the points fill so few cells of so short a lattice that a finer one is worth it.
    fn is_narrow(&self) -> bool {
        self.counts.len() < 2 * DOZEN && self.occupied() < DOZEN
    }

    fn occupied(&self) -> usize {
        self.counts.iter().filter(|count| **count > 0.0).count()
    }

    /// The same points on a lattice of twice the spacing.
    fn coarsened(&self) -> Self {
        let first = self.first.div_euclid(2);
        let mut counts = vec![0.0; self.counts.len() / 2 + 1];
        for (cell, count) in (self.first..).zip(&self.counts) {
            counts[(cell.div_euclid(2) - first) as usize] += count;
        }
        Self { spacing: 2.0 * self.spacing, first, counts }
    }

    /// Adds points. Fails if they spread over too many cells.
    pub(crate) fn add(&mut self, points: &[f64]) -> Result<()> {
        let cell = |z: f64| (z / self.spacing).floor();
        let (low, high) =
            points.iter().fold((f64::MAX, f64::MIN), |(l, h), &z| (l.min(z), h.max(z)));
        if points.is_empty() {
            return Ok(());
        }
        self.cover(cell(low), cell(high))?;
        for &z in points {
            self.counts[(floor(z / self.spacing) - self.first) as usize] += 1.0;
        }
        Ok(())
    }

    /// Adds the counts of other points.
    pub(crate) fn merge(&mut self, other: &Occupancy) -> Result<()> {
        if other.counts.is_empty() {
            return Ok(());
        }
        let last = other.first + other.counts.len() as i64 - 1;
        self.cover(other.first as f64, last as f64)?;
        let offset = (other.first - self.first) as usize;
        for (count, more) in self.counts[offset..].iter_mut().zip(&other.counts) {
            *count += more;
        }
        Ok(())
    }

    /// Makes room for cells `low` to `high`.
    fn cover(&mut self, low: f64, high: f64) -> Result<()> {
        let (from, to) = if self.counts.is_empty() {
            (low, high)
        } else {
            let last = self.first + self.counts.len() as i64 - 1;
            (low.min(self.first as f64), high.max(last as f64))
        };
        if to - from >= LONGEST as f64 || from.abs() > 1e15 || to.abs() > 1e15 {
            return Err(Error::BasisTooLarge);
        }
        let (from, to) = (from as i64, to as i64);
        let before = if self.counts.is_empty() { 0 } else { (self.first - from) as usize };
        let mut counts = vec![0.0; (to - from + 1) as usize];
        counts[before..before + self.counts.len()].copy_from_slice(&self.counts);
        (self.first, self.counts) = (from, counts);
        Ok(())
    }

    /// About how many features a basis over these points will have: three for four nodes.
    pub(crate) fn estimate(&self) -> usize {
        self.nodes().len() * 3 / 4
    }

    /// Cells with a node (occupied, or near one that is) and their weights, which sum to 1.
    pub(super) fn nodes(&self) -> Vec<(i64, f64)> {
        let total: f64 = self.counts.iter().sum();
        let mut weights = vec![0.0_f64; self.counts.len() + 2 * MARGIN];
        for (i, &count) in self.counts.iter().enumerate().filter(|(_, c)| **c > 0.0) {
            weights[i + MARGIN] = count / total;
            // Nodes without data only stabilise the edges: a thousandth of a data point each.
            for near in &mut weights[i..=i + 2 * MARGIN] {
                *near = near.max(1e-3 / total);
            }
        }
        let sum: f64 = weights.iter().sum();
        let cells = weights.iter().enumerate().filter(|(_, w)| **w > 0.0);
        cells.map(|(i, w)| (self.first + i as i64 - MARGIN as i64, w / sum)).collect()
    }
}

/// Counts of points whose range is not known yet: on a lattice, and on a finer one for as long as
/// the points are close together.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Counts {
    coarse: Occupancy,
    fine: Option<Occupancy>,
}

impl Counts {
    /// Nothing yet, on a lattice with this spacing or a finer one.
    pub(crate) fn new(spacing: f64) -> Self {
        let fine = Some(Occupancy::new(spacing / FINER as f64));
        Self { coarse: Occupancy::new(spacing), fine }
    }

    /// Adds points. Fails if they spread over too many cells.
    pub(crate) fn add(&mut self, points: &[f64]) -> Result<()> {
        self.coarse.add(points)?;
        self.refine(|fine| fine.add(points))
    }

    /// Adds the counts of other points.
    pub(crate) fn merge(&mut self, other: &Counts) -> Result<()> {
        self.coarse.merge(&other.coarse)?;
        let Some(others) = &other.fine else {
            self.fine = None;
            return Ok(());
        };
        self.refine(|fine| fine.merge(others))
    }

    /// Continues to count on the finer lattice while that may be useful.
    fn refine(&mut self, add: impl FnOnce(&mut Occupancy) -> Result<()>) -> Result<()> {
        if !self.coarse.is_narrow() {
            self.fine = None;
        }
        self.fine.as_mut().map_or(Ok(()), add)
    }

    /// The counts on the widest lattice of which the points fill enough cells.
    pub(crate) fn settled(self) -> Occupancy {
        let Some(mut best) = self.fine.filter(|_| self.coarse.is_narrow()) else {
            return self.coarse;
        };
        loop {
            let wider = best.coarsened();
            if wider.occupied() < DOZEN {
                return best;
            }
            best = wider;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarser_cells_hold_the_same_points() {
        let points: Vec<f64> = (-70..40).map(|i| f64::from(i) * 0.13).collect();
        let (mut fine, mut coarse) = (Occupancy::new(0.2), Occupancy::new(0.4));
        fine.add(&points).unwrap();
        coarse.add(&points).unwrap();
        let found = fine.coarsened();
        assert_eq!((found.spacing, found.first), (coarse.spacing, coarse.first));
        assert_eq!(found.counts[..coarse.counts.len()], coarse.counts);
        assert!(found.counts[coarse.counts.len()..].iter().all(|count| *count == 0.0));
    }
}
