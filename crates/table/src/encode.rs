//! Encodes a chunk as the numbers that a model uses, by the schema of the training table.

use crate::cell;
use crate::chunk::{Cells, Chunk, Column, ColumnReading, NO_TEXT, ValueKind, unusable};
use crate::column_builder::value_of;
use crate::date::Orders;
use crate::match_columns::{Matched, matched};
use crate::messages::{Audience, quoted};
use crate::missing::{FeatureGaps, Missing, keep_rows};
use crate::number::{NumberUnit, Spelling};
use crate::report::{EncodeReport, Unknown};
use anyhow::{Result, anyhow, bail};
use raysum::Labels;
use raysum::Matrix;
use raysum::schema::{Feature, FeatureKind, Schema};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// Some rows as numbers.
#[derive(Clone, Debug)]
pub struct EncodedChunk {
    /// The encoded features.
    pub x: Matrix,
    /// Targets and sample weights if required, known noise also if present.
    pub labels: Labels<Vec<f64>>,
    /// The row of the chunk that each row comes from.
    pub kept: Vec<usize>,
    /// What had to be filled in or left out.
    pub report: EncodeReport,
}

/// How chunks are encoded.
#[derive(Clone, Copy, Debug, Default)]
pub struct EncodeOptions {
    /// What to do about missing cells.
    pub missing: Missing,
    /// Whether targets and sample weights are required.
    pub with_labels: bool,
    /// Whether the schema was inferred from this table, so that it could still be another.
    pub fitting: bool,
}

/// A feature's cells in the current chunk.
enum FeatureCells<'a> {
    Values(&'a [f64]),
    Texts {
        texts: Cow<'a, [Arc<str>]>,
        codes: Cow<'a, [u32]>,
        /// The category of each text; `None` if it is unknown.
        categories: Vec<Option<usize>>,
    },
    /// A feature that is not used.
    Unused,
}

/// Encodes a chunk. The result may have no rows.
pub(crate) fn encode(
    schema: &Schema,
    chunk: &Chunk,
    options: EncodeOptions,
) -> Result<EncodedChunk> {
    let Matched { features: columns, labels } = matched(schema, chunk, options.with_labels)?;
    let mut cells = Vec::with_capacity(columns.len());
    for (feature, column) in schema.features.iter().zip(&columns) {
        cells.push(match column {
            Some(column) => feature_cells(feature, chunk, column)?,
            None => FeatureCells::Unused,
        });
    }
    let mut report = EncodeReport::default();
    let label_values = labels.try_map(|column| numbers(chunk, column, ValueKind::Number))?;
    let used = schema.features.iter().zip(&columns).filter_map(|(feature, column)| {
        column.map(|column| FeatureGaps { column, indicated: feature.indicator })
    });
    let used: Vec<FeatureGaps<'_>> = used.collect();
    let kept = keep_rows(chunk, &used, &labels, options.missing, options.fitting, &mut report);
    let picked = label_values.map(|values| kept.iter().map(|row| values[*row]).collect());
    check_labels(chunk, &kept, &labels, &picked)?;
    let width = schema.encoded_columns();
    let mut x = vec![0.0; kept.len() * width];
    // Without features there would be no chunks, but inference and validation rule that out.
    for (row, out) in kept.iter().zip(x.chunks_exact_mut(width.max(1))) {
        fill_row(schema, &cells, *row, out);
    }
    for (feature, cells) in schema.features.iter().zip(&cells) {
        report.unknown.extend(unknown(feature, cells, &kept));
    }
    let x = Matrix::from_row_major(kept.len(), width, x)?;
    Ok(EncodedChunk { x, labels: picked, kept, report })
}

/// Fails if a sample weight or a known noise is out of range.
fn check_labels(
    chunk: &Chunk,
    kept: &[usize],
    columns: &Labels<&Column>,
    values: &Labels<Vec<f64>>,
) -> Result<()> {
    type Rule = (&'static str, fn(f64) -> bool, &'static str);
    let rules: [(_, _, Rule); 2] = [
        (columns.sample_weights, &values.sample_weights, ("weight", |w| w > 0.0, "above 0")),
        (columns.noise, &values.noise, ("noise std", |s| s >= 0.0, "at least 0")),
    ];
    for (column, values, (what, is_good, rule)) in rules {
        let (Some(column), Some(values)) = (column, values) else { continue };
        if let Some(k) = values.iter().position(|value| !is_good(*value)) {
            let place = chunk.cell(kept[k], column);
            bail!("{place}: the {what} is {}, but must be {rule}", values[k]);
        }
    }
    Ok(())
}

/// Writes one row's encoded features over zeros.
fn fill_row(schema: &Schema, cells: &[FeatureCells<'_>], row: usize, out: &mut [f64]) {
    let mut rest = out;
    for (feature, cells) in schema.features.iter().zip(cells) {
        let (columns, after) = rest.split_at_mut(feature.encoded_columns());
        rest = after;
        let (slot, indicator) = columns.split_at_mut(feature.kind.value_columns());
        match cells {
            FeatureCells::Values(values) if values[row].is_nan() => {
                slot.copy_from_slice(&feature.means);
                indicator.fill(1.0);
            }
            FeatureCells::Values(values) => slot[0] = values[row],
            // With an indicator a gap is one more category, and not a mixture of the others.
            FeatureCells::Texts { codes, .. } if codes[row] == NO_TEXT && feature.indicator => {
                indicator.fill(1.0);
            }
            FeatureCells::Texts { codes, .. } if codes[row] == NO_TEXT => {
                slot.copy_from_slice(&feature.means);
            }
            FeatureCells::Texts { codes, categories, .. } => {
                if let Some(category) = categories[codes[row] as usize] {
                    slot[category] = 1.0;
                }
            }
            FeatureCells::Unused => {}
        }
    }
}

/// Reads a column as the kind it was in training.
fn feature_cells<'a>(
    feature: &Feature,
    chunk: &Chunk,
    column: &'a Column,
) -> Result<FeatureCells<'a>> {
    let kind = match &feature.kind {
        FeatureKind::Category { categories, others } => {
            return texts(chunk, column, categories, *others);
        }
        FeatureKind::Identifier => return Ok(FeatureCells::Unused),
        FeatureKind::Number(_) => ValueKind::Number,
        FeatureKind::Date { .. } => ValueKind::Date,
        FeatureKind::Boolean => ValueKind::Boolean,
    };
    Ok(FeatureCells::Values(numbers(chunk, column, kind)?))
}

/// The cells of a column of typed values.
fn numbers<'a>(chunk: &Chunk, column: &'a Column, kind: ValueKind) -> Result<&'a [f64]> {
    chunk.check_usable(column)?;
    let Cells::Values(found, values) = &column.cells else {
        return Err(not_read(chunk, column, kind));
    };
    let is_truth = |value: &f64| value.is_nan() || *value == 0.0 || *value == 1.0;
    let fits = match (kind, found) {
        (kind, found) if kind == *found => true,
        // Some programs store booleans as numbers.
        (ValueKind::Boolean, ValueKind::Number) => values.iter().all(is_truth),
        (ValueKind::Number, ValueKind::Boolean) => true,
        _ => false,
    };
    if !fits && column.missing < values.len() {
        return Err(other_kind(chunk, column, found.plural(), kind));
    }
    Ok(values)
}

/// The error about a column of another kind than training had.
fn other_kind(chunk: &Chunk, column: &Column, found: &str, kind: ValueKind) -> anyhow::Error {
    let place = chunk.origin_of(column).column(&column.name);
    anyhow!("{place}: it holds {found}, but the model was trained on {} here", kind.plural())
}

/// The error about a column of texts that could not be read as in training.
fn not_read(chunk: &Chunk, column: &Column, kind: ValueKind) -> anyhow::Error {
    let Cells::Texts { texts, codes } = &column.cells else {
        return unusable(chunk.origin_of(column), &column.name, "nothing that was read");
    };
    let is_read = |text: &Arc<str>| value_of(text, &column.reading, true).is_some();
    let read: Vec<bool> = texts.iter().map(is_read).collect();
    let unread = |code: &u32| read.get(*code as usize).is_some_and(|read| !read);
    let row = codes.iter().position(unread).unwrap_or_default();
    let text = codes.get(row).and_then(|code| texts.get(*code as usize)).map_or("", |t| &**t);
    let (place, shown) = (chunk.cell(row, column), quoted(text));
    let all_dates = texts.iter().all(|text| Orders::of(text).is_some());
    let all_numbers = texts.iter().all(|text| Spelling::of(text).is_some());
    let hint = |option: &str| match chunk.origin_of(column).audience {
        Audience::CommandLine => format!("; if this file has another one, use {option}"),
        Audience::Python => String::new(),
    };
    match kind {
        ValueKind::Number if all_dates => other_kind(chunk, column, "dates", kind),
        ValueKind::Number if has_other_unit(text, &column.reading) => anyhow!(
            "{place}: {shown} has a sign that the numbers of the training table did not have here"
        ),
        ValueKind::Number if Spelling::of(text).is_some() => anyhow!(
            "{place}: {shown} is not in the number notation of the training table{}",
            hint("--decimal comma or --decimal point")
        ),
        ValueKind::Number => {
            anyhow!("{place}: {shown} is not a number, but the model was trained on numbers here")
        }
        ValueKind::Date if all_numbers => other_kind(chunk, column, "numbers", kind),
        ValueKind::Date if Orders::of(text).is_some() => anyhow!(
            "{place}: {shown} is not in the date notation of the training table{}",
            hint("--dates day-first or --dates month-first")
        ),
        ValueKind::Date => {
            anyhow!("{place}: {shown} is not a date, but the model was trained on dates here")
        }
        ValueKind::Boolean => anyhow!(
            "{place}: {shown} is neither true nor false, but the model was trained on booleans here"
        ),
    }
}

/// Whether a number has a currency or per cent sign that is not the one of its column.
fn has_other_unit(text: &str, reading: &ColumnReading) -> bool {
    let ColumnReading::Number(format) = reading else { return false };
    let expected = format.unit.as_deref().and_then(|unit| unit.chars().next());
    match Spelling::of(text).map(|spelling| spelling.unit) {
        Some(NumberUnit::Same(Some(found))) => expected != Some(found),
        _ => false,
    }
}

/// The cells of a column that was texts in training. Unknown ones belong to the category of all
/// `others`, if there is one.
fn texts<'a>(
    chunk: &Chunk,
    column: &'a Column,
    categories: &[String],
    others: bool,
) -> Result<FeatureCells<'a>> {
    let (texts, codes) = match &column.cells {
        Cells::Texts { texts, codes } => (Cow::from(&texts[..]), Cow::from(&codes[..])),
        Cells::Values(kind, values) => {
            let (texts, codes) = spelled(*kind, values);
            (Cow::from(texts), Cow::from(codes))
        }
        Cells::Other(kind) => return Err(unusable(chunk.origin_of(column), &column.name, kind)),
        Cells::Skipped => {
            return Err(unusable(chunk.origin_of(column), &column.name, "nothing that was read"));
        }
    };
    // A category that is a number matches in any spelling: a column of only numbers has lost its
    // spelling.
    let as_number: Vec<Option<f64>> = categories.iter().map(|c| cell::plain_number(c)).collect();
    let category = |text: &Arc<str>| {
        let exact = categories.binary_search_by(|category| category.as_str().cmp(text)).ok();
        let number = || {
            let value = cell::plain_number(text)?;
            as_number.iter().position(|number| *number == Some(value))
        };
        // So does a boolean: some programs write True, others true.
        let truth = || {
            let value = cell::truth(text)?;
            categories.iter().position(|category| cell::truth(category) == Some(value))
        };
        exact.or_else(number).or_else(truth).or_else(|| others.then_some(categories.len()))
    };
    let categories = texts.iter().map(category).collect();
    Ok(FeatureCells::Texts { texts, codes, categories })
}

/// Values as texts, with one code per distinct value.
fn spelled(kind: ValueKind, values: &[f64]) -> (Vec<Arc<str>>, Vec<u32>) {
    let mut texts: Vec<Arc<str>> = Vec::new();
    let mut seen = HashMap::new();
    let spell = |value: f64| match kind {
        ValueKind::Boolean => (value == 1.0).to_string().into(),
        ValueKind::Number | ValueKind::Date => value.to_string().into(),
    };
    let code = |value: &f64| {
        if value.is_nan() {
            return NO_TEXT;
        }
        *seen.entry(value.to_bits()).or_insert_with(|| {
            texts.push(spell(*value));
            texts.len() as u32 - 1
        })
    };
    let codes = values.iter().map(code).collect();
    (texts, codes)
}

/// The unknown categories of some rows, if there are any.
fn unknown(feature: &Feature, cells: &FeatureCells<'_>, kept: &[usize]) -> Option<Unknown> {
    let FeatureCells::Texts { texts, codes, categories } = cells else { return None };
    let mut found = Unknown { column: feature.name.clone(), rows: 0, first: Vec::new() };
    for code in kept.iter().map(|row| codes[*row] as usize) {
        if categories.get(code).is_some_and(Option::is_none) {
            found.add(&texts[code]);
        }
    }
    (found.rows > 0).then_some(found)
}

#[cfg(test)]
mod tests;
