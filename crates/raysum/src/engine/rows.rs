//! Rows that a posterior takes in or gives up after the fit.

use super::observations::Observations;
use crate::scale::StandardRows;

/// Rows of one target that come or go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows<'a> {
    /// X.
    pub x: &'a StandardRows<'a>,
    /// What was observed there.
    pub observations: &'a Observations,
}

/// Whether rows come or go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// They come.
    Add,
    /// They go.
    Remove,
    /// They come, and all others go.
    Replace,
}
