//! The error type. Variants carry values (rows, columns, shapes); the message is formatted here.

mod cluster;
mod stacks;
mod suggestions;
mod terms;
mod updates;
mod wording;

pub use cluster::ClusterError;
pub use stacks::StackError;
pub use suggestions::SuggestError;
pub use terms::TermError;
pub use updates::UpdateError;

use crate::limits::{MAX_DENSE_ROWS, written};
use std::borrow::Cow;
use std::path::PathBuf;
use wording::{about_file, size};

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that can go wrong, apart from bugs.
///
/// Rows and columns are counted from 0.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A matrix was built from a buffer of another size.
    #[error("{len} values do not fill a matrix of {rows} rows and {columns} columns")]
    Shape {
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        columns: usize,
        /// Values given.
        len: usize,
    },
    /// X and y have different lengths.
    #[error("X has {rows} rows but y has {targets} values")]
    TargetLength {
        /// Rows of X.
        rows: usize,
        /// Values of y.
        targets: usize,
    },
    /// A fit needs at least two rows.
    #[error("a fit needs at least 2 rows, but there {}", if *.rows == 1 { "is 1".into() } else { format!("are {rows}") })]
    TooFewRows {
        /// Rows given.
        rows: usize,
    },
    /// Weights or known noise for another number of rows.
    #[error("X has {expected} rows, but there is a {name} for {found}")]
    RowValues {
        /// What was given for each row.
        name: &'static str,
        /// Rows of X.
        expected: usize,
        /// Values given.
        found: usize,
    },
    /// A row's weight or known noise is out of range.
    #[error("the {name} of row {row} is {value}, but must be {rule}")]
    RowValue {
        /// What was given for each row.
        name: &'static str,
        /// The first such row.
        row: usize,
        /// The value.
        value: f64,
        /// What it must be.
        rule: &'static str,
    },
    /// Known noise is that of one target.
    #[error(
        "the noise of rows belongs to one target: fit several targets one by one, with hyperparameters of their own"
    )]
    NoiseOfTargets,
    /// Data with another number of targets than a model has.
    #[error("{found} targets given, but {expected} expected")]
    TargetCount {
        /// Targets the model has.
        expected: usize,
        /// Targets given.
        found: usize,
    },
    /// There are no targets.
    #[error("there is no target to learn")]
    NoTargets,
    /// A fit needs at least one column.
    #[error("X has no columns")]
    NoColumns,
    /// A value of X is NaN or infinite.
    #[error("X holds {value} at row {row}, column {column}")]
    NotFiniteX {
        /// Row of the first such value.
        row: usize,
        /// Column of the first such value.
        column: usize,
        /// The value.
        value: f64,
    },
    /// A value of y is NaN or infinite.
    #[error("y holds {value} at row {row}")]
    NotFiniteY {
        /// Row of the first such value.
        row: usize,
        /// The value.
        value: f64,
    },
    /// Terms that do not make a model.
    #[error(transparent)]
    Terms(#[from] TermError),
    /// What is wrong with a stack.
    #[error(transparent)]
    Stack(#[from] StackError),
    /// Suggestions of points to try cannot be made.
    #[error(transparent)]
    Suggest(#[from] SuggestError),
    /// What is wrong with rows to add or to remove.
    #[error(transparent)]
    Update(#[from] UpdateError),
    /// What is wrong with rows on many machines.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// An engine that does not support linear terms.
    #[error(
        "the {engine} engine has no grid for the linear term; use the weight, dense or neighbors engine"
    )]
    NoLinearTerm {
        /// The engine.
        engine: &'static str,
    },
    /// Prediction with another number of columns than the fit had.
    #[error("X has {found} columns, but the model was fitted on {expected}")]
    ColumnCount {
        /// Columns the model knows.
        expected: usize,
        /// Columns given.
        found: usize,
    },
    /// A name that is not in a closed list (preset, kernel, directions, …).
    #[error("unknown {kind} '{name}'; known are: {}", .known.join(", "))]
    UnknownName {
        /// What kind of thing was named.
        kind: &'static str,
        /// The name given.
        name: String,
        /// The names there are.
        known: Vec<&'static str>,
    },
    /// A text that does not describe degrees.
    #[error("'{text}' does not describe degrees; write for example 20x1, dx1, 1xd or 4x1,4x2,4x3")]
    Degrees {
        /// The text given.
        text: String,
    },
    /// The configuration has no sub-kernel, or one of degree 0.
    #[error("a model needs at least one sub-kernel, each of degree 1 or more")]
    NoSubKernels,
    /// A kernel that is no covariance in more than one dimension.
    #[error("the {kernel} sub-kernel is a covariance in one dimension only, not in {degree}")]
    OneDimensional {
        /// The kernel's name.
        kernel: &'static str,
        /// The degree asked for.
        degree: usize,
    },
    /// More axes were asked for than there are columns.
    #[error("the degrees ask for {axes} axes, but there are {columns} columns")]
    TooManyAxes {
        /// Axes asked for.
        axes: usize,
        /// Columns there are.
        columns: usize,
    },
    /// More projections than memory could hold.
    #[error("{rows} projections of {columns} columns are more than can be handled")]
    TooManyProjections {
        /// Rows of all projections.
        rows: usize,
        /// Columns there are.
        columns: usize,
    },
    /// A number of the configuration is outside its range.
    #[error("{name} is {value}, but must be {rule}")]
    OutOfRange {
        /// What the number is.
        name: &'static str,
        /// The number.
        value: f64,
        /// What it must be.
        rule: Cow<'static, str>,
    },
    /// A setting of one engine for another engine.
    #[error("{setting} is a setting of the {engine} engine, which is not the engine chosen")]
    EngineSetting {
        /// The field of [`crate::settings::ConfigPatch`].
        setting: &'static str,
        /// The engine that has it.
        engine: &'static str,
    },
    /// Hyperparameters that do not fit the model's configuration.
    #[error("{expected} {name} expected, {found} given")]
    HyperparameterCount {
        /// Which hyperparameters.
        name: &'static str,
        /// How many the model has.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// The kernel matrix could not be factorised.
    #[error(
        "the kernel matrix is not positive definite (pivot {pivot}); raise the lower noise bound"
    )]
    NotPositiveDefinite {
        /// Index of the failing pivot.
        pivot: usize,
    },
    /// The kernel matrix has a condition number at which rounding errors are larger than the noise.
    #[error("the noise is too small for double precision; raise the lower noise bound")]
    NoiseTooSmall,
    /// The data spreads over more length-scales than a small basis can span.
    #[error(
        "the model's functions are too rough for the weight engine: too many features; use a \
         smoother kernel, the ski or the neighbors engine, or the dense one (up to {} rows)",
        written(MAX_DENSE_ROWS)
    )]
    BasisTooLarge,
    /// Groups of columns that are not numbered in order.
    #[error("groups of columns are numbered from 0, in order and without gaps")]
    Groups,
    /// Text that names no shrinkage.
    #[error("the shrinkage '{text}' is neither auto, none nor a number of 0 or more")]
    Shrinkage {
        /// The text.
        text: String,
    },
    /// Too many rows for an engine that stores the n × n kernel matrix.
    #[error(
        "{rows} rows are too many for the dense engine; use the neighbors engine, or for sums of \
         one-dimensional kernels the weight engine"
    )]
    TooManyRows {
        /// Rows given.
        rows: usize,
    },
    /// The data spreads over more length-scales than a grid of a reasonable size can cover.
    #[error(
        "the data spreads over too many length-scales for the grids of the ski engine; choose \
         a grid of fewer points, or another engine"
    )]
    GridTooLarge,
    /// Conjugate gradients ended without a solution.
    #[error(
        "conjugate gradients did not converge: after {iterations} iterations the residual is \
         {residual:.1e} of the right-hand side, not {tolerance:.1e}; raise the lower noise bound, \
         the tolerance or the limit of iterations, or use another engine"
    )]
    NotConverged {
        /// Iterations done.
        iterations: usize,
        /// The largest residual, as a share of its right-hand side.
        residual: f64,
        /// What it should be.
        tolerance: f64,
    },
    /// The model's engine does not support this.
    #[error(
        "a model of the {engine} engine does not support {what}; the weight and the dense engine do"
    )]
    Unsupported {
        /// The engine.
        engine: &'static str,
        /// What was asked for.
        what: &'static str,
    },
    /// What there is only in the units of a target that is not transformed.
    #[error("{what} cannot be combined with a target scale; fit with the target scale none")]
    TransformedTarget {
        /// What was asked for.
        what: &'static str,
    },
    /// A request that would take more memory than there is.
    #[error(
        "{what} would take {} of memory, {}{}", size(*.needed),
        .available.map_or("which the system does not grant".into(), |free| format!("but {} is free", size(free))),
        .enough_for.map_or(String::new(), |rows| format!(", enough for {rows} rows"))
    )]
    OutOfMemory {
        /// What was asked for.
        what: String,
        /// The bytes it would take.
        needed: u64,
        /// The bytes there are, where the system says.
        available: Option<u64>,
        /// The rows that they are enough for, where rows are what takes them.
        enough_for: Option<u64>,
    },
    /// No starting point had a finite likelihood.
    #[error("no starting point has a finite marginal likelihood; raise the lower noise bound")]
    NoFiniteStart,
    /// The caller's callback asked to stop.
    #[error("the fit was cancelled after {evaluations} evaluations; nothing was kept")]
    Cancelled {
        /// Evaluations done until then.
        evaluations: usize,
    },
    /// A prediction is NaN or infinite: the model is damaged.
    #[error("the prediction for row {row} is not finite; the model must be damaged")]
    NotFinitePrediction {
        /// The first such row.
        row: usize,
    },
    /// Statistics of rows that were taken for another model.
    #[error("these statistics were taken for another model")]
    NotForThisModel {
        /// The first of several shards that was, by its place.
        shard: Option<usize>,
    },
    /// Rows would count twice: a shard is given twice, or was already merged.
    #[error(
        "the rows of shard {shard} (counted from 0) are in {} already, and would count twice",
        .same_as.map_or("the model".into(), |other| format!("shard {other}"))
    )]
    RepeatedShard {
        /// The first such shard, by its place.
        shard: usize,
        /// The shard of the same call that has the same rows; `None` if the model has them.
        same_as: Option<usize>,
    },
    /// New rows that the features of the model cannot express.
    #[error(
        "the new rows lie where the model's features do not reach, and it cannot be extended to \
         them; fit again on all rows"
    )]
    RefitDue,
    /// A schema that contradicts itself, or the model it is for.
    #[error("the description of the table is wrong: {detail}")]
    Schema {
        /// What was found wrong.
        detail: String,
    },
    /// Leave-one-out was asked for on other rows than the fit had.
    #[error("these are not the rows that the model was fitted on{}", .row.map_or(String::new(), |r| format!(" (row {r} differs)")))]
    NotTrainingRows {
        /// The first row that differs, if the number of rows is right.
        row: Option<usize>,
    },
    /// Reading or writing a file failed.
    #[error("{}", about_file(path, reason))]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's message.
        #[source]
        reason: std::io::Error,
    },
    /// Rows could not be written to a temporary file, or not be read from it again.
    #[error("{}: rows cannot be kept in a temporary file there ({reason})", .folder.display())]
    Store {
        /// The folder of the file.
        folder: PathBuf,
        /// The system's message.
        #[source]
        reason: std::io::Error,
    },
    /// The file is not a checkpoint.
    #[error("{}: not a checkpoint; name a file that does not exist yet, or one of a fit that was ended", .path.display())]
    NotACheckpoint {
        /// The file.
        path: PathBuf,
    },
    /// The checkpoint is of a fit to other data, or with other settings.
    #[error("{}: the checkpoint is of another fit (other data, settings or version); remove it, or name another file", .path.display())]
    OtherCheckpoint {
        /// The file.
        path: PathBuf,
    },
    /// Another run writes to the checkpoint.
    #[error("{}: another run is writing to this checkpoint", .path.display())]
    CheckpointInUse {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a raysum model.
    #[error("{}: not a raysum model file", .path.display())]
    NotAModel {
        /// The file.
        path: PathBuf,
    },
    /// The file is of another kind.
    #[error("{}: this is a raysum file, but it holds a {found}", .path.display())]
    OtherFile {
        /// The file.
        path: PathBuf,
        /// Its kind.
        found: String,
    },
    /// The file holds models of several targets where one was wanted.
    #[error("{}: holds models of {targets} targets, not of one", .path.display())]
    SeveralTargets {
        /// The file.
        path: PathBuf,
        /// How many.
        targets: usize,
    },
    /// The file is a raysum model of a format this version does not know.
    #[error("{}: model file format {found}, but this raysum reads formats {oldest} to {newest}; {}", .path.display(), if found > newest { "use a newer raysum" } else { "fit again" })]
    FormatVersion {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// The oldest format known here.
        oldest: u64,
        /// The newest format known here.
        newest: u64,
    },
    /// The file starts like a raysum model but is damaged.
    #[error("{}: the model file is damaged ({detail})", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found wrong.
        detail: String,
    },
}

impl Error {
    /// Whether the search for hyperparameters may reject the step and continue.
    pub fn is_recoverable(&self) -> bool {
        matches!(
            self,
            Error::NotPositiveDefinite { .. }
                | Error::NoiseTooSmall
                | Error::BasisTooLarge
                | Error::GridTooLarge
                | Error::NotConverged { .. }
        )
    }
}

#[cfg(test)]
mod tests;
