//! Means over folds, and the test by which the paper sets them in bold.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The level of the paper's test.
const LEVEL: f64 = 0.05;

/// Mean and standard deviation (of a sample) of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) mean: f64,
    pub(crate) sd: f64,
    pub(crate) count: usize,
}

impl Spread {
    pub(crate) fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        Self { mean, sd: (squares / (n - 1.0).max(1.0)).sqrt(), count: values.len() }
    }

    /// The standard error of the mean, as if folds were independent.
    pub(crate) fn standard_error(&self) -> f64 {
        self.sd / (self.count as f64).sqrt()
    }
}

/// Whether `values` are larger than `best` on the same folds by more than chance: a paired,
/// one-sided t-test.
pub(crate) fn clearly_larger(values: &[f64], best: &[f64]) -> bool {
    let differences: Vec<f64> = values.iter().zip(best).map(|(v, b)| v - b).collect();
    if differences.len() < 2 {
        return false;
    }
    let spread = Spread::of(&differences);
    if spread.sd == 0.0 {
        return spread.mean > 0.0;
    }
    let t = spread.mean / spread.standard_error();
    match StudentsT::new(0.0, 1.0, differences.len() as f64 - 1.0) {
        Ok(law) => 1.0 - law.cdf(t) < LEVEL,
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_those_of_samples() {
        let spread = Spread::of(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(spread.mean, 2.5);
        assert!((spread.sd - (5.0_f64 / 3.0).sqrt()).abs() < 1e-15);
        assert_eq!(Spread::of(&[7.0]).sd, 0.0);
    }

    #[test]
    fn the_test_is_paired_and_one_sided() {
        // t = 2.1318 is the 95 % quantile for 4 degrees of freedom.
        let best = [5.0, 1.0, 9.0, 3.0, 7.0];
        let shifted = |t: f64| {
            let base = [-2.0, -1.0, 0.0, 1.0, 2.0];
            let unit = Spread::of(&base).standard_error();
            let mut values = best;
            values.iter_mut().zip(base).for_each(|(v, b)| *v += b / unit + t);
            values
        };
        assert!(clearly_larger(&shifted(2.14), &best));
        assert!(!clearly_larger(&shifted(2.12), &best));
        assert!(!clearly_larger(&shifted(-5.0), &best));
        assert!(!clearly_larger(&best, &best));
    }
}
