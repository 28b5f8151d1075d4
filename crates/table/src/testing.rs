//! Helpers that the tests of several modules share: tables as texts.

use crate::chunk::{Chunk, ReadPlan};
use crate::column_stats::TableStats;
use crate::csv::CsvOptions;
use crate::encode::{EncodeOptions, EncodedChunk};
use crate::evidence::Notation;
use crate::infer::{ColumnChoice, SchemaOptions, infer};
use crate::match_columns::plan;
use crate::missing::Missing;
use crate::reader::TableFile;
use crate::source::ChunkSource;
use crate::training::ScannedTable;
use anyhow::Result;
use raysum::Labels;
use raysum::schema::Schema;

/// A table as if it were the file `t.csv`.
pub(crate) fn file(text: &str) -> TableFile {
    TableFile::from_bytes("t.csv", text, CsvOptions::default())
}

/// The statistics of its columns.
pub(crate) fn stats(text: &str) -> TableStats {
    let file = file(text);
    ScannedTable::new(&file, Notation::default(), u64::MAX).expect("a well-formed table").stats
}

/// All of its rows, read as its own columns suggest.
pub(crate) fn chunk(text: &str) -> Chunk {
    try_chunk(text, CsvOptions::default()).expect("a well-formed table")
}

/// The same with errors.
pub(crate) fn try_chunk(text: &str, options: CsvOptions) -> Result<Chunk> {
    let file = TableFile::from_bytes("t.csv", text, options);
    let mut chunks = Vec::new();
    let scan = ScannedTable::new(&file, options.notation, u64::MAX)?;
    scan.into_chunks(|chunk| {
        chunks.push(chunk);
        Ok(())
    })?;
    assert_eq!(chunks.len(), 1, "the table is small");
    Ok(chunks.remove(0))
}

/// The schema of a table, and the notes about it.
pub(crate) fn inferred(text: &str, target: &str, drop: &[&str]) -> Result<(Schema, Vec<String>)> {
    let stats = stats(text);
    let labels = Labels::of_targets(vec![stats.find_column(target)?]);
    let drop = drop.iter().map(ToString::to_string).collect();
    let choice = ColumnChoice { drop, ..ColumnChoice::default() };
    let options = SchemaOptions { choice, ..SchemaOptions::default() };
    let (schema, notes) = infer(&stats, &labels, &options)?;
    schema.validate()?;
    Ok((schema, notes.iter().map(ToString::to_string).collect()))
}

/// The schema of a table whose target is its last column, and the notes about it.
pub(crate) fn inferred_with(text: &str, options: &SchemaOptions) -> Result<(Schema, Vec<String>)> {
    let stats = stats(text);
    let labels = Labels::of_targets(vec![stats.width() - 1]);
    let (schema, notes) = infer(&stats, &labels, options)?;
    schema.validate()?;
    Ok((schema, notes.iter().map(ToString::to_string).collect()))
}

/// The schema of a table.
pub(crate) fn schema(text: &str, target: &str) -> Schema {
    inferred(text, target, &[]).expect("a good table").0
}

/// Encodes a chunk; returns its notes, too.
pub(crate) fn encode(
    schema: &Schema,
    chunk: &Chunk,
    missing: Missing,
    with_labels: bool,
) -> Result<(EncodedChunk, Vec<String>)> {
    let options = EncodeOptions { missing, with_labels, fitting: false };
    let encoded = crate::encode::encode(schema, chunk, options)?;
    encoded.report.check("t.csv")?;
    let notes = encoded.report.notes("t.csv");
    Ok((encoded, notes.iter().map(ToString::to_string).collect()))
}

/// Reads another table for a schema.
pub(crate) fn plan_and_read(
    schema: &Schema,
    text: &str,
    with_labels: bool,
    notation: Notation,
) -> Result<Chunk> {
    let mut found = None;
    file(text).read(
        &mut |header| -> Result<ReadPlan> { plan(schema, header, with_labels, notation, &[]) },
        &mut |chunk| {
            found = Some(chunk);
            Ok(())
        },
    )?;
    Ok(found.expect("there are rows"))
}

/// A number of lines, each made from its index.
pub(crate) fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect::<Vec<_>>().concat()
}
