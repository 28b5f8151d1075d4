//! The scale of a target on which it is closer to normal: Yeo and Johnson's power transformation, or
//! the logarithm.
//!
//! The exponent is that of the highest likelihood, see [`Evidence`]. It lies between 0 and 2, where the
//! transformation maps all numbers onto all numbers, so that every prediction has an inverse. Values are
//! shifted by their median and divided by some multiple of their interquartile range first: the result
//! does not depend on the target's units.
//!
//! Some thousand ranges beyond the training values the map is a straight line. Its inverse would otherwise grow
//! exponentially there and overflow, and a trend that is extended as far says nothing about the target.

use super::curve::{PowerCurve, StraightLine};
use super::evidence::Evidence;
use super::{Standard, quadrature};
use serde::{Deserialize, Serialize};

/// At most about this many values decide on median and range.
const SAMPLE: usize = 100_000;
/// The units that are tried, in interquartile ranges.
const UNITS: [f64; 3] = [1.0, 1.0 / 3.0, 3.0];
/// Exponents that are tried before the best of them is refined.
const TRIED: usize = 11;
/// The exponent is found to within this.
const PRECISION: f64 = 1e-3;
/// How far beyond the limits of a map its straight lines begin, in distances between the limits, each of
/// which is three times the range of the training values.
const STRAIGHT_FROM: f64 = 300.0;

/// An increasing map of a target to a scale with mean 0 and standard deviation 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Power {
    curve: PowerCurve,
    /// Mean and standard deviation of the curve's values.
    mean: f64,
    std: f64,
    /// The range of the training values on this scale, extended by their width in the target's units.
    limits: (f64, f64),
}

impl Power {
    /// The map of the highest likelihood for the values of rows, which count as often as their weights
    /// say; `None` if they do not vary.
    /// `range` is that of all values, of which `y` may be a sample, and `above_zero` says whether there
    /// is a logarithm of all values there are: those of a fold have one where those of other folds do.
    pub(super) fn learn(
        evidence: &Evidence,
        y: &[f64],
        weights: Option<&[f64]>,
        (range, above_zero): ((f64, f64), bool),
    ) -> Option<Self> {
        let (origin, unit) = centre(y)?;
        let some: Vec<f64> = evidence.rows.iter().map(|&i| y[i]).collect();
        let likelihood = |curve: &PowerCurve| log_likelihood(curve, &some, evidence);
        let mut curves = Vec::new();
        for factor in UNITS {
            let unit = (factor * unit).clamp(f64::MIN_POSITIVE, f64::MAX);
            let curve = |exponent| PowerCurve::YeoJohnson { origin, unit, exponent };
            curves.push(curve(maximum(|exponent| likelihood(&curve(exponent)))));
        }
        if above_zero {
            curves.push(PowerCurve::Logarithm);
        }
        let curves = curves.into_iter().map(|curve| (likelihood(&curve), curve));
        let (_, curve) = curves.rev().max_by(|a, b| a.0.total_cmp(&b.0))?;
        let (mean, variance) = moments(&curve, y, weights);
        let sound = variance.is_finite() && variance > 0.0;
        sound.then(|| {
            let mut power = Self { curve, mean, std: variance.sqrt(), limits: (0.0, 0.0) };
            let (low, high) = range;
            let width = (high / 2.0 - low / 2.0).min(f64::MAX / 8.0) * 2.0;
            let end = |y: f64| power.apply(y.clamp(f64::MIN, f64::MAX));
            power.limits = (end(low - width), end(high + width));
            power
        })
    }

    /// Whether y has a value on this scale: only numbers above 0 have a logarithm.
    pub(crate) fn takes(&self, y: f64) -> bool {
        y > 0.0 || !matches!(self.curve, PowerCurve::Logarithm)
    }

    /// The value of y on this scale.
    pub(crate) fn apply(&self, y: f64) -> f64 {
        let value = self.value_on_curve(y);
        match self.line_beyond(value).filter(|line| line.is_beyond(y, line.y)) {
            Some(line) => line.value + (y - line.y) / line.steepness,
            None => value,
        }
    }

    /// The y of a value on this scale.
    pub(crate) fn undo(&self, value: f64) -> f64 {
        match self.line_beyond(value).filter(|line| line.is_beyond(value, line.value)) {
            Some(line) => line.y + (value - line.value) * line.steepness,
            None => self.y_on_curve(value),
        }
        .clamp(f64::MIN, f64::MAX)
    }

    /// The logarithm of the slope at y: what densities on this scale are multiplied by.
    pub(crate) fn log_slope(&self, y: f64) -> f64 {
        match self.line_beyond(self.value_on_curve(y)).filter(|line| line.is_beyond(y, line.y)) {
            Some(line) => -line.steepness.ln(),
            None => self.log_slope_of_curve(y),
        }
    }

    fn value_on_curve(&self, y: f64) -> f64 {
        (self.curve.apply(y) - self.mean) / self.std
    }

    fn y_on_curve(&self, value: f64) -> f64 {
        self.curve.undo(self.mean + self.std * value)
    }

    fn log_slope_of_curve(&self, y: f64) -> f64 {
        self.curve.log_slope(y) - self.std.ln()
    }

    /// The straight line on the side of a value that is beyond the limits, where the target grows ever
    /// faster on that side.
    fn line_beyond(&self, value: f64) -> Option<StraightLine> {
        if (self.limits.0..=self.limits.1).contains(&value) {
            return None;
        }
        let (low, high) = (self.y_on_curve(self.limits.0), self.y_on_curve(self.limits.1));
        let upper = value > self.limits.1;
        let away = STRAIGHT_FROM * (high - low);
        let (end, y) = if upper { (high, high + away) } else { (low, low - away) };
        let slope = self.log_slope_of_curve(y);
        let line =
            StraightLine { upper, y, value: self.value_on_curve(y), steepness: (-slope).exp() };
        let grows = slope < self.log_slope_of_curve(end);
        (grows && y.is_finite() && line.steepness.is_finite()).then_some(line)
    }

    /// Mean and standard deviation of y where it is normal on this scale. The far tail of an
    /// exponential would decide on both, though nothing supports it: values beyond the limits count as
    /// the limits, or as a standard deviation from the mean where that is beyond them too.
    pub(crate) fn moments(&self, mean: f64, std: f64) -> (f64, f64) {
        let centre = self.undo(mean);
        let (low, high) = self.limits_of(mean, std);
        // Differences from the centre: the squares of large values would cancel.
        let at = |z: f64| self.undo(mean + std * z.clamp(low, high)) / 2.0 - centre / 2.0;
        let unit = quadrature::expectation(|z| at(z).abs()).max(f64::MIN_POSITIVE);
        let first = quadrature::expectation(|z| at(z) / unit);
        let second = quadrature::expectation(|z| (at(z) / unit - first).powi(2));
        let end = |v: f64| v.clamp(f64::MIN, f64::MAX);
        (end(centre + end(2.0 * unit * first)), end(2.0 * unit * second.sqrt()))
    }

    /// How fast the mean of [`Power::moments`] grows with the mean and with the standard deviation on
    /// this scale.
    pub(crate) fn mean_slopes(&self, mean: f64, std: f64) -> (f64, f64) {
        let (low, high) = self.limits_of(mean, std);
        let slope = |z: f64| {
            // At a limit nothing changes, but at a standard deviation from the mean it does.
            let fixed = (z > high && high > 1.0) || (z < low && low < -1.0);
            let y = self.undo(mean + std * z.clamp(low, high));
            if fixed { 0.0 } else { (-self.log_slope(y)).exp().min(f64::MAX) }
        };
        let by_std = quadrature::expectation(|z| z.clamp(low, high) * slope(z));
        (quadrature::expectation(slope), by_std)
    }

    /// The limits in standard deviations from a mean, at least one away.
    fn limits_of(&self, mean: f64, std: f64) -> (f64, f64) {
        let away = |limit: f64| (limit - mean) / std.max(f64::MIN_POSITIVE);
        (away(self.limits.0).min(-1.0), away(self.limits.1).max(1.0))
    }

    /// What the map is called, with its exponent.
    pub(crate) fn name(&self) -> String {
        match self.curve {
            PowerCurve::YeoJohnson { exponent, .. } => {
                format!("Yeo–Johnson, exponent {:.2}", exponent.abs())
            }
            PowerCurve::Logarithm => "logarithm".into(),
        }
    }

    /// Its numbers.
    pub(crate) fn numbers(&self) -> [f64; 7] {
        let (origin, unit, exponent) = match self.curve {
            PowerCurve::YeoJohnson { origin, unit, exponent } => (origin, unit, exponent),
            PowerCurve::Logarithm => (0.0, 0.0, 0.0),
        };
        [origin, unit, exponent, self.mean, self.std, self.limits.0, self.limits.1]
    }

    /// Whether it is an increasing map, as those of damaged files may not be.
    pub(crate) fn is_sound(&self) -> bool {
        let curve = match self.curve {
            PowerCurve::YeoJohnson { unit, exponent, .. } => {
                unit > 0.0 && (0.0..=2.0).contains(&exponent)
            }
            PowerCurve::Logarithm => true,
        };
        curve && self.std > 0.0 && self.numbers().iter().all(|v| v.is_finite())
    }
}

/// The median and the interquartile range; in place of that the standard deviation, where more than
/// half of the values are equal. `None` if all are.
fn centre(y: &[f64]) -> Option<(f64, f64)> {
    let step = y.len().div_ceil(SAMPLE).max(1);
    let mut sorted: Vec<f64> = y.iter().step_by(step).copied().collect();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted[(share * (sorted.len() - 1) as f64).round() as usize];
    let range = at(0.75) / 2.0 - at(0.25) / 2.0;
    let unit = if range > 0.0 { 2.0 * range.min(f64::MAX / 2.0) } else { Standard::of(y).std };
    (unit > 0.0).then(|| (at(0.5), unit))
}

/// Mean and variance of a curve's values, which count as often as their weights say.
fn moments(curve: &PowerCurve, y: &[f64], weights: Option<&[f64]>) -> (f64, f64) {
    let heaviest = weights.map_or(1.0, |weights| weights.iter().copied().fold(0.0, f64::max));
    let (mut total, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for (i, y) in y.iter().enumerate() {
        let weight = weights.map_or(1.0, |weights| weights[i] / heaviest);
        let gap = curve.apply(*y) - mean;
        total += weight;
        mean += gap * weight / f64::max(total, f64::MIN_POSITIVE);
        squares += weight * gap * (curve.apply(*y) - mean);
    }
    (mean, squares / total)
}

/// The log density of the values where their errors are normal after the curve, per row.
fn log_likelihood(curve: &PowerCurve, y: &[f64], evidence: &Evidence) -> f64 {
    let values: Vec<f64> = y.iter().map(|y| curve.apply(*y)).collect();
    let slopes = y.iter().map(|y| curve.log_slope(*y)).sum::<f64>() / y.len() as f64;
    let density = slopes + evidence.log_density(&values);
    if density.is_finite() { density } else { f64::MIN }
}

/// Where a function is highest between 0 and 2: near the best of some points.
fn maximum(f: impl Fn(f64) -> f64) -> f64 {
    let step = 2.0 / (TRIED - 1) as f64;
    let values: Vec<f64> = (0..TRIED).map(|k| f(k as f64 * step)).collect();
    let best = (0..TRIED).rev().max_by(|a, b| values[*a].total_cmp(&values[*b])).unwrap_or(0);
    let best = best as f64 * step;
    let (mut low, mut high) = ((best - step).max(0.0), (best + step).min(2.0));
    // Golden section.
    let ratio = (5.0_f64.sqrt() - 1.0) / 2.0;
    while high - low > PRECISION {
        let (left, right) = (high - ratio * (high - low), low + ratio * (high - low));
        if f(left) > f(right) { high = right } else { low = left }
    }
    let middle = 0.5 * (low + high);
    // The ends of the range are exponents of their own.
    if f(best) >= f(middle) { best } else { middle }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Matrix;

    const FAR_LIMITS: (f64, f64) = (-1e9, 1e9);

    fn range(y: &[f64]) -> (f64, f64) {
        Standard::of(y).range.unwrap()
    }

    fn curves() -> Vec<PowerCurve> {
        let of = |exponent| PowerCurve::YeoJohnson { origin: 3.0, unit: 0.7, exponent };
        let mut all: Vec<PowerCurve> = [0.0, 0.3, 1.0, 1.6, 2.0].map(of).to_vec();
        all.push(PowerCurve::Logarithm);
        all
    }

    #[test]
    fn inverses_and_slopes_are_those_of_the_map() {
        for curve in curves() {
            let power = Power { curve, mean: 0.4, std: 1.7, limits: FAR_LIMITS };
            for y in [0.01, 1.0, 2.999, 3.0, 3.5, 40.0] {
                let back = power.undo(power.apply(y));
                assert!((back - y).abs() < 1e-9 * (1.0 + y.abs()), "{curve:?}: {y} and {back}");
                let h = 1e-6 * y;
                let slope = (power.apply(y + h) - power.apply(y - h)) / (2.0 * h);
                assert!((slope.ln() - power.log_slope(y)).abs() < 1e-5, "{curve:?} at {y}");
            }
        }
    }

    /// Quantiles of the normal distribution.
    fn normal(n: usize) -> Vec<f64> {
        use statrs::distribution::{ContinuousCDF, Normal};
        (0..n).map(|i| Normal::standard().inverse_cdf((i as f64 + 0.5) / n as f64)).collect()
    }

    /// A map of values without anything to explain them.
    fn learn(y: &[f64]) -> Option<Power> {
        let nothing = Matrix::zeros(y.len(), 1);
        Power::learn(
            &Evidence::new((&nothing).into()).unwrap(),
            y,
            None,
            (range(y), y.iter().all(|y| *y > 0.0)),
        )
    }

    #[test]
    fn the_highest_likelihood_finds_the_scale_that_made_the_values() {
        let z = normal(800);
        let symmetric = learn(&z).unwrap();
        assert!((symmetric.numbers()[2] - 1.0).abs() < 0.01, "{symmetric:?}");
        let positive: Vec<f64> = z.iter().map(|z| (5.0 + z).exp()).collect();
        assert_eq!(learn(&positive).unwrap().curve, PowerCurve::Logarithm);
        // Not where there is a value at or below 0 that is not among these.
        let nothing = Evidence::new((&Matrix::zeros(800, 1)).into()).unwrap();
        let other = Power::learn(&nothing, &positive, None, (range(&positive), false)).unwrap();
        assert_ne!(other.curve, PowerCurve::Logarithm);
        assert!(other.takes(0.0) && !learn(&positive).unwrap().takes(0.0));
        // The same values in other units have the same map.
        let scaled: Vec<f64> = positive.iter().map(|y| y * 1e-9 - 4.0).collect();
        let skewed: Vec<f64> = positive.iter().map(|y| y - 4e9).collect();
        let (a, b) = (learn(&scaled).unwrap(), learn(&skewed).unwrap());
        for (x, y) in scaled.iter().zip(&skewed) {
            assert!((a.apply(*x) - b.apply(*y)).abs() < 1e-3);
        }
    }

    #[test]
    fn a_skewed_column_does_not_bend_the_target_that_follows_it() {
        let z = normal(400);
        let column: Vec<f64> = z.iter().map(|z| (0.8 * z).exp()).collect();
        let noise = |i: usize| z[(i * 177) % 400];
        let y: Vec<f64> = (0..400).map(|i| column[i] + 0.3 * noise(i)).collect();
        let x = Matrix::from_row_major(400, 1, column).unwrap();
        let evidence = Evidence::new((&x).into()).unwrap();
        let map = Power::learn(&evidence, &y, None, (range(&y), false)).unwrap();
        // Its curve is straight over most of the values: alone it would not be.
        let bend = |power: &Power| {
            let slope = |y: f64| power.log_slope(y);
            (slope(0.3) - slope(3.0)).abs()
        };
        let alone = learn(&y).unwrap();
        assert!(bend(&map) < 0.3 && bend(&alone) > 1.0, "{map:?} {alone:?}");
    }

    #[test]
    fn weights_count_as_repetitions() {
        let y = [0.2, 1.0, 7.0, 2.0, 3.5];
        let weights = [1.0, 2.0, 1.0, 3.0, 1.0];
        let repeated = [0.2, 1.0, 1.0, 7.0, 2.0, 2.0, 2.0, 3.5];
        for curve in curves() {
            let (a, b) = (moments(&curve, &y, Some(&weights)), moments(&curve, &repeated, None));
            assert!((a.0 - b.0).abs() < 1e-12 && (a.1 - b.1).abs() < 1e-12, "{a:?} {b:?}");
        }
    }

    #[test]
    fn moments_are_those_of_many_draws() {
        let z = normal(200_000);
        for curve in curves() {
            let power = Power { curve, mean: 0.4, std: 0.5, limits: FAR_LIMITS };
            let draws: Vec<f64> = z.iter().map(|z| power.undo(0.3 + 0.8 * z)).collect();
            let truth = Standard::of(&draws);
            let (mean, std) = power.moments(0.3, 0.8);
            assert!((mean - truth.mean).abs() < 2e-3 * truth.std, "{curve:?}: {mean} {truth:?}");
            assert!((std / truth.std - 1.0).abs() < 5e-3, "{curve:?}: {std} {truth:?}");
            let h = 1e-4;
            let by_mean =
                (power.moments(0.3 + h, 0.8).0 - power.moments(0.3 - h, 0.8).0) / (2.0 * h);
            let by_std =
                (power.moments(0.3, 0.8 + h).0 - power.moments(0.3, 0.8 - h).0) / (2.0 * h);
            let found = power.mean_slopes(0.3, 0.8);
            assert!((found.0 - by_mean).abs() < 1e-4 * by_mean.abs(), "{curve:?}: {found:?}");
            assert!((found.1 - by_std).abs() < 1e-3 * by_mean.abs(), "{curve:?}: {found:?}");
        }
    }

    #[test]
    fn the_far_tail_does_not_decide_on_the_mean() {
        let y: Vec<f64> = normal(400).iter().map(|z| z.exp()).collect();
        let power = learn(&y).unwrap();
        let largest = y.iter().copied().fold(0.0, f64::max);
        assert!((power.moments(0.0, 0.3).0 - (0.045_f64).exp()).abs() < 0.02);
        // Without limits the standard deviation is about e^9.
        let (mean, std) = power.moments(0.0, 3.0);
        assert!(mean < 2.0 * largest && std < 2.0 * largest, "{mean} {std} {largest}");
        // Where the middle is beyond the limits, the mean is near it.
        let (mean, _) = power.moments(9.0, 0.5);
        let (low, high) = (power.undo(8.5), power.undo(9.5));
        assert!(low < mean && mean < high, "{low} {mean} {high}");
    }

    #[test]
    fn far_beyond_the_values_the_map_is_a_straight_line() {
        let y: Vec<f64> = normal(400).iter().map(|z| z.exp()).collect();
        let log = learn(&y).unwrap();
        let left = learn(&y.iter().map(|y| -y).collect::<Vec<_>>()).unwrap();
        for (power, side) in [(log, 1.0), (left, -1.0)] {
            // The curve for a long way, and a line where it ends.
            assert_eq!(power.undo(side * 4.0), power.y_on_curve(side * 4.0), "{power:?}");
            assert!(power.undo(side * 1e3) / power.y_on_curve(side * 1e3) < 1e-3, "{power:?}");
            let ys = [1e3, 1e4, 2e4, 3e4, 1e5, 1e9, 1e200].map(|y| side * y);
            for y in ys {
                let back = power.undo(power.apply(y));
                assert!((back / y - 1.0).abs() < 1e-9, "{y}: {back}");
                let h = 1e-5 * y;
                let slope = (power.apply(y + h) - power.apply(y - h)) / (2.0 * h);
                assert!((slope.ln() - power.log_slope(y)).abs() < 1e-4, "{y}");
            }
            let steps = [1e3, 2e3].map(|t| power.undo(side * t) - power.undo(side * (t - 1.0)));
            assert!((steps[0] / steps[1] - 1.0).abs() < 1e-9, "{steps:?}");
            let (mean, std) = power.moments(side * 1e6, 1.0);
            assert!((power.apply(mean) / (side * 1e6) - 1.0).abs() < 1e-5 && std < 1e6);
        }
        // A logarithm has no end below.
        assert!(log.undo(-500.0) > 0.0);
    }

    #[test]
    fn values_without_spread_have_no_map() {
        assert_eq!(learn(&[4.0; 9]), None);
        assert_eq!(learn(&[4.0]), None);
        // Mostly equal ones have.
        let mut y = vec![0.0; 50];
        y.extend([1.0, 2.0, 30.0]);
        assert!(learn(&y).is_some_and(|power| power.is_sound()));
    }

    #[test]
    fn values_of_any_size_stay_finite() {
        for y in [[1e300, -1e300, 3e299, 0.0], [1e-300, 2e-300, 3e-300, 1e-299]] {
            let power = learn(&y).unwrap();
            assert!(power.is_sound(), "{power:?}");
            for v in y {
                assert!(power.apply(v).is_finite() && power.undo(power.apply(v)).is_finite());
            }
            for t in [-1e9, -30.0, 30.0, 1e9] {
                assert!(power.undo(t).is_finite());
                let (mean, std) = power.moments(t, 20.0);
                assert!(mean.is_finite() && std.is_finite(), "{power:?} at {t}: {mean} {std}");
            }
        }
    }
}
