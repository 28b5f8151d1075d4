//! Rows that come later, or go. The model has its rows, and finds neighbours anew.

use super::NeighborsPosterior;
use super::posterior::NeighborsShared;
use crate::data::Matrix;
use crate::engine::{Change, Conditioned, Observations, RowChanges, Rows};
use crate::error::{Error, Result, UpdateError};

/// Rows are the same if they differ by less than this, in standardised units.
const SAME: f64 = 1e-9;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= SAME * b.abs().max(1.0)
}

impl NeighborsPosterior {
    /// Whether row i is one of some others.
    pub(super) fn is_row(&self, i: usize, (x, y): (&Matrix, &Observations), k: usize) -> bool {
        let labels = &self.shared.labels;
        let weight = labels.sample_weights.as_ref().map_or(1.0, |w| w[i]);
        let noise = labels.noise.as_ref().map_or(0.0, |s| s[i]);
        close(self.y[i], y.targets[0][k])
            && close(weight, y.weight(k))
            && close(noise, y.variance(k, 0.0))
            && self.shared.x.row(i).iter().zip(x.row(k)).all(|(a, b)| close(*a, *b))
    }

    /// The numbers of the rows but for others, each of which must be among them.
    fn without(&self, x: &Matrix, y: &Observations) -> Result<Vec<usize>> {
        // Rows by their targets: those that could be the same are close together.
        let mut by_target: Vec<usize> = (0..self.rows()).collect();
        by_target.sort_by(|a, b| self.y[*a].total_cmp(&self.y[*b]).then(a.cmp(b)));
        let mut gone = vec![false; self.rows()];
        for k in 0..x.rows() {
            let target = y.targets[0][k];
            let margin = SAME * target.abs().max(1.0);
            let first = by_target.partition_point(|i| self.y[*i] < target - margin);
            let near = by_target[first..].iter().take_while(|i| self.y[**i] <= target + margin);
            let mut same = near.filter(|i| !gone[**i] && self.is_row(**i, (x, y), k));
            let found = *same.next().ok_or(Error::NotTrainingRows { row: Some(k) })?;
            gone[found] = true;
        }
        Ok((0..self.rows()).filter(|i| !gone[*i]).collect())
    }
}

impl RowChanges for NeighborsPosterior {
    fn change(&self, rows: &Rows<'_>, change: Change) -> Result<Conditioned> {
        let others = rows.x.block(0..rows.x.len())?;
        let own = self.observations();
        let (x, observations) = match change {
            Change::Add => {
                let all = Observations::joined([&own, rows.observations]);
                (self.shared.x.clone().stacked(&others), all)
            }
            Change::Remove => {
                let left = self.without(&others, rows.observations)?;
                (self.shared.x.gather(&left), own.gather(&left))
            }
            Change::Replace => (others, rows.observations.clone()),
        };
        if x.rows() == 0 {
            return Err(UpdateError::NoRowsLeft.into());
        }
        let prior = self.shared_prior();
        let (options, seed) = (self.shared.options.clone(), self.shared.seed);
        let shared = NeighborsShared::new(x, &observations, prior, options, seed);
        shared.conditioned(prior, &observations)?.pop().ok_or(Error::NoTargets)
    }
}
