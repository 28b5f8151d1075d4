//! What held-out rows show about a stack, as a table and as JSON.

use crate::style;
use raysum::stack::HeldOut;
use raysum::{Scores, Stack};
use raysum_report::{HARDLY_BETTER, WORSE};
use serde_json::{Value, json};

/// The scores beside those of a constant and of ridge regression.
pub(crate) fn table(found: &HeldOut) -> String {
    let head = ["", "RMSE", "MAE", "NLPD", "CRPS", "in 95 %", "width"];
    let mut rows = vec![head.map(String::from).to_vec()];
    let mut add = |name: &str, scores: &Scores| {
        let s = scores.in_units(found.unit);
        let percent = format!("{:.1} %", 100.0 * s.coverage95);
        let number = style::number;
        rows.push(vec![
            name.into(),
            number(s.rmse),
            number(s.mae),
            number(s.nlpd),
            number(s.crps),
            percent,
            number(s.width95),
        ]);
    };
    add("constant", &found.constant);
    if let Some(ridge) = &found.ridge {
        add("ridge regression", ridge);
    }
    add("raysum", &found.scores);
    style::columns(&rows)
}

/// How the rows were held out.
pub(crate) fn how(found: &HeldOut) -> String {
    if found.folds > 1 {
        return format!(
            "scores of {} rows, each held out once in {} folds",
            found.rows, found.folds
        );
    }
    format!("scores of {} rows that were held out", found.rows)
}

/// What the scores say, in words.
pub(crate) fn verdict(found: &HeldOut) -> String {
    let explained = 1.0 - (found.scores.rmse / found.constant.rmse).powi(2);
    if found.constant.rmse == 0.0 {
        return "the target is the same in all rows: there is nothing to explain\n".into();
    }
    if found.scores.rmse > WORSE * found.constant.rmse {
        return "worse than a constant at the held-out rows: look for values far from all others\n"
            .into();
    }
    if found.scores.rmse > HARDLY_BETTER * found.constant.rmse {
        return "hardly better than a constant: the columns say little about the target\n".into();
    }
    format!("explains {:.0} % of the target's variance\n", 100.0 * explained)
}

/// The members of a stack with their mixing weights, and their own scores.
pub(crate) fn members(stack: &Stack) -> String {
    let head = ["member", "in the mean", "in the spread", "κ", "RMSE alone"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for member in stack.members() {
        let alone = stack.held_out().and_then(|found| {
            let tried = found.tried.iter().find(|tried| tried.name == member.name)?;
            Some(style::number(tried.scores?.in_units(found.unit).rmse))
        });
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        rows.push(vec![
            member.name.clone(),
            percent(member.share.mean),
            percent(member.share.spread),
            style::number(member.share.inflation),
            alone.unwrap_or_default(),
        ]);
    }
    style::columns(&rows)
}

/// All of it as JSON, in the target's units.
pub(crate) fn to_json(found: &HeldOut) -> Value {
    let units = |scores: &Scores| json!(scores.in_units(found.unit));
    let tried = found.tried.iter().map(|tried| {
        json!({
            "name": tried.name,
            "scores": tried.scores.as_ref().map(units),
            "seconds": tried.seconds,
        })
    });
    json!({
        "rows": found.rows,
        "folds": found.folds,
        "target_std": found.unit,
        "scores": units(&found.scores),
        "standardised": found.scores,
        "constant": units(&found.constant),
        "ridge": found.ridge.as_ref().map(units),
        "tried": tried.collect::<Vec<_>>(),
    })
}

/// The members as JSON.
pub(crate) fn members_json(stack: &Stack) -> Vec<Value> {
    let member = |m: &raysum::stack::Member| {
        json!({
            "name": m.name,
            "mean_weight": m.share.mean,
            "spread_weight": m.share.spread,
            "kappa": m.share.inflation,
            "engine": m.model.engine(),
            "features": m.model.features(),
        })
    };
    stack.members().iter().map(member).collect()
}

/// The result of a fit as JSON.
pub(crate) fn fit_json(stack: &Stack, model: &str, seconds: f64) -> Value {
    let first = stack.first();
    let mut value = json!({
        "model": model,
        "target": first.target_name(),
        "n": stack.rows(),
        "d": stack.columns(),
        "fit_seconds": seconds,
        "held_out": stack.held_out().map(to_json),
        "members": members_json(stack),
        "evaluations": stack.members().iter().map(|m| m.model.report().evaluations).sum::<usize>(),
    });
    if let (Some(model), Value::Object(fields)) = (stack.single(), &mut value) {
        let of_one = json!({
            "engine": model.engine(),
            "features": model.features(),
            "log_marginal_likelihood": model.log_marginal_likelihood(),
            "log_marginal_likelihood_error": model.likelihood_error(),
            "noise_std": model.noise_std(),
            "noise_varies": model.noise_varies(),
            "target_scale": model.target_transformation(),
            "shrinkage": model.report().shrinkage,
            "hit_limit": model.report().hit_limit,
            "unconverged": model.report().unconverged,
            "rough": model.report().rough,
            "fewer_directions": model.report().fewer_directions,
        });
        if let Value::Object(of_one) = of_one {
            fields.extend(of_one);
        }
    }
    value
}
