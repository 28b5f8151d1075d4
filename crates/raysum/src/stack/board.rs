//! The progress of fits that run side by side or one after another.

use crate::fit::{Progress, ProgressFn};
use std::ops::ControlFlow;
use std::sync::Mutex;

/// Collects the progress of all fits of a target.
pub(super) struct Board<'r, 'p> {
    state: Mutex<State<'r, 'p>>,
    /// The number of the target, and of all targets.
    target: (usize, usize),
}

struct State<'r, 'p> {
    report: Option<&'r mut ProgressFn<'p>>,
    /// The expected share of each fit in the work, and how much of it is done.
    shares: Vec<(f64, f64)>,
    done: f64,
    cancelled: bool,
}

impl<'r, 'p> Board<'r, 'p> {
    pub(super) fn new(report: Option<&'r mut ProgressFn<'p>>, target: (usize, usize)) -> Self {
        let state = State { report, shares: Vec::new(), done: 0.0, cancelled: false };
        Self { state: Mutex::new(state), target }
    }

    /// Announces fits with these costs.
    pub(super) fn expect(&self, costs: &[f64]) {
        let total: f64 = costs.iter().sum();
        self.locked().shares = costs.iter().map(|cost| (cost / total, 0.0)).collect();
    }

    /// Reports the progress of one of them.
    pub(super) fn report(&self, fit: usize, progress: &Progress) -> ControlFlow<()> {
        let mut state = self.locked();
        if state.cancelled {
            return ControlFlow::Break(());
        }
        state.shares[fit].1 = progress.done;
        let done = state.total();
        let (target, targets) = self.target;
        let progress = Progress {
            target,
            fit,
            fits: state.shares.len(),
            done: (target as f64 + done) / targets as f64,
            ..*progress
        };
        let flow = state.report.as_mut().map_or(ControlFlow::Continue(()), |f| f(&progress));
        state.cancelled = flow.is_break();
        flow
    }

    /// Says that a fit is done.
    pub(super) fn finish(&self, fit: usize) {
        self.locked().shares[fit].1 = 1.0;
    }

    /// A panic of another fit leaves nothing here that could be wrong.
    fn locked(&self) -> std::sync::MutexGuard<'_, State<'r, 'p>> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl State<'_, '_> {
    /// The share of the work that is done, which never falls.
    fn total(&mut self) -> f64 {
        let now: f64 = self.shares.iter().map(|(share, done)| share * done).sum();
        self.done = self.done.max(now);
        self.done
    }
}
