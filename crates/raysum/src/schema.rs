//! The columns of a table and how they become the columns of X: the part of a model file that lets
//! new tables be read like the training table. Plain data; `raysum-table` infers and applies it.

use crate::data::Labels;
use crate::error::{Error, Result};
use crate::limits::MAX_CATEGORIES;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// The columns of a training table that a model uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// Whether columns are matched by name; otherwise by position.
    pub named: bool,
    /// Number of columns of the training table.
    pub width: usize,
    /// The columns to predict from, in the order of the training table.
    pub features: Vec<Feature>,
    /// The columns that hold targets, sample weights and known noise.
    pub labels: Labels<LabelColumn>,
}

/// A column to predict from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Feature {
    /// Its name in the training table, or its position as text.
    pub name: String,
    /// Its position in the training table, counted from 0.
    pub position: usize,
    /// Its kind.
    pub kind: FeatureKind,
    /// Training mean of each column that its values become: what replaces a missing cell.
    pub means: Vec<f64>,
    /// Whether a further column of X is 1 where the cell is missing, and 0 elsewhere.
    #[serde(default, skip_serializing_if = "is_default")]
    pub indicator: bool,
}

/// The kind of a feature, and its encoding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FeatureKind {
    /// Numbers, encoded as they are.
    Number(NumberFormat),
    /// Dates and times, encoded as days since the start of 1970 (UTC).
    Date {
        /// The order of year, month and day where dates are written as text.
        #[serde(default, skip_serializing_if = "is_default")]
        order: DateOrder,
    },
    /// Booleans, encoded as 0 and 1.
    Boolean,
    /// Texts, encoded as one column of zeros and ones per category.
    Category {
        /// The distinct texts, sorted.
        categories: Vec<String>,
        /// Whether there is one more category, for all other texts.
        #[serde(default, skip_serializing_if = "is_default")]
        others: bool,
    },
    /// Texts that are all distinct. They identify rows, and the model does not use them.
    Identifier,
}

/// How numbers are written as text. Numbers that are stored as such need no format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberFormat {
    /// The mark between the integer part and the fraction.
    #[serde(default, skip_serializing_if = "is_default")]
    pub decimal: DecimalMark,
    /// The separator between groups of three digits, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grouping: Option<Grouping>,
    /// A currency or per cent sign before or after the number. It does not change the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// The mark between the integer part and the fraction of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecimalMark {
    /// `8.5`
    #[default]
    Point,
    /// `8,5`
    Comma,
}

/// The separator between groups of three digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grouping {
    /// `1,234,567`
    Comma,
    /// `1.234.567`
    Point,
    /// `1 234 567`, with any kind of space
    Space,
    /// `1'234'567`
    Apostrophe,
}

/// The order of year, month and day in a date written as text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DateOrder {
    /// `2024-01-31`
    #[default]
    YearFirst,
    /// `31/01/2024`
    DayFirst,
    /// `01/31/2024`
    MonthFirst,
}

/// A column that holds a target, sample weights or known noise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelColumn {
    /// Its name in the training table, or its position as text.
    pub name: String,
    /// Its position in the training table, counted from 0.
    pub position: usize,
    /// How its numbers are written.
    #[serde(default, skip_serializing_if = "is_default")]
    pub format: NumberFormat,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl FeatureKind {
    /// Number of columns that the values become.
    pub fn value_columns(&self) -> usize {
        match self {
            Self::Number(_) | Self::Date { .. } | Self::Boolean => 1,
            Self::Category { categories, others } => categories.len() + usize::from(*others),
            Self::Identifier => 0,
        }
    }
}

impl Feature {
    /// Number of encoded columns: those of its values, and the indicator.
    pub fn encoded_columns(&self) -> usize {
        self.kind.value_columns() + usize::from(self.indicator)
    }

    /// Names of the encoded columns: its own or `name=category`, `name (others)` for the category
    /// of all other texts, and `name (missing)` for the indicator.
    fn encoded_names(&self) -> Vec<String> {
        let name = &self.name;
        let mut names = match &self.kind {
            FeatureKind::Identifier => Vec::new(),
            FeatureKind::Category { categories, others } => {
                let mut names: Vec<String> =
                    categories.iter().map(|category| format!("{name}={category}")).collect();
                names.extend(others.then(|| format!("{name} (others)")));
                names
            }
            _ => vec![name.clone()],
        };
        names.extend(self.indicator.then(|| format!("{name} (missing)")));
        names
    }
}

impl Schema {
    /// Number of columns of X.
    pub fn encoded_columns(&self) -> usize {
        self.features.iter().map(Feature::encoded_columns).sum()
    }

    /// Names of the columns of X: the feature's own, or `name=category`; `name (others)` and
    /// `name (missing)` for the category of all other texts, and for the indicator of gaps. A made name
    /// that another column has is followed by a number.
    pub fn encoded_names(&self) -> Vec<String> {
        let own = self.features.iter().map(|feature| feature.name.as_str());
        let mut taken: HashSet<String> = own.map(str::to_owned).collect();
        let unique = |feature: &Feature| {
            let made = feature.encoded_names().into_iter();
            let names =
                made.map(|name| if name == feature.name { name } else { free(name, &mut taken) });
            names.collect::<Vec<_>>()
        };
        self.features.iter().flat_map(unique).collect()
    }

    /// The features that become columns of X, in order.
    pub fn used(&self) -> impl Iterator<Item = &Feature> {
        self.features.iter().filter(|feature| feature.encoded_columns() > 0)
    }

    /// For each column of X the number of the used feature that it belongs to.
    pub fn groups(&self) -> Vec<usize> {
        let columns = |(k, feature): (usize, &Feature)| vec![k; feature.encoded_columns()];
        self.used().enumerate().flat_map(columns).collect()
    }

    /// Checks a schema that comes from elsewhere, such as a model file.
    pub fn validate(&self) -> Result<()> {
        let bad = |detail: String| Err(Error::Schema { detail });
        if self.encoded_columns() == 0 {
            return bad("there are no columns to predict from".into());
        }
        if self.labels.targets.is_empty() {
            return bad("there is no target".into());
        }
        let labels = self.labels.iter().map(|label| (label.position, &label.name));
        let features = self.features.iter().map(|feature| (feature.position, &feature.name));
        let (mut positions, mut names) = (HashSet::new(), HashSet::new());
        for (position, name) in labels.chain(features) {
            if position >= self.width {
                return bad(format!("{name:?} is column {position} of only {}", self.width));
            }
            if !positions.insert(position) {
                return bad(format!("two columns are column {position}"));
            }
            if !names.insert(name) {
                return bad(format!("two columns are named {name:?}"));
            }
        }
        self.labels.iter().try_for_each(|label| check_format(&label.name, &label.format))?;
        self.features.iter().try_for_each(Feature::validate)
    }
}

/// This name, or with the first number behind it that makes it one that is not taken.
fn free(name: String, taken: &mut HashSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name} ({number})"));
    let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name));
    let free = free.unwrap_or(name);
    taken.insert(free.clone());
    free
}

impl Feature {
    fn validate(&self) -> Result<()> {
        let bad = |detail: String| Err(Error::Schema { detail });
        let (name, columns) = (&self.name, self.kind.value_columns());
        match &self.kind {
            FeatureKind::Number(format) => check_format(name, format)?,
            FeatureKind::Category { categories, .. } => {
                if !categories.windows(2).all(|pair| pair[0] < pair[1]) {
                    return bad(format!("the categories of {name:?} are not sorted"));
                }
                if categories.is_empty() || columns > MAX_CATEGORIES {
                    return bad(format!("{name:?} has {columns} categories"));
                }
            }
            FeatureKind::Identifier if self.indicator => {
                return bad(format!("{name:?} is not used, but has an indicator"));
            }
            FeatureKind::Date { .. } | FeatureKind::Boolean | FeatureKind::Identifier => {}
        }
        if self.means.len() != columns {
            let found = self.means.len();
            return bad(format!("{name:?} has {found} means for {columns} encoded columns"));
        }
        if self.means.iter().any(|mean| !mean.is_finite()) {
            return bad(format!("a mean of {name:?} is not finite"));
        }
        Ok(())
    }
}

/// A number must be readable in one way only.
fn check_format(name: &str, format: &NumberFormat) -> Result<()> {
    let clash = matches!(
        (format.decimal, format.grouping),
        (DecimalMark::Point, Some(Grouping::Point)) | (DecimalMark::Comma, Some(Grouping::Comma))
    );
    if clash {
        let detail = format!("{name:?} has one mark for groups of digits and for the fraction");
        return Err(Error::Schema { detail });
    }
    let unit = |unit: &String| unit.chars().count() == 1 && !unit.contains(char::is_alphanumeric);
    if !format.unit.as_ref().is_none_or(unit) {
        return Err(Error::Schema {
            detail: format!("{name:?} has {:?} as its unit", format.unit),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
