//! Tables for raysum: reads files and data frames as typed columns, infers a schema, and encodes
//! rows as the numbers that a model uses.
//!
//! Every table is a [`ChunkSource`]: a [`TableFile`] (CSV, Parquet, Arrow IPC, `.npy`) or a
//! [`Frame`] in memory. It yields [`Chunk`]s of typed columns. One pass over them gathers
//! [`TableStats`], from which a [`Schema`] is inferred; with the schema, chunks become matrices.
//! The schema is part of a model file, so that later tables are read in the same way.
//!
//! The command line and the Python package both use this crate, so that they encode columns alike.

#[cfg(feature = "arrow")]
mod arrow;
mod categories;
mod cell;
mod chunk;
mod column_builder;
mod column_stats;
#[cfg(feature = "files")]
mod compression;
#[cfg(feature = "files")]
mod csv;
mod date;
mod encode;
mod evidence;
mod frame;
mod infer;
#[cfg(feature = "files")]
mod input;
mod match_columns;
mod messages;
mod missing;
#[cfg(feature = "files")]
mod npy;
mod number;
mod partitions;
mod prediction;
#[cfg(feature = "files")]
mod reader;
mod report;
mod rows;
mod source;
mod space;
#[cfg(test)]
mod testing;
mod training;
#[cfg(feature = "files")]
mod write;

pub use chunk::{
    Chunk, Column, ColumnReading, KeptCells, KeptColumn, ReadPlan, RowUnit, TableHeader,
    TableOrigin,
};
pub use column_stats::TableStats;
#[cfg(feature = "files")]
pub use csv::CsvOptions;
pub use encode::{EncodeOptions, EncodedChunk};
pub use evidence::Notation;
pub use frame::Frame;
pub use infer::{ColumnChoice, SchemaOptions, target_names};
#[cfg(feature = "files")]
pub use input::InputPath;
pub use messages::{Audience, Note, escaped, is_obeyed};
pub use missing::Missing;
pub use partitions::{Agreement, agree, merge_summaries, summarise};
pub use prediction::{NewRows, PredictionOptions, read_all_new, read_new, schema_of};
#[cfg(feature = "files")]
pub use reader::{TableFile, WithTargets};
pub use report::EncodeReport;
pub use rows::StoredRows;
pub use source::ChunkSource;
pub use space::{ChosenCells, ColumnRange, SearchSpace};
pub use training::{
    ScannedTable, TrainingOptions, TrainingTable, read_more, read_training, row_of_table,
};
#[cfg(feature = "files")]
pub use write::{AnswerChunk, OutputFormat, TableWriter};

use anyhow::Result;
use raysum::Labels;
use raysum::schema::Schema;

/// Operations of this crate on a [`Schema`].
pub trait TableSchema: Sized {
    /// Infers the schema of a table from the statistics of its columns. `labels` are the columns
    /// that contain targets, sample weights and known noise, by position.
    fn infer(
        stats: &TableStats,
        labels: &Labels<usize>,
        options: &SchemaOptions,
    ) -> Result<(Self, Vec<Note>)>;

    /// Encodes a chunk as numbers. The result may have no rows.
    fn encode(&self, chunk: &Chunk, options: EncodeOptions) -> Result<EncodedChunk>;

    /// How a table with these columns is read for this schema.
    fn plan(&self, header: &TableHeader, with_labels: bool, notation: Notation)
    -> Result<ReadPlan>;
}

impl TableSchema for Schema {
    fn infer(
        stats: &TableStats,
        labels: &Labels<usize>,
        options: &SchemaOptions,
    ) -> Result<(Self, Vec<Note>)> {
        infer::infer(stats, labels, options)
    }

    fn encode(&self, chunk: &Chunk, options: EncodeOptions) -> Result<EncodedChunk> {
        encode::encode(self, chunk, options)
    }

    fn plan(
        &self,
        header: &TableHeader,
        with_labels: bool,
        notation: Notation,
    ) -> Result<ReadPlan> {
        match_columns::plan(self, header, with_labels, notation, &[])
    }
}
