//! What is known of each training row beside its inputs: its targets, its weight, and its known
//! noise.
//!
//! Row i with weight w_i and known noise variance s_i² enters the likelihood as one observation
//! N(y_i | f_i, v_i/w_i) with v_i = σ² + s_i². The weights have mean 1, so σ² is the noise of a row
//! of average weight.

use crate::data::{Dataset, Labels};
use crate::scale::Scaler;
use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

/// The labels of some rows in standardised units: targets, which share the kernel and the noise;
/// w_i, above 0, as sample weights, where none means 1; and s_i², at least 0, as the known noise,
/// where none means that there is no noise beside σ².
///
/// A type of its own, so that an engine cannot be given labels as they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observations(pub Labels<Vec<f64>>);

impl Deref for Observations {
    type Target = Labels<Vec<f64>>;
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Observations {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl From<Vec<f64>> for Observations {
    fn from(y: Vec<f64>) -> Self {
        Self(Labels::of_targets(vec![y]))
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
        Self(Labels {
            targets: targets.map(|(y, scaler)| scaler.apply_y(y)).collect(),
            sample_weights: scalers[0].apply_weights(data.weights(), data.rows()),
            noise: data.noise_std().map(noise),
        })
    }

    /// How many values were observed, over all targets.
    pub fn values(&self) -> f64 {
        (self.rows() * self.targets.len()) as f64
    }

    /// w_i.
    pub fn weight(&self, row: usize) -> f64 {
        self.sample_weights.as_ref().map_or(1.0, |w| w[row])
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
        self.sample_weights.is_none() && self.noise.is_none()
    }

    /// Those of some rows, in this order.
    #[must_use]
    pub fn gather(&self, rows: &[usize]) -> Self {
        Self(self.0.gather(rows))
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
        Self(Labels {
            targets: (0..targets).map(target).collect(),
            sample_weights: all(|part| part.sample_weights.as_ref(), 1.0),
            noise: all(|part| part.noise.as_ref(), 0.0),
        })
    }

    /// Those of one target alone.
    #[must_use]
    pub fn target(&self, index: usize) -> Self {
        Self(self.0.some_targets(index..index + 1))
    }
}
