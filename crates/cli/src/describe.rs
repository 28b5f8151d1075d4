//! Descriptions of a fitted model that several commands print.

use crate::style;
use raysum::Model;

/// The engine, for display.
pub(crate) fn engine(model: &Model) -> String {
    match model.features() {
        Some(p) => format!("{} engine with {p} features", model.engine()),
        None => format!("{} engine", model.engine()),
    }
}

/// The number of evaluations in all, and of those for the saved model.
pub(crate) fn evaluations(model: &Model, all: usize) -> String {
    match model.report().evaluations {
        own if own == all => all.to_string(),
        own => format!("{all}, {own} of them for the saved model"),
    }
}

/// How far length-scales differ from one another.
pub(crate) fn length_scales(model: &Model) -> String {
    let per_column = !model.hyperparameters().column_length_scales.is_empty();
    match (model.report().shrinkage, per_column) {
        (Some(0.0), true) => "one for all columns".into(),
        (Some(0.0), false) => "one for all projections".into(),
        (Some(width), _) => format!("tied, by a prior of width {}", style::number(width)),
        (None, true) => "one per column".into(),
        (None, false) => "one per projection".into(),
    }
}

/// The log marginal likelihood, with its standard error where it is an estimate.
pub(crate) fn likelihood(model: &Model) -> String {
    let value = style::number(model.log_marginal_likelihood());
    match model.likelihood_error() {
        0.0 => value,
        error => format!("{value} ± {}", style::number(error)),
    }
}

/// A line on solves that did not converge during the search, if there were any.
pub(crate) fn unconverged(model: &Model) -> String {
    let count = match model.report().unconverged {
        0 => return String::new(),
        1 => "once".to_string(),
        n => format!("{n} times"),
    };
    format!(
        "{count} conjugate gradients did not converge, and the search stepped back; raise the lower \
         noise bound or --cg-iterations if the fit is poor\n"
    )
}

/// The prefix of result columns: the name of the target, if there are several.
pub(crate) fn mark(model: &Model, targets: usize) -> String {
    let target = model.target_name().filter(|_| targets > 1);
    target.map_or(String::new(), |target| format!("{target}_"))
}

/// The most relevant columns with bars.
pub(crate) fn relevance(model: &Model, most: usize) -> String {
    let order = model.ranking();
    let top = order.first().map_or(0.0, |&i| model.relevance()[i]);
    if top == 0.0 {
        return "  none: the prediction is about the same everywhere\n".into();
    }
    let rows: Vec<Vec<String>> = order
        .iter()
        .take(most)
        .map(|&i| {
            let share = model.relevance()[i];
            let bar = style::bar(share / top, 24);
            let padding = " ".repeat(24 - bar.chars().count());
            vec![model.feature_name(i), format!("{:.1} %", 100.0 * share), bar + &padding]
        })
        .collect();
    let mut text = style::columns(&rows);
    if order.len() > most {
        text += &format!("  … and {} more\n", order.len() - most);
    }
    text
}
