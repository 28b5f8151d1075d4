//! Runs a long job on its own thread while the calling thread checks for Ctrl-C and passes progress
//! to Python.
//!
//! A job can be cancelled only between evaluations of the likelihood, each of which may take long.
//! After Ctrl-C the caller waits briefly for the end of the job and then returns without it: the
//! job keeps its arrays alive and ends by itself. If the interpreter exits before that, the job
//! must not access it any more, which [`leave`] ensures.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use raysum::progress::{Phase, Progress};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Interval at which the caller checks for signals.
const LISTEN: Duration = Duration::from_millis(50);
/// Time that it waits for a cancelled job.
const PATIENCE: Duration = Duration::from_millis(400);

/// Whether the interpreter is about to exit.
static LEAVING: AtomicBool = AtomicBool::new(false);
/// Number of jobs that are using the interpreter.
static ATTACHED: AtomicUsize = AtomicUsize::new(0);

/// A message from a job to its caller.
enum Event<T> {
    Progress(Progress),
    Done(PyResult<T>),
}

/// The job's side of the connection.
pub(crate) struct Caller<T> {
    events: Sender<Event<T>>,
    cancelled: Arc<AtomicBool>,
}

impl<T> Caller<T> {
    /// Reports progress; breaks if the caller no longer waits.
    pub(crate) fn report(&self, progress: &Progress) -> ControlFlow<()> {
        let gone = self.events.send(Event::Progress(*progress)).is_err();
        if gone || self.cancelled.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// While it exists, the interpreter does not exit.
struct Attached;

impl Attached {
    /// If the interpreter is already exiting, the thread sleeps until the process ends.
    fn new() -> Self {
        ATTACHED.fetch_add(1, Ordering::SeqCst);
        if LEAVING.load(Ordering::SeqCst) {
            drop(Self);
            loop {
                thread::park();
            }
        }
        Self
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        ATTACHED.fetch_sub(1, Ordering::SeqCst);
    }
}

/// While it exists, the interpreter may exit; afterwards the job uses it again.
struct Detached;

impl Drop for Detached {
    fn drop(&mut self) {
        std::mem::forget(Attached::new());
    }
}

/// Runs a section of a job that does not need the interpreter.
pub(crate) fn detached<T: Send>(py: Python<'_>, body: impl FnOnce() -> T + Send) -> T {
    py.detach(|| {
        ATTACHED.fetch_sub(1, Ordering::SeqCst);
        let _meanwhile = Detached;
        body()
    })
}

/// Runs `job` on its own thread and waits for it. `progress` is called with its reports.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    job: impl FnOnce(Python<'_>, &Caller<T>) -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    let (events, mut receiver) = channel();
    let cancelled = Arc::new(AtomicBool::new(false));
    let caller = Caller { events, cancelled: cancelled.clone() };
    thread::Builder::new().name("raysum".into()).spawn(move || {
        let attached = Attached::new();
        let result = Python::attach(|py| job(py, &caller));
        drop(attached);
        // If the caller no longer waits, the result is dropped.
        let _ = caller.events.send(Event::Done(result));
    })?;
    let result = listen(py, progress, &mut receiver);
    if result.is_err() {
        cancelled.store(true, Ordering::Relaxed);
        let receiver = &mut receiver;
        py.detach(move || await_end(receiver));
    }
    result
}

fn listen<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    receiver: &mut Receiver<Event<T>>,
) -> PyResult<T> {
    loop {
        let only = &mut *receiver;
        let event = py.detach(move || only.recv_timeout(LISTEN));
        match event {
            Ok(Event::Done(result)) => return result,
            Ok(Event::Progress(p)) => {
                if let Some(progress) = progress {
                    progress.call1((step(&p), p.all_rows, (p.fit, p.fits), p.done))?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("raysum failed; this is a bug in it"));
            }
        }
        py.check_signals()?;
    }
}

/// An evaluation of a search: its target, its phase, its rows, the number of the search, that of
/// the evaluation in it, and the best objective so far.
pub(crate) type Step = (usize, &'static str, usize, u32, usize, f64);

/// The state of a fit, as a Python tuple.
pub(crate) fn step(p: &Progress) -> Step {
    let phase = match p.phase {
        Phase::HeldOut => "held-out",
        Phase::Search => "search",
    };
    (p.target, phase, p.rows, p.search, p.evaluations, p.objective)
}

/// Waits briefly for a cancelled job.
fn await_end<T>(receiver: &mut Receiver<Event<T>>) {
    let end = Instant::now() + PATIENCE;
    while let Ok(event) = receiver.recv_timeout(end.saturating_duration_since(Instant::now())) {
        if matches!(event, Event::Done(_)) {
            return;
        }
    }
}

/// Called when the interpreter is about to exit: abandoned jobs must not access it from here on.
/// Waits for those that are using it now.
#[pyfunction]
pub(crate) fn leave(py: Python<'_>) {
    LEAVING.store(true, Ordering::SeqCst);
    py.detach(|| {
        while ATTACHED.load(Ordering::SeqCst) > 0 {
            thread::sleep(Duration::from_millis(1));
        }
    });
}
