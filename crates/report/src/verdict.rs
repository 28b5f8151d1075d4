//! What the scores say, in plain words.

use crate::columns::TableColumn;
use crate::evidence::{Evidence, Origin};
use crate::text;
use raysum::stack::HeldOut;
use raysum::{Scores, Stack};

/// Share of a constant's error above which something is wrong.
pub const WORSE: f64 = 1.3;
/// Share of a constant's error above which a prediction is hardly better than a constant.
pub const HARDLY_BETTER: f64 = 0.97;
/// The share of observations that 95 % intervals should hold.
const LEVEL: f64 = 0.95;

/// Whether the predictions deserve trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grade {
    Good,
    Careful,
    Poor,
}

/// The verdict: sentences as HTML, the first of which says whether to trust the predictions.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub(crate) grade: Grade,
    pub(crate) headline: String,
    pub(crate) details: Vec<String>,
}

/// The share of the variance that is explained.
pub(crate) fn explained(scores: &Scores, constant: &Scores) -> f64 {
    if constant.rmse > 0.0 { 1.0 - (scores.rmse / constant.rmse).powi(2) } else { 0.0 }
}

/// About a model alone, as its file has it.
pub(crate) fn of_model(stack: &Stack, columns: &[TableColumn]) -> Verdict {
    let target = target(stack);
    let Some(found) = stack.held_out() else {
        let headline = format!(
            "Nothing is known about how well {target} is predicted: no rows were held out."
        );
        return Verdict {
            grade: Grade::Careful,
            headline,
            details: vec![what_matters(stack, columns)],
        };
    };
    let scores = found.scores.in_units(found.unit);
    let constant = found.constant.in_units(found.unit);
    let mut verdict = of_scores(stack, &scores, &constant, found.rows, "the model had not seen");
    verdict.details.extend(beside_ridge(found));
    verdict.details.push(what_matters(stack, columns));
    verdict
}

/// About a model and a table.
pub(crate) fn of_evidence(stack: &Stack, columns: &[TableColumn], evidence: &Evidence) -> Verdict {
    let mut verdict = match &evidence.new_rows {
        Some((scores, constant)) => {
            let rows = evidence.diagnostics.rows;
            let mut verdict = of_scores(
                stack,
                scores,
                constant,
                rows,
                "of this table, which the model was not fitted to",
            );
            verdict.details.push(what_matters(stack, columns));
            verdict
        }
        None => of_model(stack, columns),
    };
    if evidence.origin == Origin::TrainingRows {
        verdict.grade = Grade::Careful;
        verdict.details.push(
            "The charts show rows that the model was fitted to: it looks better there than on new rows.".into(),
        );
    }
    verdict
}

fn of_scores(
    stack: &Stack,
    scores: &Scores,
    constant: &Scores,
    rows: usize,
    which: &str,
) -> Verdict {
    let target = target(stack);
    if constant.rmse == 0.0 {
        let headline = format!("{target} is the same in every row: there is nothing to predict.");
        return Verdict { grade: Grade::Careful, headline, details: Vec::new() };
    }
    let share = explained(scores, constant);
    let poor = scores.rmse.is_nan() || scores.rmse > HARDLY_BETTER * constant.rmse;
    let headline = if scores.rmse > WORSE * constant.rmse {
        format!(
            "Do not rely on these predictions: they are worse than the mean of {target}. Look for values far from \
             all others."
        )
    } else if poor {
        format!(
            "Do not rely on these predictions: they are hardly better than the mean of {target}."
        )
    } else {
        format!(
            "{target} is predicted with a typical error of {}; {} of its variance is explained.",
            text::number(scores.mae),
            text::percent(share)
        )
    };
    let room = 2.0 * (LEVEL * (1.0 - LEVEL) / rows.max(1) as f64).sqrt() + 0.01;
    let inside = scores.coverage95;
    let words = match inside - LEVEL {
        gap if gap < -room => "fewer than they should: they are too narrow",
        gap if gap > room => "more than they need to: they are wide",
        _ => "as they should",
    };
    let held = format!(
        "95 % intervals hold {} of {} {which}, {words}.",
        text::percent(inside),
        text::counted(rows, "row")
    );
    let narrow = inside - LEVEL < -room;
    let grade = match (poor, narrow) {
        (true, _) => Grade::Poor,
        (false, true) => Grade::Careful,
        (false, false) => Grade::Good,
    };
    Verdict { grade, headline, details: vec![held] }
}

fn beside_ridge(found: &HeldOut) -> Option<String> {
    let ridge = found.ridge.as_ref().filter(|ridge| ridge.rmse > 0.0)?;
    let (own, line) = (found.scores.rmse, ridge.rmse);
    let gain = 1.0 - own / line;
    Some(match gain {
        g if g > 0.02 => format!(
            "Its error is {} smaller than that of a straight line (ridge regression).",
            text::percent(g)
        ),
        g if g > -0.02 => "A straight line (ridge regression) predicts about as well.".into(),
        _ => "A straight line (ridge regression) predicts better, which is unusual.".into(),
    })
}

fn what_matters(stack: &Stack, columns: &[TableColumn]) -> String {
    let shares = stack.relevance();
    let mut order: Vec<usize> = (0..shares.len().min(columns.len())).collect();
    order.sort_by(|a, b| shares[*b].total_cmp(&shares[*a]));
    let top: Vec<String> = order
        .iter()
        .take(3)
        .filter(|c| shares[**c] >= 0.05)
        .map(|&c| format!("{} ({})", text::name(&columns[c].name), text::percent(shares[c])))
        .collect();
    if top.is_empty() {
        return "No single column stands out.".into();
    }
    format!("It goes mostly by {}.", text::listed(&top))
}

/// The name of the target, as HTML.
pub(crate) fn target(stack: &Stack) -> String {
    stack.first().target_name().map_or_else(|| "The target".into(), text::name)
}
