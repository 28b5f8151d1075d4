//! How predictions compare with observations: of held-out rows as the model file has it, or of the rows
//! of the table.

use crate::Subject;
use crate::columns::{holds_training_target, spread};
use raysum::stack::Diagnostics;
use raysum::{Dataset, Prediction, Result, Scores, Stack};
use raysum_table::row_of_table;

/// Most rows of a table that are predicted.
const MOST_ROWS: usize = 4_000;
/// Most training rows that are predicted without themselves.
const MOST_LEFT_OUT: usize = 2_000;
/// Rows that are listed because they surprise most.
const WORST: usize = 10;
/// Columns that are named as the reasons of a prediction.
const REASONS: usize = 3;
/// The probability of the intervals that are listed.
const LEVEL: f64 = 0.95;
/// Rows farther outside the training range than this, in standard deviations, are extrapolated.
const FAR: f64 = 1.0;

/// Where predictions come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// From fits without the rows, when the model was fitted.
    HeldOut,
    /// From the model, at rows that it was not fitted to.
    NewRows,
    /// From the model without the row itself, at the same hyperparameters.
    LeaveOneOut,
    /// From the model, at rows among which are those that it was fitted to.
    TrainingRows,
}

/// A row whose observation surprises.
#[derive(Clone, Debug)]
pub(crate) struct Surprise {
    /// The number of the row in the table.
    pub(crate) row: usize,
    pub(crate) truth: f64,
    pub(crate) mean: f64,
    pub(crate) interval: (f64, f64),
    /// The error in standard deviations.
    pub(crate) score: f64,
    /// The columns that contribute most to the prediction, and by how much.
    pub(crate) reasons: Vec<(usize, f64)>,
}

/// How predictions compare with observations.
#[derive(Clone, Debug)]
pub(crate) struct Evidence {
    pub(crate) diagnostics: Diagnostics,
    pub(crate) origin: Origin,
    /// Scores of the rows of the table and of a constant, if the model was not fitted to them.
    pub(crate) new_rows: Option<(Scores, Scores)>,
    pub(crate) surprises: Vec<Surprise>,
    /// Where the predictions of these rows come from, and how many were looked at.
    pub(crate) examined: (Origin, usize),
    /// The share of rows outside the range of the training rows.
    pub(crate) outside: f64,
    /// Whether the table has the rows that the model was fitted to.
    pub(crate) training: bool,
}

impl Evidence {
    /// About one target. `known_rows` says that the table has the rows that the model was fitted to, by
    /// their columns.
    pub(crate) fn gather(subject: &Subject<'_>, target: usize, known_rows: bool) -> Result<Self> {
        let (stack, truth) = (&subject.stacks[target], subject.targets[target]);
        let training = known_rows && holds_training_target(stack.first(), truth);
        let rows = spread(truth.len(), MOST_ROWS);
        let mut examined =
            (if training { Origin::TrainingRows } else { Origin::NewRows }, rows.len());
        let alone = training && truth.len() == stack.rows() && truth.len() <= MOST_LEFT_OUT;
        let left_out = if alone { left_out(stack, subject, truth) } else { None };
        let x = subject.x.gather(&rows)?;
        let prediction = match left_out {
            Some(prediction) => {
                examined.0 = Origin::LeaveOneOut;
                prediction
            }
            None => stack.predict(&x)?,
        };
        let truth: Vec<f64> = rows.iter().map(|&i| truth[i]).collect();
        let kept = stack.held_out().and_then(|found| found.diagnostics.clone());
        let (diagnostics, origin) = match kept {
            Some(kept) if training => (kept, Origin::HeldOut),
            _ => (Diagnostics::of(&[(&truth, &prediction)])?, examined.0),
        };
        let unit = stack.first().target_scale().std;
        let new_rows = if training {
            None
        } else {
            let n = truth.len();
            let usual = stack.first().target_scale();
            let constant = Prediction::new(vec![usual.mean; n], vec![usual.std; n], &vec![0.0; n]);
            let score = |p: &Prediction| -> Result<Scores> {
                Ok(Scores::standardised(&truth, p, unit)?.in_units(unit))
            };
            Some((score(&prediction)?, score(&constant)?))
        };
        let beyond = stack.extrapolation(&x)?;
        let outside = beyond.iter().filter(|distance| **distance > FAR).count() as f64;
        let surprises = surprises(subject, stack, &rows, &truth, &prediction)?;
        let outside = outside / rows.len().max(1) as f64;
        Ok(Self { diagnostics, origin, new_rows, surprises, examined, outside, training })
    }
}

/// Leave-one-out predictions, where the engines of all members have them.
fn left_out(stack: &Stack, subject: &Subject<'_>, truth: &[f64]) -> Option<Prediction> {
    let data = Dataset::labelled_rows(subject.x, raysum::Labels::of_targets(vec![truth])).ok()?;
    stack.leave_one_out(&data).ok()
}

/// The rows whose errors are largest, in standard deviations.
fn surprises(
    subject: &Subject<'_>,
    stack: &Stack,
    rows: &[usize],
    truth: &[f64],
    prediction: &Prediction,
) -> Result<Vec<Surprise>> {
    let (std, (lower, upper)) = (prediction.std(), prediction.interval(LEVEL)?);
    let score = |k: usize| (truth[k] - prediction.mean[k]) / std[k].max(f64::MIN_POSITIVE);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|a, b| score(*b).abs().total_cmp(&score(*a).abs()));
    order.truncate(WORST);
    let chosen: Vec<usize> = order.iter().map(|&k| rows[k]).collect();
    let reasons = stack.explain(&subject.x.gather(&chosen)?)?.contributions;
    let surprise = |(at, &k): (usize, &usize)| {
        let mut by_size: Vec<(usize, f64)> = reasons.row(at).iter().copied().enumerate().collect();
        by_size.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        by_size.truncate(REASONS);
        Surprise {
            row: row_of_table(rows[k], subject.left_out) + subject.first_row,
            truth: truth[k],
            mean: prediction.mean[k],
            interval: (lower[k], upper[k]),
            score: score(k),
            reasons: by_size,
        }
    };
    Ok(order.iter().enumerate().map(surprise).collect())
}
