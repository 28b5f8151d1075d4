//! Training tables: read once to determine the kinds of columns, then encoded. Chunks that fit into
//! memory are kept from the first pass.

use crate::chunk::{Chunk, ColumnReading, ReadPlan, TableHeader};
use crate::column_stats::TableStats;
use crate::encode::{EncodeOptions, EncodedChunk, encode};
use crate::evidence::Notation;
use crate::infer::{SchemaOptions, infer};
use crate::match_columns::plan;
use crate::messages::Note;
use crate::missing::Missing;
use crate::report::EncodeReport;
use crate::rows::{RowCollector, StoredRows};
use crate::source::ChunkSource;
use anyhow::{Result, ensure};
use raysum::Labels;
use raysum::MatrixRef;
use raysum::schema::Schema;

/// Rows to learn from, and how they were made from a table.
#[derive(Debug)]
pub struct TrainingTable {
    /// The encoded features.
    pub x: StoredRows,
    /// Targets, sample weights and known noise.
    pub labels: Labels<Vec<f64>>,
    /// The rows of the table that are left out, in order.
    pub left_out: Vec<usize>,
    /// How the table was encoded.
    pub schema: Schema,
    /// Notes for the user.
    pub notes: Vec<Note>,
}

impl TrainingTable {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.x.rows()
    }
}

/// The number of a row in a table of which some rows, given in order, are left out; all from 0.
pub fn row_of_table(row: usize, left_out: &[usize]) -> usize {
    left_out.iter().fold(row, |at, gone| if *gone <= at { at + 1 } else { at })
}

impl<'a> From<&'a TrainingTable> for MatrixRef<'a> {
    fn from(table: &'a TrainingTable) -> Self {
        (&table.x).into()
    }
}

/// Options for reading a training table.
#[derive(Clone, Debug)]
pub struct TrainingOptions {
    /// How its schema is inferred.
    pub schema: SchemaOptions,
    /// The notation of the table, as given by the user.
    pub notation: Notation,
    /// Maximum number of bytes of the table in memory.
    pub room: u64,
    /// Minimum number of rows after dropping.
    pub least_rows: usize,
}

impl Default for TrainingOptions {
    /// All columns of a small table without missing values.
    fn default() -> Self {
        Self {
            schema: SchemaOptions::default(),
            notation: Notation::default(),
            room: u64::MAX,
            least_rows: 2,
        }
    }
}

/// A table after the first pass.
pub struct ScannedTable<'a> {
    source: &'a dyn ChunkSource,
    /// The statistics of its columns.
    pub stats: TableStats,
    readings: Vec<ColumnReading>,
    /// All chunks, if they fit into memory.
    kept: Option<Vec<Chunk>>,
}

impl<'a> ScannedTable<'a> {
    /// Makes the first pass over a table, and keeps at most `room` bytes of it.
    ///
    /// The table is read again if a column is to be read in another way than its first rows
    /// suggest: a text late in a column of numbers makes all of them categories, and the numbers'
    /// own spelling, which the categories need, is not kept.
    pub fn new(source: &'a dyn ChunkSource, notation: Notation, room: u64) -> Result<Self> {
        let mut readings: Option<Vec<ColumnReading>> = None;
        loop {
            let mut stats = TableStats::default();
            let (mut kept, mut taken) = (Some(Vec::new()), 0);
            let (mut used, mut commas_separate) = (Vec::new(), false);
            source.read(
                &mut |header: &TableHeader| {
                    commas_separate = header.commas_separate;
                    used = readings.clone().unwrap_or_else(|| header.guess.clone());
                    ensure!(used.len() == header.names.len(), changed(&header.origin.name));
                    Ok(ReadPlan { readings: used.clone(), ..ReadPlan::default() })
                },
                &mut |chunk| {
                    stats.add(&chunk);
                    taken += chunk.bytes();
                    match &mut kept {
                        Some(chunks) if taken <= room && !source.is_cheap() => chunks.push(chunk),
                        _ => kept = None,
                    }
                    Ok(())
                },
            )?;
            ensure!(stats.rows > 0, "{} has no rows", stats.origin.name);
            let decided = stats.decide(notation, commas_separate);
            if decided == used {
                return Ok(Self { source, stats, readings: used, kept });
            }
            // All rows have been seen: a further pass can only differ if the file changes.
            ensure!(readings.is_none(), changed(&stats.origin.name));
            readings = Some(decided);
        }
    }

    /// Passes on the rows in chunks, in order.
    pub fn into_chunks(self, mut each: impl FnMut(Chunk) -> Result<()>) -> Result<()> {
        if let Some(chunks) = self.kept {
            return chunks.into_iter().try_for_each(each);
        }
        let mut rows = 0;
        self.source.read(
            &mut |_| Ok(ReadPlan { readings: self.readings.clone(), ..ReadPlan::default() }),
            &mut |chunk| {
                rows += chunk.rows();
                each(chunk)
            },
        )?;
        let (name, then) = (&self.stats.origin.name, self.stats.rows);
        ensure!(rows == then, "{} ({then} rows, then {rows})", changed(name));
        Ok(())
    }
}

fn changed(name: &str) -> String {
    format!("{name} was changed while it was read")
}

/// Reads a training table, whose labels are found by `labels`.
pub fn read_training(
    source: &dyn ChunkSource,
    options: &TrainingOptions,
    labels: impl FnOnce(&TableStats) -> Result<Labels<usize>>,
) -> Result<TrainingTable> {
    let scan = ScannedTable::new(source, options.notation, options.room)?;
    let (schema, notes) = infer(&scan.stats, &labels(&scan.stats)?, &options.schema)?;
    let (rows, name) = (scan.stats.rows, scan.stats.origin.name.clone());
    let mut gathered = TrainingRows::new(rows, &schema, options.room)?;
    let encoding =
        EncodeOptions { missing: options.schema.missing, with_labels: true, fitting: true };
    scan.into_chunks(|chunk| gathered.add(encode(&schema, &chunk, encoding)?))?;
    let table = gathered.finish(&name, schema, notes)?;
    let (least, rows) = (options.least_rows, table.rows());
    let there = if rows == 1 { "is 1".to_string() } else { format!("are {rows}") };
    ensure!(rows >= least, "{name}: a fit needs at least {least} rows, but there {there} left");
    Ok(table)
}

/// Reads a table with all columns of a schema: features, targets, sample weights and noise.
pub fn read_more(
    source: &dyn ChunkSource,
    schema: &Schema,
    missing: Missing,
    notation: Notation,
) -> Result<TrainingTable> {
    let mut gathered = TrainingRows::new(0, schema, u64::MAX)?;
    let mut name = String::new();
    let encoding = EncodeOptions { missing, with_labels: true, fitting: false };
    source.read(
        &mut |header| {
            name.clone_from(&header.origin.name);
            plan(schema, header, true, notation, &[])
        },
        &mut |chunk| gathered.add(encode(schema, &chunk, encoding)?),
    )?;
    gathered.finish(&name, schema.clone(), Vec::new())
}

/// A training table under construction.
struct TrainingRows {
    x: RowCollector,
    labels: Labels<Vec<f64>>,
    left_out: Vec<usize>,
    report: EncodeReport,
}

impl TrainingRows {
    /// For at most this many rows.
    fn new(rows: usize, schema: &Schema, room: u64) -> Result<Self> {
        Ok(Self {
            x: RowCollector::new(rows, schema.encoded_columns(), room)?,
            labels: Labels::default(),
            left_out: Vec::new(),
            report: EncodeReport::default(),
        })
    }

    fn add(&mut self, chunk: EncodedChunk) -> Result<()> {
        let first = self.report.rows;
        self.x.push(chunk.x.as_slice())?;
        self.labels.extend(chunk.labels);
        let mut kept = chunk.kept.into_iter().peekable();
        let gone = (0..chunk.report.rows).filter(|row| kept.next_if_eq(row).is_none());
        self.left_out.extend(gone.map(|row| first + row));
        self.report.merge(chunk.report);
        Ok(())
    }

    fn finish(self, name: &str, schema: Schema, mut notes: Vec<Note>) -> Result<TrainingTable> {
        self.report.check(name)?;
        notes.extend(self.report.notes(name));
        let (labels, left_out) = (self.labels, self.left_out);
        Ok(TrainingTable { x: self.x.finish()?, labels, left_out, schema, notes })
    }
}

#[cfg(test)]
mod tests;
