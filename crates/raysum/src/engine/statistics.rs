//! Sums over rows under a feature map: the sufficient statistics of the weight-space engine.

use super::observations::Observations;
use super::rows::Change;
use super::tensor::Tensor;
use crate::error::{Error, Result, UpdateError};
use crate::linalg::{self, Threads};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// Sums over some rows, for one feature map, constant c and noise σ²; ρ_i is the precision of
/// row i relative to 1/σ², which is 1 for a plain row.
///
/// They form a group: the statistics of two sets of rows, merged, are those of their union, and
/// merged statistics can be subtracted again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Statistics {
    /// Number of rows.
    pub rows: u64,
    /// −Σ log ρ_i, which is 0 if no row has a weight or known noise.
    pub log_noise: f64,
    /// G = Σ ρ_i φ_i φ_i', p × p, of which the lower half counts (column-major). Posteriors of
    /// several targets share it.
    pub gram: Arc<Vec<f64>>,
    /// One entry per target.
    pub targets: Vec<Moments>,
}

/// The sums that a target is part of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Moments {
    /// Σ ρ_i (y_i−c)².
    pub square: f64,
    /// b = Σ ρ_i φ_i (y_i−c).
    pub moments: Vec<f64>,
}

impl Statistics {
    /// Of no rows, with p features and some targets.
    pub(crate) fn new(features: usize, targets: usize) -> Self {
        Self {
            rows: 0,
            log_noise: 0.0,
            gram: Arc::new(vec![0.0; features * features]),
            targets: vec![Moments { square: 0.0, moments: vec![0.0; features] }; targets],
        }
    }

    /// p.
    pub(crate) fn features(&self) -> usize {
        self.targets.first().map_or(0, |t| t.moments.len())
    }

    /// Adds the rows `range` of some observations, with features `phi` (row-major, rows by p) and
    /// targets less c, both already multiplied by the root of ρ.
    pub(super) fn add(
        &mut self,
        phi: &[f64],
        targets: &[Vec<f64>],
        observations: &Observations,
        range: Range<usize>,
        noise: f64,
    ) {
        self.rows += range.len() as u64;
        if !observations.are_plain() {
            self.log_noise -= range.map(|i| observations.precision(i, noise).ln()).sum::<f64>();
        }
        let features = self.features();
        let gram: &mut Vec<f64> = Arc::make_mut(&mut self.gram);
        linalg::add_gram(gram, phi, features, Threads::One);
        for (sums, y) in self.targets.iter_mut().zip(targets) {
            sums.square += y.iter().map(|y| y * y).sum::<f64>();
            linalg::add_product(&mut sums.moments, phi, y);
        }
    }

    /// Adds the statistics of other rows under the same feature map.
    pub(crate) fn merge(&mut self, other: &Statistics) -> Result<()> {
        self.change(other, Change::Add)
    }

    /// Takes other rows in or out.
    pub(super) fn change(&mut self, other: &Statistics, change: Change) -> Result<()> {
        for (name, expected, found) in [
            ("features", self.features(), other.features()),
            ("targets", self.targets.len(), other.targets.len()),
        ] {
            if expected != found {
                return Err(Error::HyperparameterCount { name, expected, found });
            }
        }
        let rows = match change {
            Change::Add => self.rows.checked_add(other.rows),
            Change::Remove => self.rows.checked_sub(other.rows).filter(|rows| *rows > 0),
            Change::Replace => Some(other.rows),
        };
        self.rows = rows.ok_or(UpdateError::NoRowsLeft)?;
        match change {
            Change::Add => self.add_sums(other, 1.0),
            Change::Remove => self.add_sums(other, -1.0),
            Change::Replace => *self = other.clone(),
        }
        Ok(())
    }

    /// Adds up parts that are known to fit.
    pub(super) fn sum(parts: impl IntoIterator<Item = Self>, empty: impl FnOnce() -> Self) -> Self {
        let add = |mut total: Self, part: Self| {
            total.rows += part.rows;
            total.add_sums(&part, 1.0);
            total
        };
        parts.into_iter().reduce(add).unwrap_or_else(empty)
    }

    fn add_sums(&mut self, other: &Statistics, sign: f64) {
        let add = |a: &mut f64, b: f64| *a += sign * b;
        add(&mut self.log_noise, other.log_noise);
        let gram = Arc::make_mut(&mut self.gram);
        gram.iter_mut().zip(other.gram.iter()).for_each(|(a, b)| add(a, *b));
        for (own, others) in self.targets.iter_mut().zip(&other.targets) {
            add(&mut own.square, others.square);
            own.moments.iter_mut().zip(&others.moments).for_each(|(a, b)| add(a, *b));
        }
    }

    /// The same statistics with more features, at these places among them; the new ones are 0 at
    /// all rows so far.
    pub(super) fn widen(&self, places: &[usize], features: usize) -> Self {
        let p = self.features();
        let mut gram = vec![0.0; features * features];
        for k in 0..p {
            for i in k..p {
                // Old features keep their order, so the lower half stays the lower half.
                gram[places[k] * features + places[i]] = self.gram[k * p + i];
            }
        }
        let widen = |t: &Moments| {
            let mut moments = vec![0.0; features];
            places.iter().zip(&t.moments).for_each(|(place, b)| moments[*place] = *b);
            Moments { square: t.square, moments }
        };
        let targets = self.targets.iter().map(widen).collect();
        Self { gram: Arc::new(gram), targets, ..*self }
    }

    /// The arrays that a file keeps of statistics of one target.
    pub(crate) fn tensors(&self) -> Vec<Tensor> {
        let (p, target) = (self.features(), &self.targets[0]);
        let packed = linalg::pack_lower(&self.gram, p);
        let totals = vec![self.rows as f64, self.log_noise, target.square];
        vec![
            Tensor::new("totals", vec![3], totals),
            Tensor::new("moments", vec![p], target.moments.clone()),
            Tensor::new("gram", vec![packed.len()], packed),
        ]
    }

    /// Statistics from the arrays of a file; the error says what is wrong with them.
    pub(crate) fn from_tensors(tensors: &[Tensor]) -> std::result::Result<Self, String> {
        let take = |name: &str| Tensor::find(tensors, name);
        let (totals, moments, packed) = (take("totals")?, take("moments")?, take("gram")?);
        let p = moments.values.len();
        packed.check_shape(&[p * (p + 1) / 2])?;
        // Format 2 has Σw beside the number of rows.
        let ([rows, log_noise, square] | [rows, _, log_noise, square]) = totals.values[..] else {
            return Err(format!("array 'totals' has shape {:?}", totals.shape));
        };
        let rows = Tensor::whole(rows, 1e15).and_then(|rows| u64::try_from(rows).ok());
        Ok(Self {
            rows: rows.ok_or("the number of rows is no count")?,
            log_noise,
            gram: Arc::new(linalg::unpack_lower(&packed.values, p)),
            targets: vec![Moments { square, moments: moments.values.clone() }],
        })
    }

    /// Those of one target, which share the Gram matrix.
    pub(super) fn target(&self, index: usize) -> Self {
        let targets = vec![self.targets[index].clone()];
        Self { gram: Arc::clone(&self.gram), targets, ..*self }
    }
}

/// The summary of some rows for an update.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    /// Sums over the rows that the posterior's features express.
    pub statistics: Statistics,
    /// The other rows, in order.
    pub rest: Vec<usize>,
}
