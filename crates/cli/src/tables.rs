//! Reads the tables of jobs: training tables, and tables to predict.

use crate::resolve::{AnswerJob, RowsJob, TableJob};
use anyhow::{Result, ensure};
use raysum::Labels;
use raysum::Stack;
use raysum::schema::Schema;
use raysum_table::{
    ChunkSource, CsvOptions, InputPath, NewRows, Note, TableFile, TableStats, TrainingTable,
    WithTargets, read_more, read_new, read_training, schema_of,
};

/// Reads a table with its targets.
pub(crate) fn training(job: &TableJob) -> Result<TrainingTable> {
    let file = TableFile::open(&job.place, job.csv)?;
    let Some(y) = &job.y else {
        return read_training(&file, &job.options, |stats| find_labels(&job.labels, stats, 0));
    };
    let y = targets(&file, y)?;
    let both = WithTargets::new(&file, &y)?;
    read_training(&both, &job.options, |stats| find_labels(&job.labels, stats, both.count()))
}

/// The file with the targets of an array.
fn targets(x: &TableFile, y: &InputPath) -> Result<TableFile> {
    let name = y.name();
    ensure!(
        x.is_npy()?,
        "{}: --y is for .npy files; name the target of a table with --target",
        x.name()
    );
    let y = TableFile::open(y, CsvOptions::default())?;
    ensure!(y.is_npy()?, "{name}: --y is only for .npy files");
    Ok(y)
}

/// The columns that the user names. `appended` targets were added at the end of the table, and are
/// meant where none is named.
fn find_labels(
    names: &Labels<String>,
    stats: &TableStats,
    appended: usize,
) -> Result<Labels<usize>> {
    let width = stats.width();
    let find = |spec: &String| {
        // The user counts from the end of what is in the table itself.
        match spec.parse::<isize>() {
            Ok(from_end) if from_end < 0 && appended > 0 => {
                stats.find_column(&(from_end - appended as isize).to_string())
            }
            _ => stats.find_column(spec),
        }
    };
    // One of the user's names may stand for several targets.
    let mut targets = Vec::new();
    for spec in &names.targets {
        targets.extend(stats.find_columns(spec)?);
    }
    if names.targets.is_empty() {
        targets.extend(width - appended..width);
    }
    Ok(Labels {
        targets,
        sample_weights: names.sample_weights.as_ref().map(find).transpose()?,
        noise: names.noise.as_ref().map(find).transpose()?,
    })
}

/// Reads a table with all columns that models were fitted on: features, targets, sample weights,
/// noise.
pub(crate) fn more_rows(job: &RowsJob<'_>, stacks: &[Stack]) -> Result<TrainingTable> {
    let schema = schema_of(stacks.iter().map(Stack::first));
    let notation = job.csv.notation;
    let file = TableFile::open_once(&job.place, for_schema(job.csv, &schema))?;
    let Some(y) = &job.y else { return read_more(&file, &schema, job.missing, notation) };
    let y = targets(&file, y)?;
    let both = WithTargets::new(&file, &y)?;
    let (found, expected) = (both.count(), schema.labels.targets.len());
    ensure!(found == expected, "{}: it has {found} targets, but the model {expected}", y.name());
    // By position: the targets follow, whatever their names.
    let schema = with_targets_last(schema);
    read_more(&both, &schema, job.missing, notation)
}

/// The schema of an array whose targets follow the other columns.
fn with_targets_last(mut schema: Schema) -> Schema {
    let inside = schema.labels.targets.iter().map(|target| target.position);
    let mut inside: Vec<usize> = inside.collect();
    inside.sort_unstable();
    let shift = |position: &mut usize| {
        *position -= inside.iter().filter(|target| **target < *position).count();
    };
    schema.features.iter_mut().for_each(|feature| shift(&mut feature.position));
    schema.labels.sample_weights.iter_mut().for_each(|label| shift(&mut label.position));
    schema.labels.noise.iter_mut().for_each(|label| shift(&mut label.position));
    let first = schema.width - schema.labels.targets.len();
    for (k, target) in schema.labels.targets.iter_mut().enumerate() {
        target.position = first + k;
    }
    schema
}

/// Reads a table to predict, in chunks and in order; returns notes for the user.
pub(crate) fn new_rows(
    job: &AnswerJob<'_>,
    stacks: &[Stack],
    start: impl FnMut(&[String]) -> Result<()>,
    each: impl FnMut(NewRows) -> Result<()>,
) -> Result<Vec<Note>> {
    let schema = schema_of(stacks.iter().map(Stack::first));
    let file = TableFile::open_once(&job.place, for_schema(job.csv, &schema))?;
    read_new(&file, &schema, &job.options, start, each)
}

/// Assumes no header if the training table had none and only text columns: its first row would be
/// taken for a header.
fn for_schema(mut options: CsvOptions, schema: &Schema) -> CsvOptions {
    use raysum::schema::FeatureKind::{Boolean, Category};
    let text = |kind: &_| matches!(kind, Category { .. } | Boolean);
    if !schema.named && schema.features.iter().all(|feature| text(&feature.kind)) {
        options.header.get_or_insert(false);
    }
    options
}

/// Reads a table whose target is found by name or position, with nothing else decided.
pub(crate) fn simple(
    source: &dyn ChunkSource,
    options: &raysum_table::TrainingOptions,
    target: &str,
) -> Result<TrainingTable> {
    read_training(source, options, |stats| Ok(Labels::of_targets(vec![stats.find_column(target)?])))
}
