//! What can go wrong with stacks of models.

use crate::limits::MIN_FOLD_ROWS;
use std::path::PathBuf;

/// What can go wrong with a stack of models, and with rows that are held out for it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StackError {
    /// Too few distinct rows to hold some of them out.
    #[error(
        "the choice of models needs at least {MIN_FOLD_ROWS} distinct rows, but there {}; name a \
         model, such as linear",
        if *.rows == 1 { "is 1".into() } else { format!("are {rows}") }
    )]
    TooFewRows {
        /// Distinct rows given.
        rows: usize,
    },
    /// Something that one model has and a mixture of several has not.
    #[error("a mixture of models has no {what}; fit a single model")]
    SeveralMembers {
        /// What was asked for.
        what: &'static str,
    },
    /// One model was to be read from a file with several, which predict together.
    #[error("{}: it holds a mixture of {members} models; read it as a stack", path.display())]
    NotOneModel {
        /// The file.
        path: PathBuf,
        /// Models that predict together.
        members: usize,
    },
}
