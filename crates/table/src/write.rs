//! Writes tables of results in chunks, in the format given by the file's extension.

#[cfg(feature = "arrow")]
mod arrow;
mod text;

use crate::chunk::KeptColumn;
use crate::compression::Compression;
use crate::messages::escaped;
use anyhow::{Result, bail};
use std::io::Write;
use std::path::Path;

/// The known extensions, as a message lists them.
const ENDINGS: &str = ".csv, .tsv, .json, .jsonl (these also with .gz or .zst), .parquet, .arrow \
                       and .feather";

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputFormat {
    layout: OutputLayout,
    compression: Compression,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutputLayout {
    /// Fields separated by this character.
    Separated(char),
    /// An object per line.
    JsonLines,
    /// A list of objects.
    Json,
    #[cfg(feature = "arrow")]
    Parquet,
    #[cfg(feature = "arrow")]
    Arrow,
}

impl OutputFormat {
    /// CSV, as standard output has it.
    pub const CSV: Self =
        Self { layout: OutputLayout::Separated(','), compression: Compression::None };
    /// A JSON object per line.
    pub const JSON_LINES: Self =
        Self { layout: OutputLayout::JsonLines, compression: Compression::None };

    /// The format of a file's extension; `None` if it has no extension.
    pub fn of(path: &Path) -> Result<Option<Self>> {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase());
        let name = name.unwrap_or_default();
        let (stem, compression) = match name.rsplit_once('.') {
            Some((stem, "gz")) => (stem, Compression::Gzip),
            Some((stem, "zst")) => (stem, Compression::Zstd),
            _ => (name.as_str(), Compression::None),
        };
        let shown = escaped(&path.display().to_string());
        let ending = match stem.rsplit_once('.') {
            Some((before, ending)) if !before.is_empty() => ending,
            _ if compression == Compression::None => return Ok(None),
            _ => {
                bail!(
                    "cannot write {shown}: its extension gives the compression, but not the format"
                )
            }
        };
        let layout = match ending {
            "csv" => OutputLayout::Separated(','),
            "tsv" | "tab" => OutputLayout::Separated('\t'),
            "jsonl" | "ndjson" => OutputLayout::JsonLines,
            "json" => OutputLayout::Json,
            #[cfg(feature = "arrow")]
            "parquet" => OutputLayout::Parquet,
            #[cfg(feature = "arrow")]
            "arrow" | "feather" | "ipc" => OutputLayout::Arrow,
            _ => bail!(
                "cannot write {shown}: the extension .{ending} is not that of a known format \
                 ({ENDINGS})"
            ),
        };
        let is_text = matches!(
            layout,
            OutputLayout::Separated(_) | OutputLayout::JsonLines | OutputLayout::Json
        );
        if compression != Compression::None && !is_text {
            bail!(
                "cannot write {shown}: .{ending} files are compressed internally; omit the last \
                 extension"
            );
        }
        Ok(Some(Self { layout, compression }))
    }
}

/// Some rows of results: copied columns, and named numbers.
#[derive(Debug, Default)]
pub struct AnswerChunk {
    /// Number of rows.
    pub rows: usize,
    /// Columns copied from the input table.
    pub kept: Vec<KeptColumn>,
    /// The results, with NaN for rows that were left out.
    pub answers: Vec<(String, Vec<f64>)>,
}

impl AnswerChunk {
    /// No columns yet.
    pub fn new(rows: usize, kept: Vec<KeptColumn>) -> Self {
        Self { rows, kept, answers: Vec::new() }
    }

    /// Adds a column. The rows in `kept` have values, in this order; the others are empty.
    pub fn add(&mut self, name: String, kept: &[usize], values: impl IntoIterator<Item = f64>) {
        let mut column = vec![f64::NAN; self.rows];
        for (row, value) in kept.iter().zip(values) {
            column[*row] = value;
        }
        self.answers.push((name, column));
    }
}

/// A table that is being written.
pub struct TableWriter<'a>(Box<dyn ChunkWriter + 'a>);

/// Writes chunks in one layout.
trait ChunkWriter {
    fn write(&mut self, chunk: &AnswerChunk) -> Result<()>;
    fn finish(self: Box<Self>) -> Result<()>;
}

impl<'a> TableWriter<'a> {
    /// Starts a table.
    pub fn new(format: OutputFormat, out: &'a mut (dyn Write + Send)) -> Result<Self> {
        Ok(Self(match format.layout {
            #[cfg(feature = "arrow")]
            OutputLayout::Parquet => Box::new(arrow::ParquetWriter::new(out)),
            #[cfg(feature = "arrow")]
            OutputLayout::Arrow => Box::new(arrow::ArrowFileWriter::new(out)),
            OutputLayout::Separated(delimiter) => {
                let out = text::Packed::new(out, format.compression)?;
                Box::new(text::SeparatedWriter::new(out, delimiter))
            }
            OutputLayout::JsonLines => {
                let out = text::Packed::new(out, format.compression)?;
                Box::new(text::JsonWriter::lines(out))
            }
            OutputLayout::Json => {
                let out = text::Packed::new(out, format.compression)?;
                Box::new(text::JsonWriter::list(out))
            }
        }))
    }

    /// Writes the next rows. All chunks have the same columns.
    pub fn write(&mut self, chunk: &AnswerChunk) -> Result<()> {
        self.0.write(chunk)
    }

    /// Ends the table.
    pub fn finish(self) -> Result<()> {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests;
