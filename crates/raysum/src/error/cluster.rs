//! What can go wrong with rows on many machines.

/// What can go wrong with rows on many machines.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// Two machines have different versions.
    #[error(
        "the {what} comes from raysum {theirs}, but this machine has raysum {ours}; install the \
         same version on all machines"
    )]
    Version {
        /// A task or an answer.
        what: &'static str,
        /// The version that it comes from.
        theirs: String,
        /// The version here.
        ours: String,
    },
    /// The bytes of a task or of an answer cannot be read.
    #[error("the {what} cannot be read: {detail}")]
    Message {
        /// A task or an answer.
        what: &'static str,
        /// What is wrong with it.
        detail: String,
    },
    /// Answers to different tasks were merged, or an answer is to an earlier task.
    #[error(
        "the answer is to another task; merge the answers to one task, and give them to its job"
    )]
    OtherTask,
    /// A setting that needs all rows on one machine.
    #[error("{setting} needs all rows on one machine; {instead}")]
    Setting {
        /// The setting.
        setting: String,
        /// What to do instead.
        instead: &'static str,
    },
    /// Partitions with different numbers of columns.
    #[error("partition {first} has {expected} columns, but partition {other} has {found}")]
    Columns {
        /// A partition.
        first: u64,
        /// Its columns.
        expected: usize,
        /// Another partition.
        other: u64,
        /// Its columns.
        found: usize,
    },
    /// Sample weights whose sum is too large.
    #[error("the sum of all sample weights is not finite; divide them by a common factor")]
    Weights,
    /// The job was asked for its models before it was done.
    #[error("the job is not done; give it the answers to its tasks until there are no more")]
    NotDone,
}
