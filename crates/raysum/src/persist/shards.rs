//! Reads and writes statistics of shards.

use super::container::{self, Problem};
use super::{SHARD, of_target, packed};
use crate::data::{Labels, Matrix};
use crate::engine::{Observations, Statistics, Tensor};
use crate::error::Result;
use crate::file::checksum;
use crate::online::Shard;
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Serialize, Deserialize)]
struct ShardMetadata {
    fingerprint: String,
    /// Files of earlier versions have none.
    identity: Option<String>,
    #[serde(default)]
    ranges: Vec<(f64, f64)>,
    #[serde(default)]
    jacobian: f64,
}

impl Shard {
    /// Writes shards, one per target, to one file, atomically.
    pub fn save_all(shards: &[Shard], path: impl AsRef<Path>) -> Result<()> {
        let metadata = |shard: &Shard| ShardMetadata {
            fingerprint: shard.fingerprint.clone(),
            identity: Some(shard.identity.clone()),
            ranges: shard.ranges.clone(),
            jacobian: shard.jacobian,
        };
        let metadata: Vec<ShardMetadata> = shards.iter().map(metadata).collect();
        let tensors = packed(shards.iter().map(Shard::tensors));
        container::write(path.as_ref(), SHARD, &metadata, tensors)
    }

    /// Reads the shards written by [`Shard::save_all`].
    pub fn load_all(path: impl AsRef<Path>) -> Result<Vec<Self>> {
        container::read(path.as_ref(), SHARD, |all: Vec<ShardMetadata>, tensors| {
            let several = all.into_iter().enumerate();
            let read = |(k, metadata)| read_shard(metadata, &of_target(&tensors, k));
            several.map(|shard| read(shard).map_err(Problem::Damaged)).collect()
        })
    }

    fn tensors(&self) -> Vec<Tensor> {
        let of_rows =
            |name, values: &Vec<f64>| Tensor::new(name, vec![values.len()], values.clone());
        let Labels { targets, sample_weights, noise } = &*self.observations;
        let mut tensors = vec![Tensor::of("x", &self.x)];
        tensors.extend(targets.iter().map(|y| of_rows("y", y)));
        tensors.extend(sample_weights.iter().map(|w| of_rows("weights", w)));
        tensors.extend(noise.iter().map(|s| of_rows("noise", s)));
        tensors.extend(self.statistics.iter().flat_map(Statistics::tensors));
        tensors
    }
}

fn read_shard(metadata: ShardMetadata, tensors: &[Tensor]) -> std::result::Result<Shard, String> {
    let x = Tensor::find(tensors, "x")?;
    let &[n, columns] = x.shape.as_slice() else {
        return Err("array 'x' is not a matrix".into());
    };
    let x = Matrix::from_row_major(n, columns, x.values.clone()).map_err(|e| e.to_string())?;
    // Absent arrays were not given.
    let there = |name: &str| tensors.iter().find(|tensor| tensor.name == name);
    let of_rows = |tensor: &Tensor| -> std::result::Result<Vec<f64>, String> {
        tensor.check_shape(&[n])?;
        Ok(tensor.values.clone())
    };
    let labels = Labels {
        targets: vec![of_rows(Tensor::find(tensors, "y")?)?],
        sample_weights: there("weights").map(of_rows).transpose()?,
        noise: there("noise").map(of_rows).transpose()?,
    };
    let (weights, noise) = (labels.sample_weights.iter(), labels.noise.iter());
    if weights.flatten().any(|w| *w <= 0.0) || noise.flatten().any(|s| *s < 0.0) {
        return Err("a weight or a noise is out of range".into());
    }
    let statistics = there("gram").map(|_| Statistics::from_tensors(tensors)).transpose()?;
    let ShardMetadata { fingerprint, identity, ranges, jacobian } = metadata;
    let in_order = |(low, high): &(f64, f64)| low <= high;
    if !(ranges.is_empty() || ranges.len() == columns) || !ranges.iter().all(in_order) {
        return Err("the ranges of its columns make no sense".into());
    }
    // The arrays must match the number of rows of the shard.
    let identity = identity.unwrap_or_else(|| {
        let bytes: Vec<Vec<u8>> = tensors.iter().map(Tensor::bytes).collect();
        let arrays = tensors.iter().zip(&bytes).map(|(t, b)| (t.name.as_str(), b.as_slice()));
        checksum(&fingerprint, arrays.collect())
    });
    let observations = Observations(labels);
    Ok(Shard { fingerprint, identity, ranges, jacobian, statistics, x, observations })
}
