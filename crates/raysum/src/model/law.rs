//! Distributions of new observations at some rows: normal, normal after a power, or mixtures of these.
//!
//! Every distribution is described by the map between its values and normal scores: y has the score z
//! if a standard normal variable is below z with the probability that an observation is below y. For
//! a normal distribution this is (y − mean)/std, and tails far out keep their precision.

use crate::scale::Power;
use statrs::distribution::{Continuous, ContinuousCDF, Normal};

/// Steps in which a quantile of a mixture is found; scores are nearly linear, so few are needed.
const STEPS: usize = 80;
/// Its precision, relative to the distance between the quantiles of the parts.
const PRECISION: f64 = 1e-12;

/// The distribution at each row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Law {
    Bell(Bell),
    Mixture(Mixture),
}

/// Normal distributions, on the scale of a power if there is one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bell {
    pub(crate) power: Option<Power>,
    pub(crate) mean: Vec<f64>,
    pub(crate) std: Vec<f64>,
}

/// Mixtures of such distributions, all moved by the same distance at a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mixture {
    /// With their weights, which are above 0 and sum to 1.
    pub(crate) parts: Vec<(f64, Bell)>,
    pub(crate) shift: Vec<f64>,
}

impl Law {
    /// The normal score of y at row i.
    pub(super) fn score(&self, i: usize, y: f64) -> f64 {
        match self {
            Law::Bell(bell) => bell.score(i, y),
            Law::Mixture(mixture) => mixture.score(i, y),
        }
    }

    /// The y of a normal score at row i.
    pub(super) fn at(&self, i: usize, z: f64) -> f64 {
        match self {
            Law::Bell(bell) => bell.at(i, z),
            Law::Mixture(mixture) => mixture.at(i, z),
        }
    }

    pub(super) fn log_density(&self, i: usize, y: f64) -> f64 {
        match self {
            Law::Bell(bell) => bell.log_density(i, y),
            Law::Mixture(mixture) => mixture.log_density(i, y),
        }
    }
}

impl Bell {
    pub(crate) fn score(&self, i: usize, y: f64) -> f64 {
        let y = self.power.map_or(y, |power| power.apply(y));
        // Squares or differences of huge values would overflow.
        y / self.std[i] - self.mean[i] / self.std[i]
    }

    /// Within the range of floats.
    fn at(&self, i: usize, z: f64) -> f64 {
        let value = self.mean[i] + z * self.std[i];
        self.power.map_or(value, |power| power.undo(value)).clamp(f64::MIN, f64::MAX)
    }

    pub(crate) fn log_density(&self, i: usize, y: f64) -> f64 {
        let slope = self.power.map_or(0.0, |power| power.log_slope(y));
        Normal::standard().ln_pdf(self.score(i, y)) - self.std[i].ln() + slope
    }
}

impl Mixture {
    fn log_density(&self, i: usize, y: f64) -> f64 {
        let y = y - self.shift[i];
        let logs = || self.parts.iter().map(|(w, bell)| w.ln() + bell.log_density(i, y));
        let largest = logs().fold(f64::NEG_INFINITY, f64::max);
        largest + logs().map(|log| (log - largest).exp()).sum::<f64>().ln()
    }

    fn score(&self, i: usize, y: f64) -> f64 {
        self.centred_score(i, y - self.shift[i])
    }

    fn centred_score(&self, i: usize, y: f64) -> f64 {
        let normal = Normal::standard();
        let (mut below, mut above, mut nearest) = (0.0, 0.0, f64::INFINITY);
        for (weight, bell) in &self.parts {
            let z = bell.score(i, y);
            below += weight * normal.cdf(z);
            above += weight * normal.cdf(-z);
            if z.abs() < f64::abs(nearest) {
                nearest = z;
            }
        }
        let smaller = if below < above { below } else { above };
        // Beyond what floats can tell from 0 the part that reaches the farthest decides.
        if smaller < f64::MIN_POSITIVE {
            return nearest;
        }
        if below < above { normal.inverse_cdf(below) } else { -normal.inverse_cdf(above) }
    }

    /// Between the quantiles of the parts, by the method of false position (Illinois).
    fn at(&self, i: usize, z: f64) -> f64 {
        let ends = self.parts.iter().map(|(_, bell)| bell.at(i, z));
        let (mut low, mut high) =
            ends.fold((f64::MAX, f64::MIN), |(low, high), y| (low.min(y), high.max(y)));
        let precision = PRECISION * (high - low);
        let (mut below, mut above) =
            (self.centred_score(i, low) - z, self.centred_score(i, high) - z);
        let mut side = 0;
        for _ in 0..STEPS {
            if high - low <= precision || below >= 0.0 || above <= 0.0 {
                break;
            }
            let middle = low + (high - low) * (below / (below - above)).clamp(0.01, 0.99);
            let error = self.centred_score(i, middle) - z;
            if error < 0.0 {
                (low, below) = (middle, error);
                above *= if side < 0 { 0.5 } else { 1.0 };
                side = -1;
            } else {
                (high, above) = (middle, error);
                below *= if side > 0 { 0.5 } else { 1.0 };
                side = 1;
            }
        }
        let y = if below >= 0.0 { low } else { high };
        (y + self.shift[i]).clamp(f64::MIN, f64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bell(mean: f64, std: f64) -> Bell {
        Bell { power: None, mean: vec![mean], std: vec![std] }
    }

    fn mixture(shift: f64) -> Mixture {
        let parts = vec![(0.7, bell(-1.0, 0.5)), (0.3, bell(2.0, 1.5))];
        Mixture { parts, shift: vec![shift] }
    }

    #[test]
    fn scores_and_quantiles_of_a_mixture_are_inverse() {
        let law = mixture(0.25);
        for z in [-30.0, -6.0, -1.96, -0.3, 0.0, 0.5, 1.64, 5.0, 25.0] {
            let y = law.at(0, z);
            assert!((law.score(0, y) - z).abs() < 1e-6 * (1.0 + f64::abs(z)), "{z}: {y}");
        }
        // A quantile from an independent source: bisection of the sum of two normal cdfs in Python.
        assert!((mixture(0.0).at(0, 0.0) - -0.738_189_487_1).abs() < 1e-6);
    }

    #[test]
    fn a_mixture_of_equal_parts_is_the_part() {
        let law =
            Mixture { parts: vec![(0.4, bell(1.0, 2.0)), (0.6, bell(1.0, 2.0))], shift: vec![0.0] };
        for z in [-3.0, 0.0, 2.0] {
            assert!((law.at(0, z) - (1.0 + 2.0 * z)).abs() < 1e-9);
            assert!((law.score(0, 1.0 + 2.0 * z) - z).abs() < 1e-9);
        }
        assert!((law.log_density(0, 3.0) - bell(1.0, 2.0).log_density(0, 3.0)).abs() < 1e-12);
    }

    #[test]
    fn densities_of_a_mixture_integrate_to_one() {
        let law = mixture(0.5);
        let total: f64 =
            (-1500..1500).map(|k| 0.01 * law.log_density(0, f64::from(k) * 0.01).exp()).sum();
        assert!((total - 1.0).abs() < 1e-6, "{total}");
    }
}
