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
use crate::parameters::Parameters;
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
/// How many times the affordable features a search may have if it usually starts with more of them.
const FURTHER: usize = 2;
/// The share of the limit from which a result is reported as bound by it.
const NEAR: f64 = 0.8;
/// How much longer than usual length-scales may start, in logarithms.
const LONGER: [f64; 6] = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5];

/// A sample of the rows, and the features that a search may have on all of them.
#[derive(Clone)]
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

    /// How much longer than usual length-scales have to start, in logarithms, so that a search can make
    /// some of them shorter: one that starts at the limit has nowhere to go. The limit rises to the features
    /// of the usual start, but not far.
    pub(super) fn room(&mut self, parameters: &Parameters, scaler: &Scaler) -> f64 {
        let usual = self.features(&parameters.prior_at(&parameters.start()), scaler);
        self.affordable = usual.unwrap_or(0).clamp(self.affordable, FURTHER * self.affordable);
        let start = |longer| parameters.clone().starting_longer(longer).start();
        let has_room = |longer: &f64| !self.is_near(&parameters.prior_at(&start(*longer)), scaler);
        LONGER.into_iter().find(has_room).unwrap_or(0.0)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::fit::start;
    use crate::fit::training::Training;
    use statrs::distribution::{ContinuousCDF, Normal};

    /// The features at the usual start and at the one with room, of those that are allowed; columns are
    /// normal, or the exponentials of normal ones.
    fn features(spread: Option<f64>) -> [usize; 3] {
        let rows = 2_100;
        let value = |i: usize, j: usize| {
            let share = (((i + 1) * [1, 577, 1_013, 1_409][j]) % rows) as f64 + 0.5;
            let normal = Normal::standard().inverse_cdf(share / rows as f64);
            spread.map_or(normal, |spread| (spread * normal).exp())
        };
        let x = Matrix::from_fn(rows, 4, value);
        let y: Vec<f64> = (0..rows).map(|i| x[(i, 0)]).collect();
        let data = Dataset::new(&x, &y).unwrap();
        let config = Config::preset("dpa-ard").unwrap();
        let training = Training::new(&config, &data).unwrap();
        let scaler = &training.scalers[0];
        // As in a table of a million rows, where few features are affordable.
        let mut roughness = Roughness::new(&config, 1_000_000, || Ok(x.clone())).unwrap().unwrap();
        let usual = start::parameters(&config, None, &data).unwrap();
        let longer = roughness.room(&usual, scaler);
        let with_room = usual.clone().starting_longer(longer);
        let limit = roughness.limit(&usual.prior_at(&usual.start()));
        let of = |p: &Parameters| roughness.features(&p.prior_at(&p.start()), scaler).unwrap();
        [of(&usual), of(&with_room), limit]
    }

    #[test]
    fn a_search_starts_with_room_for_rougher_functions() {
        let [usual, with_room, limit] = features(Some(2.5));
        assert!(usual == limit && limit > EACH * 20, "{usual} of {limit}");
        assert!(with_room as f64 <= NEAR * limit as f64, "{with_room} of {limit}");
        // Where functions are smooth enough, the start is the usual one.
        let [usual, with_room, limit] = features(None);
        assert!(usual == with_room && usual < limit, "{usual}, {with_room} of {limit}");
    }
}
