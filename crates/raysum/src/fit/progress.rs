//! The progress of a fit.

use std::ops::ControlFlow;

/// The phase of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Choosing the shrinkage by held-out rows.
    HeldOut,
    /// Searching hyperparameters.
    Search,
}

/// The state of a fit after an evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The target that is fitted, counted from 0; 0 if all are fitted together.
    pub target: usize,
    /// The phase of the fit.
    pub phase: Phase,
    /// Number of rows of the current stage.
    pub rows: usize,
    /// Number of all rows.
    pub all_rows: usize,
    /// The number of this fit among those of a stack, from 0, and the number of all of them.
    pub fit: usize,
    /// See [`Progress::fit`].
    pub fits: usize,
    /// The number of this search among those of the fit, from 0.
    pub search: u32,
    /// Evaluations so far in this search.
    pub evaluations: usize,
    /// The best objective so far in this search: log marginal likelihood plus log prior.
    pub objective: f64,
    /// An estimate of the share of the work that is done; it never falls.
    pub done: f64,
}

/// Called after each evaluation; `Break` cancels the fit.
pub type ProgressFn<'a> = dyn FnMut(&Progress) -> ControlFlow<()> + Send + 'a;

/// Which of how many equal searches one is, and its target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) target: usize,
    pub(super) index: usize,
    pub(super) count: usize,
}

/// Counts the work, in rows times evaluations, and reports it.
pub(super) struct Tracker<'a, 'p> {
    report: Option<&'a mut ProgressFn<'p>>,
    all_rows: usize,
    place: Place,
    phase: Phase,
    /// Evaluations that the phase is expected to take, and those it has taken.
    expected: usize,
    taken: usize,
    /// The work after this phase, and the work done so far.
    ahead: f64,
    spent: f64,
    done: f64,
    searches: u32,
}

impl<'a, 'p> Tracker<'a, 'p> {
    pub(super) fn new(
        report: Option<&'a mut ProgressFn<'p>>,
        all_rows: usize,
        place: Place,
    ) -> Self {
        Self {
            report,
            all_rows,
            place,
            phase: Phase::Search,
            expected: 0,
            taken: 0,
            ahead: 0.0,
            spent: 0.0,
            done: 0.0,
            searches: 0,
        }
    }

    /// Begins a phase with its expected number of evaluations and the work after it.
    pub(super) fn enter(&mut self, phase: Phase, expected: usize, ahead: f64) {
        (self.phase, self.expected, self.taken, self.ahead) = (phase, expected, 0, ahead);
    }

    /// Begins a search.
    pub(super) fn search(&mut self) {
        self.searches += 1;
    }

    /// Reports an evaluation on this number of rows.
    pub(super) fn evaluated(
        &mut self,
        rows: usize,
        evaluations: usize,
        objective: f64,
    ) -> ControlFlow<()> {
        self.taken += 1;
        self.spent += rows as f64;
        // If a phase takes longer than expected, the estimate grows.
        let left = self.expected.saturating_sub(self.taken).max(self.taken / 4) * rows;
        let share = self.spent / (self.spent + left as f64 + self.ahead);
        self.done = self.done.max(share);
        let Place { target, index, count } = self.place;
        let Some(report) = &mut self.report else { return ControlFlow::Continue(()) };
        report(&Progress {
            target,
            phase: self.phase,
            rows,
            all_rows: self.all_rows,
            fit: 0,
            fits: 1,
            search: self.searches.saturating_sub(1),
            evaluations,
            objective,
            done: (index as f64 + self.done) / count as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_the_work_never_falls_and_stays_below_one() {
        let mut seen = Vec::new();
        let mut report = |p: &Progress| {
            seen.push(p.done);
            ControlFlow::Continue(())
        };
        let mut tracker =
            Tracker::new(Some(&mut report), 1000, Place { target: 0, index: 0, count: 1 });
        tracker.enter(Phase::HeldOut, 10, 3000.0);
        for k in 1..=30 {
            assert!(tracker.evaluated(100, k, 0.0).is_continue());
        }
        tracker.enter(Phase::Search, 2, 0.0);
        for k in 1..=2 {
            assert!(tracker.evaluated(1000, k, 0.0).is_continue());
        }
        assert!(seen.is_sorted() && seen[0] > 0.0, "{seen:?}");
        assert!((seen[9] - 1000.0 / 4200.0).abs() < 1e-12 && seen[31] == 1.0, "{seen:?}");
    }

    #[test]
    fn one_of_several_fits_is_that_share_of_the_whole() {
        let mut last = 0.0;
        let mut report = |p: &Progress| {
            last = p.done;
            ControlFlow::Continue(())
        };
        let place = Place { target: 1, index: 1, count: 4 };
        let mut tracker = Tracker::new(Some(&mut report), 10, place);
        tracker.enter(Phase::Search, 2, 0.0);
        assert!(tracker.evaluated(10, 1, 0.0).is_continue());
        assert_eq!(last, 0.375);
    }
}
