//! Updates: the statistics of rows are added or subtracted at the same θ, at a cost
//! that does not depend on the rows seen before.
//!
//! A row outside the basis of some projection has information that its features cannot express.
//! Such rows are separated, and the basis is extended for them by features that are 0 at earlier
//! rows, to the accuracy of the basis there, so that the old statistics stay valid.

use super::features::FeatureMap;
use super::posterior::WeightPosterior;
use super::{NATS, Weight, in_streams};
use crate::basis::Occupancy;
use crate::engine::{
    Change, Conditioned, Mergeable, Posterior, Prior, RowChanges, Rows, Statistics, Summary, Tensor,
};
use crate::error::{Error, Result, UpdateError};
use crate::limits::MAX_FEATURES;
use crate::linalg::Threads;
use crate::scale::StandardRows;
use std::sync::Arc;

/// A row is expressed by its features if what they leave out of its variance is less than this
/// share of the noise. The rows that a basis was made for always are: see `Use::tolerance`.
const NEGLIGIBLE: f64 = 2.0 * NATS;
/// The share of that which an extension leaves out.
const FINER: f64 = 0.01;
/// Features are not exact enough to tell a smaller share of a sub-kernel's variance from 0.
const RESOLUTION: f64 = 1e-8;

/// The share of a sub-kernel's variance that features may leave out at a row which they express.
fn negligible_share(prior: &Prior) -> f64 {
    (NEGLIGIBLE * prior.noise_variance / prior.kernel.stationary_variance()).max(RESOLUTION)
}

/// The statistics of some rows under these features.
fn statistics_of(map: &FeatureMap, prior: &Prior, rows: &Rows<'_>) -> Result<Statistics> {
    Weight::new(rows.x.clone(), rows.observations).statistics(map, prior)
}

impl RowChanges for WeightPosterior {
    fn change(&self, rows: &Rows<'_>, change: Change) -> Result<Conditioned> {
        self.changed(None, rows, change)
    }
}

impl Mergeable for WeightPosterior {
    fn features(&self) -> usize {
        self.map.len()
    }

    fn frame(&self) -> Vec<Tensor> {
        self.map.tensors()
    }

    fn summarise(&self, rows: &Rows<'_>) -> Result<Summary> {
        let rest = self.strangers(rows.x)?;
        let statistics = if rest.is_empty() {
            statistics_of(&self.map, self.prior(), rows)?
        } else {
            let known: Vec<usize> =
                (0..rows.x.len()).filter(|i| rest.binary_search(i).is_err()).collect();
            let x = rows.x.gather(&known)?;
            let (x, observations) = (&rows.x.same_scale(&x), &rows.observations.gather(&known));
            statistics_of(&self.map, self.prior(), &Rows { x, observations })?
        };
        Ok(Summary { statistics, rest })
    }

    fn merge(
        &self,
        statistics: &Statistics,
        rest: &Rows<'_>,
        change: Change,
    ) -> Result<Conditioned> {
        self.changed(Some(statistics), rest, change)
    }
}

impl WeightPosterior {
    /// The posterior after statistics under its features and some more rows have come or gone.
    fn changed(
        &self,
        statistics: Option<&Statistics>,
        rows: &Rows<'_>,
        change: Change,
    ) -> Result<Conditioned> {
        let mut sums = self.statistics().clone();
        match (statistics.filter(|s| s.rows > 0), change) {
            (Some(other), _) => sums.change(other, change)?,
            // Rows that replace all others.
            (None, Change::Replace) => sums = Statistics::new(self.map.len(), 1),
            (None, _) => {}
        }
        let mut map = Arc::clone(&self.map);
        if !rows.x.is_empty() {
            // Removed rows were expressed by the features when they were added.
            let change = if change == Change::Remove { change } else { Change::Add };
            if change == Change::Add {
                (map, sums) = self.extended(rows.x, &sums)?;
            }
            sums.change(&statistics_of(&map, self.prior(), rows)?, change)?;
        }
        if sums.rows == 0 {
            return Err(UpdateError::NoRowsLeft.into());
        }
        let changed = Self::one(map, &sums, self.shared_prior())?;
        // What extensions leave out of earlier rows is in these sums too.
        let before = self.statistics().targets.iter().map(|target| target.square).sum::<f64>();
        if change == Change::Remove && changed.solution.misfit < -NEGLIGIBLE * before {
            return Err(Error::NotTrainingRows { row: None });
        }
        Ok(changed.conditioned())
    }

    /// The rows that the features do not express, in order.
    fn strangers(&self, rows: &StandardRows<'_>) -> Result<Vec<usize>> {
        let most = negligible_share(self.prior());
        let beyond = |phi: &[f64]| {
            let mut blocks = self.map.blocks.iter();
            blocks.any(|block| self.map.left_out_share(block, &phi[block.features.clone()]) > most)
        };
        let parts = in_streams(rows.len(), 256, 8, Vec::new, |found: &mut Vec<usize>, range| {
            let phi = self.features_of(&rows.block(range.clone())?);
            let rows = range.zip(phi.chunks(self.map.len().max(1)));
            found.extend(rows.filter(|(_, phi)| beyond(phi)).map(|(i, _)| i));
            Ok(())
        })?;
        let mut all: Vec<usize> = parts.into_iter().flatten().collect();
        all.sort_unstable();
        Ok(all)
    }

    /// Features that express these rows too, and statistics under them.
    fn extended(
        &self,
        rows: &StandardRows<'_>,
        statistics: &Statistics,
    ) -> Result<(Arc<FeatureMap>, Statistics)> {
        let x = rows.block(0..rows.len())?;
        let z = self.prior().kernel.project(&x, Threads::One);
        let phi = self.features_of(&x);
        let p = self.map.len();
        let mut news: Vec<Option<(Occupancy, f64)>> = vec![None; self.map.views.len()];
        let most = negligible_share(self.prior());
        for block in &self.map.blocks {
            let own = |i: usize| &phi[i * p..][block.features.clone()];
            let beyond: Vec<usize> =
                (0..x.rows()).filter(|i| self.map.left_out_share(block, own(*i)) > most).collect();
            if beyond.is_empty() {
                continue;
            }
            if block.views.len() > 1 {
                return Err(Error::RefitDue);
            }
            let view = block.views.start;
            let points: Vec<f64> = beyond.iter().map(|i| z[view * x.rows() + i]).collect();
            let mut occupancy = Occupancy::new(self.map.views[view].spacing());
            occupancy.add(&points).map_err(|_| Error::RefitDue)?;
            news[view] = Some((occupancy, FINER * most / points.len() as f64));
        }
        let (map, places) = self.map.extended(&news)?;
        if map.len() > MAX_FEATURES {
            return Err(Error::RefitDue);
        }
        let statistics = statistics.widen(&places, map.len());
        Ok((Arc::new(map), statistics))
    }
}

impl FeatureMap {
    /// The map with more features in some views: for each an occupancy of new points, and the
    /// share of the kernel's variance that may be left out there. Also where the features of this
    /// map are among those of the new one.
    fn extended(&self, news: &[Option<(Occupancy, f64)>]) -> Result<(FeatureMap, Vec<usize>)> {
        let mut map = self.clone();
        for (basis, new) in map.views.iter_mut().zip(news) {
            if let Some((occupancy, tolerance)) = new {
                *basis = basis.extended(occupancy, *tolerance).map_err(|_| Error::RefitDue)?;
            }
        }
        let mut places = Vec::with_capacity(self.len());
        let mut next = 0;
        for (block, old) in map.blocks.iter_mut().zip(&self.blocks) {
            let more: usize = block
                .views
                .clone()
                .map(|view| map.views[view].len() - self.views[view].len())
                .sum();
            places.extend(next..next + old.features.len());
            block.features = next..next + old.features.len() + more;
            next = block.features.end;
        }
        Ok((map, places))
    }
}
