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
/// and target, with their distances from the range of the fitted rows.
pub(super) struct Fitted {
    pub(super) models: Vec<Model>,
    pub(super) blocks: Vec<Vec<Prediction>>,
    pub(super) distances: Vec<Vec<f64>>,
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
        let mut members: Vec<usize> = members.into_iter().filter(|c| able(*c)).collect();
        let targets = self.data.targets().len();
        loop {
            if let (true, Some(failure)) = (members.is_empty(), failure.take()) {
                return Err(failure);
            }
            let learn = |k| self.learn(folds, &by_candidate, &members, k);
            let learned: Vec<(Mix, HeldOut)> = (0..targets).map(learn).collect::<Result<_>>()?;
            let place = tasks.len();
            let models = self.refit(&by_candidate, &learned, place, checkpoint.as_deref_mut())?;
            // What can be fitted without some rows may fail on all of them.
            members.retain(|c| models[*c].is_ok());
            match models.into_iter().collect::<Result<Vec<_>>>() {
                Ok(models) => return Ok(self.stacks(&models, learned)),
                Err(error) => failure = Some(error),
            }
        }
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
        let (mut blocks, mut distances) = (Vec::new(), Vec::new());
        for block in folds.blocks_of(fit) {
            let held = &folds.blocks[block];
            let noise = folds::labels(self.data, held).noise;
            let x: Matrix = self.data.x().gather(held)?;
            let predict = |model: &Model| match &noise {
                Some(noise) => model.predict_with_noise(&x, noise),
                None => model.predict(&x),
            };
            blocks.push(models.iter().map(predict).collect::<Result<_>>()?);
            distances.push(models[0].extrapolation(&x)?);
        }
        // One model is enough to start from.
        let models = if fit == 0 { models } else { Vec::new() };
        Ok(Fitted { models, blocks, distances, seconds: started.elapsed().as_secs_f64() })
    }

    /// Some of the rows.
    fn rows<'b>(&'b self, rows: &'b [usize], labels: &'b Labels<Vec<f64>>) -> Result<Dataset<'b>> {
        let data = labels.dataset(self.data.x().choose(rows), 0..self.data.targets().len())?;
        Ok(data.part_of(self.data))
    }

    /// The models of a candidate, one per target. Its search may start from a model of some of the rows.
    fn models(
        &self,
        candidate: &Candidate,
        (task, start): (usize, Option<&Model>),
        data: &Dataset<'_>,
        checkpoint: Option<&mut Checkpoint>,
    ) -> Result<Vec<Model>> {
        if let Some(given) = &candidate.given {
            return Fit::new(&candidate.config).shared(self.shared).condition(data, given);
        }
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

    /// Fits the members to all rows: the models of each candidate, none of one that is no member, or why
    /// it has to be left out.
    fn refit(
        &self,
        fitted: &[Option<Vec<Fitted>>],
        learned: &[(Mix, HeldOut)],
        tasks: usize,
        mut checkpoint: Option<&mut Checkpoint>,
    ) -> Result<Vec<Result<Vec<Model>>>> {
        let needed = |c: usize| {
            learned.iter().any(|(mix, _)| mix.members.iter().any(|(member, _)| *member == c))
        };
        let again = |c: usize, checkpoint: Option<&mut Checkpoint>| {
            let models = match fitted[c].as_ref().filter(|_| needed(c)) {
                Some(fits) => self.on_all_rows(c, &fits[0].models, tasks + c, checkpoint),
                None => Ok(Vec::new()),
            };
            self.board.finish(tasks + c);
            match models {
                Err(error) if !self.can_be_left_out(c, &error) => Err(error),
                models => Ok(models),
            }
        };
        let count = self.candidates.len();
        if self.side_by_side {
            let all: Vec<_> = (0..count).into_par_iter().map(|c| again(c, None)).collect();
            all.into_iter().collect()
        } else {
            (0..count).map(|c| again(c, checkpoint.as_deref_mut())).collect()
        }
    }

    /// The stack of each target.
    fn stacks(&self, models: &[Vec<Model>], learned: Vec<(Mix, HeldOut)>) -> Vec<Stack> {
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
        learned.into_iter().enumerate().map(stack).collect()
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
            || config.subset.is_some_and(|rows| rows < self.data.rows())
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
        for (k, searched) in found.iter().enumerate() {
            let fit = Fit::new(&config).start_from(searched);
            let target = self.data.one_target(k);
            let mut model = fit.condition(&target, searched.hyperparameters())?.remove(0);
            model.report_search_of(searched);
            models.push(model);
        }
        Ok(models)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EngineChoice;
    use crate::parameters::{Hyperparameters, TermHyperparameters};
    use crate::stack::Effort;
    use crate::stack::candidates;

    /// A kernel without noise, whose matrix is singular where two rows are the same but for rounding.
    fn fragile() -> Candidate {
        let mut config = Config::preset("matern12").unwrap();
        config.engine = EngineChoice::Dense;
        let term = TermHyperparameters {
            column_length_scales: Vec::new(),
            length_scales: vec![1.0],
            variances: vec![1.0],
        };
        let given = Hyperparameters { terms: vec![term], noise_variance: 1e-300, mean: 0.0 };
        Candidate { given: Some(given), ..candidates::named("fragile", &config) }
    }

    #[test]
    fn a_member_that_fails_on_all_rows_is_left_out() {
        let rows = 1_600;
        let twins = |of: usize| {
            let x = Matrix::from_fn(rows, 1, |i, _| match i {
                0 => (of as f64).next_up(),
                i => i as f64,
            });
            let y: Vec<f64> = (0..rows).map(|i| (i as f64 / 50.0).sin()).collect();
            (x, y)
        };
        // Of the first row and its twin one is held out.
        let apart = (10..110).find_map(|of| {
            let (x, y) = twins(of);
            let folds = Folds::new(&Dataset::new(&x, &y).unwrap(), 0).unwrap();
            let fit = &folds.fits[0];
            (fit.contains(&0) != fit.contains(&of)).then_some((x, y, folds))
        });
        let (x, y, folds) = apart.unwrap();
        let data = Dataset::new(&x, &y).unwrap();
        let mut all = candidates::candidates(&data, Effort::Quick, 0).unwrap();
        all.truncate(2);
        all.push(fragile());
        let board = Board::new(None, (0, 1));
        let job = |candidates| StackJob {
            data: &data,
            candidates,
            board: &board,
            eligible: Eligible::Best,
            calibrate: true,
            shared: false,
            side_by_side: false,
        };
        let stacks = job(&all).run(&folds, None).unwrap();
        let alone = stacks[0].held_out().unwrap().tried[2].scores.unwrap();
        assert!(alone.rmse < 0.1, "{alone:?}");
        assert_ne!(stacks[0].members()[0].name, "fragile");
        let named = [all[0].clone(), fragile()];
        let error = StackJob { eligible: Eligible::Last, ..job(&named) }.run(&folds, None);
        assert!(matches!(error, Err(Error::NotPositiveDefinite { .. })));
    }
}
