//! What keeps points to try from being suggested.

use crate::limits::MAX_SUGGESTIONS;

/// Why no points to try can be suggested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SuggestError {
    /// Too many points are asked for, or none.
    #[error("{count} points cannot be suggested at once, but 1 to {MAX_SUGGESTIONS} can")]
    Count {
        /// How many were asked for.
        count: usize,
    },
    /// A variable has no values, or columns that do not exist or belong to another one.
    #[error("variable {variable} (counted from 0) has no values, or columns that are not free")]
    Variable {
        /// The variable, by its place.
        variable: usize,
    },
    /// A column that no variable determines.
    #[error("no variable determines column {column} (counted from 0)")]
    Column {
        /// The column.
        column: usize,
    },
}
