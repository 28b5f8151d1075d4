//! Rows that come later, or go. The dense engine keeps its rows, projected, and factorises anew:
//! exact like everything here, and as slow as a first time.

use super::{Dense, DensePosterior};
use crate::data::{Labels, Matrix};
use crate::engine::{Change, Conditioned, Observations, Posterior, Prior, RowChanges, Rows};
use crate::error::{Error, Result, UpdateError};
use crate::limits::MAX_DENSE_ROWS;
use crate::linalg::Threads;
use crate::views::Views;
use std::sync::Arc;

/// Rows are the same if they differ by less than this, in standardised units.
const SAME: f64 = 1e-9;

/// Rows as the posterior keeps them: projected, one row each.
struct ProjectedRows {
    z: Matrix,
    observations: Observations,
}

impl DensePosterior {
    /// Fails unless these are the training rows, in order.
    pub(super) fn check_rows(&self, x: &Matrix, y: &Observations) -> Result<()> {
        let n = self.rows();
        if (y.targets.len(), x.rows()) != (1, n) {
            return Err(Error::NotTrainingRows { row: None });
        }
        let own = self.training_rows();
        let given = ProjectedRows::of(self.prior(), x, y);
        match (0..n).find(|&i| !own.same(i, &given, i)) {
            Some(row) => Err(Error::NotTrainingRows { row: Some(row) }),
            None => Ok(()),
        }
    }

    fn training_rows(&self) -> ProjectedRows {
        let (n, shared) = (self.rows(), self.shared());
        let z =
            Matrix::from_fn(n, self.prior().kernel.views.rows(), |i, view| shared.z[view * n + i]);
        // y − c = K a = L L'a.
        let (l, a) = (&shared.factor, self.coefficients());
        let half: Vec<f64> = (0..n).map(|k| (k..n).map(|i| l[k * n + i] * a[i]).sum()).collect();
        let y = |i: usize| self.prior().mean + (0..=i).map(|k| l[k * n + i] * half[k]).sum::<f64>();
        let weights = &shared.weights;
        let noise = |i: usize| shared.noise[i] * weights[i] - self.prior().noise_variance;
        let noise: Vec<f64> = (0..n).map(noise).collect();
        // Computed back from a sum with σ²: what is far below it is rounding.
        let known = noise.iter().any(|s| *s > 1e-12 * self.prior().noise_variance);
        let observations = Observations(Labels {
            targets: vec![(0..n).map(y).collect()],
            sample_weights: weights.iter().any(|w| *w != 1.0).then(|| weights.clone()),
            noise: known.then(|| noise.iter().map(|s| s.max(0.0)).collect()),
        });
        ProjectedRows { z, observations }
    }
}

impl DensePosterior {
    /// The posterior given rows that are projected already, one row of views each.
    pub(in crate::engine) fn of_projected(
        prior: &Arc<Prior>,
        z: Matrix,
        observations: Observations,
    ) -> Result<Self> {
        let conditioned = ProjectedRows { z, observations }.posteriors(prior)?.pop();
        conditioned.map(|(_, posterior)| posterior).ok_or(Error::NoTargets)
    }
}

impl RowChanges for DensePosterior {
    fn change(&self, rows: &Rows<'_>, change: Change) -> Result<Conditioned> {
        let others = ProjectedRows::new(self.prior(), rows)?;
        let rows = match change {
            Change::Add => self.training_rows().and(&others),
            Change::Remove => self.training_rows().without(&others)?,
            Change::Replace => others,
        };
        let n = rows.z.rows();
        if n == 0 {
            return Err(UpdateError::NoRowsLeft.into());
        }
        if n > MAX_DENSE_ROWS {
            return Err(Error::RefitDue);
        }
        Dense::require_memory(n)?;
        rows.condition(self.shared_prior())
    }
}

impl ProjectedRows {
    fn new(prior: &Prior, rows: &Rows<'_>) -> Result<Self> {
        Ok(Self::of(prior, &rows.x.block(0..rows.x.len())?, rows.observations))
    }

    fn of(prior: &Prior, x: &Matrix, observations: &Observations) -> Self {
        let n = x.rows();
        let z = prior.kernel.project(x, Threads::All);
        let z = Matrix::from_fn(n, prior.kernel.views.rows(), |i, view| z[view * n + i]);
        Self { z, observations: observations.clone() }
    }

    fn and(self, others: &ProjectedRows) -> Self {
        let observations = Observations::joined([&self.observations, &others.observations]);
        Self { z: self.z.stacked(&others.z), observations }
    }

    /// The rows but for others, each of which must be among them.
    fn without(self, others: &ProjectedRows) -> Result<Self> {
        let mut left: Vec<usize> = (0..self.z.rows()).collect();
        for k in 0..others.z.rows() {
            let found = left.iter().position(|&i| self.same(i, others, k));
            left.remove(found.ok_or(Error::NotTrainingRows { row: Some(k) })?);
        }
        Ok(Self { z: self.z.gather(&left), observations: self.observations.gather(&left) })
    }

    fn same(&self, i: usize, others: &ProjectedRows, k: usize) -> bool {
        let (own, theirs) = (&self.observations, &others.observations);
        let (a, b) = (own.targets[0][i], theirs.targets[0][k]);
        let close = |a: f64, b: f64| (a - b).abs() <= SAME * b.abs().max(1.0);
        // y was computed back, with the error of a solve.
        (a - b).abs() <= 1e-6 * b.abs().max(1.0)
            && close(own.weight(i), theirs.weight(k))
            && close(own.variance(i, 0.0), theirs.variance(k, 0.0))
            && self.z.row(i).iter().zip(others.z.row(k)).all(|(a, b)| close(*a, *b))
    }

    fn condition(self, prior: &Arc<Prior>) -> Result<Conditioned> {
        let (likelihood, posterior) = self.posteriors(prior)?.pop().ok_or(Error::NoTargets)?;
        Ok((likelihood, Box::new(posterior)))
    }

    /// The posterior of each target given these rows, which need no further projection.
    fn posteriors(self, prior: &Arc<Prior>) -> Result<Vec<(f64, DensePosterior)>> {
        let views = self.z.columns();
        let mut projected = (**prior).clone();
        projected.kernel.views = Views::axes(views, views);
        let mut engine = Dense::new(self.z, self.observations);
        engine.conditioned(&projected, prior)
    }
}
