//! Numbers for the rows of a table, as CSV or as JSON: line k belongs to row k of the input.

use std::io::{self, Write};

/// Named numbers for some rows; rows that were left out stay empty.
pub(crate) struct Lines {
    names: Vec<String>,
    rows: Vec<Option<Vec<f64>>>,
}

impl Lines {
    /// Empty lines for so many rows.
    pub(crate) fn new(rows: usize) -> Self {
        Self { names: Vec::new(), rows: vec![None; rows] }
    }

    /// Adds columns. The rows in `kept` have values: the i-th of them those that `values` gives
    /// for i.
    pub(crate) fn add(
        &mut self,
        names: impl IntoIterator<Item = String>,
        kept: &[usize],
        values: impl Fn(usize) -> Vec<f64>,
    ) {
        self.names.extend(names);
        for (i, &row) in kept.iter().enumerate() {
            self.rows[row].get_or_insert_default().extend(values(i));
        }
    }

    /// Writes JSON, or CSV with the names as its first line if these are the first rows.
    pub(crate) fn write(&self, json: bool, first: bool, out: &mut dyn Write) -> io::Result<()> {
        if json { self.json(out) } else { self.csv(first, out) }
    }

    fn csv(&self, first: bool, out: &mut dyn Write) -> io::Result<()> {
        if first {
            let names: Vec<String> = self.names.iter().map(|name| field(name)).collect();
            writeln!(out, "{}", names.join(","))?;
        }
        let empty = ",".repeat(self.names.len().saturating_sub(1));
        for line in &self.rows {
            let Some(values) = line else {
                writeln!(out, "{empty}")?;
                continue;
            };
            for (i, value) in values.iter().enumerate() {
                write!(out, "{}{value:?}", if i == 0 { "" } else { "," })?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        for line in &self.rows {
            let value = |i: usize| line.as_ref().map(|values| values[i]).into();
            let pairs = self.names.iter().enumerate().map(|(i, name)| (name.clone(), value(i)));
            writeln!(out, "{}", serde_json::Value::Object(pairs.collect()))?;
        }
        Ok(())
    }
}

/// A name as CSV wants it: in quotes if it holds what would end it.
fn field(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", name.replace('"', "\"\""));
    }
    name.into()
}
