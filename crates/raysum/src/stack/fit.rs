//! The fit of a stack, as callers ask for it.

use super::board::Board;
use super::candidates;
use super::folds::Folds;
use super::job::{Eligible, StackJob};
use super::{Effort, Intervals, Stack};
use crate::checkpoint::Checkpoint;
use crate::config::Config;
use crate::data::Dataset;
use crate::error::{Error, Result, StackError};
use crate::fit::ProgressFn;

/// Up to this number of rows members are fitted side by side: matrices are too small for all threads.
const SIDE_BY_SIDE: usize = 2_000;

/// What is fitted.
enum Recipe<'a> {
    Auto(Effort),
    One { name: &'a str, config: &'a Config, shared: bool },
}

/// Builder of the fit of a stack.
///
/// ```
/// # fn main() -> raysum::Result<()> {
/// use raysum::{Dataset, Effort, Matrix, StackFit};
///
/// let x = Matrix::from_fn(60, 2, |i, j| ((i * (7 + j)) % 13) as f64);
/// let y: Vec<f64> = (0..60).map(|i| x[(i, 0)] - 0.5 * x[(i, 1)]).collect();
/// let stacks = StackFit::auto(Effort::Quick).run(&Dataset::new(&x, &y)?)?;
/// let (lower, upper) = stacks[0].predict(&x)?.interval(0.95)?;
/// assert!(lower[0] < y[0] && y[0] < upper[0]);
/// # Ok(())
/// # }
/// ```
#[must_use = "a fit does nothing until it is run"]
pub struct StackFit<'a, 'p> {
    recipe: Recipe<'a>,
    seed: u64,
    intervals: Intervals,
    held_out: bool,
    progress: Option<&'a mut ProgressFn<'p>>,
    checkpoint: Option<&'a mut Checkpoint>,
}

impl<'a, 'p> StackFit<'a, 'p> {
    /// A stack of the models that suit the table.
    pub fn auto(effort: Effort) -> Self {
        Self::of(Recipe::Auto(effort), 0)
    }

    /// One model, with this name.
    pub fn one(name: &'a str, config: &'a Config) -> Self {
        Self::of(Recipe::One { name, config, shared: false }, config.seed)
    }

    fn of(recipe: Recipe<'a>, seed: u64) -> Self {
        let intervals = Intervals::default();
        Self { recipe, seed, intervals, held_out: true, progress: None, checkpoint: None }
    }

    /// The seed of everything random; one model has that of its configuration.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Where intervals come from.
    pub fn intervals(self, intervals: Intervals) -> Self {
        Self { intervals, ..self }
    }

    /// Whether rows are held out. A single model needs none, but without them it has neither scores
    /// nor calibrated intervals.
    pub fn held_out(self, held_out: bool) -> Self {
        Self { held_out, ..self }
    }

    /// Whether several targets share the hyperparameters of one model.
    pub fn shared(mut self, all: bool) -> Self {
        if let Recipe::One { shared, .. } = &mut self.recipe {
            *shared = all;
        }
        self
    }

    /// Calls this after each evaluation; it may cancel the fit.
    pub fn progress(self, progress: &'a mut ProgressFn<'p>) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// Records every evaluation in a file, as [`Fit::checkpoint`] does. Members are then fitted one
    /// after another.
    pub fn checkpoint(self, checkpoint: &'a mut Checkpoint) -> Self {
        Self { checkpoint: Some(checkpoint), ..self }
    }

    /// Fits members and mixes them: one stack per target, in order.
    ///
    /// Fails with [`StackError::TooFewRows`] if there are too few rows to hold some out. A single model
    /// is then fitted without.
    pub fn run(mut self, data: &Dataset<'_>) -> Result<Vec<Stack>> {
        let together = matches!(self.recipe, Recipe::One { shared: true, .. });
        let targets = data.targets().len();
        let groups: Vec<Dataset<'_>> = if together {
            vec![data.clone()]
        } else {
            (0..targets).map(|k| data.one_target(k)).collect()
        };
        let mut stacks = Vec::with_capacity(targets);
        let count = groups.len();
        for (target, data) in groups.iter().enumerate() {
            let candidates = match &self.recipe {
                Recipe::Auto(effort) => candidates::candidates(data, *effort, self.seed)?,
                Recipe::One { name, config, .. } => {
                    vec![candidates::ridge(data, self.seed)?, candidates::named(name, config)]
                }
            };
            let board = Board::new(self.progress.as_deref_mut(), (target, count));
            let job = StackJob {
                data,
                candidates: &candidates,
                board: &board,
                eligible: match self.recipe {
                    Recipe::One { .. } => Eligible::Last,
                    Recipe::Auto(Effort::Quick) => Eligible::Best,
                    Recipe::Auto(_) => Eligible::Mixture,
                },
                calibrate: self.intervals == Intervals::Calibrated,
                shared: together,
                side_by_side: self.checkpoint.is_none() && data.rows() <= SIDE_BY_SIDE,
            };
            let folds = match (Folds::new(data, self.seed), self.held_out) {
                (_, false) if job.eligible == Eligible::Last => None,
                (Err(Error::Stack(StackError::TooFewRows { .. })), _)
                    if job.eligible == Eligible::Last =>
                {
                    None
                }
                (folds, _) => Some(folds?),
            };
            stacks.extend(match &folds {
                Some(folds) => job.run(folds, self.checkpoint.as_deref_mut())?,
                None => job.plain(self.checkpoint.as_deref_mut())?,
            });
        }
        Ok(stacks)
    }
}
