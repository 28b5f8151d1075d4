//! Rows that come later, or go. The dense engine keeps its rows, projected, and factorises anew:
//! exact like everything here, and as slow as a first time.

use super::{Dense, DensePosterior};
use crate::data::Matrix;
use crate::engine::{Change, Conditioned, DENSE_LIMIT, Engine, Observations, Prior};
use crate::error::{Error, Result};
use crate::linalg::Threads;
use crate::scale::StandardRows;

/// Rows are the same if they differ by less than this, in standardised units.
const SAME: f64 = 1e-9;

/// Rows as the posterior keeps them.
struct Rows {
    /// Projected, one row each.
    z: Matrix,
    y: Vec<f64>,
    weights: Vec<f64>,
    /// s².
    noise: Vec<f64>,
}

impl DensePosterior {
    pub(super) fn changed(
        &self,
        prior: &Prior,
        rows: &StandardRows<'_>,
        observations: &Observations,
        change: Change,
    ) -> Result<Conditioned> {
        let others = Rows::new(prior, rows, observations)?;
        let rows = match change {
            Change::Add => self.training_rows(prior).and(&others),
            Change::Remove => self.training_rows(prior).without(&others)?,
            Change::Replace => others,
        };
        if rows.y.is_empty() {
            return Err(Error::TooFewRows { rows: 0 });
        }
        if rows.y.len() > DENSE_LIMIT {
            return Err(Error::RefitDue);
        }
        rows.condition(prior)
    }

    fn training_rows(&self, prior: &Prior) -> Rows {
        let (n, shared) = (self.rows(), self.shared());
        let z = Matrix::from_fn(n, prior.kernel.views.rows(), |i, view| shared.z[view * n + i]);
        // y − c = K a = L L'a.
        let l = &shared.factor;
        let half: Vec<f64> =
            (0..n).map(|k| (k..n).map(|i| l[k * n + i] * self.weights()[i]).sum()).collect();
        let y = |i: usize| prior.mean + (0..=i).map(|k| l[k * n + i] * half[k]).sum::<f64>();
        let weights = shared.weights.clone();
        let noise = |i: usize| (shared.noise[i] * weights[i] - prior.noise_variance).max(0.0);
        Rows { z, y: (0..n).map(y).collect(), noise: (0..n).map(noise).collect(), weights }
    }
}

impl Rows {
    fn new(prior: &Prior, rows: &StandardRows<'_>, o: &Observations) -> Result<Self> {
        let n = rows.len();
        let views = prior.kernel.views.rows();
        let z = prior.kernel.project(&rows.block(0..n), Threads::All);
        Ok(Self {
            z: Matrix::from_fn(n, views, |i, view| z[view * n + i]),
            y: o.targets.first().ok_or(Error::NoTargets)?.clone(),
            weights: (0..n).map(|i| o.weight(i)).collect(),
            noise: (0..n).map(|i| o.variance(i, 0.0)).collect(),
        })
    }

    fn and(mut self, others: &Rows) -> Self {
        let z = [self.z.as_slice(), others.z.as_slice()].concat();
        let columns = self.z.columns();
        self.y.extend(&others.y);
        self.weights.extend(&others.weights);
        self.noise.extend(&others.noise);
        self.z = Matrix::from_fn(self.y.len(), columns, |i, j| z[i * columns + j]);
        self
    }

    /// The rows but for others, each of which must be among them.
    fn without(self, others: &Rows) -> Result<Self> {
        let mut left: Vec<usize> = (0..self.y.len()).collect();
        for k in 0..others.y.len() {
            let found = left.iter().position(|&i| self.same(i, others, k));
            left.remove(found.ok_or(Error::NotTrainingRows { row: Some(k) })?);
        }
        let pick = |values: &[f64]| left.iter().map(|&i| values[i]).collect();
        let (y, weights, noise) = (pick(&self.y), pick(&self.weights), pick(&self.noise));
        Ok(Self { z: self.z.gather(&left), y, weights, noise })
    }

    fn same(&self, i: usize, others: &Rows, k: usize) -> bool {
        let close = |a: f64, b: f64| (a - b).abs() <= SAME * b.abs().max(1.0);
        // y was computed back, with the error of a solve.
        let y = (self.y[i] - others.y[k]).abs() <= 1e-6 * others.y[k].abs().max(1.0);
        y && close(self.weights[i], others.weights[k])
            && self.z.row(i).iter().zip(others.z.row(k)).all(|(a, b)| close(*a, *b))
    }

    /// The posterior given these rows: what is left of the projections to do is nothing.
    fn condition(self, prior: &Prior) -> Result<Conditioned> {
        let views = self.z.columns();
        let mut projected = prior.clone();
        projected.kernel.views = Matrix::from_fn(views, views, |i, j| f64::from(u8::from(i == j)));
        let plain = |values: &[f64], value: f64| values.iter().all(|v| *v == value);
        let observations = Observations {
            targets: vec![self.y],
            weights: (!plain(&self.weights, 1.0)).then_some(self.weights),
            // Computed back from a sum with σ²: what is far below it is rounding.
            noise: self
                .noise
                .iter()
                .any(|s| *s > 1e-12 * prior.noise_variance)
                .then_some(self.noise),
        };
        Dense::new(self.z, observations).posterior(&projected)
    }
}
