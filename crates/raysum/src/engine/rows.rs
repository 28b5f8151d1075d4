//! Rows that are added to a posterior, or removed, after the fit.

use super::observations::Observations;
use crate::scale::StandardRows;

/// Rows of one target that are added or removed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows<'a> {
    /// X.
    pub x: &'a StandardRows<'a>,
    /// Their observations.
    pub observations: &'a Observations,
}

/// Whether rows are added or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Rows are added.
    Add,
    /// Rows are removed.
    Remove,
    /// Rows replace all others.
    Replace,
}
