//! What can be chosen, in the user's terms: a range for each column of the training table.

use crate::cell;
use crate::date::{days, texts_of};
use crate::messages::{names, quoted};
use crate::number::parse;
use crate::source::meant;
use anyhow::{Result, bail};
use raysum::Matrix;
use raysum::fitted::Standard;
use raysum::schema::{Feature, FeatureKind, Schema};
use raysum::suggest::{Domain, Variable, rows};

/// The values that a column may have, as the user writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnRange {
    /// From the first to the second, inclusive.
    Between(String, String),
    /// Whole numbers from the first to the second, inclusive.
    Whole(i64, i64),
    /// One of these.
    OneOf(Vec<String>),
}

impl ColumnRange {
    /// A range as it is written on the command line: `0:1`, whole numbers as `1..10`, `red|green`, or
    /// a single value.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some((low, high)) = text.split_once("..") {
            let whole = |part: &str| part.trim().parse::<i64>().ok();
            let Some((low, high)) = whole(low).zip(whole(high)) else {
                return Err(format!("'{text}' has two dots, but not between whole numbers"));
            };
            return Ok(Self::Whole(low, high));
        }
        if text.contains('|') {
            return Ok(Self::OneOf(text.split('|').map(|one| one.trim().to_string()).collect()));
        }
        match text.split_once(':') {
            Some((low, high)) => Ok(Self::Between(low.trim().into(), high.trim().into())),
            None if text.is_empty() => Err("the range is empty".into()),
            None => Ok(Self::OneOf(vec![text.into()])),
        }
    }
}

/// The cells of a column that were chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum ChosenCells {
    /// Categories and booleans.
    Texts(Vec<String>),
    /// Dates, all with a time or all without.
    Dates(Vec<String>),
    /// Numbers.
    Numbers(Vec<f64>),
    /// Whole numbers.
    Integers(Vec<i64>),
}

/// The columns of a table that can be chosen, and how.
#[derive(Debug)]
pub struct SearchSpace<'s> {
    features: Vec<&'s Feature>,
    /// A variable for each feature, and one for each indicator of missing cells, which is always 0.
    pub variables: Vec<Variable>,
    /// The options of each feature that is a text.
    options: Vec<Vec<String>>,
}

impl<'s> SearchSpace<'s> {
    /// A space for the columns of `schema`. Those without a range have that of the training rows,
    /// which `scales` know, and all categories.
    pub fn new(
        schema: &'s Schema,
        scales: &[Standard],
        ranges: &[(String, ColumnRange)],
    ) -> Result<Self> {
        let features: Vec<&Feature> = schema.used().collect();
        for (k, (name, _)) in ranges.iter().enumerate() {
            if !features.iter().any(|feature| feature.name == *name) {
                let known: Vec<&str> = features.iter().map(|f| f.name.as_str()).collect();
                let hint = meant(name, known.iter().copied());
                let known = names(known.into_iter());
                bail!("the model has no column {}{hint} (columns: {known})", quoted(name));
            }
            if ranges[..k].iter().any(|(other, _)| other == name) {
                bail!("there are two ranges for the column {}", quoted(name));
            }
        }
        let (mut column, mut variables, mut options) = (0, Vec::new(), Vec::new());
        for feature in &features {
            let range = ranges.iter().find(|(name, _)| *name == feature.name).map(|(_, r)| r);
            let (domain, names) = domain(feature, &scales[column], range)?;
            variables.push(Variable { column, domain });
            options.push(names);
            column += feature.encoded_columns();
        }
        // Nothing that is chosen is missing.
        let mut column = 0;
        for feature in &features {
            column += feature.encoded_columns();
            if feature.indicator {
                variables.push(Variable { column: column - 1, domain: Domain::Real(0.0, 0.0) });
            }
        }
        Ok(Self { features, variables, options })
    }

    /// The rows of X of some points.
    pub fn rows(&self, points: &Matrix) -> Matrix {
        let columns: usize = self.features.iter().map(|feature| feature.encoded_columns()).sum();
        let points: Vec<&[f64]> = (0..points.rows()).map(|i| points.row(i)).collect();
        rows(&self.variables, &points, columns)
    }

    /// The points as columns of a table like that of training, by name.
    pub fn columns(&self, points: &Matrix) -> Vec<(String, ChosenCells)> {
        let column = |(k, feature): (usize, &&Feature)| {
            let values: Vec<f64> = (0..points.rows()).map(|i| points[(i, k)]).collect();
            let values = match &self.variables[k].domain {
                Domain::Options(_) if !self.options[k].is_empty() => {
                    let texts = values.iter().map(|v| self.options[k][*v as usize].clone());
                    return (feature.name.clone(), ChosenCells::Texts(texts.collect()));
                }
                Domain::Options(options) => {
                    values.iter().map(|v| options[*v as usize][0]).collect()
                }
                Domain::Integer(..) => {
                    let whole = values.iter().map(|value| *value as i64).collect();
                    return (feature.name.clone(), ChosenCells::Integers(whole));
                }
                Domain::Real(..) => values,
            };
            let cells = match feature.kind {
                FeatureKind::Date { .. } => ChosenCells::Dates(texts_of(&values)),
                _ => ChosenCells::Numbers(values),
            };
            (feature.name.clone(), cells)
        };
        self.features.iter().enumerate().map(column).collect()
    }
}

/// The values of a feature, and the names of its options.
fn domain(
    feature: &Feature,
    scale: &Standard,
    range: Option<&ColumnRange>,
) -> Result<(Domain, Vec<String>)> {
    let name = quoted(&feature.name);
    let one_of = |names: &[String], all: Vec<Vec<f64>>, known: &[String]| {
        let option = |text: &String| {
            let found = known.iter().position(|other| other == text);
            let truth = || {
                let value = cell::truth(text)?;
                known.iter().position(|other| cell::truth(other) == Some(value))
            };
            found.or_else(truth).map(|k| all[k].clone())
        };
        names.iter().map(|text| option(text).ok_or_else(|| text.clone())).collect::<Result<_, _>>()
    };
    let known = match &feature.kind {
        FeatureKind::Category { categories, .. } => categories.clone(),
        FeatureKind::Boolean => vec!["false".into(), "true".into()],
        _ => Vec::new(),
    };
    if !known.is_empty() {
        let all: Vec<Vec<f64>> = match &feature.kind {
            FeatureKind::Boolean => vec![vec![0.0], vec![1.0]],
            kind => (0..known.len())
                .map(|k| (0..kind.value_columns()).map(|j| f64::from(u8::from(j == k))).collect())
                .collect(),
        };
        return match range {
            None => Ok((Domain::Options(all), known)),
            Some(ColumnRange::OneOf(texts)) => match one_of(texts, all, &known) {
                Ok(options) => Ok((Domain::Options(options), texts.clone())),
                Err(text) => bail!(
                    "the column {name} had no value {} in training; it had {}",
                    quoted(&text),
                    few(&known)
                ),
            },
            Some(_) => {
                bail!("the column {name} is not a number; write its values as {}", few(&known))
            }
        };
    }
    let value = |text: &str| -> Result<f64> {
        let found = match &feature.kind {
            FeatureKind::Date { order } => days(text, *order),
            FeatureKind::Number(format) => {
                cell::plain_number(text).or_else(|| parse(text, format, true))
            }
            _ => None,
        };
        match (found, &feature.kind) {
            (Some(value), _) if value.is_finite() => Ok(value),
            (_, FeatureKind::Date { .. }) => bail!("column {name}: {} is not a date", quoted(text)),
            _ => bail!("column {name}: {} is not a number", quoted(text)),
        }
    };
    let domain = match range {
        None => match scale.range {
            Some((low, high)) => Domain::Real(low, high),
            None => {
                bail!("the model does not know the range of the column {name}; give its bounds")
            }
        },
        Some(ColumnRange::Between(low, high)) => {
            let (low, high) = (value(low)?, value(high)?);
            if low > high {
                bail!("column {name}: the lower bound {low} is above the upper one, {high}");
            }
            Domain::Real(low, high)
        }
        Some(ColumnRange::Whole(low, high)) if low > high => {
            bail!("column {name}: the lower bound {low} is above the upper one, {high}")
        }
        Some(ColumnRange::Whole(..)) if matches!(feature.kind, FeatureKind::Date { .. }) => {
            bail!("the column {name} holds dates; write its bounds as 2026-01-31:2026-12-31")
        }
        Some(ColumnRange::Whole(low, high)) => Domain::Integer(*low, *high),
        Some(ColumnRange::OneOf(texts)) => {
            let values: Vec<f64> = texts.iter().map(|text| value(text)).collect::<Result<_>>()?;
            let options = values.into_iter().map(|value| vec![value]).collect();
            Domain::Options(options)
        }
    };
    Ok((domain, Vec::new()))
}

/// Some of many values, as a message lists them.
fn few(values: &[String]) -> String {
    const SHOWN: usize = 8;
    let more = if values.len() > SHOWN { "|…" } else { "" };
    values.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("|") + more
}
