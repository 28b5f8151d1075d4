//! A long job under Python's eyes: it works on a thread of its own while the calling one listens for
//! Ctrl-C and hands progress to Python.
//!
//! A job is cancelled between its evaluations of the likelihood, and one of those may take long.
//! After Ctrl-C the caller waits a moment for the end of the job, and then goes without it: the job
//! keeps its arrays alive and ends by itself. Should the interpreter end before, the job must not
//! touch it any more; that is what [`leave`] is for.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use raysum::{Phase, Progress};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often the caller looks for signals.
const LISTEN: Duration = Duration::from_millis(50);
/// How long it waits for a cancelled job.
const PATIENCE: Duration = Duration::from_millis(400);

/// Whether the interpreter is about to end.
static LEAVING: AtomicBool = AtomicBool::new(false);
/// Jobs that hold on to the interpreter.
static ATTACHED: AtomicUsize = AtomicUsize::new(0);

/// What a job tells its caller.
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
    /// Reports where the job stands; breaks if nobody waits for it any more.
    pub(crate) fn report(&self, progress: &Progress) -> ControlFlow<()> {
        let gone = self.events.send(Event::Progress(*progress)).is_err();
        if gone || self.cancelled.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// While it is there the interpreter does not end.
struct Attached;

impl Attached {
    /// If the interpreter is ending already the thread sleeps for good, and ends with the process.
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

/// While it is there the interpreter may end; the job holds on to it again afterwards.
struct Detached;

impl Drop for Detached {
    fn drop(&mut self) {
        std::mem::forget(Attached::new());
    }
}

/// Does the part of a job that needs no interpreter, within the part that does.
pub(crate) fn detached<T: Send>(py: Python<'_>, body: impl FnOnce() -> T + Send) -> T {
    py.detach(|| {
        ATTACHED.fetch_sub(1, Ordering::SeqCst);
        let _meanwhile = Detached;
        body()
    })
}

/// Runs `job` on a thread of its own and waits for it. `progress` is called with what it reports.
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
        // If nobody waits any more there is nobody to tell.
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
                    progress.call1((step(&p), p.all_rows, p.done))?;
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

/// An evaluation of a search: its target, its phase, its rows, the number of the search, that of the
/// evaluation in it, and the best objective so far.
pub(crate) type Step = (usize, &'static str, usize, u32, usize, f64);

/// Where a fit stands, as Python has it.
pub(crate) fn step(p: &Progress) -> Step {
    let phase = match p.phase {
        Phase::HeldOut => "held-out",
        Phase::Search => "search",
    };
    (p.target, phase, p.rows, p.search, p.evaluations, p.objective)
}

/// Waits for a cancelled job, but not for long.
fn await_end<T>(receiver: &mut Receiver<Event<T>>) {
    let end = Instant::now() + PATIENCE;
    while let Ok(event) = receiver.recv_timeout(end.saturating_duration_since(Instant::now())) {
        if matches!(event, Event::Done(_)) {
            return;
        }
    }
}

/// Called when the interpreter is about to end: jobs that nobody waits for must not touch it from
/// here on. Those that are at it right now end in a moment.
#[pyfunction]
pub(crate) fn leave(py: Python<'_>) {
    LEAVING.store(true, Ordering::SeqCst);
    py.detach(|| {
        while ATTACHED.load(Ordering::SeqCst) > 0 {
            thread::sleep(Duration::from_millis(1));
        }
    });
}
