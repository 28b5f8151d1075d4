//! How a fit went.

use serde::{Deserialize, Serialize};

/// Report of a fit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FitReport {
    /// Training rows.
    pub rows: usize,
    /// log p(y | X) of the target in standard deviations, without the noise prior.
    pub log_marginal_likelihood: f64,
    /// Evaluations of value and gradient, over all starts.
    pub evaluations: usize,
    /// Number of evaluations that were rejected because conjugate gradients did not converge
    /// (with the SKI engine).
    #[serde(default)]
    pub unconverged: usize,
    /// Whether the search ended at its limit of evaluations and not at a maximum.
    pub hit_limit: bool,
    /// The width of the prior that ties length-scales to their mean, 0 for one common length-scale;
    /// `None` if they are free.
    #[serde(default)]
    pub shrinkage: Option<f64>,
    /// Whether functions are about as rough as the search was allowed to make them on this number of rows.
    #[serde(default)]
    pub rough: bool,
    /// Whether terms have fewer directions than their preset has in a sum: all of them would have cost
    /// too much on these columns.
    #[serde(default)]
    pub fewer_directions: bool,
    /// The correction of the log marginal likelihood for copies of rows.
    #[serde(default)]
    pub copies: f64,
    /// The part of it that makes up for the target scale: the logarithm of the Jacobian.
    #[serde(default)]
    pub jacobian: f64,
}
