//! A fit to rows on many machines, as its driver sees it: tasks out, answers in.

use super::driver::{Link, drive};
use super::message::name_of;
use super::task::Answer;
use crate::checkpoint::Checkpoint;
use crate::config::{Config, EngineChoice, Noise};
use crate::error::{ClusterError, Error, Result};
use crate::fit::Progress;
use crate::model::Model;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Rows of the sample that most of a search happens on, by default.
const SAMPLE: usize = 100_000;
/// The least number of rows of a sample: with fewer, a search would find the sample's own noise.
const LEAST_SAMPLE: usize = 100;
/// How long [`Job::task`] waits at a time.
const WAIT: Duration = Duration::from_secs(1);

/// What a job has to know of the rows, and its options.
#[derive(Clone, Debug)]
pub struct JobOptions {
    /// Number of targets.
    pub targets: usize,
    /// Whether they share their hyperparameters.
    pub shared: bool,
    /// Whether rows come with sample weights.
    pub weighted: bool,
    /// Whether rows come with known noise.
    pub known_noise: bool,
    /// Columns that belong together; see [`Dataset::grouped`](crate::Dataset::grouped).
    pub groups: Option<Vec<usize>>,
    /// Most rows of the sample on which hyperparameters are searched.
    pub sample: usize,
    /// Threads of the driver; 0 for all cores.
    pub threads: usize,
}

impl Default for JobOptions {
    fn default() -> Self {
        Self {
            targets: 1,
            shared: false,
            weighted: false,
            known_noise: false,
            groups: None,
            sample: SAMPLE,
            threads: 0,
        }
    }
}

/// What a job does next.
#[derive(Debug)]
pub enum JobStep {
    /// It needs the answer to this task.
    Task(Vec<u8>),
    /// It searches, and has come this far.
    Progress(Progress),
    /// It searches, and has nothing to report yet.
    Busy,
    /// It is done.
    Done,
}

/// A message from the driver's thread.
pub(super) enum JobEvent {
    Task(Vec<u8>),
    Progress(Progress),
}

/// A fit to rows on many machines; see the [module](crate::distributed).
///
/// The search runs on a thread of its own, which ends when the job is dropped. A job with a
/// [`Checkpoint`] that is started again with the same rows and settings repeats only the tasks since
/// the last evaluation, and ends with the same bits.
#[derive(Debug)]
pub struct Job {
    events: Receiver<JobEvent>,
    /// `None` once the job is over.
    answers: Option<Sender<Vec<u8>>>,
    driver: Option<JoinHandle<Result<Vec<Model>>>>,
    /// The task that was handed out last.
    open: Option<Vec<u8>>,
    models: Option<Vec<Model>>,
}

impl Job {
    /// Starts a job. Fails if the configuration is one that needs all rows on one machine.
    pub fn new(
        mut config: Config,
        options: JobOptions,
        checkpoint: Option<Checkpoint>,
    ) -> Result<Self> {
        check(&config, &options)?;
        // The sample may be small enough for the dense engine, which the model must not have.
        config.engine = EngineChoice::Weight;
        let (events, receiver) = channel();
        let (answers, taken) = channel();
        let reports = events.clone();
        let driver = thread::Builder::new()
            .name("raysum job".into())
            .spawn(move || {
                let link = Link { events, answers: Mutex::new(taken) };
                let mut report = |progress: &Progress| {
                    if reports.send(JobEvent::Progress(*progress)).is_err() {
                        return ControlFlow::Break(());
                    }
                    ControlFlow::Continue(())
                };
                let body = || drive(&config, &options, &link, checkpoint, &mut report);
                match rayon::ThreadPoolBuilder::new().num_threads(options.threads).build() {
                    Ok(pool) => pool.install(body),
                    Err(_) => body(),
                }
            })
            .map_err(thread_error)?;
        Ok(Self {
            events: receiver,
            answers: Some(answers),
            driver: Some(driver),
            open: None,
            models: None,
        })
    }

    /// The next task, after the search on the driver that leads to it; `None` if the job is done.
    /// Until it is answered, the same task is returned.
    pub fn task(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            match self.step(WAIT)? {
                JobStep::Task(task) => return Ok(Some(task)),
                JobStep::Done => return Ok(None),
                JobStep::Progress(_) | JobStep::Busy => {}
            }
        }
    }

    /// The same, one step at a time, each within some time.
    pub fn step(&mut self, wait: Duration) -> Result<JobStep> {
        if let Some(task) = &self.open {
            return Ok(JobStep::Task(task.clone()));
        }
        if self.driver.is_none() {
            return if self.models.is_some() { Ok(JobStep::Done) } else { Err(not_done()) };
        }
        match self.events.recv_timeout(wait) {
            Ok(JobEvent::Task(task)) => {
                self.open = Some(task.clone());
                Ok(JobStep::Task(task))
            }
            Ok(JobEvent::Progress(progress)) => Ok(JobStep::Progress(progress)),
            Err(RecvTimeoutError::Timeout) => Ok(JobStep::Busy),
            Err(RecvTimeoutError::Disconnected) => {
                self.answers = None;
                let driver = self.driver.take().map(JoinHandle::join);
                match driver {
                    Some(Ok(models)) => self.models = Some(models?),
                    // The thread panicked, which is a bug; it is not hidden.
                    Some(Err(panic)) => std::panic::resume_unwind(panic),
                    None => return Err(not_done()),
                }
                Ok(JobStep::Done)
            }
        }
    }

    /// Takes the answer of all rows to the task that was handed out last.
    pub fn answer(&mut self, answer: &[u8]) -> Result<()> {
        let found = Answer::open(answer)?;
        match (&self.open, &self.answers) {
            (Some(task), Some(answers)) if name_of(task) == found.task => {
                // If the driver has failed, the next step says why.
                let _ = answers.send(answer.to_vec());
                self.open = None;
                Ok(())
            }
            _ => Err(ClusterError::OtherTask.into()),
        }
    }

    /// Whether there are no more tasks, and the models are there.
    pub fn is_done(&self) -> bool {
        self.models.is_some()
    }

    /// The models, one per target, once there are no more tasks.
    pub fn models(self) -> Result<Vec<Model>> {
        self.models.ok_or_else(not_done)
    }
}

fn not_done() -> Error {
    ClusterError::NotDone.into()
}

fn thread_error(reason: std::io::Error) -> Error {
    Error::Io { path: "a thread of the job".into(), reason }
}

/// Fails if the configuration is one that needs all rows on one machine.
fn check(config: &Config, options: &JobOptions) -> Result<()> {
    config.check()?;
    let refuse = |setting: String, instead: &'static str| {
        Err(Error::from(ClusterError::Setting { setting, instead }))
    };
    let engine = EngineChoice::ALL.iter().find(|(_, engine)| *engine == config.engine);
    let engine = engine.map_or("", |(name, _)| name);
    if !matches!(config.engine, EngineChoice::Auto | EngineChoice::Weight) {
        return refuse(format!("the {engine} engine"), "use the weight engine");
    }
    if config.noise == Noise::Columns {
        return refuse("noise that depends on the columns".into(), "use constant noise");
    }
    if options.sample < LEAST_SAMPLE {
        return refuse(
            format!("a sample of {} rows", options.sample),
            "the sample must have at least 100",
        );
    }
    if options.targets == 0 {
        return Err(Error::NoTargets);
    }
    if options.known_noise && options.targets > 1 {
        return Err(Error::NoiseOfTargets);
    }
    if options.known_noise && config.target_scale == crate::config::TargetScale::YeoJohnson {
        return Err(Error::TransformedTarget { what: "known noise" });
    }
    Ok(())
}
