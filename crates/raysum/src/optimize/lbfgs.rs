//! Limited-memory BFGS with a weak-Wolfe line search that handles soft rejects.

use super::{Curvature, Objective, Outcome, Stop, Tally, dot};
use std::collections::VecDeque;

/// Settings of [`lbfgs`].
#[derive(Clone, Debug)]
pub(crate) struct Lbfgs {
    /// Most evaluations.
    pub evaluations: usize,
    /// Pairs of steps kept.
    pub memory: usize,
    /// Stop when two steps in a row lower the value by less than this.
    pub value_tolerance: f64,
    /// Stop when the largest entry of the gradient is below this.
    pub gradient_tolerance: f64,
    /// No entry of the point moves farther than this in the first trial of a step.
    pub longest_step: f64,
    /// Curvature pairs of an earlier search over a similar function.
    pub curvature: Vec<Curvature>,
}

impl Default for Lbfgs {
    fn default() -> Self {
        Self {
            evaluations: 200,
            memory: 10,
            value_tolerance: 1e-6,
            gradient_tolerance: 1e-5,
            longest_step: 3.0,
            curvature: Vec::new(),
        }
    }
}

/// Minimises by L-BFGS (Nocedal and Wright, algorithm 7.5) and returns the best point seen.
pub(crate) fn lbfgs<O: Objective>(
    start: &[f64],
    options: &Lbfgs,
    objective: &mut O,
) -> Result<Outcome, O::Error> {
    let mut tally = Tally::new(start, options.evaluations);
    let mut point = start.to_vec();
    let mut gradient = vec![0.0; start.len()];
    let mut value = objective.evaluate(&point, &mut gradient)?;
    value = tally.count(objective, &point, value, &gradient);
    if value.is_infinite() {
        return Ok(tally.finish(Stop::NoProgress));
    }
    let mut memory = Memory { pairs: VecDeque::new(), limit: options.memory };
    for pair in &options.curvature {
        memory.push(pair.step.clone(), pair.change.clone());
    }
    let mut small_steps = 0;
    loop {
        if let Some(stop) = tally.must_stop() {
            return Ok(memory.finish(tally, stop));
        }
        if gradient.iter().all(|g| g.abs() < options.gradient_tolerance) {
            return Ok(memory.finish(tally, Stop::Converged));
        }
        let direction = memory.direction(&gradient);
        // Without curvature yet, a unit step could be too long: its length is at most 1. Along a
        // flat direction the curvature is a guess, so no entry moves by more than the longest step.
        let wild = memory.pairs.is_empty();
        let unit = if wild { 1.0 / dot(&gradient, &gradient).sqrt().max(1.0) } else { 1.0 };
        let farthest = direction.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
        let first_trial = unit.min(options.longest_step / farthest);
        let line = Line { origin: &point, value, gradient: &gradient, direction: &direction };
        match line.search(objective, &mut tally, first_trial, options.value_tolerance)? {
            Some(next) => {
                let improvement = value - next.value;
                memory.remember(&point, &gradient, &next);
                (point, gradient, value) = (next.point, next.gradient, next.value);
                let small = improvement < options.value_tolerance;
                small_steps = if small { small_steps + 1 } else { 0 };
                if small_steps == 2 {
                    return Ok(memory.finish(tally, Stop::Converged));
                }
            }
            // The curvature may mislead: once more from the plain gradient, then give up.
            None if !memory.pairs.is_empty() => memory.pairs.clear(),
            None => {
                let stop = tally.must_stop().unwrap_or(Stop::NoProgress);
                return Ok(memory.finish(tally, stop));
            }
        }
    }
}

/// An accepted point of a line search.
struct Accepted {
    point: Vec<f64>,
    gradient: Vec<f64>,
    value: f64,
}

/// One point of the search line: step length, value, slope along the line.
#[derive(Clone, Copy)]
struct Trial {
    t: f64,
    value: f64,
    slope: f64,
}

/// Where a line search starts, and where it goes.
struct Line<'a> {
    origin: &'a [f64],
    value: f64,
    gradient: &'a [f64],
    direction: &'a [f64],
}

impl Line<'_> {
    /// Finds a step that lowers the value enough and flattens the slope (weak Wolfe conditions), by
    /// bracketing and cubic interpolation. `None` if there is none to be found that could lower it
    /// by `least`.
    fn search<O: Objective>(
        &self,
        objective: &mut O,
        tally: &mut Tally,
        first_trial: f64,
        least: f64,
    ) -> Result<Option<Accepted>, O::Error> {
        const DECREASE: f64 = 1e-4;
        const FLATTEN: f64 = 0.9;
        const TRIALS: usize = 25;
        let Line { origin, value, gradient, direction } = *self;
        let slope = dot(gradient, direction);
        if slope >= 0.0 {
            return Ok(None);
        }
        let mut low = Trial { t: 0.0, value, slope };
        let mut high: Option<Trial> = None;
        let mut t = first_trial;
        let mut best: Option<Accepted> = None;
        let mut trial_gradient = vec![0.0; origin.len()];
        for _ in 0..TRIALS {
            let point: Vec<f64> = origin.iter().zip(direction).map(|(x, d)| x + t * d).collect();
            let found = objective.evaluate(&point, &mut trial_gradient)?;
            let trial_value = tally.count(objective, &point, found, &trial_gradient);
            let trial = Trial { t, value: trial_value, slope: dot(&trial_gradient, direction) };
            let enough = trial_value <= value + DECREASE * t * slope;
            if enough {
                let accepted =
                    Accepted { point, gradient: trial_gradient.clone(), value: trial_value };
                if trial.slope >= FLATTEN * slope {
                    return Ok(Some(accepted));
                }
                best = Some(accepted);
                low = trial;
            } else {
                high = Some(trial);
            }
            if tally.must_stop().is_some() {
                break;
            }
            t = match high {
                None => 2.0 * t,
                Some(high) => interpolate(low, high),
            };
            // A value that is estimated has steps too small to see: the slope bounds what is to
            // gain.
            if -slope * t < least || (t - low.t).abs() < 1e-12 * t.abs() {
                break;
            }
        }
        Ok(best)
    }
}

/// The minimum of the cubic through two trials, kept away from both ends.
fn interpolate(low: Trial, high: Trial) -> f64 {
    let width = high.t - low.t;
    let middle = low.t + 0.5 * width;
    if !high.value.is_finite() {
        return low.t + 0.25 * width;
    }
    let a = low.slope + high.slope - 3.0 * (low.value - high.value) / (low.t - high.t);
    let root = a * a - low.slope * high.slope;
    if root < 0.0 {
        return middle;
    }
    let b = root.sqrt();
    let t = high.t - width * (high.slope + b - a) / (high.slope - low.slope + 2.0 * b);
    if t.is_finite() { t.clamp(low.t + 0.1 * width, high.t - 0.1 * width) } else { middle }
}

/// The last steps s and changes of gradient y, with 1/(s·y).
struct Memory {
    pairs: VecDeque<(Vec<f64>, Vec<f64>, f64)>,
    limit: usize,
}

impl Memory {
    fn remember(&mut self, point: &[f64], gradient: &[f64], next: &Accepted) {
        let s: Vec<f64> = next.point.iter().zip(point).map(|(a, b)| a - b).collect();
        let y: Vec<f64> = next.gradient.iter().zip(gradient).map(|(a, b)| a - b).collect();
        self.push(s, y);
    }

    fn push(&mut self, s: Vec<f64>, y: Vec<f64>) {
        let curvature = dot(&s, &y);
        // A pair without clearly positive curvature would corrupt the metric.
        if curvature > 1e-10 * dot(&y, &y).sqrt() * dot(&s, &s).sqrt() {
            if self.pairs.len() == self.limit {
                self.pairs.pop_front();
            }
            self.pairs.push_back((s, y, 1.0 / curvature));
        }
    }

    fn finish(self, tally: Tally, stop: Stop) -> Outcome {
        let pairs = self.pairs.into_iter();
        let curvature = pairs.map(|(step, change, _)| Curvature { step, change }).collect();
        Outcome { curvature, ..tally.finish(stop) }
    }

    /// −H·g by the two-loop recursion.
    fn direction(&self, gradient: &[f64]) -> Vec<f64> {
        let mut q: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut along = Vec::with_capacity(self.pairs.len());
        for (s, y, inverse) in self.pairs.iter().rev() {
            let a = inverse * dot(s, &q);
            add_scaled(&mut q, -a, y);
            along.push(a);
        }
        if let Some((_, y, inverse)) = self.pairs.back() {
            let scale = 1.0 / (inverse * dot(y, y));
            for v in &mut q {
                *v *= scale;
            }
        }
        for ((s, y, inverse), a) in self.pairs.iter().zip(along.iter().rev()) {
            let b = inverse * dot(y, &q);
            add_scaled(&mut q, a - b, s);
        }
        q
    }
}

fn add_scaled(target: &mut [f64], factor: f64, other: &[f64]) {
    for (t, o) in target.iter_mut().zip(other) {
        *t += factor * o;
    }
}
