//! Fits to rows that are somewhere else, of which a sample is at hand.

use super::Fit;
use super::training::{Elsewhere, Training};
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
        let training = Training::of_sample(self.config, sample, all)?;
        self.run_affordably(training, sample)
    }

    /// The place of one of several targets, each with a search of its own.
    pub(crate) fn of_target(mut self, target: usize, count: usize) -> Self {
        self.place = super::progress::Place { target, index: target, count };
        self
    }
}
