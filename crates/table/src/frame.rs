//! A table in memory, built column by column from a data frame.

use crate::chunk::{
    Chunk, Column, ColumnReading, ReadPlan, RowUnit, TableHeader, TableOrigin, ValueKind,
};
use crate::column_builder::ColumnBuilder;
use crate::date;
use crate::messages::Audience;
use crate::source::{ChunkSource, check_names};
use anyhow::{Result, ensure};
use std::sync::Arc;

/// A table in memory.
#[derive(Clone, Debug)]
pub struct Frame {
    origin: Arc<TableOrigin>,
    named: bool,
    rows: usize,
    columns: Vec<Column>,
}

impl Frame {
    /// A table with this number of rows and no columns yet. `named` is whether its columns have
    /// names.
    pub fn new(name: &str, audience: Audience, named: bool, rows: usize) -> Self {
        let rows_are = RowUnit::Row;
        let origin = TableOrigin { name: name.into(), rows: rows_are, audience, nameless: !named };
        Self { origin: Arc::new(origin), named, rows, columns: Vec::new() }
    }

    /// Adds numbers, with NaN where one is missing. `fractions` is whether a text file would write
    /// their type with a decimal point.
    pub fn push_numbers(&mut self, name: &str, values: Vec<f64>, fractions: bool) {
        self.columns.push(Column::of_values(name.into(), ValueKind::Number, values, fractions));
    }

    /// Adds booleans: 0, 1, and NaN where one is missing.
    pub fn push_booleans(&mut self, name: &str, values: Vec<f64>) {
        self.columns.push(Column::of_values(name.into(), ValueKind::Boolean, values, false));
    }

    /// Adds dates since the start of 1970 (UTC), in units of this many nanoseconds.
    pub fn push_dates<'a>(
        &mut self,
        name: &str,
        dates: impl IntoIterator<Item = Option<&'a i64>>,
        unit_nanos: i128,
    ) {
        let days = |date: Option<&i64>| {
            date.map_or(f64::NAN, |date| date::days_of(i128::from(*date) * unit_nanos))
        };
        let values = dates.into_iter().map(days).collect();
        self.columns.push(Column::of_values(name.into(), ValueKind::Date, values, false));
    }

    /// Adds texts.
    pub fn push_texts<'a>(&mut self, name: &str, texts: impl IntoIterator<Item = Option<&'a str>>) {
        let mut builder = ColumnBuilder::new(&ColumnReading::Text);
        for text in texts {
            match text {
                Some(text) => builder.push(text.trim()),
                None => builder.push_missing(),
            }
        }
        self.columns.push(builder.finish(name.into(), &ColumnReading::Text, false));
    }

    /// Adds a column of an unsupported type, which can only be left out.
    pub fn push_other(&mut self, name: &str, kind: &str) {
        self.columns.push(Column::of_other(name.into(), kind.into()));
    }

    /// Number of columns so far.
    pub fn width(&self) -> usize {
        self.columns.len()
    }
}

impl ChunkSource for Frame {
    fn read(
        &self,
        plan: &mut dyn FnMut(&TableHeader) -> Result<ReadPlan>,
        each: &mut dyn FnMut(Chunk) -> Result<()>,
    ) -> Result<()> {
        let names: Vec<String> = self.columns.iter().map(|c| c.name.to_string()).collect();
        check_names(&self.origin.name, &names)?;
        ensure!(self.rows > 0, "{} has no rows", self.origin.name);
        let guess = self
            .columns
            .iter()
            .map(|column| if column.stored { ColumnReading::plain() } else { ColumnReading::Text });
        let plan = plan(&TableHeader {
            origin: self.origin.clone(),
            names,
            named: self.named,
            guess: guess.collect(),
            // As in the CSV file that a frame is usually written to.
            commas_separate: true,
        })?;
        let columns = self.columns.iter().zip(&plan.readings);
        each(Chunk {
            origin: self.origin.clone(),
            named: self.named,
            columns: columns.map(|(c, reading)| c.clone().read_as(reading, plan.known)).collect(),
            // As Python counts them.
            lines: (0..self.rows as u64).collect(),
            kept: Vec::new(),
        })
    }

    fn is_cheap(&self) -> bool {
        true
    }
}
