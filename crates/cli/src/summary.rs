//! The result of a fit, as text.

use crate::{describe, held_out, style};
use raysum::{Model, Stack};
use raysum_table::escaped;

/// Most columns whose relevance is shown.
const MOST_COLUMNS: usize = 8;

pub(crate) fn text(stack: &Stack, model: &str, seconds: f64) -> String {
    let mut text = format!(
        "{model} on {} × {}, target '{}', {}\n",
        style::counted(stack.rows(), "row"),
        style::counted(stack.columns(), "column"),
        escaped(stack.first().target_name().unwrap_or_default()),
        style::seconds(seconds),
    );
    match stack.held_out() {
        Some(found) => {
            text += &held_out::verdict(found);
            text += &format!("{}, in the target's units:\n", held_out::how(found));
            text += &held_out::table(found);
        }
        None => text += "no rows were held out: no scores, and intervals are not calibrated\n",
    }
    text += &match stack.single() {
        Some(one) => one_model(one, Some(&stack.members()[0].name).filter(|name| *name != model)),
        None => held_out::members(stack),
    };
    text += "relevance of the columns:\n";
    text += &describe::relevance(stack.first(), &stack.relevance(), MOST_COLUMNS);
    if let Some(model) = stack.single() {
        text += &describe::noise_relevance(model, MOST_COLUMNS);
    }
    text
}

/// What is worth knowing about a model that stands alone, with its name if the user has not named it.
fn one_model(model: &Model, name: Option<&String>) -> String {
    let row = |name: &str, value: String| vec![name.to_string(), value];
    let mut rows: Vec<Vec<String>> =
        name.map(|name| row("model", name.clone())).into_iter().collect();
    rows.push(row("engine", describe::engine(model)));
    rows.extend(model.target_transformation().map(|name| row("scale of target", name)));
    rows.extend([
        row("log marginal likelihood", describe::likelihood(model)),
        row("noise std", describe::noise(model)),
        row("length-scales", describe::all_length_scales(model)),
        row("evaluations", model.report().evaluations.to_string()),
    ]);
    let mut text = style::columns(&rows);
    if model.report().hit_limit {
        text += "the search ended at its limit of evaluations; raise --max-evaluations\n";
    }
    text + &describe::unconverged(model)
        + &describe::fewer_directions(model)
        + &describe::rough(model)
}
