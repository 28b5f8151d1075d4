//! Infers a schema from the statistics of a training table: which columns are numbers, dates,
//! booleans or categories, and which are left out.

use crate::categories::TextFeature;
use crate::chunk::{ColumnReading, ValueKind, unusable};
use crate::column_stats::{ColumnStats, Content, TableStats, TextStats};
use crate::evidence::{Evidence, TableNotation, Verdict};
use crate::messages::{Note, every, names, quoted};
use crate::missing::Missing;
use crate::number::{self, Spelling};
use anyhow::{Context, Result, anyhow, bail, ensure};
use raysum::Labels;
use raysum::limits::{DEFAULT_CATEGORIES, MAX_CATEGORIES, MIN_CATEGORIES, written};
use raysum::schema::{
    DateOrder, DecimalMark, Feature, FeatureKind, Grouping, LabelColumn, NumberFormat, Schema,
};
use std::collections::HashSet;

/// The columns to predict from, by name or position.
#[derive(Clone, Debug, Default)]
pub struct ColumnChoice {
    /// Only these, if there are any.
    pub columns: Vec<String>,
    /// None of these.
    pub drop: Vec<String>,
}

/// How a schema is inferred.
#[derive(Clone, Debug)]
pub struct SchemaOptions {
    /// The columns to predict from.
    pub choice: ColumnChoice,
    /// What to do about missing cells.
    pub missing: Missing,
    /// Maximum number of categories of a text column.
    pub categories: usize,
}

impl Default for SchemaOptions {
    /// All columns of a table without missing values.
    fn default() -> Self {
        Self {
            choice: ColumnChoice::default(),
            missing: Missing::Error,
            categories: DEFAULT_CATEGORIES,
        }
    }
}

/// Infers the schema of a table whose targets, sample weights and known noise are these columns.
pub(crate) fn infer(
    stats: &TableStats,
    labels: &Labels<usize>,
    options: &SchemaOptions,
) -> Result<(Schema, Vec<Note>)> {
    let table = &stats.origin.name;
    ensure!(
        (MIN_CATEGORIES..=MAX_CATEGORIES).contains(&options.categories),
        "categories is {}, but must be from {MIN_CATEGORIES} to {}",
        options.categories,
        written(MAX_CATEGORIES),
    );
    let left_out = left_out(stats, labels, &options.choice)?;
    let label = |what: &str| {
        let what = what.to_owned();
        move |position: &usize| label_column(stats, &what, *position)
    };
    let mut inference = Inference {
        stats,
        options,
        schema: Schema {
            named: stats.named,
            width: stats.columns.len(),
            features: Vec::new(),
            labels: Labels {
                targets: labels.targets.iter().map(label("target")).collect::<Result<_>>()?,
                sample_weights: labels.sample_weights.as_ref().map(label("weight")).transpose()?,
                noise: labels.noise.as_ref().map(label("noise std")).transpose()?,
            },
        },
        notes: Vec::new(),
    };
    for (position, column) in stats.columns.iter().enumerate() {
        if !left_out.contains(&position) {
            inference.add(column, position)?;
        }
    }
    let (schema, notes) = inference.finish();
    let identifiers: Vec<&str> = schema.features.iter().map(|f| f.name.as_str()).collect();
    let why = match identifiers.len() {
        0 => String::new(),
        n => format!(
            " ({} only {} rows)",
            names(identifiers.into_iter()),
            if n == 1 { "identifies" } else { "identify" }
        ),
    };
    ensure!(
        schema.encoded_columns() > 0,
        "{table}: no columns are left to predict {} from{why}",
        target_names(&schema),
    );
    Ok((schema, notes))
}

/// The targets in words.
pub fn target_names(schema: &Schema) -> String {
    every(schema.labels.targets.iter().map(|target| target.name.as_str()))
}

/// The positions of the columns that are not predicted from.
fn left_out(
    stats: &TableStats,
    labels: &Labels<usize>,
    choice: &ColumnChoice,
) -> Result<HashSet<usize>> {
    let table = &stats.origin.name;
    let mut left_out = HashSet::new();
    if !choice.columns.is_empty() {
        left_out.extend(0..stats.columns.len());
        for spec in &choice.columns {
            left_out.remove(&stats.find_column(spec)?);
        }
        left_out.retain(|index| !labels.iter().any(|label| label == index));
    }
    for index in labels.iter() {
        let name = stats.columns.get(*index).map_or("", |column| &column.name);
        ensure!(left_out.insert(*index), "{table}: column {} has two roles", quoted(name));
    }
    for spec in &choice.drop {
        let index = stats.find_column(spec)?;
        ensure!(
            !labels.targets.contains(&index),
            "{table}: the target {} cannot be dropped",
            quoted(&stats.columns[index].name)
        );
        left_out.insert(index);
    }
    Ok(left_out)
}

/// A column that must be numeric: a target, a sample weight or known noise.
fn label_column(stats: &TableStats, what: &str, position: usize) -> Result<LabelColumn> {
    let column = stats.columns.get(position).context("the target is no column of the table")?;
    let (origin, name) = (stats.origin_of(column), quoted(&column.name));
    let table = &origin.name;
    check_notation(stats, column)?;
    match &column.content {
        Content::Texts(texts) => {
            let (line, text) = texts.first_no_number();
            let row = origin.row(line);
            let why =
                if what == "target" { "raysum predicts numbers" } else { "it must be numbers" };
            bail!("{table}: the {what} {name} holds text ({} at {row}): {why}", quoted(text));
        }
        Content::Values(ValueKind::Date, _) => bail!(
            "{table}: the {what} {name} holds dates, but it must be numbers; write the dates as \
             days or years"
        ),
        Content::Values(ValueKind::Boolean, _) => bail!(
            "{table}: the {what} {name} holds booleans, but it must be numbers; write them as 0 \
             and 1"
        ),
        _ => {}
    }
    stats.check_usable(column)?;
    ensure!(column.missing < stats.rows, "{table}: the {what} {name} has no values");
    Ok(LabelColumn { name: column.name.to_string(), position, format: column.format() })
}

impl ColumnStats {
    /// How its numbers are written.
    fn format(&self) -> NumberFormat {
        match &self.verdict {
            Some(Verdict::Read(ColumnReading::Number(format))) => format.clone(),
            _ => NumberFormat::default(),
        }
    }

    /// How its dates are written.
    fn order(&self) -> DateOrder {
        match &self.verdict {
            Some(Verdict::Read(ColumnReading::Date(order))) => *order,
            _ => DateOrder::default(),
        }
    }
}

/// A schema under construction, column by column.
struct Inference<'a> {
    stats: &'a TableStats,
    options: &'a SchemaOptions,
    schema: Schema,
    notes: Vec<Note>,
}

impl Inference<'_> {
    fn add(&mut self, column: &ColumnStats, position: usize) -> Result<()> {
        let stats = self.stats;
        let origin = stats.origin_of(column);
        let place = || origin.column(&column.name);
        let present = stats.rows - column.missing;
        if present == 0 && !matches!(column.content, Content::Other(_)) {
            let drop = origin.audience.drop_column(&column.name);
            bail!("{}: it has no values; {drop}", place());
        }
        stats.check_usable(column)?;
        check_notation(stats, column)?;
        let (kind, means, constant) = match &column.content {
            Content::Values(ValueKind::Number, _) if self.is_index(column, position) => {
                self.notes.push(Note::Caution(format!(
                    "{}: it is left out, because it has no name of its own and numbers the rows",
                    place()
                )));
                (FeatureKind::Identifier, Vec::new(), None)
            }
            Content::Values(kind, values) => {
                let kind = match kind {
                    ValueKind::Number => FeatureKind::Number(column.format()),
                    ValueKind::Date => FeatureKind::Date { order: column.order() },
                    ValueKind::Boolean => FeatureKind::Boolean,
                };
                let constant = values.constant().map(|value| match kind {
                    FeatureKind::Boolean => (value == 1.0).to_string(),
                    _ => value.to_string(),
                });
                (kind, vec![values.mean], constant)
            }
            Content::Texts(texts) => {
                let most = self.options.categories;
                let found = TextFeature::of(stats, column, texts, self.is_chosen(), most)?;
                self.notes.extend(found.notes);
                let only = match &found.kind {
                    FeatureKind::Category { categories, others: false } => {
                        categories.first().filter(|_| categories.len() == 1).cloned()
                    }
                    _ => None,
                };
                (found.kind, found.means, only)
            }
            Content::Nothing | Content::Mixed | Content::Other(_) => {
                return Err(unusable(origin, &column.name, "no one kind of value"));
            }
        };
        let indicator = self.options.missing == Missing::Indicate
            && column.missing > 0
            && kind != FeatureKind::Identifier;
        // The gaps of a constant column may still tell something.
        if let (Some(value), false) = (constant, indicator) {
            let value = quoted(&value);
            self.notes.push(Note::Remark(format!(
                "{}: every value is {value}, so nothing can be learned from it",
                place()
            )));
        }
        let name = column.name.to_string();
        self.schema.features.push(Feature { name, position, kind, means, indicator });
        Ok(())
    }

    /// Whether the user has named the columns to predict from.
    fn is_chosen(&self) -> bool {
        !self.options.choice.columns.is_empty()
    }

    /// Whether a column is the index that pandas writes beside a frame: unnamed in a text file, and
    /// under a name of its own in Parquet and Arrow files.
    fn is_index(&self, column: &ColumnStats, position: usize) -> bool {
        let Content::Values(_, values) = &column.content else { return false };
        let unnamed = self.stats.named && *column.name == *position.to_string();
        let inside = column.name.strip_prefix("__index_level_");
        let inside = inside.is_some_and(|rest| rest.ends_with("__"));
        !self.is_chosen() && (inside || (unnamed && column.missing == 0 && values.number_rows()))
    }

    /// Adds notes about several columns together.
    fn finish(mut self) -> (Schema, Vec<Note>) {
        let table = &self.stats.origin.name;
        let labels = self.schema.labels.iter().map(|label| (&*label.name, &label.format));
        let features = self.schema.features.iter().filter_map(|feature| match &feature.kind {
            FeatureKind::Number(format) => Some((&*feature.name, format)),
            _ => None,
        });
        let commas = labels.chain(features);
        let commas = commas.filter(|(_, format)| format.decimal == DecimalMark::Comma);
        let commas: Vec<&str> = commas.map(|(name, _)| name).collect();
        let mut remarks = Vec::new();
        if !commas.is_empty() {
            let listed = names(commas.into_iter());
            remarks.push(format!("{table}: numbers with decimal commas in {listed}"));
        }
        for (order, words) in
            [(DateOrder::DayFirst, "day, month, year"), (DateOrder::MonthFirst, "month, day, year")]
        {
            let has = |feature: &&Feature| feature.kind == FeatureKind::Date { order };
            let found: Vec<&str> =
                self.schema.features.iter().filter(has).map(|f| f.name.as_str()).collect();
            if !found.is_empty() {
                let listed = names(found.into_iter());
                remarks.push(format!("{table}: dates are read as {words} in {listed}"));
            }
        }
        let categories: Vec<String> = self
            .schema
            .features
            .iter()
            .filter_map(|feature| match &feature.kind {
                FeatureKind::Category { .. } => {
                    let (name, n) = (quoted(&feature.name), feature.kind.value_columns());
                    let noun = if n == 1 { "category" } else { "categories" };
                    Some(format!("{name} ({n} {noun})"))
                }
                _ => None,
            })
            .collect();
        if !categories.is_empty() {
            remarks.push(format!("{table}: taken as categories: {}", categories.join(", ")));
        }
        self.notes.extend(remarks.into_iter().map(Note::Remark));
        (self.schema, self.notes)
    }
}

/// Refuses ambiguous numbers and dates, and columns that mix notations.
fn check_notation(stats: &TableStats, column: &ColumnStats) -> Result<()> {
    let origin = stats.origin_of(column);
    let place = origin.column(&column.name);
    let audience = origin.audience;
    match &column.verdict {
        Some(Verdict::DoubtfulNumber(text)) => {
            let value = |decimal, grouping| {
                let unit = match Spelling::of(text).map(|spelling| spelling.unit) {
                    Some(number::NumberUnit::Same(unit)) => unit.map(String::from),
                    _ => None,
                };
                let format = NumberFormat { decimal, grouping: Some(grouping), unit };
                number::parse(text, &format, true).unwrap_or(f64::NAN)
            };
            let comma = value(DecimalMark::Comma, Grouping::Point);
            let point = value(DecimalMark::Point, Grouping::Comma);
            Err(anyhow!(
                "{place}: {} can be read as {comma} or as {point}; {}",
                quoted(text),
                audience.say_decimal(),
            ))
        }
        Some(Verdict::DoubtfulDate(text)) => Err(anyhow!(
            "{place}: {} can be read with the day or with the month first; {}",
            quoted(text),
            audience.say_dates(),
        )),
        _ => {
            let Content::Texts(texts) = &column.content else { return Ok(()) };
            let Evidence { numbers, dates, .. } = column.evidence;
            let present = column.evidence.present();
            let what = match present {
                present if present == numbers => "numbers",
                present if present == dates => "dates",
                _ => return Ok(()),
            };
            let drop = audience.drop_column(&column.name);
            let such = examples(texts);
            Err(anyhow!(
                "{place}: its {what} are in different notations ({such}); use one for all, or {drop}"
            ))
        }
    }
}

/// Two texts in different notations, or one if no two contradict each other.
fn examples(texts: &TextStats) -> String {
    let sizes = texts.sizes();
    let all: Vec<&str> = sizes.iter().map(|(text, _)| *text).collect();
    let differ = |a: &str, b: &str| {
        let both = Evidence::of(&[a.into(), b.into()], &[0, 1]);
        both.verdict(TableNotation::default()).reading() == ColumnReading::Text
    };
    let first = all.first().copied().unwrap_or_default();
    match all.iter().find(|text| differ(first, text)) {
        Some(other) => format!("{}, {}", quoted(first), quoted(other)),
        None => quoted(first),
    }
}

#[cfg(test)]
mod tests;
