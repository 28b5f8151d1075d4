//! The columns of the user's table, and the columns of X that each became.

use raysum::schema::FeatureKind;
use raysum::{MatrixRef, Model, Result};
use std::ops::Range;

/// A column of the table.
#[derive(Clone, Debug)]
pub(crate) struct TableColumn {
    pub(crate) name: String,
    /// The columns of X that hold its values.
    pub(crate) values: Range<usize>,
    /// The column of X that is 1 where it is missing.
    pub(crate) indicator: Option<usize>,
    pub(crate) kind: ColumnKind,
}

/// What its values are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ColumnKind {
    Numbers,
    /// Days since the start of 1970.
    Days,
    /// One column of X each.
    Categories(Vec<String>),
}

/// The columns that relevance and contributions count.
pub(crate) fn columns(model: &Model) -> Vec<TableColumn> {
    let groups = model.groups();
    let used: Vec<_> = model.schema().map(|s| s.used().collect()).unwrap_or_default();
    let mut all = Vec::new();
    let mut start = 0;
    for (k, group) in groups.chunk_by(|a, b| a == b).enumerate() {
        let end = start + group.len();
        let known = used.get(k).filter(|f| f.encoded_columns() == group.len());
        let indicator = known.filter(|f| f.indicator).map(|_| end - 1);
        let values = start..indicator.unwrap_or(end);
        let kind = match known.map(|f| &f.kind) {
            Some(FeatureKind::Category { categories, .. }) => {
                let mut names = categories.clone();
                names.resize(values.len(), "(others)".into());
                ColumnKind::Categories(names)
            }
            Some(FeatureKind::Date { .. }) => ColumnKind::Days,
            _ if values.len() > 1 => {
                ColumnKind::Categories(values.clone().map(|c| model.column_name(c)).collect())
            }
            _ => ColumnKind::Numbers,
        };
        all.push(TableColumn { name: model.feature_name(k), values, indicator, kind });
        start = end;
    }
    all
}

/// The numbers of rows to show, evenly spaced, up to a limit.
pub(crate) fn spread(rows: usize, most: usize) -> Vec<usize> {
    let count = rows.min(most);
    (0..count).map(|k| k * rows / count.max(1)).collect()
}

/// Whether the rows contain those that the models were fitted to, as far as can be told: the smallest and
/// the largest training value of every column occur among them. Rows for which that is true by chance
/// are taken for training rows, so that no score is better than it should be.
pub(crate) fn hold_training_rows(model: &Model, x: MatrixRef<'_>) -> Result<bool> {
    let known: Option<Vec<(f64, f64)>> = model.column_scales().iter().map(|c| c.range).collect();
    let Some(known) = known else { return Ok(true) };
    let mut seen = vec![(false, false); x.columns()];
    let mut row = vec![0.0; x.columns()];
    for i in 0..x.rows() {
        x.copy_row(i, &mut row)?;
        for ((seen, (low, high)), value) in seen.iter_mut().zip(&known).zip(&row) {
            seen.0 |= value == low;
            seen.1 |= value == high;
        }
    }
    Ok(seen.iter().all(|(low, high)| *low && *high))
}

/// The same of the target.
pub(crate) fn holds_training_target(model: &Model, target: &[f64]) -> bool {
    let has = |end: f64| target.contains(&end);
    model.target_scale().range.is_none_or(|(low, high)| has(low) && has(high))
}

/// The smallest and the largest value.
pub(crate) fn range_of(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
}
