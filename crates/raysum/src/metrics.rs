//! Scores of predictions: error, density, coverage, and CRPS.

use statrs::distribution::{Continuous, ContinuousCDF, Normal};

/// Root-mean-square error.
pub fn rmse(truth: &[f64], mean: &[f64]) -> f64 {
    average(truth.iter().zip(mean).map(|(t, m)| (t - m) * (t - m))).sqrt()
}

/// Mean negative log predictive density of Gaussians with these means and variances.
pub fn nlpd(truth: &[f64], mean: &[f64], variance: &[f64]) -> f64 {
    average(
        truth.iter().zip(mean).zip(variance).map(|((t, m), v)| {
            0.5 * ((2.0 * std::f64::consts::PI * v).ln() + (t - m) * (t - m) / v)
        }),
    )
}

/// Share of the truth inside the equal-tailed interval of this level.
pub fn coverage(truth: &[f64], mean: &[f64], variance: &[f64], level: f64) -> f64 {
    let z = two_sided_quantile(level);
    average(
        truth
            .iter()
            .zip(mean)
            .zip(variance)
            .map(|((t, m), v)| f64::from(u8::from((t - m).abs() <= z * v.sqrt()))),
    )
}

/// Mean continuous ranked probability score of Gaussians (Gneiting and Raftery 2007, eq. 21);
/// lower is better, in the target's units.
pub fn crps(truth: &[f64], mean: &[f64], variance: &[f64]) -> f64 {
    average(truth.iter().zip(mean).zip(variance).map(|((t, m), v)| {
        let std = v.sqrt();
        std * crps_of_standard((t - m) / std)
    }))
}

/// The score of the standard normal distribution at z.
pub(crate) fn crps_of_standard(z: f64) -> f64 {
    let normal = Normal::standard();
    let spread = 1.0 / std::f64::consts::PI.sqrt();
    z * (2.0 * normal.cdf(z) - 1.0) + 2.0 * normal.pdf(z) - spread
}

/// z such that a standard normal lies in [−z, z] with probability `level`.
pub(crate) fn two_sided_quantile(level: f64) -> f64 {
    Normal::standard().inverse_cdf(0.5 + 0.5 * level)
}

fn average(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agree_with_closed_forms() {
        assert_eq!(rmse(&[1.0, 3.0], &[0.0, 3.0]), 0.5_f64.sqrt());
        let half_log_two_pi = 0.918_938_533_204_672_8;
        assert!((nlpd(&[0.0], &[0.0], &[1.0]) - half_log_two_pi).abs() < 1e-15);
        assert!((two_sided_quantile(0.95) - 1.959_963_984_540_054).abs() < 1e-12);
        assert_eq!(coverage(&[1.9, 2.0], &[0.0, 0.0], &[1.0, 1.0], 0.95), 0.5);
        // At z = 0 the score is σ (√2 − 1)/√π.
        let score = 3.0 * (2.0_f64.sqrt() - 1.0) / std::f64::consts::PI.sqrt();
        assert!((crps(&[5.0], &[5.0], &[9.0]) - score).abs() < 1e-12);
        // A sharp forecast scores the absolute error.
        assert!((crps(&[5.0], &[3.0], &[1e-12]) - 2.0).abs() < 1e-5);
    }
}
