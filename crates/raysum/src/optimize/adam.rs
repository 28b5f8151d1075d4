//! Adam with the paper's stopping rule: a moving average over a window that stops improving.

use super::{Objective, Outcome, Stop, Tally};

/// Settings of [`adam`]; the defaults are the paper's recipe.
#[derive(Clone, Debug)]
pub(crate) struct Adam {
    /// Learning rate.
    pub rate: f64,
    /// Most evaluations.
    pub evaluations: usize,
    /// Length of the moving average.
    pub window: usize,
    /// Stop when the average improves by less than this over one window.
    pub tolerance: f64,
}

impl Default for Adam {
    fn default() -> Self {
        Self { rate: 0.1, evaluations: 1000, window: 20, tolerance: 1e-4 }
    }
}

/// Minimises by Adam (Kingma and Ba 2014) and returns the best point seen.
pub(crate) fn adam<O: Objective>(
    start: &[f64],
    options: &Adam,
    objective: &mut O,
) -> Result<Outcome, O::Error> {
    const DECAY: (f64, f64) = (0.9, 0.999);
    const EPSILON: f64 = 1e-8;
    let mut tally = Tally::new(start, options.evaluations);
    let mut point = start.to_vec();
    let mut gradient = vec![0.0; start.len()];
    let (mut first, mut second) = (vec![0.0; start.len()], vec![0.0; start.len()]);
    let mut values = Vec::new();
    for t in 1.. {
        let found = objective.evaluate(&point, &mut gradient)?;
        let value = tally.count(objective, &point, found, &gradient);
        if value.is_infinite() {
            if tally.best.is_infinite() {
                return Ok(tally.finish(Stop::NoProgress));
            }
            // A soft reject: half-way back to the best point, with the momentum forgotten.
            for (x, best) in point.iter_mut().zip(&tally.best_point) {
                *x = 0.5 * (*x + best);
            }
            first.fill(0.0);
            if let Some(stop) = tally.must_stop() {
                return Ok(tally.finish(stop));
            }
            continue;
        }
        values.push(value);
        if let Some(stop) = tally.must_stop() {
            return Ok(tally.finish(stop));
        }
        if stalled(&values, options) {
            return Ok(tally.finish(Stop::Converged));
        }
        let correction = (1.0 - DECAY.0.powi(t), 1.0 - DECAY.1.powi(t));
        for i in 0..point.len() {
            first[i] = DECAY.0 * first[i] + (1.0 - DECAY.0) * gradient[i];
            second[i] = DECAY.1 * second[i] + (1.0 - DECAY.1) * gradient[i] * gradient[i];
            let size = (second[i] / correction.1).sqrt() + EPSILON;
            point[i] -= options.rate * first[i] / correction.0 / size;
        }
    }
    unreachable!("the loop ends by its limit of evaluations")
}

fn stalled(values: &[f64], options: &Adam) -> bool {
    let w = options.window;
    if values.len() < 2 * w {
        return false;
    }
    let mean = |slice: &[f64]| slice.iter().sum::<f64>() / w as f64;
    let (before, now) = values[values.len() - 2 * w..].split_at(w);
    mean(before) - mean(now) < options.tolerance
}
