//! What is known of each training row beside its inputs: its targets, its weight, and its known
//! noise.
//!
//! Row i with weight w_i and known noise variance s_i² enters the likelihood as one observation
//! N(y_i | f_i, v_i/w_i) with v_i = σ² + s_i². The weights have mean 1, so σ² is the noise of a row
//! of average weight.

use crate::data::Dataset;
use crate::scale::Scaler;
use std::borrow::Cow;

/// Targets, weights and known noise of some rows, in standardised units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observations {
    /// One run of n values per target. All share the kernel and the noise.
    pub targets: Vec<Vec<f64>>,
    /// w_i, above 0; without them every row has weight 1.
    pub weights: Option<Vec<f64>>,
    /// s_i², at least 0; without them there is none beside σ².
    pub noise: Option<Vec<f64>>,
}

impl From<Vec<f64>> for Observations {
    fn from(y: Vec<f64>) -> Self {
        Self { targets: vec![y], weights: None, noise: None }
    }
}

impl<'a> From<&'a Observations> for Cow<'a, Observations> {
    fn from(observations: &'a Observations) -> Self {
        Cow::Borrowed(observations)
    }
}

impl From<Observations> for Cow<'_, Observations> {
    fn from(observations: Observations) -> Self {
        Cow::Owned(observations)
    }
}

impl Observations {
    /// What a data set says beside X, with one scaler per target.
    pub fn standardised(data: &Dataset<'_>, scalers: &[Scaler]) -> Self {
        let targets = data.targets().iter().zip(scalers);
        // Known noise is that of a single target.
        let noise = |std: &[f64]| std.iter().map(|s| scalers[0].y.scaled_square(*s)).collect();
        Self {
            targets: targets.map(|(y, scaler)| scaler.apply_y(y)).collect(),
            weights: scalers[0].apply_weights(data.weights(), data.rows()),
            noise: data.noise_std().map(noise),
        }
    }

    /// n.
    pub fn rows(&self) -> usize {
        self.targets.first().map_or(0, Vec::len)
    }

    /// How many values were observed, over all targets.
    pub fn values(&self) -> f64 {
        (self.rows() * self.targets.len()) as f64
    }

    /// w_i.
    pub fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |w| w[row])
    }

    /// v_i, where σ² is `noise`.
    pub fn variance(&self, row: usize, noise: f64) -> f64 {
        noise + self.noise.as_ref().map_or(0.0, |s| s[row])
    }

    /// ρ_i = w_i σ²/v_i: what row i says of f, as a multiple of what a plain row says.
    pub fn precision(&self, row: usize, noise: f64) -> f64 {
        self.weight(row) * noise / self.variance(row, noise)
    }

    /// Whether every row has weight 1 and no noise but σ².
    pub fn are_plain(&self) -> bool {
        self.weights.is_none() && self.noise.is_none()
    }

    /// Those of some rows, in this order.
    #[must_use]
    pub fn gather(&self, rows: &[usize]) -> Self {
        let pick = |values: &Vec<f64>| rows.iter().map(|&i| values[i]).collect();
        Self {
            targets: self.targets.iter().map(pick).collect(),
            weights: self.weights.as_ref().map(pick),
            noise: self.noise.as_ref().map(pick),
        }
    }

    /// Those of all parts, one after another; weights and noise are filled in where only some parts
    /// have them.
    pub(crate) fn joined<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let parts: Vec<&Self> = parts.into_iter().collect();
        let targets = parts.iter().map(|part| part.targets.len()).min().unwrap_or(0);
        let target = |t: usize| parts.iter().flat_map(|part| &part.targets[t]).copied().collect();
        let all = |values: fn(&Self) -> Option<&Vec<f64>>, usual: f64| {
            parts.iter().any(|part| values(part).is_some()).then(|| {
                let of = |part: &&Self| values(part).cloned().unwrap_or(vec![usual; part.rows()]);
                parts.iter().flat_map(of).collect()
            })
        };
        Self {
            targets: (0..targets).map(target).collect(),
            weights: all(|part| part.weights.as_ref(), 1.0),
            noise: all(|part| part.noise.as_ref(), 0.0),
        }
    }

    /// Those of one target alone.
    #[must_use]
    pub fn target(&self, index: usize) -> Self {
        Self {
            targets: vec![self.targets[index].clone()],
            weights: self.weights.clone(),
            noise: self.noise.clone(),
        }
    }
}
