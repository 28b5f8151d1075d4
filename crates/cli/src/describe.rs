//! Descriptions of a fitted model that several commands print.

use crate::style;
use raysum::Model;
use raysum::settings::{ColumnsScale, LengthScales, Noise};

/// The engine, for display.
pub(crate) fn engine(model: &Model) -> String {
    match model.features() {
        Some(p) => format!("{} engine with {}", model.engine(), style::counted(p, "feature")),
        None if model.keeps_rows() => {
            format!("{} engine; the model holds its training rows", model.engine())
        }
        None => format!("{} engine", model.engine()),
    }
}

/// Whether a model's scales consist of values of its columns, whatever its engine holds.
pub(crate) fn holds_values(model: &Model) -> bool {
    matches!(model.config().columns_scale, ColumnsScale::Ranks | ColumnsScale::Cuts)
}

/// The scale of the columns.
pub(crate) fn columns_scale(model: &Model) -> String {
    let name = model.config().columns_scale.name();
    let of_values =
        if holds_values(model) { "; the model holds values of its columns" } else { "" };
    format!("{name}{of_values}")
}

/// The name of a term: as the user wrote it, or that of its kernel.
pub(crate) fn term(model: &Model, term: usize) -> String {
    let names: Vec<&str> = model.preset().map_or(Vec::new(), |preset| preset.split('+').collect());
    let terms = &model.config().terms;
    if names.len() == terms.len() { names[term].into() } else { terms[term].kernel.name().into() }
}

/// How far the length-scales of a term differ from one another.
pub(crate) fn length_scales(model: &Model, term: usize) -> String {
    let per_column = match model.config().terms[term].length_scales {
        LengthScales::Fixed => return "none".into(),
        LengthScales::Common => return "one for all columns".into(),
        LengthScales::Columns => true,
        LengthScales::Projections | LengthScales::Directions => false,
    };
    match (model.report().shrinkage, per_column) {
        (Some(0.0), true) => "one for all columns".into(),
        (Some(0.0), false) => "one for all projections".into(),
        (Some(width), _) => format!("tied, by a prior of width {}", style::number(width)),
        (None, true) => "one per column".into(),
        (None, false) => "one per projection".into(),
    }
}

/// The same for all terms.
pub(crate) fn all_length_scales(model: &Model) -> String {
    let of = |t: usize| format!("{}: {}", term(model, t), length_scales(model, t));
    match model.config().terms.len() {
        1 => length_scales(model, 0),
        terms => (0..terms).map(of).collect::<Vec<_>>().join(", "),
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

/// The standard deviation of the noise: its range too, where it depends on the columns.
pub(crate) fn noise(model: &Model) -> String {
    let usual = style::number(model.noise_std());
    if !model.noise_varies() {
        return match model.config().noise {
            Noise::Constant => usual,
            Noise::Columns => format!("{usual}, about the same at all rows"),
        };
    }
    let (low, high) = model.noise_std_range();
    let (low, high) = (style::number(low), style::number(high));
    format!("{usual} on average, from {low} to {high} at nine rows of ten")
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

/// A line on functions that could not become rougher, if they are.
pub(crate) fn rough(model: &Model) -> String {
    if !model.report().rough {
        return String::new();
    }
    let scale = if holds_values(model) {
        ""
    } else {
        "if columns have heavy tails, --columns-scale ranks often helps; "
    };
    format!(
        "the functions are as rough as is affordable for this many rows; {scale}a kernel of all columns, \
         such as linear+matern32-ard, has no such limit\n"
    )
}

/// A line on directions that were not affordable, if there are any.
pub(crate) fn fewer_directions(model: &Model) -> String {
    if !model.report().fewer_directions {
        return String::new();
    }
    "some columns have tails so heavy that the usual number of directions would cost too much: dpa-ard \
     has fewer; --columns-scale ranks often helps, and a number that is named, as in dpa-ard:80x1, stays\n"
        .into()
}

/// The name of the target, or what stands for it.
pub(crate) fn target(model: &Model) -> String {
    model.target_name().unwrap_or("(not recorded)").into()
}

/// The prefix of result columns: the name of the target, if there are several.
pub(crate) fn mark(model: &Model, targets: usize) -> String {
    let target = model.target_name().filter(|_| targets > 1);
    target.map_or(String::new(), |target| format!("{target}_"))
}

/// The most relevant columns with bars.
pub(crate) fn relevance(model: &Model, shares: &[f64], most: usize) -> String {
    let found = bars(model, shares, most);
    found.unwrap_or_else(|| "  none: the prediction is about the same everywhere\n".into())
}

/// The columns that the noise depends on, if it does.
pub(crate) fn noise_relevance(model: &Model, most: usize) -> String {
    let found = bars(model, model.noise_relevance(), most);
    found.map_or(String::new(), |bars| format!("relevance of the columns for the noise:\n{bars}"))
}

/// The columns with the largest shares; `None` if there are no shares.
fn bars(model: &Model, shares: &[f64], most: usize) -> Option<String> {
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|a, b| shares[*b].total_cmp(&shares[*a]));
    let top = order.first().map_or(0.0, |&i| shares[i]);
    if top == 0.0 {
        return None;
    }
    let rows: Vec<Vec<String>> = order
        .iter()
        .take(most)
        .map(|&i| {
            let share = shares[i];
            let bar = style::bar(share / top, 24);
            let padding = " ".repeat(24 - bar.chars().count());
            vec![model.feature_name(i), format!("{:.1} %", 100.0 * share), bar + &padding]
        })
        .collect();
    let mut text = style::columns(&rows);
    if order.len() > most {
        text += &format!("  … and {} more\n", order.len() - most);
    }
    Some(text)
}
