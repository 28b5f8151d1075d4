//! The description of fitted models, without large arrays, for the Python side.

use raysum::fitted::Projections;
use raysum::stack::{Calibration, HeldOut, Member};
use raysum::{Model, Scores, Stack};
use serde_json::{Value, json};

/// The probabilities of the intervals whose widening is shown.
const LEVELS: [f64; 5] = [0.5, 0.8, 0.9, 0.95, 0.99];

/// The models of all targets. What only one model has is that of the first member.
pub(crate) fn described(targets: &[Stack]) -> Value {
    let first = targets[0].first();
    let each = |pick: fn(&Model) -> Value| {
        targets.iter().map(|stack| pick(stack.first())).collect::<Vec<_>>()
    };
    let of_stack = |pick: fn(&Stack) -> Value| targets.iter().map(pick).collect::<Vec<_>>();
    json!({
        "version": first.version(),
        "columns": first.columns(),
        "column_names": first.column_names(),
        "schema": first.schema(),
        "preset": first.preset(),
        "config": first.config(),
        "engine": first.engine(),
        "features": first.features(),
        "degrees": first.projections().iter().map(Projections::degrees).collect::<Vec<_>>(),
        "columns_scales": first.column_scales(),
        "groups": first.groups(),
        "reports": each(|m| json!(m.report())),
        "hyperparameters": each(|m| json!(m.hyperparameters())),
        "target_names": each(|m| json!(m.target_name())),
        "noise_std": each(|m| json!(m.noise_std())),
        "noise_relevance": each(|m| json!(m.noise_relevance())),
        "target_transformation": each(|m| json!(m.target_transformation())),
        "constant": each(|m| json!(m.constant())),
        "log_marginal_likelihood": each(|m| json!(m.log_marginal_likelihood())),
        "likelihood_error": each(|m| json!(m.likelihood_error())),
        "relevance": of_stack(|s| json!(s.relevance())),
        "members": of_stack(|s| s.members().iter().map(member).collect()),
        "held_out": of_stack(|s| s.held_out().map_or(Value::Null, held_out)),
        "calibration": of_stack(calibration),
    })
}

fn member(member: &Member) -> Value {
    let Member { name, share, .. } = member;
    json!({
        "name": name,
        "weight": share.mean,
        "spread_weight": share.spread,
        "inflation": share.inflation,
    })
}

/// Scores of held-out rows, in the target's units.
fn held_out(found: &HeldOut) -> Value {
    let in_units = |scores: &Scores| json!(scores.in_units(found.unit));
    let some = |scores: &Option<Scores>| scores.as_ref().map_or(Value::Null, in_units);
    let tried = found.tried.iter();
    let tried: Vec<_> =
        tried.map(|t| json!({ "name": t.name, "scores": some(&t.scores) })).collect();
    json!({
        "rows": found.rows,
        "folds": found.folds,
        "stack": in_units(&found.scores),
        "constant": in_units(&found.constant),
        "ridge": some(&found.ridge),
        "tried": tried,
    })
}

/// How much wider than those of normal distributions intervals are, at some levels.
fn calibration(stack: &Stack) -> Value {
    let widening = |curve: &Calibration| {
        LEVELS.iter().map(|level| json!([level, curve.widening(*level)])).collect()
    };
    stack.calibration().map_or(Value::Null, widening)
}
