//! Parquet files, and Arrow's IPC files.

use super::{AnswerChunk, ChunkWriter};
use crate::chunk::KeptCells;
use anyhow::{Context, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde_json::Value;
use std::io::{BufWriter, Write};
use std::sync::Arc;

type Out<'a> = BufWriter<&'a mut (dyn Write + Send)>;

/// Writes Parquet; the file begins with the first chunk, which knows the types.
pub(super) struct ParquetWriter<'a> {
    out: Option<Out<'a>>,
    begun: Option<(ArrowWriter<Out<'a>>, SchemaRef)>,
}

impl<'a> ParquetWriter<'a> {
    pub(super) fn new(out: &'a mut (dyn Write + Send)) -> Self {
        Self { out: Some(BufWriter::new(out)), begun: None }
    }
}

impl ChunkWriter for ParquetWriter<'_> {
    fn write(&mut self, chunk: &AnswerChunk) -> Result<()> {
        let batch = batch(chunk, self.begun.as_ref().map(|(_, schema)| schema))?;
        if let Some(out) = self.out.take() {
            let compression = Compression::ZSTD(ZstdLevel::default());
            let properties = WriterProperties::builder().set_compression(compression).build();
            let writer = ArrowWriter::try_new(out, batch.schema(), Some(properties))?;
            self.begun = Some((writer, batch.schema()));
        }
        let (writer, _) = self.begun.as_mut().context("the file has begun")?;
        Ok(writer.write(&batch)?)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        if let Some((writer, _)) = self.begun {
            writer.into_inner()?.flush()?;
        }
        Ok(())
    }
}

/// Writes an IPC file.
pub(super) struct ArrowFileWriter<'a> {
    out: Option<Out<'a>>,
    begun: Option<(FileWriter<Out<'a>>, SchemaRef)>,
}

impl<'a> ArrowFileWriter<'a> {
    pub(super) fn new(out: &'a mut (dyn Write + Send)) -> Self {
        Self { out: Some(BufWriter::new(out)), begun: None }
    }
}

impl ChunkWriter for ArrowFileWriter<'_> {
    fn write(&mut self, chunk: &AnswerChunk) -> Result<()> {
        let batch = batch(chunk, self.begun.as_ref().map(|(_, schema)| schema))?;
        if let Some(out) = self.out.take() {
            let writer = FileWriter::try_new(out, &batch.schema())?;
            self.begun = Some((writer, batch.schema()));
        }
        let (writer, _) = self.begun.as_mut().context("the file has begun")?;
        Ok(writer.write(&batch)?)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        if let Some((mut writer, _)) = self.begun {
            writer.finish()?;
            writer.into_inner()?.flush()?;
        }
        Ok(())
    }
}

/// The rows as a batch with the schema of the first one.
fn batch(chunk: &AnswerChunk, schema: Option<&SchemaRef>) -> Result<RecordBatch> {
    let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
    for column in &chunk.kept {
        columns.push((&column.name, array(&column.cells)?));
    }
    for (name, values) in &chunk.answers {
        let present = values.iter().map(|value| (!value.is_nan()).then_some(*value));
        columns.push((name, Arc::new(present.collect::<Float64Array>())));
    }
    let field =
        |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), true);
    let schema = schema.cloned();
    let schema = schema
        .unwrap_or_else(|| Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>())));
    Ok(RecordBatch::try_new(schema, columns.into_iter().map(|(_, array)| array).collect())?)
}

fn array(cells: &KeptCells) -> Result<ArrayRef> {
    Ok(match cells {
        KeptCells::Texts(texts) => {
            let present = texts.iter().map(|text| (!text.is_empty()).then_some(text));
            Arc::new(present.collect::<StringArray>())
        }
        KeptCells::Numbers(values) => {
            let present = values.iter().map(|value| (!value.is_nan()).then_some(*value));
            Arc::new(present.collect::<Float64Array>())
        }
        // A dictionary may differ from batch to batch, and a file has one for all.
        KeptCells::Arrow(array) => match array.data_type() {
            DataType::Dictionary(_, values) => cast(array, values)?,
            _ => array.clone(),
        },
    })
}

/// The cells of an array as fields of a text file; empty where missing.
pub(super) fn texts(array: &ArrayRef) -> Result<Vec<String>> {
    let options = FormatOptions::default().with_null("");
    let formatter = ArrayFormatter::try_new(array.as_ref(), &options)?;
    (0..array.len()).map(|row| Ok(formatter.value(row).try_to_string()?)).collect()
}

/// The cells of an array as JSON: numbers, booleans, and everything else as text.
pub(super) fn json(array: &ArrayRef) -> Result<Vec<Value>> {
    let kind = array.data_type();
    if *kind == DataType::Boolean {
        let flags = array.as_boolean();
        return Ok(flags.iter().map(Value::from).collect());
    }
    if kind.is_integer() {
        // Digits unchanged: not every integer is a float.
        let text = |text: String| text.parse::<i128>().map_or(Value::Null, int);
        return Ok(texts(array)?.into_iter().map(text).collect());
    }
    if kind.is_floating() {
        let numbers = cast(array, &DataType::Float64)?;
        let numbers = numbers.as_primitive::<Float64Type>();
        return Ok(numbers.iter().map(Value::from).collect());
    }
    let missing = |row: usize| array.is_null(row);
    let texts = texts(array)?.into_iter().enumerate();
    Ok(texts.map(|(row, t)| if missing(row) { Value::Null } else { Value::from(t) }).collect())
}

fn int(value: i128) -> Value {
    let signed = i64::try_from(value).map(Value::from);
    signed.or_else(|_| u64::try_from(value).map(Value::from)).unwrap_or(Value::Null)
}
