//! What predictions look like beside observations, as counts and quantiles: no row can be read from it.

use crate::error::{Error, Result};
use crate::model::Prediction;
use serde::{Deserialize, Serialize};

/// The probabilities of the intervals that are counted.
const LEVELS: [f64; 12] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99];
/// The probability of the intervals whose widths are kept.
const WIDTH_LEVEL: f64 = 0.95;
/// Cells of the grid along each side.
const CELLS: usize = 40;
/// The share of values at either end that lie in the outermost cells, whatever they are.
const TAIL: f64 = 0.002;
/// Quantiles that are kept of errors and of widths.
const QUANTILES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];
/// Largest number of groups of rows by their prediction, and fewest rows in each.
const GROUPS: usize = 20;
const GROUP_ROWS: usize = 10;

/// How predictions compare with observations of the same rows, in the target's units.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Diagnostics {
    /// Number of rows.
    pub rows: usize,
    /// Probabilities of central intervals, each with the share of observations inside.
    pub coverage: Vec<(f64, f64)>,
    /// The quantiles 5, 25, 50, 75 and 95 % of the widths of 95 % intervals.
    pub widths: Vec<f64>,
    /// The range of the grid, the same for predictions and observations. What lies outside is counted
    /// in the outermost cells.
    pub range: (f64, f64),
    /// Cells of the grid along each side.
    pub cells: usize,
    /// Cells with rows in them: that of the prediction, that of the observation, and how many.
    pub counts: Vec<(usize, usize, usize)>,
    /// Rows in groups by their prediction, in ascending order.
    pub groups: Vec<ErrorGroup>,
}

/// Rows with similar predictions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ErrorGroup {
    /// The mean prediction.
    pub predicted: f64,
    /// Number of rows.
    pub rows: usize,
    /// The quantiles 5, 25, 50, 75 and 95 % of observation minus prediction.
    pub errors: Vec<f64>,
}

impl Diagnostics {
    /// Compares predictions with the observations of their rows, part by part.
    pub fn of(parts: &[(&[f64], &Prediction)]) -> Result<Self> {
        let mut all = Compared::default();
        for (truth, prediction) in parts {
            let (lower, upper) = prediction.interval(WIDTH_LEVEL)?;
            all.widths.extend(lower.iter().zip(&upper).map(|(low, high)| limited(high - low)));
            all.probabilities.extend(prediction.cdf(truth)?);
            all.pairs.extend(prediction.mean.iter().copied().zip(truth.iter().copied()));
        }
        if all.pairs.is_empty() {
            return Err(Error::NoTargets);
        }
        Ok(all.summarised())
    }
}

/// Every row, before it is counted.
#[derive(Default)]
struct Compared {
    widths: Vec<f64>,
    /// The predicted probability of a smaller observation.
    probabilities: Vec<f64>,
    /// Prediction and observation.
    pairs: Vec<(f64, f64)>,
}

impl Compared {
    fn summarised(mut self) -> Diagnostics {
        let rows = self.pairs.len();
        let inside = |level: f64| {
            let count = self.probabilities.iter().filter(|p| (2.0 * *p - 1.0).abs() <= level);
            count.count() as f64 / rows as f64
        };
        let coverage = LEVELS.iter().map(|level| (*level, inside(*level))).collect();
        self.widths.sort_by(f64::total_cmp);
        let mut values: Vec<f64> = self.pairs.iter().flat_map(|(m, y)| [*m, *y]).collect();
        values.sort_by(f64::total_cmp);
        let range = (quantile(&values, TAIL), quantile(&values, 1.0 - TAIL));
        self.pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        Diagnostics {
            rows,
            coverage,
            widths: QUANTILES.iter().map(|q| quantile(&self.widths, *q)).collect(),
            range,
            cells: CELLS,
            counts: self.counts(range),
            groups: self.groups(),
        }
    }

    fn counts(&self, (low, high): (f64, f64)) -> Vec<(usize, usize, usize)> {
        let cell = |value: f64| {
            // Halves, because the difference of two huge values overflows.
            let share = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
            if share.is_nan() { 0 } else { ((share * CELLS as f64) as usize).min(CELLS - 1) }
        };
        let mut counts = vec![0; CELLS * CELLS];
        for (predicted, observed) in &self.pairs {
            counts[cell(*predicted) * CELLS + cell(*observed)] += 1;
        }
        let each = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
        each.map(|(k, count)| (k / CELLS, k % CELLS, count)).collect()
    }

    /// Of rows that are sorted by their prediction.
    fn groups(&self) -> Vec<ErrorGroup> {
        let rows = self.pairs.len();
        let groups = (rows / GROUP_ROWS).clamp(1, GROUPS);
        let group = |g: usize| {
            let own = &self.pairs[g * rows / groups..(g + 1) * rows / groups];
            let mut errors: Vec<f64> = own.iter().map(|(m, y)| limited(y - m)).collect();
            errors.sort_by(f64::total_cmp);
            ErrorGroup {
                predicted: own.iter().map(|(m, _)| m / own.len() as f64).sum(),
                rows: own.len(),
                errors: QUANTILES.iter().map(|q| quantile(&errors, *q)).collect(),
            }
        };
        (0..groups).map(group).collect()
    }
}

fn limited(value: f64) -> f64 {
    value.clamp(f64::MIN, f64::MAX)
}

/// The quantile of sorted values, of which there is one at least.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[(share * (sorted.len() - 1) as f64).round() as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, stream};
    use rand_distr::{Distribution, StandardNormal};

    #[test]
    fn counts_are_those_of_the_rows() {
        let mut rng = stream(1, Purpose::Samples, 0);
        let mean: Vec<f64> = (0..4_000).map(|i| f64::from(i % 100)).collect();
        let draw = |m: &f64| -> f64 {
            let z: f64 = StandardNormal.sample(&mut rng);
            m + 3.0 * z
        };
        let truth: Vec<f64> = mean.iter().map(draw).collect();
        let p = |mean: &[f64]| {
            Prediction::new(mean.to_vec(), vec![3.0; mean.len()], &vec![0.0; mean.len()])
        };
        let (first, rest) = (p(&mean[..1_000]), p(&mean[1_000..]));
        let found =
            Diagnostics::of(&[(&truth[..1_000], &first), (&truth[1_000..], &rest)]).unwrap();
        assert_eq!(found, Diagnostics::of(&[(&truth, &p(&mean))]).unwrap());
        assert_eq!(found.counts.iter().map(|(_, _, count)| count).sum::<usize>(), 4_000);
        assert!(found.coverage.iter().all(|(level, share)| (level - share).abs() < 0.03));
        assert!(found.widths.iter().all(|width| (width - 11.76).abs() < 0.01));
        assert_eq!((found.groups.len(), found.rows), (20, 4_000));
        assert!(found.groups.iter().all(|g| g.rows == 200 && g.errors[2].abs() < 1.0));
        assert!(found.groups.is_sorted_by(|a, b| a.predicted <= b.predicted));
    }

    #[test]
    fn one_row_and_huge_values_are_no_obstacle() {
        for values in [vec![1.0], vec![f64::MAX, f64::MIN, 0.0], vec![2.0; 30]] {
            let n = values.len();
            let p = Prediction::new(values.clone(), vec![1.0; n], &vec![0.0; n]);
            let found = Diagnostics::of(&[(&values, &p)]).unwrap();
            assert!(found.groups.iter().all(|group| group.predicted.is_finite()));
            assert_eq!(found.counts.iter().map(|(_, _, count)| count).sum::<usize>(), n);
        }
        assert!(Diagnostics::of(&[]).is_err());
    }
}
