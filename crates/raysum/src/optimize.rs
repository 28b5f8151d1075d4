//! Minimisers over a fused value-and-gradient closure, independent of Gaussian processes.

mod adam;
mod lbfgs;

pub(crate) use adam::{Adam, adam};
pub(crate) use lbfgs::{Lbfgs, lbfgs};

use std::ops::ControlFlow;

/// The state of a search after an evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    /// Evaluations so far.
    pub evaluations: usize,
    /// The most this search will take.
    pub limit: usize,
    /// The lowest value so far.
    pub best: f64,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The value or the gradient met its tolerance.
    Converged,
    /// The limit of evaluations was reached.
    Limit,
    /// No step along any direction lowers the value any more, to rounding.
    NoProgress,
    /// The callback cancelled it.
    Cancelled,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// The best point.
    pub point: Vec<f64>,
    /// The value there; infinite if not even the start was finite.
    pub value: f64,
    /// Evaluations done.
    pub evaluations: usize,
    /// Why it ended.
    pub stop: Stop,
    /// Curvature pairs, oldest first (empty from Adam).
    pub curvature: Vec<Curvature>,
}

impl Outcome {
    /// What is known before any evaluation.
    pub(crate) fn at(point: Vec<f64>) -> Self {
        let stop = Stop::Limit;
        Self { point, value: f64::INFINITY, evaluations: 0, stop, curvature: Vec::new() }
    }
}

/// A step and the change of the gradient along it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curvature {
    /// The step.
    pub step: Vec<f64>,
    /// The change of the gradient.
    pub change: Vec<f64>,
}

/// A function to minimise.
pub(crate) trait Objective {
    /// Why a search ends early.
    type Error;

    /// Writes the gradient at a point and returns the value there.
    ///
    /// `Ok(f64::INFINITY)` is a soft reject: the search rejects the step and continues. `Err` ends
    /// it.
    fn evaluate(&mut self, point: &[f64], gradient: &mut [f64]) -> Result<f64, Self::Error>;

    /// Called after each evaluation; `Break` ends the search.
    fn observe(&mut self, _step: &Step) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<E, F: FnMut(&[f64], &mut [f64]) -> Result<f64, E>> Objective for F {
    type Error = E;

    fn evaluate(&mut self, point: &[f64], gradient: &mut [f64]) -> Result<f64, E> {
        self(point, gradient)
    }
}

/// Counts evaluations and keeps the best point, for both minimisers.
struct Tally {
    limit: usize,
    evaluations: usize,
    best: f64,
    best_point: Vec<f64>,
    cancelled: bool,
}

impl Tally {
    fn new(start: &[f64], limit: usize) -> Self {
        Self {
            limit,
            evaluations: 0,
            best: f64::INFINITY,
            best_point: start.to_vec(),
            cancelled: false,
        }
    }

    /// Counts an evaluation and reports it. Returns the value, which is infinite, as for a soft
    /// reject, if it or the gradient is not finite.
    fn count(
        &mut self,
        objective: &mut impl Objective,
        point: &[f64],
        value: f64,
        gradient: &[f64],
    ) -> f64 {
        let finite = value.is_finite() && gradient.iter().all(|g| g.is_finite());
        let value = if finite { value } else { f64::INFINITY };
        self.evaluations += 1;
        if value < self.best {
            self.best = value;
            self.best_point.copy_from_slice(point);
        }
        let step = Step { evaluations: self.evaluations, limit: self.limit, best: self.best };
        self.cancelled |= objective.observe(&step).is_break();
        value
    }

    /// The reason to end now, if there is one.
    fn must_stop(&self) -> Option<Stop> {
        if self.cancelled {
            Some(Stop::Cancelled)
        } else if self.evaluations >= self.limit {
            Some(Stop::Limit)
        } else {
            None
        }
    }

    fn finish(self, stop: Stop) -> Outcome {
        Outcome {
            point: self.best_point,
            value: self.best,
            evaluations: self.evaluations,
            stop,
            curvature: Vec::new(),
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    type Unit = Result<f64, Infallible>;

    /// An objective that can be cancelled.
    struct Watched<F, S>(F, S);

    impl<E, F, S> Objective for Watched<F, S>
    where
        F: FnMut(&[f64], &mut [f64]) -> Result<f64, E>,
        S: FnMut(&Step) -> ControlFlow<()>,
    {
        type Error = E;

        fn evaluate(&mut self, point: &[f64], gradient: &mut [f64]) -> Result<f64, E> {
            (self.0)(point, gradient)
        }

        fn observe(&mut self, step: &Step) -> ControlFlow<()> {
            (self.1)(step)
        }
    }

    #[allow(clippy::unnecessary_wraps, reason = "the shape of an objective")]
    fn rosenbrock(x: &[f64], g: &mut [f64]) -> Unit {
        let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
        g[0] = -2.0 * a - 400.0 * x[0] * b;
        g[1] = 200.0 * b;
        Ok(a * a + 100.0 * b * b)
    }

    #[test]
    fn lbfgs_finds_the_valley() {
        let options =
            Lbfgs { value_tolerance: 1e-14, gradient_tolerance: 1e-9, ..Lbfgs::default() };
        let out = lbfgs(&[-1.2, 1.0], &options, &mut rosenbrock).unwrap();
        assert!((out.point[0] - 1.0).abs() < 1e-6, "{out:?}");
        assert!(out.evaluations < 80, "{out:?}");
    }

    #[test]
    fn lbfgs_steps_back_from_soft_rejects() {
        // log-barrier-like: infinite on the wrong side of 0, minimum at 0.1.
        let mut f = |x: &[f64], g: &mut [f64]| -> Unit {
            if x[0] <= 0.0 {
                return Ok(f64::INFINITY);
            }
            g[0] = 1.0 - 0.1 / x[0];
            Ok(x[0] - 0.1 * x[0].ln())
        };
        let out = lbfgs(&[5.0], &Lbfgs::default(), &mut f).unwrap();
        assert!((out.point[0] - 0.1).abs() < 1e-3, "{out:?}");
    }

    #[test]
    fn a_start_that_is_not_finite_is_reported_as_such() {
        let mut f = |_: &[f64], _: &mut [f64]| -> Unit { Ok(f64::NAN) };
        let out = lbfgs(&[5.0], &Lbfgs::default(), &mut f).unwrap();
        assert!(out.value.is_infinite());
        assert_eq!(out.stop, Stop::NoProgress);
    }

    #[test]
    fn adam_descends_and_stops_when_the_average_stalls() {
        let mut f = |x: &[f64], g: &mut [f64]| -> Unit {
            g[0] = 2.0 * (x[0] - 3.0);
            Ok((x[0] - 3.0).powi(2))
        };
        let out = adam(&[0.0], &Adam::default(), &mut f).unwrap();
        assert!((out.point[0] - 3.0).abs() < 0.05, "{out:?}");
        assert_eq!(out.stop, Stop::Converged);
        assert!(out.evaluations < 1000);
    }

    #[test]
    fn both_obey_the_callback_and_the_limit() {
        let stop_at_3 = |s: &Step| {
            if s.evaluations == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut watched = Watched(rosenbrock, stop_at_3);
        let out = lbfgs(&[-1.2, 1.0], &Lbfgs::default(), &mut watched).unwrap();
        assert_eq!((out.stop, out.evaluations), (Stop::Cancelled, 3));
        let out = adam(&[-1.2, 1.0], &Adam::default(), &mut watched).unwrap();
        assert_eq!((out.stop, out.evaluations), (Stop::Cancelled, 3));
        let few = Lbfgs { evaluations: 5, ..Lbfgs::default() };
        let out = lbfgs(&[-1.2, 1.0], &few, &mut rosenbrock).unwrap();
        assert_eq!((out.stop, out.evaluations), (Stop::Limit, 5));
    }

    #[test]
    fn errors_of_the_closure_end_the_search() {
        let mut f = |_: &[f64], _: &mut [f64]| -> Result<f64, &'static str> { Err("hard") };
        assert_eq!(lbfgs(&[0.0], &Lbfgs::default(), &mut f).unwrap_err(), "hard");
        assert_eq!(adam(&[0.0], &Adam::default(), &mut f).unwrap_err(), "hard");
    }
}
