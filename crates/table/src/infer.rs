//! Infers a schema from the statistics of a training table: which columns are numbers, dates,
//! booleans or categories, and which are left out.

use crate::chunk::{ColumnReading, ValueKind, unusable};
use crate::column_stats::{ColumnStats, Content, TableStats, TextStats};
use crate::evidence::{Evidence, TableNotation, Verdict};
use crate::messages::{Note, count, every, names, quoted};
use crate::number::{self, Spelling};
use anyhow::{Context, Result, anyhow, bail, ensure};
use raysum::Labels;
use raysum::schema::{
    DateOrder, DecimalMark, Feature, FeatureKind, Grouping, LabelColumn, MAX_CATEGORIES,
    NumberFormat, Schema,
};
use std::collections::HashSet;

/// This many cells, and this share of them, are typos rather than categories.
const MAX_TYPOS: usize = 20;
const MAX_TYPO_SHARE: f64 = 0.05;
/// Distinct texts in fewer rows than this may be categories by chance.
const LEAST_IDENTIFIERS: usize = 10;

/// The columns to predict from, by name or position.
#[derive(Clone, Debug, Default)]
pub struct ColumnChoice {
    /// Only these, if there are any.
    pub columns: Vec<String>,
    /// None of these.
    pub drop: Vec<String>,
}

/// Infers the schema of a table whose targets, sample weights and known noise are these columns.
pub(crate) fn infer(
    stats: &TableStats,
    labels: &Labels<usize>,
    choice: &ColumnChoice,
) -> Result<(Schema, Vec<Note>)> {
    let table = &stats.origin.name;
    let left_out = left_out(stats, labels, choice)?;
    let label = |what: &str| {
        let what = what.to_owned();
        move |position: &usize| label_column(stats, &what, *position)
    };
    let mut inference = Inference {
        stats,
        chosen: !choice.columns.is_empty(),
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
    /// Whether the user has named the columns to predict from.
    chosen: bool,
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
                self.notes.extend(check_texts(stats, column, texts, self.chosen)?);
                if is_identifier(column, texts) && !self.chosen {
                    (FeatureKind::Identifier, Vec::new(), None)
                } else {
                    let sizes = texts.sizes();
                    let shares = sizes.iter().map(|(_, size)| *size as f64 / present as f64);
                    let means = shares.collect();
                    let categories: Vec<String> =
                        sizes.into_iter().map(|(text, _)| text.to_owned()).collect();
                    let only = categories.first().filter(|_| categories.len() == 1).cloned();
                    (FeatureKind::Category { categories }, means, only)
                }
            }
            Content::Nothing | Content::Mixed | Content::Other(_) => {
                return Err(unusable(origin, &column.name, "no one kind of value"));
            }
        };
        if let Some(value) = constant {
            let value = quoted(&value);
            self.notes.push(Note::Remark(format!(
                "{}: every value is {value}, so nothing can be learned from it",
                place()
            )));
        }
        self.schema.features.push(Feature { name: column.name.to_string(), position, kind, means });
        Ok(())
    }

    /// Whether a column is the index that pandas writes beside a frame: unnamed in a text file, and
    /// under a name of its own in Parquet and Arrow files.
    fn is_index(&self, column: &ColumnStats, position: usize) -> bool {
        let Content::Values(_, values) = &column.content else { return false };
        let unnamed = self.stats.named && *column.name == *position.to_string();
        let inside = column.name.strip_prefix("__index_level_");
        let inside = inside.is_some_and(|rest| rest.ends_with("__"));
        !self.chosen && (inside || (unnamed && column.missing == 0 && values.number_rows()))
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
                FeatureKind::Category { categories } => {
                    let (name, n) = (quoted(&feature.name), categories.len());
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

/// Whether texts identify rows: all are different, and most are neither numbers nor dates.
fn is_identifier(column: &ColumnStats, texts: &TextStats) -> bool {
    let Evidence { numbers, dates, .. } = column.evidence;
    let present = column.evidence.present();
    texts.all_distinct() && present >= LEAST_IDENTIFIERS && 2 * numbers.max(dates) <= present
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

/// Refuses a text column that looks like numbers or dates with typos, or that has too many distinct
/// texts to be categories. A mix of numbers and texts that passes gives a note, and so does a
/// column that is left out.
fn check_texts(
    stats: &TableStats,
    column: &ColumnStats,
    texts: &TextStats,
    chosen: bool,
) -> Result<Option<Note>> {
    let Evidence { numbers, dates, .. } = column.evidence;
    let present = column.evidence.present();
    let origin = stats.origin_of(column);
    let drop = origin.audience.drop_column(&column.name);
    let (kind, most, (line, text)) = if dates > numbers {
        ("date", dates, texts.first_no_date())
    } else {
        ("number", numbers, texts.first_no_number())
    };
    let (place, text) = (stats.cell(line, column), quoted(text));
    let slips = present - most;
    let few = slips <= MAX_TYPOS && (slips as f64) < MAX_TYPO_SHARE * present as f64;
    let too_many = texts.distinct() > MAX_CATEGORIES;
    if slips > 0 && (few || (too_many && most > slips)) {
        let (more, them) = match slips - 1 {
            0 => (String::new(), "it"),
            more => (format!(", nor are {}", count(more, "other cell")), "them"),
        };
        bail!(
            "{place}: {text} is not a {kind}{more} (the column's other {most} values are); fix \
             {them}, or {drop}"
        );
    }
    let place_of_column = origin.column(&column.name);
    if is_identifier(column, texts) && !chosen {
        let distinct = texts.count();
        return Ok(Some(Note::Caution(format!(
            "{place_of_column}: it is left out, because its {distinct} texts are all different"
        ))));
    }
    if too_many {
        bail!(
            "{place_of_column}: it has {} different texts, such as {text}, but at most \
             {MAX_CATEGORIES} categories are supported; {drop}",
            texts.count(),
        );
    }
    Ok((most > 0 && slips > 0).then(|| {
        Note::Caution(format!(
            "{place}: {text} is not a {kind}, so the whole column is taken as categories"
        ))
    }))
}

#[cfg(test)]
mod tests;
