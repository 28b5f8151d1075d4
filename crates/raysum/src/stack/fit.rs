//! The fit of a stack: members without held-out rows, what these show, and members on all rows.

use super::board::Board;
use super::candidates::{self, Candidate};
use super::folds::{self, Folds};
use super::mix::{HeldBlock, Mix, Share};
use super::{Effort, HeldOut, Intervals, Member, Stack, Tried};
use crate::checkpoint::Checkpoint;
use crate::config::Config;
use crate::data::{Dataset, Labels, Matrix};
use crate::error::{Error, Result, StackError};
use crate::fit::{Fit, Progress, ProgressFn};
use crate::model::{Model, Prediction, Scores};
use crate::scale::Standard;
use rayon::prelude::*;
use std::time::Instant;

/// Up to this number of rows members are fitted side by side: matrices are too small for all threads.
const SIDE_BY_SIDE: usize = 2_000;
/// From this number of rows on, hyperparameters that were found without the held-out rows are kept.
const MANY_ROWS: usize = 20_000;

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
        let groups: Vec<Dataset<'_>> = match together {
            true => vec![data.clone()],
            false => (0..targets).map(|k| data.one_target(k)).collect(),
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
            let job = Job {
                data,
                candidates: &candidates,
                board: &board,
                single: matches!(self.recipe, Recipe::One { .. }),
                calibrate: self.intervals == Intervals::Calibrated,
                shared: together,
                side_by_side: self.checkpoint.is_none() && data.rows() <= SIDE_BY_SIDE,
            };
            let folds = match (Folds::new(data, self.seed), self.held_out) {
                (_, false) if job.single => None,
                (Err(Error::Stack(StackError::TooFewRows { .. })), _) if job.single => None,
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

/// The fit of one target, or of several that share hyperparameters.
struct Job<'j, 'r, 'p> {
    data: &'j Dataset<'j>,
    candidates: &'j [Candidate],
    board: &'j Board<'r, 'p>,
    /// Whether the last candidate is the only one that can become a member.
    single: bool,
    calibrate: bool,
    shared: bool,
    side_by_side: bool,
}

/// A fit without some rows: its model of each target, and the predictions of the rows, for each block
/// and target.
struct Fitted {
    models: Vec<Model>,
    blocks: Vec<Vec<Prediction>>,
    seconds: f64,
}

impl Job<'_, '_, '_> {
    /// One model on all rows, without any held out.
    fn plain(&self, mut checkpoint: Option<&mut Checkpoint>) -> Result<Vec<Stack>> {
        let candidate = &self.candidates[self.candidates.len() - 1];
        self.board.expect(&[candidate.cost]);
        let models = self.models(candidate, 0, self.data, checkpoint.take())?;
        let named = |mut model: Model| {
            model.set_preset(candidate.preset.as_str());
            Stack::from(model)
        };
        Ok(models.into_iter().map(named).collect())
    }

    fn run(&self, folds: &Folds, mut checkpoint: Option<&mut Checkpoint>) -> Result<Vec<Stack>> {
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
            (0..tasks.len()).map(|task| fit(task, checkpoint.as_deref_mut())).collect()
        };
        let mut by_candidate: Vec<Option<Vec<Fitted>>> = Vec::new();
        let mut all = all.into_iter();
        let mut failure = None;
        for _ in self.candidates {
            let of_one: Result<Vec<Fitted>> = all.by_ref().take(fits).collect();
            by_candidate.push(match of_one {
                Ok(of_one) => Some(of_one),
                Err(error) if can_be_left_out(&error) => {
                    failure.get_or_insert(error);
                    None
                }
                Err(error) => return Err(error),
            });
        }
        let able = |c: usize| by_candidate[c].is_some();
        let members: Vec<usize> = if self.single { last[last.len() - 1..].to_vec() } else { last };
        let members: Vec<usize> = members.into_iter().filter(|c| able(*c)).collect();
        if let (true, Some(failure)) = (members.is_empty(), failure) {
            return Err(failure);
        }
        let targets = self.data.targets().len();
        let learn = |k| self.learn(folds, &by_candidate, &members, k);
        let learned: Vec<(Mix, HeldOut)> = (0..targets).map(learn).collect::<Result<_>>()?;
        self.refit(&by_candidate, learned, tasks.len(), checkpoint)
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
        let models = self.models(candidate, task, &data, checkpoint)?;
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

    /// The models of a candidate, one per target.
    fn models(
        &self,
        candidate: &Candidate,
        task: usize,
        data: &Dataset<'_>,
        checkpoint: Option<&mut Checkpoint>,
    ) -> Result<Vec<Model>> {
        let mut report = |p: &Progress| self.board.report(task, p);
        let mut fit = Fit::new(&candidate.config).shared(self.shared).progress(&mut report);
        if let Some(checkpoint) = checkpoint {
            fit = fit.checkpoint(checkpoint);
        }
        let models = fit.run(data)?;
        match candidate.posterior {
            Some(engine) => {
                let config = Config { engine, ..candidate.config.clone() };
                let again = models.iter().enumerate().map(|(k, model)| {
                    let fit = Fit::new(&config).start_from(model);
                    fit.condition(&data.one_target(k), model.hyperparameters())
                });
                Ok(again.collect::<Result<Vec<_>>>()?.concat())
            }
            None => Ok(models),
        }
    }

    /// What the held-out rows show about target k.
    fn learn(
        &self,
        folds: &Folds,
        fitted: &[Option<Vec<Fitted>>],
        members: &[usize],
        k: usize,
    ) -> Result<(Mix, HeldOut)> {
        let y = self.data.targets()[k];
        let unit = Standard::of(y).std;
        let unit = if unit > 0.0 { unit } else { 1.0 };
        let nothing = || Prediction::new(Vec::new(), Vec::new(), &[]);
        let mut blocks = Vec::new();
        for (b, rows) in folds.blocks.iter().enumerate() {
            let labels = folds::labels(self.data, rows);
            let of = |fits: &Vec<Fitted>| {
                let fit = if folds.are_all() { &fits[b].blocks[0] } else { &fits[0].blocks[b] };
                fit[k].clone()
            };
            blocks.push(HeldBlock {
                y: labels.targets[k].clone(),
                weights: folds.weights[b].clone(),
                predictions: fitted.iter().map(|f| f.as_ref().map_or_else(nothing, of)).collect(),
            });
        }
        let all: Vec<&HeldBlock> = blocks.iter().collect();
        let mix = Mix::learn(&all, members, self.calibrate)?;
        // Each block is scored by what the others say, so that scores are those of new rows.
        let crossed = |among: &[usize], calibrate: bool| -> Result<Option<Scores>> {
            let mut parts = Vec::new();
            for (b, block) in blocks.iter().enumerate() {
                let others: Vec<&HeldBlock> =
                    (0..blocks.len()).filter(|o| *o != b).map(|o| &blocks[o]).collect();
                let mix = Mix::learn(&others, among, calibrate)?;
                parts.push((block.y.len(), mix.scores(block, unit)?));
            }
            Ok(Scores::joined(&parts))
        };
        let scores = crossed(members, self.calibrate)?;
        let mut tried = Vec::new();
        for (c, candidate) in self.candidates.iter().enumerate() {
            let scores = fitted[c].as_ref().map(|_| crossed(&[c], self.calibrate)).transpose()?;
            let seconds = fitted[c].iter().flatten().map(|fit| fit.seconds).sum();
            tried.push(Tried { name: candidate.name.clone(), scores: scores.flatten(), seconds });
        }
        let constant = self.constant(folds, k, unit)?;
        let ridge = tried[0].scores;
        let rows = blocks.iter().map(|block| block.y.len()).sum();
        let scores = scores.ok_or(Error::NoTargets)?;
        let folds = folds.fits.len();
        Ok((mix, HeldOut { rows, folds, unit, scores, constant, ridge, tried }))
    }

    /// The scores of a constant: mean and standard deviation of the rows that are not held out.
    fn constant(&self, folds: &Folds, k: usize, unit: f64) -> Result<Scores> {
        let y = self.data.targets()[k];
        let mut parts = Vec::new();
        for (b, rows) in folds.blocks.iter().enumerate() {
            let fit = if folds.are_all() { b } else { 0 };
            let known: Vec<f64> = folds.fits[fit].iter().map(|&i| y[i]).collect();
            let Standard { mean, std, .. } = Standard::of(&known);
            let std = if std > 0.0 { std } else { unit };
            let n = rows.len();
            let p = Prediction::new(vec![mean; n], vec![std; n], &vec![0.0; n]);
            let truth: Vec<f64> = rows.iter().map(|&i| y[i]).collect();
            parts.push((n, Scores::standardised(&truth, &p, unit)?));
        }
        Scores::joined(&parts).ok_or(Error::NoTargets)
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
        let models: Vec<Result<Vec<Model>>> = if self.side_by_side {
            (0..count).into_par_iter().map(|c| again(c, None)).collect()
        } else {
            (0..count).map(|c| again(c, checkpoint.as_deref_mut())).collect()
        };
        let models = models.into_iter().collect::<Result<Vec<_>>>()?;
        let stack = |(k, (mix, held_out)): (usize, (Mix, HeldOut))| {
            let member = |(c, share): &(usize, Share)| {
                let Candidate { name, preset, .. } = &self.candidates[*c];
                let mut model = models[*c][k].clone();
                model.set_preset(preset.as_str());
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
            || (!self.single && self.data.rows() > SIDE_BY_SIDE);
        if !keep {
            // A single model is the same with and without held-out rows.
            return self.models(candidate, task, self.data, checkpoint);
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

/// Whether a model that fails so can be left out of a stack: the fit of others does not suffer.
fn can_be_left_out(error: &Error) -> bool {
    error.is_recoverable()
        || matches!(error, Error::NotFinitePrediction { .. } | Error::OutOfMemory { .. })
}
