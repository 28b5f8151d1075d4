//! The source of chunks, and operations common to all sources.

use crate::chunk::{Chunk, ReadPlan, TableHeader, TableOrigin};
use crate::column_stats::TableStats;
use crate::messages::{count, names, quoted};
use anyhow::{Context, Result, bail};
use std::collections::HashMap;

/// A table that yields its rows in chunks: a file, or a data frame.
pub trait ChunkSource {
    /// Reads the table. `plan` decides how to read it once the columns are known, `each` takes the
    /// chunks in order.
    fn read(
        &self,
        plan: &mut dyn FnMut(&TableHeader) -> Result<ReadPlan>,
        each: &mut dyn FnMut(Chunk) -> Result<()>,
    ) -> Result<()>;

    /// Whether reading again costs less than keeping the chunks in memory.
    fn is_cheap(&self) -> bool;
}

/// Fails if two columns have the same name.
pub(crate) fn check_names(place: &str, names: &[String]) -> Result<()> {
    let mut seen = HashMap::new();
    for (position, name) in names.iter().enumerate() {
        if let Some(earlier) = seen.insert(name, position) {
            bail!(
                "{place}: columns {earlier} and {position} (counted from 0) are both named {}",
                quoted(name),
            );
        }
    }
    Ok(())
}

/// The names of columns, for look-up.
pub(crate) struct ColumnNames<'a> {
    pub(crate) table: &'a TableOrigin,
    pub(crate) named: bool,
    pub(crate) all: Vec<&'a str>,
}

impl<'a> From<&'a TableStats> for ColumnNames<'a> {
    fn from(stats: &'a TableStats) -> Self {
        Self { table: &stats.origin, named: stats.named, all: stats.names().collect() }
    }
}

impl<'a> From<&'a TableHeader> for ColumnNames<'a> {
    fn from(header: &'a TableHeader) -> Self {
        let all = header.names.iter().map(String::as_str).collect();
        Self { table: &header.origin, named: header.named, all }
    }
}

impl TableStats {
    /// Finds a column by its exact name, or else by its position from 0 (negative: from the end).
    pub fn find_column(&self, spec: &str) -> Result<usize> {
        ColumnNames::from(self).find(spec)
    }

    /// Finds one column, whose name may contain a comma, or several separated by commas.
    pub fn find_columns(&self, spec: &str) -> Result<Vec<usize>> {
        match self.find_column(spec) {
            Ok(one) => Ok(vec![one]),
            Err(error) if !spec.contains(',') => Err(error),
            Err(_) => spec.split(',').map(|one| self.find_column(one.trim())).collect(),
        }
    }
}

impl ColumnNames<'_> {
    /// Finds a column by its exact name, or else by its position from 0 (negative: from the end).
    pub(crate) fn find(&self, spec: &str) -> Result<usize> {
        let (table, width) = (&self.table.name, self.all.len());
        if let Some(index) = self.all.iter().position(|name| *name == spec) {
            return Ok(index);
        }
        if let Ok(position) = spec.trim().parse::<isize>() {
            let start = if position < 0 { width } else { 0 };
            let index = start.checked_add_signed(position).filter(|index| *index < width);
            return index.with_context(|| {
                let columns = count(width, "column");
                format!(
                    "{table}: there is no column {position}: the file has {columns}, counted from 0"
                )
            });
        }
        let hint = meant(spec, self.all.iter().copied());
        let listed = names(self.all.iter().copied());
        if self.named {
            bail!("{table}: there is no column {}{hint} (columns: {listed})", quoted(spec));
        }
        let why = if self.table.nameless {
            "arrays have no names"
        } else {
            "the file has no header line"
        };
        bail!(
            "{table}: there is no column {}: {why}, so its columns are named by position ({listed})",
            quoted(spec),
        )
    }
}

/// A question about the name that the user most likely meant, at most two typos away; or nothing.
pub(crate) fn meant<'n>(spec: &str, names: impl Iterator<Item = &'n str>) -> String {
    let wanted = spec.to_lowercase();
    let length = wanted.chars().count();
    let allowed = if length < 5 { 1 } else { 2 };
    let distance = |name: &str| strsim::levenshtein(&wanted, &name.to_lowercase());
    match names.min_by_key(|name| distance(name)) {
        Some(name) if distance(name) <= allowed && distance(name) < length => {
            format!("; did you mean {}?", quoted(name))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::stats;

    #[test]
    fn columns_are_found_by_name_then_by_position() {
        let table = stats("a,1,price\n5,6,7\n8,9,10\n");
        for (spec, index) in [("price", 2), ("1", 1), ("0", 0), ("2", 2), ("-1", 2), ("-3", 0)] {
            assert_eq!(table.find_column(spec).unwrap(), index, "{spec}");
        }
        // A name takes precedence over a position.
        let table = stats("2,x,y\n5,6,7\n8,9,10\n");
        assert_eq!(table.find_column("2").unwrap(), 0);
        let table = stats("a,\"b,a\",y\n5,6,7\n8,9,10\n");
        assert_eq!(table.find_columns("b,a").unwrap(), [1]);
        assert_eq!(table.find_columns("y, a").unwrap(), [2, 0]);
    }

    #[test]
    fn an_unknown_column_is_an_error_that_helps() {
        let named = stats("age,price\n1,2\n");
        let bare = stats("1,2\n3,4\n");
        let header: Vec<String> = (0..15).map(|i| format!("column_{i:02}")).collect();
        let row = vec!["1"; 15].join(",");
        let wide = stats(&format!("{}\n{row}\n", header.join(",")));
        let cases = [
            (
                &named,
                "prcie",
                "t.csv: there is no column 'prcie'; did you mean 'price'? \
                 (columns: 'age', 'price')",
            ),
            (
                &named,
                "AGE",
                "t.csv: there is no column 'AGE'; did you mean 'age'? \
                 (columns: 'age', 'price')",
            ),
            (&named, "weight", "t.csv: there is no column 'weight' (columns: 'age', 'price')"),
            (&named, "2", "t.csv: there is no column 2: the file has 2 columns, counted from 0"),
            (&named, "-3", "t.csv: there is no column -3: the file has 2 columns, counted from 0"),
            (
                &bare,
                "price",
                "t.csv: there is no column 'price': the file has no header line, so \
                 its columns are named by position ('0', '1')",
            ),
            (
                &wide,
                "z",
                "t.csv: there is no column 'z' (columns: 'column_00', 'column_01', \
                 'column_02', 'column_03', 'column_04', 'column_05', 'column_06', 'column_07', \
                 'column_08', 'column_09', 'column_10', 'column_11' and 3 more)",
            ),
        ];
        for (table, spec, message) in cases {
            assert_eq!(table.find_column(spec).unwrap_err().to_string(), message, "{spec}");
        }
    }
}
