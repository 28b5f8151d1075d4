//! The fits of a stack for one target: members without held-out rows, and then on all rows.

use super::board::Board;
use super::candidates::Candidate;
use super::folds::{self, Folds};
use super::mix::{Mix, Share};
use super::{HeldOut, Member, Stack};
use crate::checkpoint::Checkpoint;
use crate::config::Config;
use crate::data::{Dataset, Labels, Matrix};
use crate::error::{Error, Result};
use crate::fit::{Fit, Progress};
use crate::model::{Model, Prediction};
use rayon::prelude::*;
use std::time::Instant;

/// From this number of rows on, hyperparameters that were found without the held-out rows are kept.
const MANY_ROWS: usize = 20_000;
/// The same for members of a mixture.
const MANY_ROWS_OF_MEMBERS: usize = 4_000;

/// The fit of one target, or of several that share hyperparameters.
pub(super) struct StackJob<'j, 'r, 'p> {
    pub(super) data: &'j Dataset<'j>,
    pub(super) candidates: &'j [Candidate],
    pub(super) board: &'j Board<'r, 'p>,
    pub(super) eligible: Eligible,
    pub(super) calibrate: bool,
    pub(super) shared: bool,
    pub(super) side_by_side: bool,
}

/// Which candidates can become members.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Eligible {
    /// The last one: the user names it.
    Last,
    /// The one with the least error at held-out rows.
    Best,
    /// All of them.
    Mixture,
}

/// A fit without some rows: its model of each target, and the predictions of the rows, for each block
/// and target.
pub(super) struct Fitted {
    pub(super) models: Vec<Model>,
    pub(super) blocks: Vec<Vec<Prediction>>,
    pub(super) seconds: f64,
}

impl StackJob<'_, '_, '_> {
    /// One model on all rows, without any held out.
    pub(super) fn plain(&self, mut checkpoint: Option<&mut Checkpoint>) -> Result<Vec<Stack>> {
        let candidate = &self.candidates[self.candidates.len() - 1];
        self.board.expect(&[candidate.cost]);
        let models = self.models(candidate, (0, None), self.data, checkpoint.take())?;
        let named = |mut model: Model| {
            model.set_preset(candidate.preset.as_str());
            Stack::from(model)
        };
        Ok(models.into_iter().map(named).collect())
    }

    pub(super) fn run(
        &self,
        folds: &Folds,
        mut checkpoint: Option<&mut Checkpoint>,
    ) -> Result<Vec<Stack>> {
        let fits = folds.fits.len();
        let tasks: Vec<(usize, usize)> =
            (0..self.candidates.len()).flat_map(|c| (0..fits).map(move |fit| (c, fit))).collect();
        let cost = |c: &usize| self.candidates[*c].cost;
        let last: Vec<usize> = (0..self.candidates.len()).collect();
        let costs: Vec<f64> =
            tasks.iter().map(|(c, _)| cost(c)).chain(last.iter().map(cost)).collect();
        self.board.expect(&costs);
        let fit = |task: usize, checkpoint: Option<&mut Checkpoint>| {
            let (c, fit) = tasks[task];
            let fitted = self.without(folds, &self.candidates[c], (task, fit), checkpoint);
            self.board.finish(task);
            fitted
        };
        let all: Vec<Result<Fitted>> = if self.side_by_side {
            (0..tasks.len()).into_par_iter().map(|task| fit(task, None)).collect()
        } else {
            // The dearest first, so that what cannot be fitted is refused before the others are. A fit
            // that was cancelled is the last one, or a checkpoint would record fits out of order.
            let mut done = Vec::with_capacity(tasks.len());
            for task in (0..tasks.len()).rev() {
                match fit(task, checkpoint.as_deref_mut()) {
                    Err(error) if !self.can_be_left_out(tasks[task].0, &error) => {
                        return Err(error);
                    }
                    fitted => done.push(fitted),
                }
            }
            done.reverse();
            done
        };
        let mut by_candidate: Vec<Option<Vec<Fitted>>> = Vec::new();
        let mut all = all.into_iter();
        let mut failure = None;
        for c in 0..self.candidates.len() {
            let of_one: Result<Vec<Fitted>> = all.by_ref().take(fits).collect();
            by_candidate.push(match of_one {
                Ok(of_one) => Some(of_one),
                Err(error) if self.can_be_left_out(c, &error) => {
                    failure.get_or_insert(error);
                    None
                }
                Err(error) => return Err(error),
            });
        }
        let able = |c: usize| by_candidate[c].is_some();
        let members = match self.eligible {
            Eligible::Last => last[last.len() - 1..].to_vec(),
            Eligible::Best | Eligible::Mixture => last,
        };
        let members: Vec<usize> = members.into_iter().filter(|c| able(*c)).collect();
        if let (true, Some(failure)) = (members.is_empty(), failure) {
            return Err(failure);
        }
        let targets = self.data.targets().len();
        let learn = |k| self.learn(folds, &by_candidate, &members, k);
        let learned: Vec<(Mix, HeldOut)> = (0..targets).map(learn).collect::<Result<_>>()?;
        self.refit(&by_candidate, learned, tasks.len(), checkpoint)
    }

    /// Whether candidate c can be left out if it fails so: the others do not suffer, and it is not the
    /// one that the user names.
    fn can_be_left_out(&self, c: usize, error: &Error) -> bool {
        let named = self.eligible == Eligible::Last && c + 1 == self.candidates.len();
        let of_one = matches!(error, Error::NotFinitePrediction { .. } | Error::OutOfMemory { .. });
        !named && (error.is_recoverable() || of_one)
    }

    /// A candidate fitted without the rows of fit number `fit`, and its predictions of them.
    fn without(
        &self,
        folds: &Folds,
        candidate: &Candidate,
        (task, fit): (usize, usize),
        checkpoint: Option<&mut Checkpoint>,
    ) -> Result<Fitted> {
        let started = Instant::now();
        let rows = &folds.fits[fit];
        let labels = folds::labels(self.data, rows);
        let data = self.rows(rows, &labels)?;
        let models = self.models(candidate, (task, None), &data, checkpoint)?;
        let mut blocks = Vec::new();
        for block in folds.blocks_of(fit) {
            let held = &folds.blocks[block];
            let noise = folds::labels(self.data, held).noise;
            let predict = |model: &Model| predict(model, self.data, held, noise.as_deref());
            blocks.push(models.iter().map(predict).collect::<Result<_>>()?);
        }
        // One model is enough to start from.
        let models = if fit == 0 { models } else { Vec::new() };
        Ok(Fitted { models, blocks, seconds: started.elapsed().as_secs_f64() })
    }

    /// Some of the rows.
    fn rows<'b>(&'b self, rows: &'b [usize], labels: &'b Labels<Vec<f64>>) -> Result<Dataset<'b>> {
        let data = labels.dataset(self.data.x().choose(rows), 0..self.data.targets().len())?;
        match self.data.groups() {
            Some(groups) => data.grouped(groups),
            None => Ok(data),
        }
    }

    /// The models of a candidate, one per target. Its search may start from a model of some of the rows.
    fn models(
        &self,
        candidate: &Candidate,
        (task, start): (usize, Option<&Model>),
        data: &Dataset<'_>,
        checkpoint: Option<&mut Checkpoint>,
    ) -> Result<Vec<Model>> {
        let mut report = |p: &Progress| self.board.report(task, p);
        let mut fit = Fit::new(&candidate.config).shared(self.shared).progress(&mut report);
        if let Some(start) = start {
            fit = fit.start_from(start);
        }
        // Of the fits without held-out rows only predictions are kept.
        if data.rows() < self.data.rows() || candidate.posterior.is_some() {
            fit = fit.without_relevance();
        }
        if let Some(checkpoint) = checkpoint {
            fit = fit.checkpoint(checkpoint);
        }
        let models = fit.run(data)?;
        match candidate.posterior {
            Some(engine) => {
                let config = Config { engine, ..candidate.config.clone() };
                let again = models.iter().enumerate().map(|(k, model)| {
                    let mut fit = Fit::new(&config).start_from(model);
                    if data.rows() < self.data.rows() {
                        fit = fit.without_relevance();
                    }
                    fit.condition(&data.one_target(k), model.hyperparameters())
                });
                Ok(again.collect::<Result<Vec<_>>>()?.concat())
            }
            None => Ok(models),
        }
    }

    /// Fits the members to all rows.
    fn refit(
        &self,
        fitted: &[Option<Vec<Fitted>>],
        learned: Vec<(Mix, HeldOut)>,
        tasks: usize,
        mut checkpoint: Option<&mut Checkpoint>,
    ) -> Result<Vec<Stack>> {
        let needed = |c: usize| {
            learned.iter().any(|(mix, _)| mix.members.iter().any(|(member, _)| *member == c))
        };
        let again = |c: usize, checkpoint: Option<&mut Checkpoint>| -> Result<Vec<Model>> {
            let found = fitted[c].as_ref().filter(|_| needed(c));
            let models = match found {
                Some(fits) => self.on_all_rows(c, &fits[0].models, tasks + c, checkpoint)?,
                None => Vec::new(),
            };
            self.board.finish(tasks + c);
            Ok(models)
        };
        let count = self.candidates.len();
        let models: Vec<Vec<Model>> = if self.side_by_side {
            let all: Vec<_> = (0..count).into_par_iter().map(|c| again(c, None)).collect();
            all.into_iter().collect::<Result<_>>()?
        } else {
            (0..count).map(|c| again(c, checkpoint.as_deref_mut())).collect::<Result<_>>()?
        };
        let stack = |(k, (mix, held_out)): (usize, (Mix, HeldOut))| {
            let member = |(c, share): &(usize, Share)| {
                let Candidate { name, preset, .. } = &self.candidates[*c];
                let mut model = models[*c][k].clone();
                model.set_preset(preset.as_str());
                if self.eligible != Eligible::Last {
                    model.accept_limit();
                }
                Member { name: name.clone(), model, share: *share }
            };
            let mut members: Vec<Member> = mix.members.iter().map(member).collect();
            members.sort_by(|a, b| b.share.mean.total_cmp(&a.share.mean));
            Stack { members, shifted: mix.shifted, curve: mix.curve, held_out: Some(held_out) }
        };
        Ok(learned.into_iter().enumerate().map(stack).collect())
    }

    /// The models of a candidate on all rows, from those without the held-out rows.
    fn on_all_rows(
        &self,
        c: usize,
        found: &[Model],
        task: usize,
        checkpoint: Option<&mut Checkpoint>,
    ) -> Result<Vec<Model>> {
        let candidate = &self.candidates[c];
        let config = &candidate.config;
        let keep = self.data.rows() > MANY_ROWS
            || config.subset.is_some()
            || config.learns_directions()
            || (self.eligible != Eligible::Last && self.data.rows() > MANY_ROWS_OF_MEMBERS);
        if !keep {
            // A single model is the same with and without held-out rows. A member is found sooner from
            // that of most of the rows.
            let start = found.first().filter(|_| self.eligible != Eligible::Last);
            return self.models(candidate, (task, start), self.data, checkpoint);
        }
        let engine = candidate.posterior.unwrap_or(config.engine);
        let config = Config { engine, ..config.clone() };
        let mut models = Vec::new();
        for (k, model) in found.iter().enumerate() {
            let fit = Fit::new(&config).start_from(model);
            models.extend(fit.condition(&self.data.one_target(k), model.hyperparameters())?);
        }
        Ok(models)
    }
}

/// The prediction of some rows, whose noise may be known.
fn predict(
    model: &Model,
    data: &Dataset<'_>,
    rows: &[usize],
    noise: Option<&[f64]>,
) -> Result<Prediction> {
    let x: Matrix = data.x().gather(rows)?;
    match noise {
        Some(noise) => model.predict_with_noise(&x, noise),
        None => model.predict(&x),
    }
}
