//! Reads tables to predict in chunks, so that they may be of any size.

use crate::chunk::{KeptColumn, TableHeader};
use crate::encode::{EncodeOptions, encode};
use crate::evidence::Notation;
use crate::match_columns::plan;
use crate::messages::{Note, every, quoted};
use crate::missing::Missing;
use crate::report::EncodeReport;
use crate::source::ChunkSource;
use anyhow::Result;
use raysum::Labels;
use raysum::fitted::Standard;
use raysum::schema::{Feature, FeatureKind, LabelColumn, NumberFormat, Schema};
use raysum::{Matrix, Model};
use std::ops::Range;

/// Some rows to predict.
#[derive(Debug)]
pub struct NewRows {
    /// The encoded features.
    pub x: Matrix,
    /// The known standard deviation of each row's noise, if the table has the column for it.
    pub noise_std: Option<Vec<f64>>,
    /// The rows of the chunk that have a row in `x`.
    pub kept: Vec<usize>,
    /// Number of rows of the table.
    pub rows: usize,
    /// The columns to copy to the output.
    pub columns: Vec<KeptColumn>,
}

impl NewRows {
    /// A range of the rows.
    #[must_use]
    pub fn range(&self, range: Range<usize>) -> Self {
        let first = self.kept.partition_point(|row| *row < range.start);
        let end = self.kept.partition_point(|row| *row < range.end);
        let chosen: Vec<usize> = (first..end).collect();
        Self {
            x: self.x.gather(&chosen),
            noise_std: self.noise_std.as_ref().map(|noise| noise[first..end].to_vec()),
            kept: self.kept[first..end].iter().map(|row| row - range.start).collect(),
            rows: range.len(),
            columns: self.columns.iter().map(|column| column.range(range.clone())).collect(),
        }
    }
}

/// How a table to predict is read.
#[derive(Clone, Debug, Default)]
pub struct PredictionOptions {
    /// What to do about missing cells.
    pub missing: Missing,
    /// The notation of the table, as given by the user.
    pub notation: Notation,
    /// The columns to copy to the output, by name or position.
    pub keep: Vec<String>,
}

/// Reads a table to predict, in chunks and in order; returns notes for the user. `start` is called
/// once, before the rows, with the names of the columns to copy to the output.
pub fn read_new(
    source: &dyn ChunkSource,
    schema: &Schema,
    options: &PredictionOptions,
    mut start: impl FnMut(&[String]) -> Result<()>,
    mut each: impl FnMut(NewRows) -> Result<()>,
) -> Result<Vec<Note>> {
    let mut report = EncodeReport::default();
    let mut noise_known = true;
    let mut table = (String::new(), false, false);
    let encoding = EncodeOptions { missing: options.missing, with_labels: false, fitting: false };
    source.read(
        &mut |header: &TableHeader| {
            let unused = !schema.named && header.names.len() == schema.width;
            let by_position = !schema.named && header.named;
            table = (header.origin.name.clone(), unused, by_position);
            let plan = plan(schema, header, false, options.notation, &options.keep)?;
            let kept: Vec<String> = plan.keep.iter().map(|k| header.names[*k].clone()).collect();
            start(&kept)?;
            Ok(plan)
        },
        &mut |mut chunk| {
            let encoded = encode(schema, &chunk, encoding)?;
            // An error at the end would come after rows have been written.
            encoded.report.check_missing()?;
            report.merge(encoded.report);
            noise_known = encoded.labels.noise.is_some();
            each(NewRows {
                x: encoded.x,
                noise_std: encoded.labels.noise,
                kept: encoded.kept,
                rows: chunk.rows(),
                columns: std::mem::take(&mut chunk.kept),
            })
        },
    )?;
    let (name, has_labels, by_position) = table;
    report.check(&name)?;
    let mut notes = report.notes(&name);
    if let (Some(column), false) = (&schema.labels.noise, noise_known) {
        notes.push(Note::Remark(format!(
            "{name}: there is no column {} with known noise, so intervals hold the noise found in \
             the fit alone",
            quoted(&column.name)
        )));
    }
    if by_position {
        notes.push(Note::Remark(format!(
            "{name}: columns are taken by position, because the model was fitted without names"
        )));
    }
    if has_labels {
        let unused = schema.labels.targets.iter().chain(&schema.labels.sample_weights);
        let positions: Vec<String> = unused.map(|label| label.position.to_string()).collect();
        notes.push(Note::Remark(format!(
            "{name}: it has as many columns as the training table, so column {} (counted from 0) is \
             taken for what is predicted, and not used",
            every(positions.iter().map(String::as_str))
        )));
    }
    Ok(notes)
}

/// Reads a whole table to predict into memory.
pub fn read_all_new(
    source: &dyn ChunkSource,
    schema: &Schema,
    options: &PredictionOptions,
) -> Result<(Vec<NewRows>, Vec<Note>)> {
    let mut all = Vec::new();
    let notes = read_new(
        source,
        schema,
        options,
        |_| Ok(()),
        |rows| {
            all.push(rows);
            Ok(())
        },
    )?;
    Ok((all, notes))
}

/// How tables are read for the models of one file, one per target: as the table they were fitted
/// on, or else as one number per column, by name if there are names.
pub fn schema_of<'m>(models: impl IntoIterator<Item = &'m Model>) -> Schema {
    let models: Vec<&Model> = models.into_iter().collect();
    let Some(&model) = models.first() else {
        return Schema { named: false, width: 0, features: Vec::new(), labels: Labels::default() };
    };
    if let Some(schema) = model.schema() {
        return schema.clone();
    }
    let names = model.column_names();
    let feature = |(position, scale): (usize, &Standard)| Feature {
        name: names.as_ref().map_or_else(|| position.to_string(), |names| names[position].clone()),
        position,
        kind: FeatureKind::Number(NumberFormat::default()),
        means: vec![scale.mean],
        indicator: false,
    };
    let target = |(k, model): (usize, &&Model)| LabelColumn {
        name: model.target_name().unwrap_or("y").into(),
        position: model.columns() + k,
        format: NumberFormat::default(),
    };
    Schema {
        named: names.is_some(),
        width: model.columns() + models.len(),
        features: model.column_scales().iter().enumerate().map(feature).collect(),
        labels: Labels::of_targets(models.iter().enumerate().map(target).collect()),
    }
}
