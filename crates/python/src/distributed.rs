//! Fits to rows on many machines: jobs, tasks and answers, and schemas that partitions agree on.

use crate::arrays::Rows;
use crate::error::to_python;
use crate::frame::{
    self, EncodedFrame, GivenColumn, GivenNote, GivenTarget, given, missing_rule, to_value_error,
};
use crate::job::{Step, step};
use crate::model::Model;
use crate::settings::{Plan, Recipe};
use crate::threads::pool;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use raysum::distributed::{self, Job, JobOptions, JobStep};
use raysum::error::ClusterError;
use raysum::schema::Schema;
use raysum::{Checkpoint, Intervals, Stack};
use raysum_table::{Agreement, SchemaOptions};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Interval at which a driver checks for signals.
const LISTEN: Duration = Duration::from_millis(50);

/// A fit to rows on many machines, as its driver sees it.
#[pyclass(frozen, module = "raysum._raysum")]
pub(crate) struct DriverJob {
    /// `None` once the models were taken.
    job: Mutex<Option<Job>>,
}

/// A task; or a step of the search, the number of all rows, and the share of the work that is done;
/// or neither, when the job is done.
type Next<'py> = (Option<Bound<'py, PyBytes>>, Option<(Step, usize, f64)>);

impl DriverJob {
    fn lock(&self) -> MutexGuard<'_, Option<Job>> {
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl DriverJob {
    /// Starts a job: the settings of a model, whether rows come with weights and with known noise,
    /// the number of targets, the rows of the sample, and threads of the driver.
    #[new]
    #[pyo3(signature = (settings, targets, labels, sample, threads, schema=None, checkpoint=None))]
    fn new(
        settings: Recipe,
        targets: usize,
        labels: (bool, bool),
        sample: usize,
        threads: usize,
        schema: Option<&FrameSchema>,
        checkpoint: Option<PathBuf>,
    ) -> PyResult<Self> {
        let Plan::One { config, shared, intervals, .. } = settings.plan()? else {
            return Err(PyValueError::new_err("a job fits one model; give it by its name"));
        };
        if intervals == Intervals::Calibrated {
            return Err(PyValueError::new_err(
                "calibrated intervals need all rows on one machine; use intervals='gaussian'.",
            ));
        }
        let options = JobOptions {
            targets,
            shared,
            weighted: labels.0,
            known_noise: labels.1,
            groups: schema.map(|schema| schema.schema.groups()),
            sample,
            threads,
        };
        let kept = checkpoint.map(Checkpoint::open).transpose().map_err(to_python)?;
        let job = Job::new(*config, options, kept).map_err(to_python)?;
        Ok(Self { job: Mutex::new(Some(job)) })
    }

    /// Waits for the next task, or for news of the search.
    fn step<'py>(&self, py: Python<'py>) -> PyResult<Next<'py>> {
        loop {
            let found = py.detach(|| match self.lock().as_mut() {
                Some(job) => job.step(LISTEN),
                None => Ok(JobStep::Done),
            });
            match found.map_err(to_python)? {
                JobStep::Task(task) => return Ok((Some(PyBytes::new(py, &task)), None)),
                JobStep::Progress(p) => return Ok((None, Some((step(&p), p.all_rows, p.done)))),
                JobStep::Done => return Ok((None, None)),
                JobStep::Busy => py.check_signals()?,
            }
        }
    }

    /// Takes the answer of all rows to the last task.
    fn answer(&self, py: Python<'_>, answer: &[u8]) -> PyResult<()> {
        let taken = py.detach(|| match self.lock().as_mut() {
            Some(job) => job.answer(answer),
            None => Err(ClusterError::OtherTask.into()),
        });
        taken.map_err(to_python)
    }

    /// The fitted models, once there are no more tasks. The job is then over.
    fn model(&self) -> PyResult<Model> {
        let job = self.lock().take_if(|job| job.is_done());
        let job = job.ok_or(ClusterError::NotDone);
        let models = job.map_err(|e| to_python(e.into()))?.models().map_err(to_python)?;
        Ok(Model { targets: models.into_iter().map(Stack::from).collect() })
    }
}

/// Answers a task for the rows of a partition.
#[pyfunction]
pub(crate) fn run_task<'py>(
    py: Python<'py>,
    task: &[u8],
    partition: u64,
    rows: Rows,
    threads: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let pool = pool(threads)?;
    let answer = rows.borrow(py, true, |data| {
        py.detach(|| pool.install(|| distributed::run(task, partition, data))).map_err(to_python)
    })?;
    Ok(PyBytes::new(py, &answer))
}

/// The answer of the rows of two answers.
#[pyfunction]
pub(crate) fn merge_answers<'py>(
    py: Python<'py>,
    first: &[u8],
    second: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let merged = py.detach(|| distributed::merge(first, second)).map_err(to_python)?;
    Ok(PyBytes::new(py, &merged))
}

/// The version of the compiled part.
#[pyfunction]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Summarises the columns of a partition and its targets, as JSON.
#[pyfunction]
#[pyo3(signature = (columns, named, targets, partition, readings=None))]
pub(crate) fn summarise_frame(
    py: Python<'_>,
    columns: Vec<GivenColumn<'_>>,
    named: bool,
    targets: Vec<GivenTarget<'_>>,
    partition: u64,
    readings: Option<&str>,
) -> PyResult<String> {
    let frame = frame::with_targets(&columns, named, &targets)?;
    py.detach(|| raysum_table::summarise(&frame, partition, readings)).map_err(to_value_error)
}

/// The summary of the rows of two.
#[pyfunction]
pub(crate) fn merge_summaries(py: Python<'_>, first: &str, second: &str) -> PyResult<String> {
    py.detach(|| raysum_table::merge_summaries(first, second)).map_err(to_value_error)
}

/// The schema that the summary of all partitions leads to, or the readings with which they must be
/// summarised again.
#[pyfunction]
pub(crate) fn agree(
    summary: &str,
    targets: usize,
    missing: &str,
    categories: usize,
) -> PyResult<(Option<FrameSchema>, Option<String>)> {
    let missing = missing_rule(missing)?;
    let options = SchemaOptions { missing, categories, ..SchemaOptions::default() };
    match raysum_table::agree(summary, targets, &options).map_err(to_value_error)? {
        Agreement::Schema(schema, notes) => {
            Ok((Some(FrameSchema { schema, notes: given(notes) }), None))
        }
        Agreement::ReadAgain(readings) => Ok((None, Some(readings))),
    }
}

/// The schema of a table.
#[pyclass(frozen, module = "raysum._raysum")]
pub(crate) struct FrameSchema {
    pub(crate) schema: Schema,
    /// Notes for the user, each with whether it is a warning.
    #[pyo3(get)]
    notes: Vec<GivenNote>,
}

#[pymethods]
impl FrameSchema {
    /// The schema as JSON.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.schema).map_err(to_value_error)
    }

    /// Reads the JSON of a schema.
    #[staticmethod]
    fn from_json(json: &str) -> PyResult<Self> {
        let schema = serde_json::from_str(json).map_err(to_value_error)?;
        Ok(Self { schema, notes: Vec::new() })
    }

    /// Rows of a frame, encoded; the rows that are left out; and notes.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<GivenColumn<'py>>,
        named: bool,
        rows: usize,
        missing: &str,
    ) -> PyResult<EncodedFrame<'py>> {
        frame::encode(py, &self.schema, &columns, named, rows, missing)
    }
}
