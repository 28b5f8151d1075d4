//! Expectations of functions of a standard normal variable, by Gauss–Hermite quadrature.

use std::f64::consts::TAU;
use std::sync::LazyLock;

/// Number of points.
const POINTS: usize = 40;

/// Points and weights.
static RULE: LazyLock<Vec<(f64, f64)>> = LazyLock::new(rule);

/// E f(z) for standard normal z: exact for polynomials up to degree 79.
pub(super) fn expectation(f: impl Fn(f64) -> f64) -> f64 {
    RULE.iter().map(|(z, weight)| weight * f(*z)).sum()
}

/// The roots of the Hermite polynomial of degree [`POINTS`], by bisection between sign changes, and
/// their weights. Polynomials are divided by the root of their factorial, and multiplied by the root
/// of the normal density: so they neither overflow nor underflow.
fn rule() -> Vec<(f64, f64)> {
    // A root lies within 2√n of 0, and two of them are farther apart than this.
    let end = 2.0 * (POINTS as f64).sqrt();
    let steps = 200 * POINTS;
    let place = |k: usize| end * (2.0 * k as f64 / steps as f64 - 1.0);
    let last = |z: f64| hermite(z)[POINTS];
    let mut rule = Vec::new();
    for k in 0..steps {
        let (mut low, mut high) = (place(k), place(k + 1));
        let rising = last(low) < 0.0;
        if rising == (last(high) < 0.0) {
            continue;
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if (last(middle) < 0.0) == rising { low = middle } else { high = middle }
        }
        let z = 0.5 * (low + high);
        let density = (-0.5 * z * z).exp() / TAU.sqrt();
        let squares: f64 = hermite(z)[..POINTS].iter().map(|h| h * h).sum();
        rule.push((z, density / squares));
    }
    rule
}

fn hermite(z: f64) -> [f64; POINTS + 1] {
    let mut values = [0.0; POINTS + 1];
    values[0] = (-0.25 * z * z).exp() / TAU.powf(0.25);
    values[1] = z * values[0];
    for n in 1..POINTS {
        let (a, b) = (values[n], values[n - 1]);
        values[n + 1] = (z * a - (n as f64).sqrt() * b) / (n as f64 + 1.0).sqrt();
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_normal_distribution() {
        assert_eq!(RULE.len(), POINTS);
        for (power, moment) in [(0, 1.0), (1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0), (8, 105.0)] {
            let found = expectation(|z| z.powi(power));
            assert!((found - moment).abs() < 1e-10 * (1.0 + moment), "{power}: {found}");
        }
        let found = expectation(|z| (1.5 * z).exp());
        assert!((found / 1.125_f64.exp() - 1.0).abs() < 1e-12, "{found}");
    }
}
