//! The automatic choice of the engine: at each θ the cheaper of dense and weight space, which give
//! the same result. A kernel without a form in weight space goes to neighbours if the rows are many.

use super::dense::{self, Dense};
use super::neighbors::{Neighbors, NeighborsOptions};
use super::weight::{self, FeatureMap, Use, Weight};
use super::{Conditioned, Engine, Evaluation, Observations, Prior, Resumable};
use crate::error::{Error, Result, TermError};
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
/// Most rows of a fit for which the dense engine takes a kernel that has no form in weight space:
/// with more, a search by dense algebra takes minutes, and what it gains over neighbours is small.
const DENSE_COMFORT: usize = 4_000;

/// What the choice depends on, beside the rows of the engine.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// All rows of the fit, so that every stage of a search works with the same engine.
    pub(crate) all_rows: usize,
    /// Settings of the neighbors engine.
    pub(crate) neighbors: NeighborsOptions,
    /// The seed of the fit.
    pub(crate) seed: u64,
}

/// The engines over the same rows; the dense one is created on first use.
#[derive(Debug)]
pub(crate) struct Auto<'a> {
    weight: Weight<'a>,
    dense: Option<Dense>,
    /// If there are enough rows for it.
    neighbors: Option<Neighbors<'a>>,
    /// Features at the first evaluation in weight space.
    features: Option<usize>,
}

impl<'a> Auto<'a> {
    /// Takes standardised rows.
    pub(crate) fn new(
        rows: StandardRows<'a>,
        observations: impl Into<Cow<'a, Observations>>,
        choice: Choice,
    ) -> Self {
        let observations = observations.into();
        let Choice { all_rows, neighbors, seed } = choice;
        let neighbors = (all_rows > DENSE_COMFORT)
            .then(|| Neighbors::new(rows.clone(), observations.clone(), neighbors, seed));
        Self { weight: Weight::new(rows, observations), dense: None, neighbors, features: None }
    }

    /// The neighbors engine, if it is the one for this prior.
    fn neighbors(&mut self, prior: &Prior) -> Option<&mut Neighbors<'a>> {
        has_no_form(prior).then_some(self.neighbors.as_mut()).flatten()
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
            Ok(_) | Err(Error::BasisTooLarge | Error::Terms(TermError::NoProductForm { .. })) => {
                Ok(None)
            }
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

/// Whether a prior has no form in weight space.
fn has_no_form(prior: &Prior) -> bool {
    prior.kernel.check_products(weight::NAME).is_err()
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
        match &self.neighbors {
            Some(neighbors) if has_no_form(prior) => neighbors.check(prior),
            _ => self.map(prior, Use::Prediction).map(drop),
        }
    }

    fn settle(&mut self, prior: &Prior) -> Result<bool> {
        self.neighbors(prior).map_or(Ok(false), |neighbors| neighbors.settle(prior))
    }

    fn work(&self, prior: &Prior) -> Option<f64> {
        if let Some(neighbors) = self.neighbors.as_ref().filter(|_| has_no_form(prior)) {
            return neighbors.work(prior);
        }
        let rows = self.weight.rows.len();
        match self.map(prior, Use::Likelihood).ok()? {
            Some(map) => Some(weight::work(rows, map.len())),
            None => Some(dense::work(rows, prior.kernel.views.rows())),
        }
    }

    fn evaluate(&mut self, prior: &Prior) -> Result<Evaluation> {
        if let Some(neighbors) = self.neighbors(prior) {
            return neighbors.evaluate(prior);
        }
        match self.map(prior, Use::Likelihood)? {
            Some(map) => {
                self.features.get_or_insert(map.len());
                self.weight.evaluate_with(&map, prior)
            }
            None => self.dense()?.evaluate(prior),
        }
    }

    fn posteriors(&mut self, prior: &Prior) -> Result<Vec<Conditioned>> {
        if let Some(neighbors) = self.neighbors(prior) {
            return neighbors.posteriors(prior);
        }
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
        let rows = StandardRows::new((&x).into(), &scaler);
        let choice = Choice { all_rows: 400, neighbors: NeighborsOptions::default(), seed: 0 };
        let auto = Auto::new(rows, Observations::from(y), choice);
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
