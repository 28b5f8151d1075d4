//! How much each column matters to a model's predictions.
//!
//! The relevance of a column is half the mean squared change of the prediction when the column's
//! value is replaced by that of another row,
//!
//! ```text
//! ½ E (f(x) − f(x with column c of x'))²
//! ```
//!
//! the total effect of Sobol' and Jansen over the training rows. For a linear model it is the squared
//! coefficient times the column's variance. Columns that belong together, such as those of one
//! category, are replaced together.

use super::Model;
use crate::data::{Matrix, MatrixRef};
use crate::error::Result;
use crate::rng::{Purpose, random_key, stream};
use crate::scale::StandardRows;

/// Rows whose columns are replaced, at most.
const MOST_ROWS: usize = 500;
/// Rows that these are chosen from, at most.
const CANDIDATES: usize = 10_000;
/// Pairs of a row and one that it is replaced from, about, where rows are few.
const PAIRS: usize = 1_000;
/// With fewer than this the average says little.
const LEAST_ROWS: usize = 30;
/// What all predictions may cost together, in exponentials.
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
        let rows = self.affordable_rows(count).min(x.rows());
        let mut effects = if rows < LEAST_ROWS.min(x.rows()) {
            self.squared_slopes(x, weights, &groups)?
        } else {
            self.effects_of_replacing(x, weights, &groups, rows)?
        };
        let total: f64 = effects.iter().sum();
        if total > 0.0 && total.is_finite() {
            effects.iter_mut().for_each(|effect| *effect /= total);
        } else {
            effects.fill(0.0);
        }
        (self.relevance, self.groups) = (effects, groups);
        Ok(())
    }

    /// The rows for which a prediction per column is cheap enough.
    fn affordable_rows(&self, columns: usize) -> usize {
        let kernel = &self.prior.kernel;
        let each = match self.posterior.features() {
            Some(features) => 2.0 * features as f64,
            // An exponential for each sub-kernel, and some flops for each view.
            None => {
                let (views, kernels) = (kernel.views.rows() as f64, kernel.degrees.len() as f64);
                self.report.rows as f64 * (kernels + views / 20.0)
            }
        };
        ((BUDGET / (each * columns as f64)) as usize).min(MOST_ROWS)
    }

    fn effects_of_replacing(
        &self,
        x: MatrixRef<'_>,
        weights: Option<&[f64]>,
        groups: &[usize],
        rows: usize,
    ) -> Result<Vec<f64>> {
        let chosen = self.random_rows(x, rows)?;
        let own = x.gather(&chosen);
        let weight = |k: usize| weights.map_or(1.0, |w| w[chosen[k]]);
        // Of few rows every pair counts, of more some.
        let shifts = (PAIRS / rows).clamp(1, (rows - 1).max(1));
        let total = shifts as f64 * (0..rows).map(weight).sum::<f64>();
        let before = self.standardised_mean(&own)?;
        let mut effects = Vec::new();
        for group in groups.chunk_by(|a, b| a == b) {
            let start = groups.partition_point(|g| *g < group[0]);
            let mut sum = 0.0;
            for shift in 1..=shifts {
                let mut replaced = own.clone();
                for k in 0..rows {
                    let other = &own.row((k + shift) % rows)[start..start + group.len()];
                    replaced.row_mut(k)[start..start + group.len()].copy_from_slice(other);
                }
                let after = self.standardised_mean(&replaced)?;
                let square = |k: usize| weight(k) * (after[k] - before[k]).powi(2);
                sum += (0..rows).map(square).sum::<f64>();
            }
            effects.push(0.5 * sum / total);
        }
        Ok(effects)
    }

    /// The numbers of random rows in random order; neither depends on the order of the rows, up to
    /// some thousand of them.
    fn random_rows(&self, x: MatrixRef<'_>, rows: usize) -> Result<Vec<usize>> {
        let mut rng = stream(0, Purpose::Relevance, 0);
        let some = rand::seq::index::sample(&mut rng, x.rows(), CANDIDATES.min(x.rows()));
        let some = some.into_vec();
        let standard = self.standardised((&x.gather(&some)).into());
        x.check_read()?;
        let key =
            |(k, row): (usize, &usize)| (random_key(0, standard.row(k).iter().copied()), *row);
        let mut keyed: Vec<(u64, usize)> = some.iter().enumerate().map(key).collect();
        keyed.sort_unstable();
        Ok(keyed.into_iter().take(rows).map(|(_, row)| row).collect())
    }

    /// The mean at each row, of the standardised target.
    fn standardised_mean(&self, x: &Matrix) -> Result<Vec<f64>> {
        let mean = |rows: &Matrix| self.posterior.mean(&self.prior, rows);
        Ok(self.by_block(x.into(), mean)?.concat())
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
        let some = x.gather(&rows);
        x.check_read()?;
        let rows_of = StandardRows::new((&some).into(), &self.scaler);
        let gradient = self.standardised_gradient(&rows_of.block(0..rows.len()));
        let mut effects = vec![0.0; groups.last().map_or(0, |last| last + 1)];
        for (k, row) in rows.iter().enumerate() {
            let weight = weights.map_or(1.0, |w| w[*row]);
            let slopes = gradient.row(k).iter().zip(groups).zip(&self.scaler.x);
            for ((slope, group), column) in slopes {
                // A constant column has no slope: nothing can be said along it.
                let known = if column.std == 0.0 { 0.0 } else { slope * slope };
                effects[*group] += weight * known;
            }
        }
        Ok(effects)
    }
}
