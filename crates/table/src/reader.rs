//! Table files of all formats, as sources of chunks.

#[cfg(feature = "arrow")]
use crate::arrow;
use crate::chunk::{
    Cells, Chunk, Column, ColumnReading, ReadPlan, TableHeader, TableOrigin, ValueKind,
};
use crate::csv::{self, CsvOptions};
use crate::input::{Format, Input, InputPath};
use crate::npy;
use crate::source::ChunkSource;
use anyhow::{Result, bail, ensure};
use std::sync::Arc;

/// A table file: CSV (plain, gzip or zstd), Parquet, Arrow IPC or `.npy`, detected from its first
/// bytes.
pub struct TableFile {
    input: Input,
    options: CsvOptions,
}

impl TableFile {
    /// A file that is read more than once. The content of a pipe is stored.
    pub fn open(place: &InputPath, options: CsvOptions) -> Result<Self> {
        Ok(Self { input: Input::open(place)?, options })
    }

    /// A file that is read once: standard input is streamed.
    pub fn open_once(place: &InputPath, options: CsvOptions) -> Result<Self> {
        Ok(Self { input: Input::once(place)?, options })
    }

    /// A table in memory, as if it were a file of this name.
    pub fn from_bytes(name: &str, bytes: impl AsRef<[u8]>, options: CsvOptions) -> Self {
        Self { input: Input::from_bytes(name, bytes), options }
    }

    /// Its name in messages.
    pub fn name(&self) -> &str {
        self.input.name()
    }

    /// Whether it is a NumPy array.
    pub fn is_npy(&self) -> Result<bool> {
        Ok(self.input.format()? == Format::Npy)
    }
}

impl ChunkSource for TableFile {
    fn read(
        &self,
        plan: &mut dyn FnMut(&TableHeader) -> Result<ReadPlan>,
        each: &mut dyn FnMut(Chunk) -> Result<()>,
    ) -> Result<()> {
        match self.input.format()? {
            Format::Csv => csv::read(&self.input, self.options, plan, each),
            Format::Npy => npy::read(&self.input, plan, each),
            #[cfg(feature = "arrow")]
            format => arrow::read(&self.input, format, plan, each),
        }
    }

    fn is_cheap(&self) -> bool {
        // Binary numbers in an uncompressed file.
        self.input.size().is_some() && matches!(self.input.format(), Ok(Format::Npy))
    }
}

/// An array whose targets are in a separate file: they are appended to its columns.
pub struct WithTargets<'a> {
    x: &'a TableFile,
    origin: Arc<TableOrigin>,
    names: Vec<Arc<str>>,
    targets: Vec<Vec<f64>>,
}

impl<'a> WithTargets<'a> {
    /// Reads the targets: an array with one column for each.
    pub fn new(x: &'a TableFile, y: &TableFile) -> Result<Self> {
        let mut origin = Arc::default();
        let mut targets: Vec<Vec<f64>> = Vec::new();
        y.read(
            &mut |header| {
                origin = header.origin.clone();
                Ok(ReadPlan { readings: header.guess.clone(), ..ReadPlan::default() })
            },
            &mut |chunk| {
                targets.resize(chunk.columns.len(), Vec::new());
                for (all, column) in targets.iter_mut().zip(&chunk.columns) {
                    let Cells::Values(_, more) = &column.cells else {
                        bail!("{}: the targets must be numbers", y.name());
                    };
                    all.extend(more);
                }
                Ok(())
            },
        )?;
        let several = targets.len() > 1;
        let name = |j| if several { format!("y{j}").into() } else { "y".into() };
        let names = (0..targets.len()).map(name).collect();
        Ok(Self { x, origin, names, targets })
    }

    /// Number of targets.
    pub fn count(&self) -> usize {
        self.targets.len()
    }
}

impl ChunkSource for WithTargets<'_> {
    fn read(
        &self,
        plan: &mut dyn FnMut(&TableHeader) -> Result<ReadPlan>,
        each: &mut dyn FnMut(Chunk) -> Result<()>,
    ) -> Result<()> {
        let rows = self.targets.first().map_or(0, Vec::len);
        let mut first = 0;
        self.x.read(
            &mut |header| {
                let mut both = header.clone();
                both.names.extend(self.names.iter().map(ToString::to_string));
                both.guess.resize(both.names.len(), ColumnReading::plain());
                plan(&both)
            },
            &mut |mut chunk| {
                let range = first..first + chunk.rows();
                first = range.end;
                if range.end > rows {
                    // Read to the end, for the count in the message.
                    return Ok(());
                }
                for (name, target) in self.names.iter().zip(&self.targets) {
                    let values = target[range.clone()].to_vec();
                    let column = Column::of_values(name.clone(), ValueKind::Number, values, true);
                    chunk.columns.push(Column { origin: Some(self.origin.clone()), ..column });
                }
                each(chunk)
            },
        )?;
        let (x, y) = (self.x.name(), &self.origin.name);
        ensure!(first == rows, "{y}: it has {rows} rows, but {x} has {first}");
        Ok(())
    }

    fn is_cheap(&self) -> bool {
        self.x.is_cheap()
    }
}
