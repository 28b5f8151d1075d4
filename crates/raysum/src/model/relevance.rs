//! The relevance of each column for a model's predictions.
//!
//! The relevance of a column is half the mean squared change of the prediction when the column's
//! value is replaced by that of another row,
//!
//! ```text
//! ½ E (f(x) − f(x with column c of x'))²
//! ```
//!
//! the total effect of Sobol' and Jansen over the training rows. For a linear model it is the
//! squared coefficient times the column's variance. Columns that belong together, such as those of
//! one category, are replaced together.

use super::{BLOCK, Model};
use crate::data::{Matrix, MatrixRef};
use crate::engine::Prior;
use crate::error::Result;
use crate::linalg::Threads;
use crate::rng::{Purpose, random_key, stream};
use crate::views::Views;
use rayon::prelude::*;
use std::ops::Range;

/// Maximum number of rows whose columns are replaced.
const MOST_ROWS: usize = 500;
/// Maximum number of rows from which these are chosen.
const CANDIDATES: usize = 10_000;
/// Approximate number of pairs of a row and its replacement, where rows are few.
const PAIRS: usize = 1_000;
/// If all columns together change the prediction by less than this share of the target's variance,
/// no column is relevant: the shares would be those of rounding errors.
const NOTHING: f64 = 1e-3;
/// Minimum number of rows for a meaningful average.
const LEAST_ROWS: usize = 30;
/// Budget of all predictions, in exponentials.
const BUDGET: f64 = 1e9;

impl Model {
    /// Fills in [`Model::relevance`] from training rows and their weights. `groups` has the number
    /// of the original column of each column, in order.
    pub(crate) fn learn_relevance(
        &mut self,
        x: MatrixRef<'_>,
        weights: Option<&[f64]>,
        groups: Option<&[usize]>,
    ) -> Result<()> {
        let groups = match groups {
            Some(groups) => groups.to_vec(),
            None => (0..self.columns()).collect(),
        };
        let count = groups.last().map_or(0, |last| last + 1);
        let pairs = self.affordable_pairs(count);
        let mut effects = if pairs < LEAST_ROWS.min(x.rows()) {
            self.squared_slopes(x, weights, &groups)?
        } else {
            self.effects_of_replacing(x, weights, &groups, pairs)?
        };
        let total: f64 = effects.iter().sum();
        if total > NOTHING && total.is_finite() {
            effects.iter_mut().for_each(|effect| *effect /= total);
        } else {
            effects.fill(0.0);
        }
        (self.relevance, self.groups) = (effects, groups);
        Ok(())
    }

    /// The pairs of rows for which a prediction per column is cheap enough.
    fn affordable_pairs(&self, columns: usize) -> usize {
        let kernel = &self.prior().kernel;
        // Of rows: an exponential for each sub-kernel, and some flops for each view.
        let (views, kernels) = (kernel.views.rows() as f64, kernel.degrees.len() as f64);
        let rows = self.posterior.kernel_evaluations().unwrap_or(self.report.rows);
        let of_rows = rows as f64 * (kernels + views / 20.0);
        let each = self.features().map_or(of_rows, |features| 2.0 * features as f64);
        (BUDGET / (each * columns as f64)) as usize
    }

    fn effects_of_replacing(
        &self,
        x: MatrixRef<'_>,
        weights: Option<&[f64]>,
        groups: &[usize],
        pairs: usize,
    ) -> Result<Vec<f64>> {
        let chosen = self.random_rows(x, pairs.min(MOST_ROWS))?;
        let own = self.standardised((&x.gather(&chosen)?).into())?;
        let rows = chosen.len();
        let weight = |k: usize| weights.map_or(1.0, |w| w[chosen[k]]);
        // Of few rows every pair counts, of more some.
        let shifts = (pairs.min(PAIRS) / rows).clamp(1, (rows - 1).max(1));
        let total = shifts as f64 * (0..rows).map(weight).sum::<f64>();
        let projected = Projected::new(self.prior(), &own);
        let before = self.mean_of_projected(&projected.z);
        let effect = |columns: Range<usize>| {
            let mut sum = 0.0;
            for shift in 1..=shifts {
                let z =
                    projected.replaced(&self.prior().kernel.views, &own, columns.clone(), shift);
                let after = self.mean_of_projected(&z);
                let square = |k: usize| weight(k) * (after[k] - before[k]).powi(2);
                sum += (0..rows).map(square).sum::<f64>();
            }
            0.5 * sum / total
        };
        let start = |group: &[usize]| groups.partition_point(|g| *g < group[0]);
        let columns: Vec<Range<usize>> = groups
            .chunk_by(|a, b| a == b)
            .map(|group| start(group)..start(group) + group.len())
            .collect();
        Ok(columns.into_par_iter().map(effect).collect())
    }

    /// The numbers of random rows in random order; neither depends on the order of the rows, up to
    /// some thousand of them.
    fn random_rows(&self, x: MatrixRef<'_>, rows: usize) -> Result<Vec<usize>> {
        let mut rng = stream(0, Purpose::Relevance, 0);
        let some = rand::seq::index::sample(&mut rng, x.rows(), CANDIDATES.min(x.rows()));
        let some = some.into_vec();
        let standard = self.standardised((&x.gather(&some)?).into())?;
        let key =
            |(k, row): (usize, &usize)| (random_key(0, standard.row(k).iter().copied()), *row);
        let mut keyed: Vec<(u64, usize)> = some.iter().enumerate().map(key).collect();
        keyed.sort_unstable();
        Ok(keyed.into_iter().take(rows).map(|(_, row)| row).collect())
    }

    /// The mean at projected rows, of the standardised target.
    fn mean_of_projected(&self, z: &Matrix) -> Vec<f64> {
        let mean = |start: usize| {
            let rows = start..(start + BLOCK).min(z.rows());
            let run = |view: usize| rows.clone().map(move |i| z[(i, view)]);
            let runs = (0..z.columns()).flat_map(run).collect();
            self.posterior.mean_of_projected(runs, rows.len())
        };
        (0..z.rows()).step_by(BLOCK).flat_map(mean).collect()
    }

    /// The mean squared slope along each column, per standard deviation of it: what replacing gives
    /// for a linear model, at a cost that does not grow with the columns.
    fn squared_slopes(
        &self,
        x: MatrixRef<'_>,
        weights: Option<&[f64]>,
        groups: &[usize],
    ) -> Result<Vec<f64>> {
        let rows: Vec<usize> = (0..x.rows()).step_by(x.rows().div_ceil(MOST_ROWS)).collect();
        let some = x.gather(&rows)?;
        let gradient = self.standardised_gradient(&self.standardised((&some).into())?);
        let mut effects = vec![0.0; groups.last().map_or(0, |last| last + 1)];
        let weight = |row: usize| weights.map_or(1.0, |w| w[row]);
        let total: f64 = rows.iter().map(|row| weight(*row)).sum();
        for (k, row) in rows.iter().enumerate() {
            let share = weight(*row) / total;
            let slopes = gradient.row(k).iter().zip(groups).zip(&self.scaler.x);
            for ((slope, group), column) in slopes {
                // A constant column has no slope.
                let known = if column.std == 0.0 { 0.0 } else { slope * slope };
                effects[*group] += share * known;
            }
        }
        Ok(effects)
    }
}

/// Projected rows of a prior, one row of values for each. On a wide table projecting rows costs far
/// more than all else that a prediction takes, and replacing a column changes little of it.
struct Projected {
    z: Matrix,
}

impl Projected {
    fn new(prior: &Prior, rows: &Matrix) -> Self {
        let (n, views) = (rows.rows(), prior.kernel.views.rows());
        let z = prior.kernel.project(rows, Threads::All);
        Self { z: Matrix::from_fn(n, views, |i, view| z[view * n + i]) }
    }

    /// The projected rows after some columns of each have been replaced by those of the row that
    /// comes `shift` rows later.
    fn replaced(
        &self,
        views: &Views,
        rows: &Matrix,
        columns: Range<usize>,
        shift: usize,
    ) -> Matrix {
        let mut z = self.z.clone();
        for c in columns {
            let weights: Vec<f64> = (0..views.rows()).map(|view| views[(view, c)]).collect();
            for k in 0..rows.rows() {
                let change = rows[((k + shift) % rows.rows(), c)] - rows[(k, c)];
                let each = z.row_mut(k).iter_mut().zip(&weights);
                each.for_each(|(z, weight)| *z += weight * change);
            }
        }
        z
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::{Directions, Projections};

    #[test]
    fn replaced_columns_are_projected_as_rows_are() {
        for directions in [Directions::Diverse, Directions::Axes] {
            let config = crate::Config::default();
            let projections = vec![Projections::choose(directions, &[1; 4], 5, 1).unwrap()];
            let parameters = crate::parameters::Parameters::new(&config, projections).unwrap();
            let prior = parameters.prior_at(&parameters.start());
            let rows = Matrix::from_fn(7, 5, |i, j| ((3 * i + 5 * j) % 11) as f64);
            let projected = Projected::new(&prior, &rows);
            let found = projected.replaced(&prior.kernel.views, &rows, 1..3, 2);
            let swapped =
                |i: usize, j| rows[(if (1..3).contains(&j) { (i + 2) % 7 } else { i }, j)];
            let expected = Projected::new(&prior, &Matrix::from_fn(7, 5, swapped)).z;
            for (a, b) in found.as_slice().iter().zip(expected.as_slice()) {
                assert!((a - b).abs() < 1e-12, "{a} and {b}");
            }
        }
    }
}
