//! Log densities of the priors that hyperparameters have, with their slopes.

/// Width of the noise prior's edges, as in the paper.
const NOISE_EDGE: f64 = 0.01;

/// The log density, up to a constant, of values with a Cauchy prior of this width around their
/// mean; its slopes are subtracted from the gradient.
pub(super) fn cauchy(values: &[f64], width: f64, gradient: &mut [f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let deviations: Vec<f64> = values.iter().map(|v| (v - mean) / width).collect();
    let slopes: Vec<f64> = deviations.iter().map(|d| 2.0 * d / (1.0 + d * d) / width).collect();
    let common = slopes.iter().sum::<f64>() / n;
    gradient.iter_mut().zip(&slopes).for_each(|(g, slope)| *g += slope - common);
    -deviations.iter().map(|d| (d * d).ln_1p()).sum::<f64>()
}

/// The log density, up to a constant, of values with a normal prior; its slopes are taken off the
/// gradient.
pub(super) fn normal(values: &[f64], middle: f64, width: f64, gradient: &mut [f64]) -> f64 {
    let mut log_density = 0.0;
    for (value, slope) in values.iter().zip(gradient) {
        let deviation = (value - middle) / width;
        log_density -= 0.5 * deviation * deviation;
        *slope += deviation / width;
    }
    log_density
}

/// The paper's smoothed box prior on σ²: flat on [low, high], with Gaussian edges. The log density
/// up to a constant, and its slope.
pub(super) fn smoothed_box(value: f64, (low, high): (f64, f64)) -> (f64, f64) {
    let outside = if value > high {
        value - high
    } else if value < low {
        value - low
    } else {
        0.0
    };
    let variance = NOISE_EDGE * NOISE_EDGE;
    (-0.5 * outside * outside / variance, -outside / variance)
}
