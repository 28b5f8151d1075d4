//! Fits to rows that are somewhere else, of which a sample is at hand.

use super::training::{Elsewhere, Training};
use super::{Fit, conditioning, start};
use crate::data::Dataset;
use crate::error::Result;
use crate::model::Model;

impl Fit<'_, '_> {
    /// Searches hyperparameters on a sample, evaluates them a few times on all rows, and conditions
    /// on all rows: one model per target of the sample, which share their hyperparameters.
    pub(crate) fn run_on_sample(
        mut self,
        sample: &Dataset<'_>,
        all: Elsewhere<'_>,
    ) -> Result<Vec<Model>> {
        let mut training = Training::of_sample(self.config, sample, all)?;
        let parameters = start::parameters(self.config, self.projections.as_deref(), sample)?;
        let (schedule, search) = self.prepare(&mut training, sample, &parameters, None)?;
        let found = schedule.run(search, &training, &parameters);
        let found = found.map_err(|e| start::of_term(e, self.config, sample.columns()))?;
        conditioning::condition(self.config, &training, &found, None)
    }

    /// The place of one of several targets, each with a search of its own.
    pub(crate) fn of_target(mut self, target: usize, count: usize) -> Self {
        self.place = super::progress::Place { target, index: target, count };
        self
    }
}
