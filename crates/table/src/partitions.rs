//! A schema for a table whose partitions are on many machines: each is summarised, the summaries are
//! merged, and the schema follows from that of the whole table.
//!
//! Summaries are JSON. If texts turn out to be numbers or dates, all partitions are summarised once
//! more, with their columns read as such.

use crate::chunk::{ColumnReading, ReadPlan, RowUnit, TableHeader, TableOrigin, ValueKind};
use crate::column_stats::{ColumnStats, Content, MOST_TEXTS, TableStats, TextStats, ValueStats};
use crate::evidence::{Evidence, Notation, Verdict};
use crate::frame::Frame;
use crate::infer::{SchemaOptions, infer};
use crate::messages::{Audience, Note, names, quoted};
use crate::number::Mark;
use crate::source::ChunkSource;
use anyhow::{Context, Result, anyhow, bail, ensure};
use raysum::Labels;
use raysum::schema::Schema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The name of the table in messages about all partitions.
const NAME: &str = "X";

/// What is known of the rows of some partitions.
#[derive(Serialize, Deserialize)]
struct Summary {
    /// One of the partitions.
    partition: u64,
    named: bool,
    rows: usize,
    /// How columns were read, if not as they are stored.
    readings: Option<Vec<ColumnReading>>,
    columns: Vec<ColumnSummary>,
}

#[derive(Serialize, Deserialize)]
struct ColumnSummary {
    name: String,
    stored: bool,
    /// Whether stored numbers have fractions.
    fractions: bool,
    missing: usize,
    /// A partition with the content below.
    partition: u64,
    content: Cell,
}

#[derive(Serialize, Deserialize)]
enum Cell {
    Nothing,
    Values { kind: String, mean: f64, count: usize, first: f64, same: bool, counting: bool },
    Texts { sizes: BTreeMap<String, usize>, more: bool, repeated: bool, first: (u64, String) },
}

impl Cell {
    /// What the cells are, in a message.
    fn plural(&self) -> &str {
        match self {
            Self::Nothing => "nothing",
            Self::Values { kind, .. } => kind,
            Self::Texts { .. } => "text",
        }
    }
}

/// What follows from the summaries of all partitions.
#[derive(Debug)]
pub enum Agreement {
    /// The schema of the table, and notes for the user.
    Schema(Schema, Vec<Note>),
    /// All partitions must be summarised again, with these readings.
    ReadAgain(String),
}

/// Summarises the rows of a partition.
pub fn summarise(frame: &Frame, partition: u64, readings: Option<&str>) -> Result<String> {
    let readings: Option<Vec<ColumnReading>> =
        readings.map(serde_json::from_str).transpose().context("the readings are damaged")?;
    let mut stats = TableStats::default();
    frame.read(
        &mut |header: &TableHeader| {
            let used = readings.clone().unwrap_or_else(|| header.guess.clone());
            let (found, expected) = (header.names.len(), used.len());
            ensure!(found == expected, "it has {found} columns, but other partitions {expected}");
            Ok(ReadPlan { readings: used, ..ReadPlan::default() })
        },
        &mut |chunk| {
            stats.add(&chunk);
            Ok(())
        },
    )?;
    let columns = stats.columns.iter().map(|column| {
        stats.check_usable(column)?;
        Ok(ColumnSummary {
            name: column.name.to_string(),
            stored: column.stored,
            fractions: column.evidence.spelling.point == Mark::Decimal,
            missing: column.missing,
            partition,
            content: summary_of(column),
        })
    });
    let columns = columns.collect::<Result<_>>()?;
    let summary = Summary { partition, named: stats.named, rows: stats.rows, readings, columns };
    Ok(serde_json::to_string(&summary)?)
}

fn summary_of(column: &ColumnStats) -> Cell {
    match &column.content {
        Content::Values(kind, v) => Cell::Values {
            kind: kind.plural().to_owned(),
            mean: v.mean,
            count: v.count,
            first: v.first,
            same: v.same,
            counting: v.counting,
        },
        Content::Texts(texts) => {
            let (row, text) = texts.first_no_number();
            Cell::Texts {
                sizes: texts.sizes().into_iter().map(|(t, n)| (t.to_owned(), n)).collect(),
                more: texts.more,
                repeated: texts.repeated,
                first: (row, text.to_owned()),
            }
        }
        // The chunks of a partition have the same types.
        Content::Nothing | Content::Mixed | Content::Other(_) => Cell::Nothing,
    }
}

/// The summary of the rows of two.
pub fn merge_summaries(first: &str, second: &str) -> Result<String> {
    let (mut all, more) = (read(first)?, read(second)?);
    let names_of = |s: &Summary| s.columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
    let (expected, found) = (names_of(&all), names_of(&more));
    if expected != found {
        let other = |a: &[String], b: &[String]| -> Vec<String> {
            a.iter().filter(|name| !b.contains(name)).cloned().collect()
        };
        let (lacking, extra) = (other(&expected, &found), other(&found, &expected));
        let list = |all: &[String]| names(all.iter().map(String::as_str));
        let (here, there) = (more.partition, all.partition);
        match (lacking.is_empty(), extra.is_empty()) {
            (true, true) => bail!(
                "partition {here}: its columns are in another order than those of partition {there}"
            ),
            (false, _) => bail!(
                "partition {here}: it has no column {}, but partition {there} has",
                list(&lacking)
            ),
            (true, false) => bail!(
                "partition {there}: it has no column {}, but partition {here} has",
                list(&extra)
            ),
        }
    }
    ensure!(all.readings == more.readings, "the summaries are of different passes");
    all.rows += more.rows;
    for (own, other) in all.columns.iter_mut().zip(more.columns) {
        own.merge(other)?;
    }
    Ok(serde_json::to_string(&all)?)
}

impl ColumnSummary {
    fn merge(&mut self, other: Self) -> Result<()> {
        self.missing += other.missing;
        self.fractions |= other.fractions;
        if matches!(other.content, Cell::Nothing) {
            return Ok(());
        }
        if matches!(self.content, Cell::Nothing) {
            (self.stored, self.partition, self.content) =
                (other.stored, other.partition, other.content);
            return Ok(());
        }
        let alike = match (&self.content, &other.content) {
            (Cell::Values { kind, .. }, Cell::Values { kind: others, .. }) => kind == others,
            (Cell::Texts { .. }, Cell::Texts { .. }) => true,
            _ => false,
        };
        if !alike || self.stored != other.stored {
            return Err(conflict(self, &other));
        }
        match (&mut self.content, &other.content) {
            (
                Cell::Values { mean, count, first, same, counting, .. },
                Cell::Values { mean: m, count: n, first: f, same: s, counting: c, .. },
            ) => {
                *counting &= *c && *f == *first + *count as f64;
                *same &= *s && first == f;
                *count += n;
                *mean += (m - *mean) * (*n as f64 / *count as f64);
            }
            (
                Cell::Texts { sizes, more, repeated, .. },
                Cell::Texts { sizes: others, more: m, repeated: r, .. },
            ) => {
                *more |= m;
                *repeated |= r;
                for (text, size) in others {
                    if let Some(own) = sizes.get_mut(text) {
                        (*own, *repeated) = (*own + size, true);
                    } else if sizes.len() < MOST_TEXTS {
                        sizes.insert(text.clone(), *size);
                    } else {
                        *more = true;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The error of a column that holds one thing here and another there.
fn conflict(own: &ColumnSummary, other: &ColumnSummary) -> anyhow::Error {
    let name = quoted(&own.name);
    let (texts, values) = match (&own.content, &other.content) {
        (Cell::Texts { .. }, _) => (own, other),
        _ => (other, own),
    };
    let (here, there) = (texts.partition, values.partition);
    let what = values.content.plural();
    match &texts.content {
        Cell::Texts { first: (row, text), .. } => anyhow!(
            "partition {here}: {NAME}, row {row}, column {name}: it holds text ({}), but partition \
             {there} holds {what} there",
            quoted(text)
        ),
        other => anyhow!(
            "partition {here}: {NAME}, column {name}: it holds {}, but partition {there} holds \
             {what} there",
            other.plural()
        ),
    }
}

/// The schema of the table of which this is the summary; its last columns are the targets.
pub fn agree(summary: &str, targets: usize, options: &SchemaOptions) -> Result<Agreement> {
    let summary = read(summary)?;
    let width = summary.columns.len();
    ensure!(targets <= width, "there are fewer columns than targets");
    let mut stats = TableStats {
        origin: Arc::new(TableOrigin {
            name: NAME.into(),
            rows: RowUnit::Row,
            audience: Audience::Python,
            nameless: !summary.named,
        }),
        named: summary.named,
        rows: summary.rows,
        columns: summary.columns.into_iter().map(stats_of).collect::<Result<_>>()?,
    };
    match summary.readings {
        None => {
            let reading = |c: &ColumnStats| {
                if c.stored { ColumnReading::plain() } else { ColumnReading::Text }
            };
            let used: Vec<ColumnReading> = stats.columns.iter().map(reading).collect();
            let decided = stats.decide(Notation::default(), true);
            if decided != used {
                return Ok(Agreement::ReadAgain(serde_json::to_string(&decided)?));
            }
        }
        Some(readings) => {
            for (column, reading) in stats.columns.iter_mut().zip(readings) {
                column.verdict = (!column.stored).then_some(Verdict::Read(reading));
            }
        }
    }
    let labels = Labels::of_targets((width - targets..width).collect());
    let (schema, notes) = infer(&stats, &labels, options)?;
    Ok(Agreement::Schema(schema, notes))
}

fn stats_of(column: ColumnSummary) -> Result<ColumnStats> {
    let mut evidence = Evidence::default();
    let content = match column.content {
        Cell::Nothing => Content::Nothing,
        Cell::Values { kind, mean, count, first, same, counting } => {
            let kinds = [ValueKind::Number, ValueKind::Date, ValueKind::Boolean];
            let kind = kinds.into_iter().find(|k| k.plural() == kind);
            let kind = kind.context("the summary holds a value of an unknown kind")?;
            if column.stored && kind == ValueKind::Number {
                let point = if column.fractions { Mark::Decimal } else { Mark::Absent };
                evidence = Evidence::of_numbers(count, point);
            }
            Content::Values(kind, ValueStats { mean, count, first, same, counting })
        }
        Cell::Texts { sizes, more, repeated, first } => {
            let mut texts = TextStats { more, repeated, ..TextStats::default() };
            texts.first = Some((first.0, first.1.into()));
            for (text, size) in sizes {
                let text: Arc<str> = text.into();
                evidence.add(&text, size);
                texts.sizes.insert(text, size);
            }
            Content::Texts(texts)
        }
    };
    Ok(ColumnStats {
        name: column.name.into(),
        origin: None,
        stored: column.stored,
        missing: column.missing,
        infinite: None,
        evidence,
        content,
        verdict: None,
    })
}

fn read(summary: &str) -> Result<Summary> {
    serde_json::from_str(summary).context("the summary of a partition is damaged")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(rows: &[(f64, Option<&str>, &str)]) -> Frame {
        let mut frame = Frame::new(NAME, Audience::Python, true, rows.len());
        frame.push_numbers("a", rows.iter().map(|row| row.0).collect(), true);
        frame.push_texts("b", rows.iter().map(|row| row.1));
        frame.push_texts("c", rows.iter().map(|row| Some(row.2)));
        frame.push_numbers("y", vec![1.0; rows.len()], true);
        frame
    }

    fn agreed(parts: &[Frame]) -> Result<(Schema, usize)> {
        let mut readings: Option<String> = None;
        for pass in 1.. {
            let mut all: Option<String> = None;
            for (k, part) in parts.iter().enumerate() {
                let next = summarise(part, k as u64, readings.as_deref())?;
                all = Some(all.map_or(Ok(next.clone()), |all| merge_summaries(&all, &next))?);
            }
            match agree(&all.unwrap(), 1, &SchemaOptions::default())? {
                Agreement::Schema(schema, _) => return Ok((schema, pass)),
                Agreement::ReadAgain(again) => readings = Some(again),
            }
        }
        unreachable!()
    }

    #[test]
    fn partitions_agree_on_the_schema_of_the_whole_table() {
        let rows = [
            (1.5, Some("u"), "2024-01-05"),
            (2.5, Some("v"), "2024-02-05"),
            (0.25, Some("u"), "2024-03-05"),
            (4.0, Some("w"), "2024-04-30"),
        ];
        let (found, passes) = agreed(&[frame(&rows[..1]), frame(&rows[1..])]).unwrap();
        let whole = crate::read_training(&frame(&rows), &crate::TrainingOptions::default(), |_| {
            Ok(Labels::of_targets(vec![3]))
        });
        let expected = whole.unwrap().schema;
        assert_eq!((passes, &found.labels), (2, &expected.labels));
        for (found, expected) in found.features.iter().zip(&expected.features) {
            assert_eq!((&found.name, &found.kind), (&expected.name, &expected.kind));
            let means = found.means.iter().zip(&expected.means);
            assert!(means.clone().all(|(a, b)| (a - b).abs() < 1e-9), "{means:?}");
        }
    }

    #[test]
    fn columns_that_do_not_agree_are_named_with_partition_and_row() {
        let mut other = Frame::new(NAME, Audience::Python, true, 2);
        other.push_texts("a", [Some("3.5"), Some("many")]);
        other.push_texts("b", [Some("u"), Some("v")]);
        other.push_texts("c", [Some("2024-01-05"), None]);
        other.push_numbers("y", vec![1.0, 2.0], true);
        let message = agreed(&[frame(&[(1.0, Some("u"), "2024-01-01")]), other]).unwrap_err();
        assert_eq!(
            message.to_string(),
            "partition 1: X, row 1, column 'a': it holds text ('many'), but partition 0 holds \
             numbers there"
        );
        let mut narrow = Frame::new(NAME, Audience::Python, true, 1);
        narrow.push_numbers("a", vec![1.0], true);
        let message = agreed(&[frame(&[(1.0, Some("u"), "2024-01-01")]), narrow]).unwrap_err();
        assert!(message.to_string().starts_with("partition 1: it has no column"), "{message}");
    }

    #[test]
    fn an_infinite_number_is_named_by_its_row() {
        let rows = [(1.0, None, "x"), (f64::INFINITY, None, "y")];
        let message = summarise(&frame(&rows), 3, None).unwrap_err().to_string();
        assert!(message.contains("row 1, column 'a'"), "{message}");
    }
}
