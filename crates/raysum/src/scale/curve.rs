//! The curves that a target can be mapped by: those of Yeo and Johnson, and the logarithm;
//! and the straight lines that they go over into.

use serde::{Deserialize, Serialize};

/// Transformed values are limited, so that their squares stay finite.
const FAR: f64 = 1e150;

/// Yeo and Johnson's curve of one exponent, or the logarithm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PowerCurve {
    YeoJohnson {
        origin: f64,
        unit: f64,
        exponent: f64,
    },
    /// Of targets above 0, which stay above 0.
    Logarithm,
}

impl PowerCurve {
    /// The value of y on the curve.
    pub(super) fn apply(&self, y: f64) -> f64 {
        let value = match *self {
            PowerCurve::YeoJohnson { origin, unit, exponent } => {
                let u = y / unit - origin / unit;
                if u < 0.0 { -raised(-u, 2.0 - exponent) } else { raised(u, exponent) }
            }
            PowerCurve::Logarithm => y.max(f64::MIN_POSITIVE).ln(),
        };
        value.clamp(-FAR, FAR)
    }

    /// The y of a value on the curve.
    pub(super) fn undo(&self, value: f64) -> f64 {
        match *self {
            PowerCurve::YeoJohnson { origin, unit, exponent } => {
                let u = if value < 0.0 {
                    -lowered(-value, 2.0 - exponent)
                } else {
                    lowered(value, exponent)
                };
                origin + unit * u
            }
            PowerCurve::Logarithm => value.exp().max(f64::MIN_POSITIVE),
        }
        .clamp(f64::MIN, f64::MAX)
    }

    /// The logarithm of the slope at y.
    pub(super) fn log_slope(&self, y: f64) -> f64 {
        match *self {
            PowerCurve::YeoJohnson { origin, unit, exponent } => {
                let u = y / unit - origin / unit;
                (exponent - 1.0) * u.signum() * u.abs().ln_1p() - unit.ln()
            }
            PowerCurve::Logarithm => -y.max(f64::MIN_POSITIVE).ln(),
        }
    }
}

/// ((1 + u)^λ − 1)/λ for u ≥ 0, and its limit log(1 + u) for λ = 0.
fn raised(u: f64, exponent: f64) -> f64 {
    if exponent == 0.0 { u.ln_1p() } else { (exponent * u.ln_1p()).exp_m1() / exponent }
}

/// The inverse of [`raised`].
fn lowered(value: f64, exponent: f64) -> f64 {
    if exponent == 0.0 { value.exp_m1() } else { ((exponent * value).ln_1p() / exponent).exp_m1() }
}

/// Where a map is straight.
pub(super) struct StraightLine {
    /// Whether it is the one above the training values.
    pub(super) upper: bool,
    /// Where it begins, in the target's units and on the scale of the map.
    pub(super) y: f64,
    pub(super) value: f64,
    /// How much the target grows with its value on the scale of the map.
    pub(super) steepness: f64,
}

impl StraightLine {
    /// Whether a number is on the line, given where that begins.
    pub(super) fn is_beyond(&self, number: f64, beginning: f64) -> bool {
        if self.upper { number > beginning } else { number < beginning }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponent_of_one_is_a_straight_line() {
        let line = PowerCurve::YeoJohnson { origin: 3.0, unit: 2.0, exponent: 1.0 };
        for y in [-50.0, 0.0, 3.0, 1e6] {
            assert!((line.apply(y) - (y - 3.0) / 2.0).abs() < 1e-9 * (1.0 + y.abs()));
        }
    }
}
