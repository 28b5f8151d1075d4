//! The first task: what the rows are like, and a random sample of them.

use crate::data::{Dataset, Labels, Matrix};
use crate::engine::Tensor;
use crate::error::{ClusterError, Error, Result};
use crate::rng::random_key;
use crate::scale::ColumnSums;
use serde::{Deserialize, Serialize};

/// Random numbers of rows have this many bits, which a float holds.
const KEY_BITS: u32 = 52;

/// What the first task asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CensusPlan {
    /// Number of targets.
    pub(super) targets: usize,
    /// Whether rows have sample weights, and whether they have known noise.
    pub(super) weighted: bool,
    pub(super) known_noise: bool,
    /// Rows of the sample, and the seed by which they are drawn.
    pub(super) sample: usize,
    pub(super) seed: u64,
}

/// What is known of some rows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Census {
    /// One of the partitions that have rows.
    partition: u64,
    pub(super) rows: u64,
    /// Most rows of the sample.
    most: usize,
    /// One per column and per target; none without rows.
    pub(super) columns: Vec<ColumnSums>,
    pub(super) targets: Vec<ColumnSums>,
    #[serde(skip)]
    pub(super) sample: Sample,
}

/// Random rows, in the order of their random numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// The random number of each row, its partition, and its number there.
    keys: Vec<[f64; 3]>,
    x: Matrix,
    labels: Labels<Vec<f64>>,
}

impl Census {
    /// Of the rows of a partition.
    pub(super) fn of(plan: &CensusPlan, partition: u64, data: &Dataset<'_>) -> Result<Self> {
        if data.rows() == 0 {
            return Ok(Self { most: plan.sample, ..Self::default() });
        }
        data.check_targets(plan.targets)?;
        for (name, wanted, given) in [
            ("weight", plan.weighted, data.weights()),
            ("noise std", plan.known_noise, data.noise_std()),
        ] {
            if wanted != given.is_some() {
                let (expected, found) = (data.rows(), given.map_or(0, <[f64]>::len));
                return Err(Error::RowValues { name, expected, found });
            }
        }
        let weights = data.weights();
        let targets = data.targets().iter().map(|y| ColumnSums::of_values(y, weights)).collect();
        Ok(Self {
            partition,
            rows: data.rows() as u64,
            most: plan.sample,
            columns: ColumnSums::of_columns(data.x(), weights)?,
            targets,
            sample: Sample::draw(plan, partition, data)?,
        })
    }

    /// Adds what is known of other rows.
    pub(super) fn merge(&mut self, other: Self) -> Result<()> {
        if other.rows == 0 {
            return Ok(());
        }
        if self.rows == 0 {
            *self = other;
            return Ok(());
        }
        let (expected, found) = (self.columns.len(), other.columns.len());
        if expected != found {
            let (first, other) = (self.partition, other.partition);
            return Err(ClusterError::Columns { first, expected, other, found }.into());
        }
        if self.targets.len() != other.targets.len() {
            return Err(ClusterError::OtherTask.into());
        }
        self.rows += other.rows;
        for (own, others) in
            [(&mut self.columns, other.columns), (&mut self.targets, other.targets)]
        {
            own.iter_mut().zip(&others).for_each(|(own, other)| own.merge(other));
        }
        let before = std::mem::take(&mut self.sample);
        self.sample = before.joined(other.sample, self.most);
        Ok(())
    }

    /// The arrays of a message, beside the JSON.
    pub(super) fn tensors(&self) -> Vec<Tensor> {
        let Sample { keys, x, labels } = &self.sample;
        let keys: Vec<f64> = keys.iter().flatten().copied().collect();
        let values = |name: String, v: &Vec<f64>| Tensor::new(name, vec![v.len()], v.clone());
        let mut all = vec![Tensor::of("x", x), Tensor::new("keys", vec![keys.len() / 3, 3], keys)];
        let targets = labels.targets.iter().enumerate();
        all.extend(targets.map(|(t, y)| values(format!("y.{t}"), y)));
        all.extend(labels.sample_weights.iter().map(|w| values("weights".into(), w)));
        all.extend(labels.noise.iter().map(|s| values("noise".into(), s)));
        all
    }

    /// A census with the sample of its arrays; the error says what is wrong with them.
    pub(super) fn with_sample(mut self, tensors: &[Tensor]) -> std::result::Result<Self, String> {
        let (x, keys) = (Tensor::find(tensors, "x")?, Tensor::find(tensors, "keys")?);
        let &[n, columns] = x.shape.as_slice() else { return Err("'x' is no matrix".into()) };
        keys.check_shape(&[n, 3])?;
        if (n as u64) > self.rows || columns != self.columns.len() {
            return Err("its sample does not fit".into());
        }
        let of_rows = |name: &str| -> std::result::Result<Vec<f64>, String> {
            let tensor = Tensor::find(tensors, name)?;
            tensor.check_shape(&[n])?;
            Ok(tensor.values.clone())
        };
        let there = |name: &str| tensors.iter().any(|tensor| tensor.name == name);
        let targets = (0..self.targets.len()).map(|t| of_rows(&format!("y.{t}")));
        let labels = Labels {
            targets: targets.collect::<std::result::Result<_, _>>()?,
            sample_weights: there("weights").then(|| of_rows("weights")).transpose()?,
            noise: there("noise").then(|| of_rows("noise")).transpose()?,
        };
        let x = Matrix::from_row_major(n, columns, x.values.clone()).map_err(|e| e.to_string())?;
        let (keys, _) = keys.values.as_chunks::<3>();
        self.sample = Sample { keys: keys.to_vec(), x, labels };
        Ok(self)
    }
}

impl Sample {
    /// The rows of a partition with the smallest random numbers: those that a sample of all rows
    /// could have.
    fn draw(plan: &CensusPlan, partition: u64, data: &Dataset<'_>) -> Result<Self> {
        let key = |row: usize| {
            let bits = random_key(plan.seed, [partition as f64, row as f64]);
            [(bits >> (u64::BITS - KEY_BITS)) as f64, partition as f64, row as f64]
        };
        let mut keys: Vec<[f64; 3]> = (0..data.rows()).map(key).collect();
        keys.sort_unstable_by(in_order);
        keys.truncate(plan.sample);
        let rows: Vec<usize> = keys.iter().map(|[.., row]| *row as usize).collect();
        Ok(Self { keys, x: data.x().gather(&rows)?, labels: data.labels().gather(&rows) })
    }

    /// The rows of both with the smallest random numbers.
    fn joined(self, other: Self, most: usize) -> Self {
        let x = self.x.stacked(&other.x);
        let mut labels = self.labels;
        labels.extend(other.labels);
        let keys = [self.keys, other.keys].concat();
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by(|a, b| in_order(&keys[*a], &keys[*b]));
        order.truncate(most);
        Self {
            keys: order.iter().map(|&i| keys[i]).collect(),
            x: x.gather(&order),
            labels: labels.gather(&order),
        }
    }

    /// X and the labels in the order of the table: by partition and row.
    pub(super) fn in_order_of_rows(self) -> (Matrix, Labels<Vec<f64>>) {
        let place = |i: usize| (self.keys[i][1], self.keys[i][2]);
        let mut order: Vec<usize> = (0..self.keys.len()).collect();
        order
            .sort_by(|a, b| place(*a).partial_cmp(&place(*b)).unwrap_or(std::cmp::Ordering::Equal));
        (self.x.gather(&order), self.labels.gather(&order))
    }
}

fn in_order(a: &[f64; 3], b: &[f64; 3]) -> std::cmp::Ordering {
    a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal)
}
