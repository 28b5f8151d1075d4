//! The options of a fit.

use super::{Fit, ProgressFn};
use crate::checkpoint::Checkpoint;
use crate::model::Model;
use crate::parameters::{Freedom, Hyperparameters};
use crate::project::Projections;

impl<'a, 'p> Fit<'a, 'p> {
    /// Starts the search at known hyperparameters, such as those of a fit to similar data, and on
    /// all rows at once. Learned directions are then learned to the end.
    pub fn start(self, hyperparameters: &'a Hyperparameters) -> Self {
        Self { start: Some(hyperparameters), ..self }
    }

    /// Starts where another fit ended: at its hyperparameters, along its projections, and with the
    /// shrinkage and the levels of noise that it found.
    pub fn start_from(self, model: &'a Model) -> Self {
        let freedom = Some(Freedom::of_width(model.report().shrinkage));
        let projections = Some(model.projections().to_vec());
        let (start, levels) = (Some(model.hyperparameters()), model.noise.clone());
        Self { start, projections, freedom, levels, ..self }
    }

    /// Takes these projections, those of each term, in place of those that the configuration's seed
    /// gives, such as another fit has learned.
    pub fn along(self, projections: Vec<Projections>) -> Self {
        Self { projections: Some(projections), ..self }
    }

    /// Whether several targets share their hyperparameters, including the ratio of noise to signal,
    /// and the cost of one search. By default each target has its own search.
    pub fn shared(self, shared: bool) -> Self {
        Self { shared, ..self }
    }

    /// Leaves the relevance of columns out, which costs about as much as a small fit. The model is not
    /// one to keep.
    pub(crate) fn without_relevance(self) -> Self {
        Self { relevance: false, ..self }
    }

    /// Calls this after each evaluation; it may cancel the fit.
    pub fn progress(self, progress: &'a mut ProgressFn<'p>) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// Records every evaluation in a file: a fit that was stopped in any way and is started again
    /// with the same file continues, with a bit-identical result.
    pub fn checkpoint(self, checkpoint: &'a mut Checkpoint) -> Self {
        Self { checkpoint: Some(checkpoint), ..self }
    }
}
