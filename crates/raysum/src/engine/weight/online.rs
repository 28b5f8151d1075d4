//! Rows that come later, or go: their statistics are added or taken out at the same θ, at a cost
//! that does not depend on the rows seen before.
//!
//! A row that lies where the basis of some view does not reach carries news that its features
//! cannot express. Such rows are told apart, and the basis is extended for them by features that
//! are 0 at the rows seen before, to the accuracy of the basis there; so the old statistics stand.

use super::features::FeatureMap;
use super::posterior::{WeightPosterior, left_out_share};
use super::statistics::Statistics;
use super::{NATS, Weight, in_streams};
use crate::basis::Occupancy;
use crate::engine::{Change, Conditioned, Observations, Prior, Summary};
use crate::error::{Error, Result};
use crate::linalg::Threads;
use crate::scale::StandardRows;

/// A row is expressed by its features if what they leave out of its variance is less than this
/// share of the noise. The rows that a basis was made for always are: see `Use::tolerance`.
const NEGLIGIBLE: f64 = 2.0 * NATS;
/// The share of that which an extension leaves out.
const FINER: f64 = 0.01;
/// Features are not exact enough to tell a smaller share of a sub-kernel's variance from 0.
const RESOLUTION: f64 = 1e-8;
/// Features beyond which a basis is not extended.
const MOST_FEATURES: usize = 20_000;

/// The share of a sub-kernel's variance that features may leave out at a row which they express.
fn negligible_share(prior: &Prior) -> f64 {
    (NEGLIGIBLE * prior.noise_variance / prior.kernel.total_variance()).max(RESOLUTION)
}

impl WeightPosterior {
    /// The statistics of the rows that the features express, and the other rows.
    pub(super) fn summary(
        &self,
        prior: &Prior,
        rows: &StandardRows<'_>,
        observations: &Observations,
    ) -> Summary {
        let rest = self.strangers(prior, rows);
        let statistics = if rest.is_empty() {
            self.statistics_of(prior, rows.clone(), observations.clone())
        } else {
            let known: Vec<usize> =
                (0..rows.len()).filter(|i| rest.binary_search(i).is_err()).collect();
            let x = rows.gather(&known);
            self.statistics_of(prior, rows.same_scale(&x), observations.gather(&known))
        };
        Summary { statistics: Some(statistics), rest }
    }

    /// The posterior after statistics under its features and some more rows have come or gone.
    pub(super) fn changed(
        &self,
        prior: &Prior,
        statistics: Option<&Statistics>,
        rows: &StandardRows<'_>,
        observations: &Observations,
        change: Change,
    ) -> Result<Conditioned> {
        let counts = |s: &&Statistics| s.rows > 0;
        let empty = Statistics::new(self.map.len(), 1);
        let base = match (statistics.filter(counts), change) {
            (Some(other), change) => Some(self.with_change(prior, other, change)?),
            // Rows that come alone, in place of all others.
            (None, Change::Replace) => Some(self.with_statistics(prior, &empty)?),
            (None, _) => None,
        };
        let base = base.as_ref().unwrap_or(self);
        if rows.is_empty() {
            let statistics = base.statistics();
            if statistics.rows == 0 {
                return Err(Error::TooFewRows { rows: 0 });
            }
            return Ok(base.with_statistics(prior, statistics)?.conditioned());
        }
        // Rows that go were expressed by the features once.
        let extended =
            (change != Change::Remove).then(|| base.extended(prior, rows)).transpose()?;
        let base = extended.as_ref().unwrap_or(base);
        let other = base.statistics_of(prior, rows.clone(), observations.clone());
        let change = if change == Change::Remove { change } else { Change::Add };
        Ok(base.with_change(prior, &other, change)?.conditioned())
    }

    /// The rows that the features do not express, in order.
    fn strangers(&self, prior: &Prior, rows: &StandardRows<'_>) -> Vec<usize> {
        let most = negligible_share(prior);
        let beyond = |phi: &[f64]| {
            let mut blocks = self.map.blocks.iter();
            blocks.any(|block| left_out_share(&phi[block.features.clone()]) > most)
        };
        let parts = in_streams(rows.len(), 256, 8, Vec::new, |found: &mut Vec<usize>, range| {
            let phi = self.features(prior, &rows.block(range.clone()));
            let rows = range.zip(phi.chunks(self.map.len().max(1)));
            found.extend(rows.filter(|(_, phi)| beyond(phi)).map(|(i, _)| i));
        });
        let mut all: Vec<usize> = parts.into_iter().flatten().collect();
        all.sort_unstable();
        all
    }

    /// The statistics of some rows under this posterior's features.
    fn statistics_of(
        &self,
        prior: &Prior,
        rows: StandardRows<'_>,
        observations: Observations,
    ) -> Statistics {
        Weight::new(rows, observations).statistics(&self.map, prior)
    }

    /// The posterior after rows have come or gone whose statistics are these.
    fn with_change(&self, prior: &Prior, other: &Statistics, change: Change) -> Result<Self> {
        let mut statistics = self.statistics().clone();
        statistics.change(other, change)?;
        self.with_statistics(prior, &statistics)
    }

    /// The same posterior with features that express these rows too.
    fn extended(&self, prior: &Prior, rows: &StandardRows<'_>) -> Result<Self> {
        let x = rows.block(0..rows.len());
        let z = prior.kernel.project(&x, Threads::One);
        let phi = self.features(prior, &x);
        let p = self.map.len();
        let mut news: Vec<Option<(Occupancy, f64)>> = vec![None; self.map.views.len()];
        let most = negligible_share(prior);
        for block in &self.map.blocks {
            let own = |i: usize| &phi[i * p..][block.features.clone()];
            let beyond: Vec<usize> =
                (0..x.rows()).filter(|i| left_out_share(own(*i)) > most).collect();
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
        if map.len() > MOST_FEATURES {
            return Err(Error::RefitDue);
        }
        let statistics = self.statistics().widen(&places, map.len());
        let mut one = Self::all(map, &statistics, prior)?;
        one.pop().ok_or(Error::NoTargets)
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
