//! Tasks, what a partition of the rows answers, and how answers are merged.

use super::census::{Census, CensusPlan};
use super::message::{name_of, open, seal};
use crate::basis::Counts;
use crate::data::{Dataset, Matrix};
use crate::engine::weight::{FeatureMap, GradientSums, RowSums, SolvedWeights, Weight};
use crate::engine::{Observations, Prior, Statistics, Tensor};
use crate::error::{ClusterError, Error, Result};
use crate::linalg;
use crate::scale::{Scaler, StandardRows};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub(super) const TASK: &str = "task";
pub(super) const ANSWER: &str = "answer";

/// What is asked of every partition of the rows.
#[derive(Serialize, Deserialize)]
pub(super) enum RowTask {
    /// What the rows are like, and a sample.
    Census(CensusPlan),
    /// What the scales of the targets and of the weights need beside the first task.
    Scales { scalers: Vec<Scaler> },
    /// Where the rows fall along the views.
    Counts { rows: RowFrame, tolerance: f64 },
    /// The statistics under the feature map of the arrays.
    Statistics { rows: RowFrame },
    /// The sums of the gradient, at the weights of the arrays.
    Slopes { rows: RowFrame },
}

/// The prior, and what makes rows standardised observations.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct RowFrame {
    pub(super) scalers: Vec<Scaler>,
    /// The first of the targets, of which there are as many as scalers.
    pub(super) first: usize,
    pub(super) prior: Prior,
}

/// What some rows answer.
#[derive(Serialize, Deserialize)]
pub(super) struct Answer {
    /// The name of the task.
    pub(super) task: String,
    pub(super) sums: TaskSums,
}

/// Sums over some rows.
#[derive(Serialize, Deserialize)]
pub(super) enum TaskSums {
    Census(Census),
    Scales(ScaleTotals),
    Counts(Vec<Option<Counts>>),
    /// The gram matrix and the moments are arrays.
    Statistics {
        rows: u64,
        log_noise: f64,
        squares: Vec<f64>,
        #[serde(skip)]
        found: Option<Statistics>,
    },
    Slopes(GradientSums),
}

/// What the scales need beside the census.
#[derive(Serialize, Deserialize)]
pub(super) struct ScaleTotals {
    /// The sum of noise variances, in units of that of the mean weight.
    pub(super) noise: f64,
    /// The logarithm of the Jacobian of each target's scale.
    pub(super) jacobians: Vec<f64>,
}

/// Answers a task for the rows of a partition, which may be none: a pure function of its arguments.
/// Partitions are numbered, so that a sample of all rows does not depend on who answers first.
///
/// ```
/// let x = raysum::Matrix::zeros(0, 3);
/// let nothing = raysum::Dataset::rows_of(&x, &[&[]]).unwrap();
/// let error = raysum::distributed::run(b"raysum 0.0.1\nan old task", 7, &nothing).unwrap_err();
/// assert!(error.to_string().starts_with("the task comes from raysum 0.0.1, but"));
/// ```
pub fn run(task: &[u8], partition: u64, data: &Dataset<'_>) -> Result<Vec<u8>> {
    let (asked, tensors) = open::<RowTask>(TASK, task)?;
    let sums = match asked {
        RowTask::Census(plan) => TaskSums::Census(Census::of(&plan, partition, data)?),
        RowTask::Scales { scalers } => TaskSums::Scales(totals(&scalers, data)?),
        RowTask::Counts { rows, tolerance } => {
            rows.over(data, |sums| Ok(TaskSums::Counts(sums.counts(&rows.prior, tolerance)?)))?
        }
        RowTask::Statistics { rows } => {
            let map = rows.map(&tensors)?;
            rows.over(data, |sums| {
                Ok(TaskSums::of_statistics(RowSums::statistics(sums, &map, &rows.prior)?))
            })?
        }
        RowTask::Slopes { rows } => {
            let map = rows.map(&tensors)?;
            let solved = rows.solved(&map, &tensors)?;
            rows.over(data, |sums| {
                Ok(TaskSums::Slopes(sums.slopes(&map, &rows.prior, &solved)?))
            })?
        }
    };
    Ok(Answer { task: name_of(task), sums }.seal())
}

/// The answer of the rows of two answers to one task.
pub fn merge(first: &[u8], second: &[u8]) -> Result<Vec<u8>> {
    let (mut all, more) = (Answer::open(first)?, Answer::open(second)?);
    if all.task != more.task {
        return Err(ClusterError::OtherTask.into());
    }
    all.sums.add(more.sums)?;
    Ok(all.seal())
}

/// The answer of all rows, from those of the partitions in their order. They are merged in pairs, then
/// pairs of these, and so on: rounding does not depend on where or when the answers were computed.
pub fn merge_all(mut answers: Vec<Vec<u8>>) -> Result<Vec<u8>> {
    if answers.is_empty() {
        return Err(Error::TooFewRows { rows: 0 });
    }
    while answers.len() > 1 {
        let pair = |pair: &[Vec<u8>]| match pair {
            [first, second] => merge(first, second),
            one => Ok(one.concat()),
        };
        answers = answers.chunks(2).map(pair).collect::<Result<_>>()?;
    }
    Ok(answers.remove(0))
}

fn totals(scalers: &[Scaler], data: &Dataset<'_>) -> Result<ScaleTotals> {
    if data.rows() == 0 {
        return Ok(ScaleTotals { noise: 0.0, jacobians: vec![0.0; scalers.len()] });
    }
    data.check_targets(scalers.len())?;
    let jacobians = scalers.iter().zip(data.targets()).map(|(s, y)| s.log_jacobian(y)).collect();
    let noise = data.weights().map_or(data.rows() as f64, |w| scalers[0].sum_of_noise(w));
    Ok(ScaleTotals { noise, jacobians })
}

impl RowFrame {
    /// Sums over the rows of a partition.
    fn over(
        &self,
        data: &Dataset<'_>,
        body: impl FnOnce(&Weight<'_>) -> Result<TaskSums>,
    ) -> Result<TaskSums> {
        let (expected, found) = (self.scalers[0].x.len(), data.columns());
        if data.rows() == 0 {
            let nothing = Matrix::zeros(0, expected);
            let none: Vec<&[f64]> = vec![&[]; self.scalers.len()];
            return self.sums(&Dataset::rows_of(&nothing, &none)?, body);
        }
        if found != expected {
            return Err(Error::ColumnCount { expected, found });
        }
        let last = self.first + self.scalers.len();
        if data.targets().len() < last {
            let found = data.targets().len();
            return Err(Error::TargetCount { expected: last, found });
        }
        let labels = data.labels().some_targets(self.first..last);
        self.sums(&Dataset::labelled_rows(data.x(), labels)?, body)
    }

    fn sums(
        &self,
        data: &Dataset<'_>,
        body: impl FnOnce(&Weight<'_>) -> Result<TaskSums>,
    ) -> Result<TaskSums> {
        let rows = StandardRows::new(data.x(), &self.scalers[0]);
        body(&Weight::new(rows, Observations::standardised(data, &self.scalers)))
    }

    fn map(&self, tensors: &[Tensor]) -> Result<FeatureMap> {
        let map = FeatureMap::from_tensors(&self.prior, tensors);
        Ok(map.map_err(|detail| ClusterError::Message { what: TASK, detail })?)
    }

    fn solved(&self, map: &FeatureMap, tensors: &[Tensor]) -> Result<SolvedWeights> {
        let p = map.len();
        let read = |name: &str, shape: &[usize]| -> std::result::Result<Vec<f64>, String> {
            let tensor = Tensor::find(tensors, name)?;
            tensor.check_shape(shape)?;
            Ok(tensor.values.clone())
        };
        let damaged = |detail| Error::from(ClusterError::Message { what: TASK, detail });
        let mean = |t: usize| read(&format!("mean.{t}"), &[p]).map_err(damaged);
        Ok(SolvedWeights {
            means: (0..self.scalers.len()).map(mean).collect::<Result<_>>()?,
            covariance: read("covariance", &[p, p]).map_err(damaged)?,
        })
    }
}

impl Answer {
    pub(super) fn open(bytes: &[u8]) -> Result<Self> {
        let (mut answer, tensors) = open::<Self>(ANSWER, bytes)?;
        let damaged = |detail| ClusterError::Message { what: ANSWER, detail };
        answer.sums = answer.sums.with(&tensors).map_err(damaged)?;
        Ok(answer)
    }

    fn seal(&self) -> Vec<u8> {
        let tensors = match &self.sums {
            TaskSums::Census(census) => census.tensors(),
            TaskSums::Statistics { found: Some(statistics), .. } => arrays(statistics),
            _ => Vec::new(),
        };
        seal(ANSWER, self, tensors)
    }
}

fn arrays(statistics: &Statistics) -> Vec<Tensor> {
    let p = statistics.features();
    let packed = linalg::pack_lower(&statistics.gram, p);
    let mut all = vec![Tensor::new("gram", vec![packed.len()], packed)];
    let targets = statistics.targets.iter().enumerate();
    all.extend(
        targets.map(|(t, m)| Tensor::new(format!("moments.{t}"), vec![p], m.moments.clone())),
    );
    all
}

impl TaskSums {
    fn of_statistics(found: Statistics) -> Self {
        Self::Statistics {
            rows: found.rows,
            log_noise: found.log_noise,
            squares: found.targets.iter().map(|target| target.square).collect(),
            found: Some(found),
        }
    }

    /// The same with what is in the arrays.
    fn with(self, tensors: &[Tensor]) -> std::result::Result<Self, String> {
        Ok(match self {
            Self::Census(census) => Self::Census(census.with_sample(tensors)?),
            Self::Statistics { rows, log_noise, squares, .. } => {
                let p = Tensor::find(tensors, "moments.0")?.values.len();
                let packed = Tensor::find(tensors, "gram")?;
                packed.check_shape(&[p * (p + 1) / 2])?;
                let mut found = Statistics::new(p, squares.len());
                (found.rows, found.log_noise) = (rows, log_noise);
                found.gram = Arc::new(linalg::unpack_lower(&packed.values, p));
                for (t, (target, square)) in found.targets.iter_mut().zip(squares).enumerate() {
                    let moments = Tensor::find(tensors, &format!("moments.{t}"))?;
                    moments.check_shape(&[p])?;
                    (target.square, target.moments) = (square, moments.values.clone());
                }
                Self::of_statistics(found)
            }
            other => other,
        })
    }

    fn add(&mut self, other: Self) -> Result<()> {
        match (self, other) {
            (Self::Census(all), Self::Census(more)) => all.merge(more)?,
            (Self::Scales(all), Self::Scales(more)) => {
                all.noise += more.noise;
                all.jacobians.iter_mut().zip(more.jacobians).for_each(|(a, b)| *a += b);
            }
            (Self::Counts(all), Self::Counts(more)) if all.len() == more.len() => {
                for pair in all.iter_mut().zip(&more) {
                    if let (Some(all), Some(more)) = pair {
                        all.merge(more)?;
                    }
                }
            }
            (this @ Self::Statistics { .. }, Self::Statistics { found: Some(more), .. }) => {
                if let Self::Statistics { found: Some(all), .. } = this {
                    all.merge(&more)?;
                    let all = all.clone();
                    *this = Self::of_statistics(all);
                }
            }
            (Self::Slopes(all), Self::Slopes(more))
                if all.views.weights().len() == more.views.weights().len() =>
            {
                all.add(&more);
            }
            _ => return Err(ClusterError::OtherTask.into()),
        }
        Ok(())
    }
}
