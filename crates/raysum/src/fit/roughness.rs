//! How rough the functions of a search may become: as many features as are affordable on all rows.
//!
//! Columns with heavy tails would lead a search to length-scales that suit the bulk and make every
//! outlier a feature of its own: thousands of features, at a cost that buys nothing. The rows of an early
//! stage do not show it, so the features are counted on a sample of all rows.

use crate::config::{Config, EngineChoice};
use crate::data::Matrix;
use crate::engine::weight::Weight;
use crate::engine::{Observations, Prior};
use crate::error::{Error, Result};
use crate::scale::{Scaler, StandardRows};

/// Up to this many rows the dense engine is cheap, whatever the features.
const FEW_ROWS: usize = 2_000;
/// Rows that features are counted on.
pub(super) const SAMPLE: usize = 20_000;
/// Multiplications that an evaluation may take, about: less than half a second on two cores.
const AFFORDABLE: f64 = 7e9;
/// Features that are allowed in any case, and for each view: a smooth function has fewer.
const LEAST: usize = 400;
const EACH: usize = 25;
/// The share of the limit from which a result is reported as bound by it.
const NEAR: f64 = 0.8;

/// A sample of the rows, and the features that a search may have on all of them.
pub(super) struct Roughness {
    x: Matrix,
    affordable: usize,
}

impl Roughness {
    /// The bound for a search over `rows` rows, of which `sample` gives some; `None` where none is
    /// needed.
    pub(super) fn new(
        config: &Config,
        rows: usize,
        sample: impl FnOnce() -> Result<Matrix>,
    ) -> Result<Option<Self>> {
        let by_features = matches!(config.engine, EngineChoice::Auto | EngineChoice::Weight);
        if rows <= FEW_ROWS || !by_features {
            return Ok(None);
        }
        let affordable = ((AFFORDABLE / rows as f64).sqrt() as usize).max(LEAST);
        Ok(Some(Self { x: sample()?, affordable }))
    }

    /// Allows as many features as a search starts with, whatever they cost.
    pub(super) fn allow(&mut self, start: &Prior, scaler: &Scaler) {
        self.affordable = self.affordable.max(self.features(start, scaler).unwrap_or(0));
    }

    fn limit(&self, prior: &Prior) -> usize {
        self.affordable.max(EACH * prior.kernel.views.rows())
    }

    /// The features at this prior; `None` if it has no features.
    fn features(&self, prior: &Prior, scaler: &Scaler) -> Option<usize> {
        let rows = StandardRows::new((&self.x).into(), scaler);
        match Weight::new(rows, Observations::default()).estimated_features(prior) {
            Ok(features) => Some(features),
            Err(Error::BasisTooLarge) => Some(usize::MAX),
            Err(_) => None,
        }
    }

    /// Fails, so that a search steps back, if functions are rougher than is affordable.
    pub(super) fn check(&self, prior: &Prior, scaler: &Scaler) -> Result<()> {
        match self.features(prior, scaler) {
            Some(features) if features > self.limit(prior) => Err(Error::BasisTooLarge),
            _ => Ok(()),
        }
    }

    /// Whether functions are about as rough as they may be.
    pub(super) fn is_near(&self, prior: &Prior, scaler: &Scaler) -> bool {
        let most = NEAR * self.limit(prior) as f64;
        self.features(prior, scaler).is_some_and(|features| features as f64 > most)
    }
}
