//! Finds the columns of a schema in another table.

use crate::chunk::{Chunk, Column, ColumnReading, ReadPlan, TableHeader};
use crate::evidence::Notation;
use crate::messages::{count, every, names};
use crate::source::ColumnNames;
use anyhow::{Result, bail, ensure};
use raysum::Labels;
use raysum::schema::{
    DecimalMark, Feature, FeatureKind, Grouping, LabelColumn, NumberFormat, Schema,
};

/// The columns of a chunk that a schema describes.
pub(crate) struct Matched<'a> {
    /// `None` for features that are not used.
    pub(crate) features: Vec<Option<&'a Column>>,
    /// Targets and sample weights only if required, known noise also if present.
    pub(crate) labels: Labels<&'a Column>,
}

/// The positions of the columns that a schema describes.
struct Positions {
    features: Vec<Option<usize>>,
    labels: Labels<usize>,
}

/// Finds the features and, if required, the labels.
pub(crate) fn matched<'a>(
    schema: &Schema,
    chunk: &'a Chunk,
    with_labels: bool,
) -> Result<Matched<'a>> {
    let table =
        ColumnNames { table: &chunk.origin, named: chunk.named, all: chunk.names().collect() };
    let found = positions(schema, &table, with_labels)?;
    let column = |position: &usize| &chunk.columns[*position];
    Ok(Matched {
        features: found.features.iter().map(|p| p.as_ref().map(column)).collect(),
        labels: found.labels.map(column),
    })
}

/// How a table is read for a schema: its columns as they were in training, unless the user says
/// otherwise.
pub(crate) fn plan(
    schema: &Schema,
    header: &TableHeader,
    with_labels: bool,
    notation: Notation,
    keep: &[String],
) -> Result<ReadPlan> {
    let table = ColumnNames::from(header);
    let found = positions(schema, &table, with_labels)?;
    let mut readings = vec![ColumnReading::Skip; header.names.len()];
    for (feature, position) in schema.features.iter().zip(found.features) {
        if let Some(position) = position {
            readings[position] = reading_of(&feature.kind, notation);
        }
    }
    let labels = schema.labels.targets.iter().filter(|_| with_labels).zip(found.labels.targets);
    let weights = schema.labels.sample_weights.iter().zip(found.labels.sample_weights);
    let noise = schema.labels.noise.iter().zip(found.labels.noise);
    for (label, position) in labels.chain(weights).chain(noise) {
        readings[position] = ColumnReading::Number(in_notation(&label.format, notation));
    }
    let keep = keep.iter().map(|spec| table.find(spec)).collect::<Result<_>>()?;
    Ok(ReadPlan { readings, known: true, keep })
}

fn reading_of(kind: &FeatureKind, notation: Notation) -> ColumnReading {
    match kind {
        FeatureKind::Number(format) => ColumnReading::Number(in_notation(format, notation)),
        FeatureKind::Date { order } => ColumnReading::Date(notation.dates.unwrap_or(*order)),
        FeatureKind::Boolean => ColumnReading::Boolean,
        FeatureKind::Category { .. } => ColumnReading::Text,
        FeatureKind::Identifier => ColumnReading::Skip,
    }
}

/// A format with the decimal mark that the user gives, which also determines the meaning of the
/// other.
fn in_notation(format: &NumberFormat, notation: Notation) -> NumberFormat {
    let Some(decimal) = notation.decimal else { return format.clone() };
    let grouping = match decimal {
        DecimalMark::Point => Grouping::Comma,
        DecimalMark::Comma => Grouping::Point,
    };
    NumberFormat { decimal, grouping: Some(grouping), unit: format.unit.clone() }
}

fn positions(schema: &Schema, table: &ColumnNames<'_>, with_labels: bool) -> Result<Positions> {
    if schema.named && !table.table.nameless {
        by_name(schema, table, with_labels)
    } else {
        by_position(schema, table, with_labels)
    }
}

fn is_used(feature: &Feature) -> bool {
    feature.encoded_columns() > 0
}

fn by_name(schema: &Schema, table: &ColumnNames<'_>, with_labels: bool) -> Result<Positions> {
    let used = || schema.features.iter().filter(|f| is_used(f)).map(|f| f.name.as_str());
    // Without a header the names are positions, and a match would be by chance.
    ensure!(
        table.named,
        "{}: the file seems to have no header line, but the model needs one that names the columns \
         {}",
        table.table.name,
        names(used().collect::<Vec<_>>().into_iter()),
    );
    let find = |name: &str| table.all.iter().position(|there| *there == name);
    let labels = schema.labels.iter().filter(|_| with_labels).map(|label| label.name.as_str());
    let lacking: Vec<&str> = used().chain(labels).filter(|name| find(name).is_none()).collect();
    ensure!(
        lacking.is_empty(),
        "{}: the model needs {} that {} not there: {} (columns there: {})",
        table.table.name,
        count(lacking.len(), "column"),
        if lacking.len() == 1 { "is" } else { "are" },
        every(lacking.into_iter()),
        names(table.all.iter().copied()),
    );
    Ok(gathered(schema, with_labels, |name, _| find(name)))
}

/// Gathers the positions that `find` finds by name or position.
fn gathered(
    schema: &Schema,
    with_labels: bool,
    find: impl Fn(&str, usize) -> Option<usize>,
) -> Positions {
    let label = |label: &LabelColumn| find(&label.name, label.position);
    let feature = |f: &Feature| find(&f.name, f.position).filter(|_| is_used(f));
    let Labels { targets, sample_weights, noise } = &schema.labels;
    Positions {
        features: schema.features.iter().map(feature).collect(),
        labels: Labels {
            targets: targets.iter().filter(|_| with_labels).filter_map(label).collect(),
            sample_weights: sample_weights.as_ref().filter(|_| with_labels).and_then(label),
            noise: noise.as_ref().and_then(label),
        },
    }
}

fn by_position(schema: &Schema, table: &ColumnNames<'_>, with_labels: bool) -> Result<Positions> {
    let (found, width) = (table.all.len(), schema.width);
    let labels = schema.labels.iter().count();
    let shifted = found + labels == width && !with_labels;
    if found != width && !shifted && table.table.nameless {
        let compact = compact(schema, with_labels);
        if compact.features.iter().flatten().chain(compact.labels.iter()).count() == found {
            return Ok(compact);
        }
    }
    if found != width && !shifted {
        let without = match labels {
            _ if with_labels => String::new(),
            1 => format!(", or {} without the target", width.saturating_sub(1)),
            more => {
                format!(", or {} without those not predicted from", width.saturating_sub(more))
            }
        };
        bail!(
            "{}: found {}, expected {width} as in the training file{without}",
            table.table.name,
            count(found, "column"),
        );
    }
    // Validation keeps all positions below the width, so that they index the columns.
    Ok(gathered(schema, with_labels, |_, position| {
        if shifted { without_labels(schema, position) } else { Some(position) }
    }))
}

/// The positions in an array that consists of the used features, followed by the targets.
fn compact(schema: &Schema, with_labels: bool) -> Positions {
    let mut next = 0..;
    let place = |feature: &Feature| if is_used(feature) { next.next() } else { None };
    let features = schema.features.iter().map(place).collect();
    let targets = schema.labels.targets.iter().filter(|_| with_labels);
    Positions {
        features,
        labels: Labels::of_targets(targets.filter_map(|_| next.next()).collect()),
    }
}

/// Where a column of the training table is in one without labels; `None` for these.
fn without_labels(schema: &Schema, position: usize) -> Option<usize> {
    let itself = schema.labels.iter().any(|label| label.position == position);
    let before = schema.labels.iter().filter(|label| label.position < position).count();
    (!itself).then(|| position - before)
}

#[cfg(test)]
mod tests;
