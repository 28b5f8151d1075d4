//! The automatic choice of the cheaper engine at each θ; both give the same result.

use super::dense::{self, Dense};
use super::weight::{self, FeatureMap, Use, Weight};
use super::{Conditioned, Engine, Evaluation, Observations, Prior, Resumable};
use crate::error::{Error, Result};
use crate::limits::{MAX_DENSE_ROWS, MAX_FEATURES};
use crate::scale::StandardRows;
use std::borrow::Cow;

/// Number of rows from which a search avoids the dense engine (a minute per evaluation at 15,000)
/// if the weight-space engine can express its start. Reject a trial point whose basis has more than
/// this many times the features of the first one, and more than this many in all. Noise-free data
/// would lead to ever more features, at a cost that no longer improves accuracy.
const DENSE_SLOW: usize = 5_000;
const FEATURES_GROW: usize = 4;
const FEATURES_FREE: usize = 2_000;

/// Both engines over the same rows; the dense one is created on first use.
#[derive(Debug)]
pub(crate) struct Auto<'a> {
    weight: Weight<'a>,
    dense: Option<Dense>,
    /// Features at the first evaluation in weight space.
    features: Option<usize>,
}

impl<'a> Auto<'a> {
    /// Takes standardised rows.
    pub(crate) fn new(
        rows: StandardRows<'a>,
        observations: impl Into<Cow<'a, Observations>>,
    ) -> Self {
        Self { weight: Weight::new(rows, observations), dense: None, features: None }
    }

    /// The feature map of the weight-space engine, if that engine is the cheaper one (or the only
    /// one).
    fn map(&self, prior: &Prior, wanted: Use) -> Result<Option<FeatureMap>> {
        let rows = self.weight.rows.len();
        let too_large = rows > MAX_DENSE_ROWS;
        let known = self.features.filter(|_| wanted == Use::Likelihood && rows > DENSE_SLOW);
        let limit =
            if too_large { MAX_FEATURES } else { break_even(rows, prior.kernel.views.rows()) };
        let limit = known.map_or(limit, |p| limit.min(FEATURES_FREE.max(FEATURES_GROW * p)));
        match self.weight.feature_map_below(prior, wanted, limit) {
            Ok(map) if map.len() <= limit => Ok(Some(map)),
            Ok(_) | Err(Error::BasisTooLarge) if too_large || known.is_some() => {
                Err(Error::BasisTooLarge)
            }
            Err(Error::NoProductForm { .. }) if too_large => Err(Error::TooManyRows { rows }),
            Ok(_) | Err(Error::BasisTooLarge | Error::NoProductForm { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn dense(&mut self) -> Result<&mut Dense> {
        let Weight { rows, observations } = &self.weight;
        let engine = match self.dense.take() {
            Some(engine) => engine,
            None => dense(rows, observations.clone().into_owned())?,
        };
        Ok(self.dense.insert(engine))
    }
}

/// The number of features at which both engines cost the same.
fn break_even(rows: usize, views: usize) -> usize {
    let dense = dense::work(rows, views);
    let (mut low, mut high) = (0, rows);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if weight::work(rows, middle) <= dense { low = middle } else { high = middle - 1 }
    }
    low
}

/// The dense engine for these rows, unless they are too many.
pub(crate) fn dense(rows: &StandardRows<'_>, observations: Observations) -> Result<Dense> {
    if rows.len() > MAX_DENSE_ROWS {
        return Err(Error::TooManyRows { rows: rows.len() });
    }
    Dense::require_memory(rows.len())?;
    Ok(Dense::new(rows.block(0..rows.len())?, observations))
}

impl Engine for Auto<'_> {
    fn check(&self, prior: &Prior) -> Result<()> {
        self.map(prior, Use::Prediction).map(drop)
    }

    fn work(&self, prior: &Prior) -> Option<f64> {
        let rows = self.weight.rows.len();
        match self.map(prior, Use::Likelihood).ok()? {
            Some(map) => Some(weight::work(rows, map.len())),
            None => Some(dense::work(rows, prior.kernel.views.rows())),
        }
    }

    fn evaluate(&mut self, prior: &Prior) -> Result<Evaluation> {
        match self.map(prior, Use::Likelihood)? {
            Some(map) => {
                self.features.get_or_insert(map.len());
                self.weight.evaluate_with(&map, prior)
            }
            None => self.dense()?.evaluate(prior),
        }
    }

    fn posteriors(&mut self, prior: &Prior) -> Result<Vec<Conditioned>> {
        match self.map(prior, Use::Prediction)? {
            Some(map) => self.weight.posteriors_with(map, prior),
            None => self.dense()?.posteriors(prior),
        }
    }
    fn resumable(&mut self) -> Option<&mut dyn Resumable> {
        Some(self)
    }
}

impl Resumable for Auto<'_> {
    fn memory(&self) -> Vec<f64> {
        self.features.iter().map(|features| *features as f64).collect()
    }

    fn remember(&mut self, memory: &[f64]) {
        self.features = memory.first().map(|features| *features as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::data::Matrix;
    use crate::parameters::Parameters;
    use crate::project::{Directions, Projections};
    use crate::scale::Scaler;

    #[test]
    fn the_work_is_that_of_the_cheaper_engine() {
        let x = Matrix::from_fn(400, 1, |i, _| (i as f64).sin());
        let y: Vec<f64> = (0..400).map(|i| f64::from(i).cos()).collect();
        let scaler = Scaler::fit((&x).into(), &y).unwrap();
        let auto = Auto::new(StandardRows::new((&x).into(), &scaler), Observations::from(y));
        let projections = Projections::choose(Directions::Axes, &[1], 1, 0).unwrap();
        let parameters = Parameters::new(&Config::default(), vec![projections]).unwrap();
        // A smooth function has few features; a rough one has more of them than there are rows.
        let [smooth, rough] = [0.0, -9.0].map(|longer| {
            let prior = parameters.prior_at(&parameters.start_at(longer, 0.1));
            auto.work(&prior).unwrap()
        });
        assert_eq!(rough, dense::work(400, 1));
        assert!(smooth < 0.1 * rough, "{smooth} and {rough}");
    }
}
