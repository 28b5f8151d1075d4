//! Warnings about the table: columns and rows that often mean that something is wrong with it.

use crate::columns::{ColumnKind, TableColumn, spread};
use crate::text;
use raysum::schema::FeatureKind;
use raysum::{Matrix, Stack};

/// Most rows that are looked at.
pub(crate) const MOST_ROWS: usize = 20_000;
/// A correlation with the target above this is likely a leak.
const LEAK: f64 = 0.998;
/// The share of the relevance above which one column decides nearly all, and the share of the variance
/// that must be explained for that to be suspicious.
const ALONE: f64 = 0.97;
const TOO_GOOD: f64 = 0.995;
/// A change of a column's mean between the first and the last fifth of the rows, in standard deviations.
const DRIFT: f64 = 1.0;
/// Distance from the middle in widths of the middle half that makes a tail heavy, and the share of rows
/// that may be there.
const TAIL_WIDTHS: f64 = 10.0;
/// Columns that are named in one warning.
const NAMED: usize = 6;
/// Most columns that are compared pairwise.
const COMPARED: usize = 600;
/// Fewest rows for which order and tails mean anything.
const LEAST_ROWS: usize = 50;

/// A warning, as HTML, with what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Warning {
    pub(crate) topic: &'static str,
    pub(crate) text: String,
}

/// The rows of a table that are looked at, and its columns.
pub(crate) struct Looked<'a> {
    pub(crate) stack: &'a Stack,
    pub(crate) columns: &'a [TableColumn],
    pub(crate) sample: &'a Matrix,
    pub(crate) target: &'a [f64],
    /// Whether the model was fitted to the table.
    pub(crate) training: bool,
    /// The share of rows outside the range of the training rows.
    pub(crate) outside: f64,
}

impl Looked<'_> {
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let mut all = Vec::new();
        let mut add = |topic: &'static str, text: Option<String>| {
            all.extend(text.map(|text| Warning { topic, text }));
        };
        let numeric: Vec<usize> = (0..self.columns.len())
            .filter(|c| !matches!(self.columns[*c].kind, ColumnKind::Categories(_)))
            .collect();
        let values: Vec<Vec<f64>> = numeric.iter().map(|c| self.values(*c)).collect();
        let places = |wanted: &dyn Fn(&[f64]) -> bool| -> Vec<usize> {
            (0..numeric.len()).filter(|k| wanted(&values[*k])).map(|k| numeric[k]).collect()
        };
        let constant = places(&|v| v.windows(2).all(|pair| pair[0] == pair[1]));
        add(
            "constant",
            self.about(
                &constant,
                "has the same value in every row",
                "have the same value in every row",
            ),
        );
        add("duplicated", self.duplicated(&numeric, &values));
        add("leaking", self.leaking(&numeric, &values));
        add("drifting", self.drifting(&numeric, &values));
        let heavy = places(&|v| is_heavy(v));
        add(
            "heavy tails",
            self.about(
                &heavy,
                "has values very far from the others",
                "have values very far from the others",
            ),
        );
        let own = is_heavy(self.target).then(|| {
            "The target has values very far from the others; they dominate the squared error."
                .into()
        });
        add("heavy tails", own);
        add("impossible targets", self.impossible());
        add("gaps", self.gaps());
        add("identifiers", self.identifiers());
        add("repeated rows", self.repeated_rows());
        add("few rows", self.few_rows());
        add("outside", self.beyond());
        all
    }

    fn values(&self, column: usize) -> Vec<f64> {
        let c = self.columns[column].values.start;
        (0..self.sample.rows()).map(|i| self.sample[(i, c)]).collect()
    }

    /// A sentence about columns, if there are any.
    fn about(&self, which: &[usize], one: &str, several: &str) -> Option<String> {
        let words = if which.len() == 1 { one } else { several };
        (!which.is_empty()).then(|| format!("{} {words}.", self.names(which)))
    }

    fn names(&self, which: &[usize]) -> String {
        let mut names: Vec<String> =
            which.iter().take(NAMED).map(|c| text::name(&self.columns[*c].name)).collect();
        if which.len() > NAMED {
            names.push(text::counted(which.len() - NAMED, "other column"));
        }
        text::listed(&names)
    }

    /// Columns with the same values, up to a linear map.
    fn duplicated(&self, numeric: &[usize], values: &[Vec<f64>]) -> Option<String> {
        let standard: Vec<Option<Vec<f64>>> = values
            .iter()
            .take(COMPARED)
            .map(|v| {
                let own = standardised(v)?;
                Some(spread(own.len(), 500).into_iter().map(|i| own[i]).collect())
            })
            .collect();
        let mut pairs = Vec::new();
        for a in 0..standard.len() {
            for b in 0..a {
                let (Some(x), Some(y)) = (&standard[a], &standard[b]) else { continue };
                if (correlation(x, y).abs() - 1.0).abs() < 1e-9 {
                    pairs.push((numeric[b], numeric[a]));
                    break;
                }
            }
        }
        let shown: Vec<String> = pairs
            .iter()
            .take(NAMED)
            .map(|(a, b)| {
                let name = |c: usize| text::name(&self.columns[c].name);
                format!("{} says the same as {}", name(*b), name(*a))
            })
            .collect();
        let more = pairs.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        (!shown.is_empty())
            .then(|| format!("{}{more}. Their relevance is shared.", shown.join("; ")))
    }

    fn leaking(&self, numeric: &[usize], values: &[Vec<f64>]) -> Option<String> {
        let y = standardised(self.target)?;
        let close =
            |v: &Vec<f64>| standardised(v).is_some_and(|x| correlation(&x, &y).abs() > LEAK);
        let mut which: Vec<usize> =
            (0..numeric.len()).filter(|k| close(&values[*k])).map(|k| numeric[k]).collect();
        let relevance = self.stack.relevance();
        let explained = self
            .stack
            .held_out()
            .map_or(0.0, |found| 1.0 - (found.scores.rmse / found.constant.rmse).powi(2));
        if explained > TOO_GOOD && self.columns.len() > 1 {
            which.extend(
                (0..relevance.len())
                    .filter(|c| relevance[*c] > ALONE && !which.contains(c))
                    .collect::<Vec<_>>(),
            );
        }
        let single = which.len() == 1;
        let words = if single { "predicts" } else { "predict" };
        let it = if single { "it is" } else { "they are" };
        (!which.is_empty()).then(|| {
            format!(
                "{} {words} the target almost perfectly. Check that {it} known before the target is.",
                self.names(&which)
            )
        })
    }

    /// Columns whose values change from the first to the last rows, or from the training rows.
    fn drifting(&self, numeric: &[usize], values: &[Vec<f64>]) -> Option<String> {
        if self.sample.rows() < LEAST_ROWS {
            return None;
        }
        let part = self.sample.rows() / 5;
        let moved = |k: usize| -> bool {
            let Some(x) = standardised(&values[k]) else { return false };
            let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
            let along = (mean(&x[..part]) - mean(&x[x.len() - part..])).abs() > DRIFT;
            let known = self.stack.first().column_scales()[self.columns[numeric[k]].values.start];
            let since = !self.training && known.apply(mean(&values[k])).abs() > DRIFT;
            along || since
        };
        let which: Vec<usize> =
            (0..numeric.len()).filter(|k| moved(*k)).map(|k| numeric[k]).collect();
        let words = if self.training {
            " from the first rows to the last. If rows are ordered in time, later ones may be predicted worse than the scores say"
        } else {
            " between these rows and those of the fit, or from the first rows to the last"
        };
        let verb = if which.len() == 1 { "changes" } else { "change" };
        (!which.is_empty()).then(|| format!("{} {verb} in level{words}.", self.names(&which)))
    }

    fn gaps(&self) -> Option<String> {
        let share = |c: usize| {
            (0..self.sample.rows()).map(|i| self.sample[(i, c)]).sum::<f64>()
                / self.sample.rows().max(1) as f64
        };
        let mut found: Vec<(usize, f64)> = self
            .columns
            .iter()
            .enumerate()
            .filter_map(|(k, column)| Some((k, share(column.indicator?))))
            .collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        let shown: Vec<String> = found
            .iter()
            .take(NAMED)
            .map(|(k, share)| {
                format!(
                    "{} in {} of the rows",
                    text::name(&self.columns[*k].name),
                    text::percent(*share)
                )
            })
            .collect();
        let more = found.len().saturating_sub(NAMED);
        let more = if more > 0 {
            format!(", and {}", text::counted(more, "other column"))
        } else {
            String::new()
        };
        (!shown.is_empty()).then(|| {
            format!(
                "Values are missing: {}{more}. The model knows where they are.",
                shown.join(", ")
            )
        })
    }

    fn identifiers(&self) -> Option<String> {
        let features = self.stack.first().schema().map(|schema| &schema.features)?;
        let names: Vec<String> = features
            .iter()
            .filter(|f| f.kind == FeatureKind::Identifier)
            .take(NAMED)
            .map(|f| text::name(&f.name))
            .collect();
        (!names.is_empty())
            .then(|| format!("{} identify rows and are not used.", text::listed(&names)))
    }

    fn repeated_rows(&self) -> Option<String> {
        let rows = self.sample.rows();
        let mut bits: Vec<Vec<u64>> =
            (0..rows).map(|i| self.sample.row(i).iter().map(|v| v.to_bits()).collect()).collect();
        bits.sort_unstable();
        let repeated = bits.windows(2).filter(|pair| pair[0] == pair[1]).count();
        let share = repeated as f64 / rows.max(1) as f64;
        (share > 0.01).then(|| {
            format!(
                "{} of the rows repeat another one in all columns but the target.",
                text::percent(share)
            )
        })
    }

    fn few_rows(&self) -> Option<String> {
        let (rows, columns) = (self.stack.rows(), self.stack.columns());
        if rows < LEAST_ROWS {
            return Some(format!(
                "The model was fitted to {}: scores are uncertain.",
                text::counted(rows, "row")
            ));
        }
        (columns > rows).then(|| {
            format!(
                "There are more columns ({}) than rows ({}).",
                text::count(columns),
                text::count(rows)
            )
        })
    }

    /// Targets that no member of the model allows for.
    fn impossible(&self) -> Option<String> {
        let members = self.stack.members();
        let taken = |y: &f64| members.iter().any(|member| member.model.takes_target(*y));
        let rows = self.target.iter().filter(|y| !taken(y)).count();
        (rows > 0).then(|| {
            format!(
                "The target is 0 or below in {}, but the model takes its logarithm and gives such values no \
                 chance: NLPD and coverage mean nothing. Fit again on all rows.",
                text::counted(rows, "row")
            )
        })
    }

    fn beyond(&self) -> Option<String> {
        (self.outside > 0.01 && !self.training).then(|| {
            format!(
                "{} of the rows lie outside the range of the training rows; predictions there are guesses.",
                text::percent(self.outside)
            )
        })
    }
}

/// Mean 0 and standard deviation 1; `None` if all are the same.
fn standardised(values: &[f64]) -> Option<Vec<f64>> {
    let scale = raysum::fitted::Standard::of(values);
    (scale.std > 0.0).then(|| values.iter().map(|v| scale.apply(*v)).collect())
}

fn correlation(x: &[f64], y: &[f64]) -> f64 {
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    let n = x.len() as f64;
    let (mx, my) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    for (a, b) in x.iter().zip(y) {
        xy += (a - mx) * (b - my);
        xx += (a - mx).powi(2);
        yy += (b - my).powi(2);
    }
    if xx > 0.0 && yy > 0.0 { xy / (xx * yy).sqrt() } else { 0.0 }
}

/// Whether some values are very far from the middle half.
fn is_heavy(values: &[f64]) -> bool {
    if values.len() < LEAST_ROWS {
        return false;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted[(share * (sorted.len() - 1) as f64).round() as usize];
    let (low, middle, high) = (at(0.25), at(0.5), at(0.75));
    let width = high - low;
    let far = (sorted[0] - middle).abs().max((sorted[sorted.len() - 1] - middle).abs());
    width > 0.0 && far > TAIL_WIDTHS * width
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_and_correlations_are_those_of_the_textbook() {
        let even: Vec<f64> = (0..200).map(f64::from).collect();
        assert!(!is_heavy(&even) && is_heavy(&[&even[..], &[1e4]].concat()));
        let doubled: Vec<f64> = even.iter().map(|v| -2.0 * v + 1.0).collect();
        assert!((correlation(&even, &doubled) + 1.0).abs() < 1e-12);
        assert!(standardised(&[3.0, 3.0]).is_none());
    }
}
