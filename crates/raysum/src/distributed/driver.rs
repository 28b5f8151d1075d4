//! The driver of a job: the fit, whose sums over rows are answers to tasks.

use super::census::CensusPlan;
use super::job::{JobEvent, JobOptions};
use super::message::{name_of, seal};
use super::task::{Answer, RowFrame, RowTask, ScaleTotals, TASK, TaskSums};
use crate::basis::Counts;
use crate::checkpoint::Checkpoint;
use crate::config::{Config, TargetScale};
use crate::data::Dataset;
use crate::engine::weight::{FeatureMap, GradientSums, RowSums, SolvedWeights};
use crate::engine::{Prior, Statistics, Tensor};
use crate::error::{ClusterError, Error, Result};
use crate::fit::{Elsewhere, Fit, ProgressFn};
use crate::model::Model;
use crate::scale::{ColumnSums, LearnedScales, Scaler, Standard};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Mutex, PoisonError};

/// The driver's side of the connection with its job.
pub(super) struct Link {
    pub(super) events: Sender<JobEvent>,
    pub(super) answers: Mutex<Receiver<Vec<u8>>>,
}

impl Link {
    /// Hands out a task and waits for the answer of all rows.
    fn ask(&self, task: &RowTask, tensors: Vec<Tensor>) -> Result<TaskSums> {
        let bytes = seal(TASK, task, tensors);
        let name = name_of(&bytes);
        let gone = Error::Cancelled { evaluations: 0 };
        if self.events.send(JobEvent::Task(bytes)).is_err() {
            return Err(gone);
        }
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = Answer::open(&answers.recv().map_err(|_| gone)?)?;
        if answer.task != name {
            return Err(ClusterError::OtherTask.into());
        }
        Ok(answer.sums)
    }
}

/// The fit from the first task to the models, one per target.
pub(super) fn drive(
    config: &Config,
    options: &JobOptions,
    link: &Link,
    mut checkpoint: Option<Checkpoint>,
    progress: &mut ProgressFn<'_>,
) -> Result<Vec<Model>> {
    let plan = CensusPlan {
        targets: options.targets,
        weighted: options.weighted,
        known_noise: options.known_noise,
        sample: options.sample,
        seed: config.seed,
    };
    let TaskSums::Census(census) = link.ask(&RowTask::Census(plan), Vec::new())? else {
        return Err(ClusterError::OtherTask.into());
    };
    if census.rows < 2 {
        return Err(Error::TooFewRows { rows: census.rows as usize });
    }
    let rows = census.rows as usize;
    let weight = census.targets.first().map_or(1.0, ColumnSums::weight) / rows as f64;
    if !weight.is_finite() {
        return Err(ClusterError::Weights.into());
    }
    let standards =
        |sums: &[ColumnSums]| -> Vec<Standard> { sums.iter().map(ColumnSums::standard).collect() };
    let (x, y) = (standards(&census.columns), standards(&census.targets));
    let (sample, labels) = census.sample.in_order_of_rows();
    let mut sample = labels.dataset(&sample, 0..options.targets)?;
    if let Some(groups) = &options.groups {
        sample = sample.grouped(groups)?;
    }
    let scales = LearnedScales {
        columns: config.columns_scale.map_kind(),
        powers: config.target_scale == TargetScale::YeoJohnson,
    };
    let weight = options.weighted.then_some(weight);
    // Targets that are fitted together.
    let each = if options.shared { options.targets } else { 1 };
    let groups: Vec<_> = (0..options.targets).step_by(each).map(|t| t..t + each).collect();
    let mut scalers = Vec::new();
    for targets in &groups {
        let data = some_targets(&sample, targets.clone())?;
        scalers.extend(Scaler::of_sample(&data, scales, (&x, &y[targets.clone()]), weight)?);
    }
    let mut jacobians = vec![0.0; options.targets];
    if options.weighted || scales.powers {
        let task = RowTask::Scales { scalers: scalers.clone() };
        let TaskSums::Scales(ScaleTotals { noise, jacobians: found }) =
            link.ask(&task, Vec::new())?
        else {
            return Err(ClusterError::OtherTask.into());
        };
        jacobians = found;
        if options.weighted {
            scalers.iter_mut().for_each(|scaler| scaler.average_noise = noise / rows as f64);
        }
    }
    let mut models = Vec::new();
    for (index, targets) in groups.iter().enumerate() {
        let data = some_targets(&sample, targets.clone())?;
        let scalers = scalers[targets.clone()].to_vec();
        let known_noise = options.known_noise;
        let first = targets.start;
        let sums = Remote { link, scalers: scalers.clone(), first, rows, known_noise };
        let jacobians = jacobians[targets.clone()].to_vec();
        let all = Elsewhere { sums: &sums, scalers, jacobians };
        let mut fit = Fit::new(config).of_target(index, groups.len()).progress(progress);
        if let Some(checkpoint) = &mut checkpoint {
            fit = fit.checkpoint(checkpoint);
        }
        models.extend(fit.run_on_sample(&data, all)?);
    }
    if let Some(checkpoint) = checkpoint {
        checkpoint.remove();
    }
    Ok(models)
}

/// The same rows with some of the targets alone.
fn some_targets<'d>(data: &Dataset<'d>, targets: std::ops::Range<usize>) -> Result<Dataset<'d>> {
    let some = Dataset::labelled(data.x(), data.labels().some_targets(targets))?;
    match data.groups() {
        Some(groups) => some.grouped(groups),
        None => Ok(some),
    }
}

/// Rows on other machines, of which a task asks for the sums.
struct Remote<'l> {
    link: &'l Link,
    scalers: Vec<Scaler>,
    /// The first of the targets.
    first: usize,
    rows: usize,
    known_noise: bool,
}

impl Remote<'_> {
    fn frame(&self, prior: &Prior) -> RowFrame {
        RowFrame { scalers: self.scalers.clone(), first: self.first, prior: prior.clone() }
    }
}

impl RowSums for Remote<'_> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn has_known_noise(&self) -> bool {
        self.known_noise
    }

    fn counts(&self, prior: &Prior, tolerance: f64) -> Result<Vec<Option<Counts>>> {
        match self.link.ask(&RowTask::Counts { rows: self.frame(prior), tolerance }, Vec::new())? {
            TaskSums::Counts(counts) if counts.len() == prior.kernel.views.rows() => Ok(counts),
            _ => Err(ClusterError::OtherTask.into()),
        }
    }

    fn statistics(&self, map: &FeatureMap, prior: &Prior) -> Result<Statistics> {
        match self.link.ask(&RowTask::Statistics { rows: self.frame(prior) }, map.tensors())? {
            TaskSums::Statistics { found: Some(found), .. }
                if found.features() == map.len() && found.targets.len() == self.scalers.len() =>
            {
                Ok(found)
            }
            _ => Err(ClusterError::OtherTask.into()),
        }
    }

    fn slopes(
        &self,
        map: &FeatureMap,
        prior: &Prior,
        solved: &SolvedWeights,
    ) -> Result<GradientSums> {
        let p = map.len();
        let mut tensors = map.tensors();
        tensors.push(Tensor::new("covariance", vec![p, p], solved.covariance.clone()));
        for (t, mean) in solved.means.iter().enumerate() {
            tensors.push(Tensor::new(format!("mean.{t}"), vec![p], mean.clone()));
        }
        match self.link.ask(&RowTask::Slopes { rows: self.frame(prior) }, tensors)? {
            TaskSums::Slopes(slopes)
                if slopes.views.weights().len() == prior.kernel.views.weights().len() =>
            {
                Ok(slopes)
            }
            _ => Err(ClusterError::OtherTask.into()),
        }
    }
}
