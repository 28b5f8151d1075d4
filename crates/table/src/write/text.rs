//! CSV and JSON.

use super::{AnswerChunk, ChunkWriter, Compression};
use crate::chunk::KeptCells;
use anyhow::Result;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::borrow::Cow;
use std::io::{self, Write};

/// A writer of bytes, compressed or not.
pub(super) enum Packed<'a> {
    Plain(&'a mut (dyn Write + Send)),
    Gzip(GzEncoder<&'a mut (dyn Write + Send)>),
    Zstd(zstd::Encoder<'static, &'a mut (dyn Write + Send)>),
}

impl<'a> Packed<'a> {
    pub(super) fn new(
        out: &'a mut (dyn Write + Send),
        compression: Compression,
    ) -> io::Result<Self> {
        Ok(match compression {
            Compression::None => Self::Plain(out),
            Compression::Gzip => Self::Gzip(GzEncoder::new(out, flate2::Compression::default())),
            Compression::Zstd => Self::Zstd(zstd::Encoder::new(out, 0)?),
        })
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(_) => {}
            Self::Gzip(out) => drop(out.finish()?),
            Self::Zstd(out) => drop(out.finish()?),
        }
        Ok(())
    }
}

impl Write for Packed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            Self::Gzip(out) => out.write(bytes),
            Self::Zstd(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Gzip(out) => out.flush(),
            Self::Zstd(out) => out.flush(),
        }
    }
}

/// Fields between commas or tabs, with the names in the first line.
pub(super) struct SeparatedWriter<'a> {
    out: Packed<'a>,
    delimiter: char,
    begun: bool,
}

impl<'a> SeparatedWriter<'a> {
    pub(super) fn new(out: Packed<'a>, delimiter: char) -> Self {
        Self { out, delimiter, begun: false }
    }

    /// A text as a field: quoted if it contains a delimiter, a quote or a line break.
    fn field<'b>(&self, text: &'b str) -> Cow<'b, str> {
        let ends = |c: char| c == self.delimiter || matches!(c, '"' | '\n' | '\r');
        // Blanks at either end would be lost.
        if text.contains(ends) || text.trim() != text {
            return format!("\"{}\"", text.replace('"', "\"\"")).into();
        }
        text.into()
    }
}

impl ChunkWriter for SeparatedWriter<'_> {
    fn write(&mut self, chunk: &AnswerChunk) -> Result<()> {
        let mut line = String::new();
        if !self.begun {
            self.begun = true;
            let kept = chunk.kept.iter().map(|column| &column.name);
            for name in kept.chain(chunk.answers.iter().map(|(name, _)| name)) {
                line.push_str(&self.field(name));
                line.push(self.delimiter);
            }
            line.pop();
            writeln!(self.out, "{line}")?;
        }
        let kept: Vec<Vec<String>> =
            chunk.kept.iter().map(|column| column.cells.texts()).collect::<Result<_>>()?;
        for row in 0..chunk.rows {
            line.clear();
            for column in &kept {
                line.push_str(&self.field(&column[row]));
                line.push(self.delimiter);
            }
            for (_, values) in &chunk.answers {
                if !values[row].is_nan() {
                    // The shortest text that reads as the same number.
                    line.push_str(&format!("{:?}", values[row]));
                }
                line.push(self.delimiter);
            }
            line.pop();
            writeln!(self.out, "{line}")?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(self.out.finish()?)
    }
}

/// Objects, one per row.
pub(super) struct JsonWriter<'a> {
    out: Packed<'a>,
    list: bool,
    begun: bool,
}

impl<'a> JsonWriter<'a> {
    /// One object per line.
    pub(super) fn lines(out: Packed<'a>) -> Self {
        Self { out, list: false, begun: false }
    }

    /// All objects in one list.
    pub(super) fn list(out: Packed<'a>) -> Self {
        Self { out, list: true, begun: false }
    }
}

impl ChunkWriter for JsonWriter<'_> {
    fn write(&mut self, chunk: &AnswerChunk) -> Result<()> {
        let kept: Vec<Vec<Value>> =
            chunk.kept.iter().map(|column| column.cells.json()).collect::<Result<_>>()?;
        let names = chunk.kept.iter().map(|column| &column.name);
        let names: Vec<String> = names
            .chain(chunk.answers.iter().map(|(name, _)| name))
            .map(|name| Value::from(name.as_str()).to_string())
            .collect();
        for row in 0..chunk.rows {
            let kept = kept.iter().map(|column| column[row].to_string());
            // NaN is null.
            let answers =
                chunk.answers.iter().map(|(_, values)| Value::from(values[row]).to_string());
            let pairs: Vec<String> = names
                .iter()
                .zip(kept.chain(answers))
                .map(|(name, value)| format!("{name}:{value}"))
                .collect();
            let object = format!("{{{}}}", pairs.join(","));
            match (self.list, self.begun) {
                (false, _) => writeln!(self.out, "{object}")?,
                (true, false) => write!(self.out, "[\n{object}")?,
                (true, true) => write!(self.out, ",\n{object}")?,
            }
            self.begun = true;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if self.list {
            let end = if self.begun { "\n]" } else { "[]" };
            writeln!(self.out, "{end}")?;
        }
        Ok(self.out.finish()?)
    }
}

impl KeptCells {
    /// As fields of a text file; empty where missing.
    fn texts(&self) -> Result<Vec<String>> {
        Ok(match self {
            Self::Texts(texts) => texts.clone(),
            Self::Numbers(values) => values.iter().map(|value| number(*value)).collect(),
            #[cfg(feature = "arrow")]
            Self::Arrow(array) => super::arrow::texts(array)?,
        })
    }

    /// As JSON; null where missing.
    fn json(&self) -> Result<Vec<Value>> {
        let text = |text: String| if text.is_empty() { Value::Null } else { Value::from(text) };
        Ok(match self {
            Self::Texts(texts) => texts.iter().cloned().map(text).collect(),
            Self::Numbers(values) => values.iter().map(|value| Value::from(*value)).collect(),
            #[cfg(feature = "arrow")]
            Self::Arrow(array) => super::arrow::json(array)?,
        })
    }
}

/// A number of an array: integers without a point.
fn number(value: f64) -> String {
    if value.is_nan() { String::new() } else { value.to_string() }
}
