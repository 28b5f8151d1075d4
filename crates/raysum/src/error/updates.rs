//! What is wrong with rows that a model is to take, or to give back.

/// Rows that a model cannot take, or not give back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// A target without a logarithm, for a model that takes it.
    #[error(
        "the target of row {row} is {value}, but the model takes the target's logarithm; fit again \
         on all rows"
    )]
    NoLogarithm {
        /// The first such row.
        row: usize,
        /// The value.
        value: f64,
    },
    /// Rows were to be removed until none is left.
    #[error("this would remove all rows of the model")]
    NoRowsLeft,
    /// The model cannot be updated, since it does not keep its rows.
    #[error(
        "a model of the ski engine does not keep its rows; fit it again on all of them, or with the weight or the dense engine"
    )]
    RowsNotKept,
}
