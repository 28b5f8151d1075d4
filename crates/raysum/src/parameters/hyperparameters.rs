//! The hyperparameters of a model.

use serde::{Deserialize, Serialize};

/// The hyperparameters of a model, in standardised units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "SavedHyperparameters")]
pub struct Hyperparameters {
    /// Those of each term.
    pub terms: Vec<TermHyperparameters>,
    /// σ².
    pub noise_variance: f64,
    /// The constant mean c.
    pub mean: f64,
}

/// The hyperparameters of one term.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TermHyperparameters {
    /// σ_c, one per column of X, if the term scales columns before projecting; else empty.
    pub column_length_scales: Vec<f64>,
    /// ℓ, one per row of every projection, or a common one; empty if there are others or none.
    pub length_scales: Vec<f64>,
    /// λ_j = s·α_j, one per sub-kernel.
    pub variances: Vec<f64>,
}

impl Hyperparameters {
    /// The prior variance s = Σ λ_j of all terms.
    pub fn scale(&self) -> f64 {
        self.terms.iter().map(TermHyperparameters::scale).sum()
    }
}

impl TermHyperparameters {
    /// The term's share of the prior variance, Σ λ_j.
    pub fn scale(&self) -> f64 {
        self.variances.iter().sum()
    }
}

/// Files of format 2 and 3 have those of their only term where later ones have `terms`.
#[derive(Deserialize)]
struct SavedHyperparameters {
    #[serde(flatten)]
    terms: SavedTermHyperparameters,
    noise_variance: f64,
    mean: f64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum SavedTermHyperparameters {
    Several { terms: Vec<TermHyperparameters> },
    One(TermHyperparameters),
}

impl From<SavedHyperparameters> for Hyperparameters {
    fn from(SavedHyperparameters { terms, noise_variance, mean }: SavedHyperparameters) -> Self {
        let terms = match terms {
            SavedTermHyperparameters::Several { terms } => terms,
            SavedTermHyperparameters::One(only) => vec![only],
        };
        Self { terms, noise_variance, mean }
    }
}
