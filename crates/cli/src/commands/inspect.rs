//! `raysum inspect`: describes a model file.

use crate::args::{AUTO, InspectArgs};
use crate::program::Voice;
use crate::{describe, held_out, output, style};
use anyhow::Result;
use raysum::fitted::{Projections, TermHyperparameters};
use raysum::settings::{LengthScales, Shape};
use raysum::{Model, Stack};
use serde_json::{Value, json};

/// Probabilities of intervals whose calibration is shown.
const LEVELS: [f64; 5] = [0.5, 0.8, 0.9, 0.95, 0.99];

pub(super) fn run(args: &InspectArgs, voice: Voice) -> Result<()> {
    let stacks = Stack::load_all(&args.model)?;
    for (k, stack) in stacks.iter().enumerate() {
        if voice.json {
            output::print_json(&stack_json(stack))?;
        } else {
            let gap = if k == 0 { "" } else { "\n" };
            output::print_line(&format!("{gap}{}", stack_text(stack).trim_end()))?;
        }
    }
    Ok(())
}

/// One model with its calibration, or the members of a mixture.
fn stack_json(stack: &Stack) -> Value {
    let first = stack.first();
    let mut value = match stack.single() {
        Some(model) => to_json(model),
        None => json!({
            "model": AUTO,
            "target": first.target_name(),
            "n": stack.rows(),
            "d": stack.columns(),
            "columns": first.column_names(),
            "table": first.schema(),
            "relevance": relevance(first, &stack.relevance()),
            "raysum": first.version(),
            "format": raysum::FORMAT,
        }),
    };
    if let Value::Object(fields) = &mut value {
        fields.insert("members".into(), held_out::members_json(stack).into());
        fields.insert("held_out".into(), stack.held_out().map(held_out::to_json).into());
        let widths = stack.calibration().map(|calibration| {
            LEVELS.map(|level| json!({"level": level, "widening": calibration.widening(level)}))
        });
        fields.insert("calibration".into(), json!(widths));
    }
    value
}

fn stack_text(stack: &Stack) -> String {
    let mut text = if let Some(model) = stack.single() {
        text(model)
    } else {
        let first = stack.first();
        let row = |name: &str, value: String| vec![name.to_string(), value];
        let any = |holds: fn(&Model) -> bool| stack.members().iter().any(|m| holds(&m.model));
        let holds = match (any(Model::keeps_rows), any(describe::holds_values)) {
            (true, _) => "yes",
            (false, true) => "no, but values of its columns",
            (false, false) => "no",
        };
        let all = [
            row("model", AUTO.into()),
            row("target", describe::target(first)),
            row("rows", stack.rows().to_string()),
            row("columns", stack.columns().to_string()),
            row("holds its training rows", holds.into()),
            row("made by raysum", first.version().into()),
        ];
        let shares = stack.relevance();
        style::columns(&all)
            + &held_out::members(stack)
            + "relevance of the columns:\n"
            + &describe::relevance(first, &shares, usize::MAX)
    };
    if let Some(found) = stack.held_out() {
        text += &format!("{}, in the target's units:\n", held_out::how(found));
        text += &held_out::table(found);
    }
    if let Some(calibration) = stack.calibration() {
        let expected = match stack.members() {
            [only] => {
                let kappa = style::number(only.share.inflation);
                format!("errors of held-out rows are κ = {kappa} times what the model expects")
            }
            _ => "each member's standard deviations are multiplied by its κ".to_string(),
        };
        text += &format!(
            "calibration: {expected}; intervals are those of a normal distribution of that size, \
             times\n"
        );
        let rows = LEVELS.map(|level| {
            let factor = style::number(calibration.widening(level));
            vec![format!("{:.0} %", 100.0 * level), factor]
        });
        text += &style::columns(&rows);
    }
    text
}

fn preset(model: &Model) -> &str {
    model.preset().unwrap_or("custom")
}

fn to_json(model: &Model) -> Value {
    let h = model.hyperparameters();
    let config = model.config();
    json!({
        "model": preset(model),
        "engine": model.engine(),
        "features": model.features(),
        "target": model.target_name(),
        "n": model.report().rows,
        "d": model.columns(),
        "log_marginal_likelihood": model.log_marginal_likelihood(),
        "log_marginal_likelihood_error": model.likelihood_error(),
        "noise_std": model.noise_std(),
        "shrinkage": model.report().shrinkage,
        "signal_std": h.scale().sqrt() * model.function_unit(),
        "noise_varies": model.noise_varies(),
        "noise_std_range": model.noise_std_range(),
        "noise_relevance": relevance(model, model.noise_relevance()),
        "target_scale": model.target_transformation(),
        "constant": model.constant(),
        "evaluations": model.report().evaluations,
        "hit_limit": model.report().hit_limit,
        "unconverged": model.report().unconverged,
        "rough": model.report().rough,
        "fewer_directions": model.report().fewer_directions,
        "config": config,
        "hyperparameters": h,
        "columns": model.column_names(),
        "table": model.schema(),
        "relevance": relevance(model, model.relevance()),
        "diversity_loss": only(model).map(Projections::diversity_loss),
        "smallest_angle_degrees": only(model).and_then(Projections::smallest_angle),
        "raysum": model.version(),
        "format": raysum::FORMAT,
    })
}

/// The projections of a model with one term.
fn only(model: &Model) -> Option<&Projections> {
    if let [only] = model.projections() { Some(only) } else { None }
}

/// The share of each original column, by its name.
fn relevance(model: &Model, shares: &[f64]) -> Value {
    let share = |(k, share): (usize, &f64)| (model.feature_name(k), json!(share));
    shares.iter().enumerate().map(share).collect::<serde_json::Map<_, _>>().into()
}

fn text(model: &Model) -> String {
    let h = model.hyperparameters();
    let c = model.config();
    let row = |name: &str, value: String| vec![name.to_string(), value];
    let unit = model.function_unit();
    let mut rows = vec![
        row("model", preset(model).into()),
        row("engine", describe::engine(model)),
        row("target", describe::target(model)),
        row("training rows", model.report().rows.to_string()),
        row("columns", model.columns().to_string()),
        row("scale of columns", describe::columns_scale(model)),
    ];
    rows.extend(model.target_transformation().map(|name| row("scale of target", name)));
    if let [term] = c.terms.as_slice() {
        rows.push(row("sub-kernel", term.kernel.name().into()));
        rows.push(row("degrees", term.degrees.to_string()));
        rows.push(row("directions", term.directions.name().into()));
        rows.push(row("length-scales", describe::length_scales(model, 0)));
        let learned = if term.learn_weights { "yes" } else { "no" };
        rows.push(row("weights learned", learned.into()));
    }
    rows.extend([
        row("seed", c.seed.to_string()),
        row("log marginal likelihood", describe::likelihood(model)),
        row("evaluations", model.report().evaluations.to_string()),
        row("noise std", describe::noise(model)),
        row("signal std", style::number(h.scale().sqrt() * unit)),
        row("constant", style::number(model.constant())),
    ]);
    if let Some((only, angle)) = only(model).and_then(|p| p.smallest_angle().map(|a| (p, a))) {
        rows.push(row("smallest angle", format!("{angle:.1}°")));
        rows.push(row("diversity loss", style::number(only.diversity_loss())));
    }
    rows.push(row("made by raysum", model.version().into()));
    let mut text = style::columns(&rows);
    if c.terms.len() > 1 {
        text += &terms(model);
    }
    for (t, h) in h.terms.iter().enumerate() {
        let of = if c.terms.len() > 1 {
            format!(" of {}", describe::term(model, t))
        } else {
            String::new()
        };
        text += &if !h.column_length_scales.is_empty() {
            column_length_scales(model, h, &of)
        } else if c.terms[t].kernel == Shape::Linear {
            String::new()
        } else {
            sub_kernels(model, t, &of)
        };
    }
    if model.target_transformation().is_some() {
        text += "signal std, constant and stds of functions are in standard deviations of the \
                 transformed target\n";
    }
    text += &describe::unconverged(model);
    text += &describe::fewer_directions(model);
    text += &describe::rough(model);
    text += "relevance of the columns:\n";
    text += &describe::relevance(model, model.relevance(), usize::MAX);
    text += &describe::noise_relevance(model, usize::MAX);
    text
}

/// The terms of a sum, each with its share of the prior variance.
fn terms(model: &Model) -> String {
    let names = ["term", "sub-kernel", "degrees", "directions", "length-scales", "std"];
    let mut rows = vec![names.map(String::from).to_vec()];
    for (t, (term, h)) in
        model.config().terms.iter().zip(&model.hyperparameters().terms).enumerate()
    {
        rows.push(vec![
            describe::term(model, t),
            term.kernel.name().into(),
            term.degrees.to_string(),
            term.directions.name().into(),
            describe::length_scales(model, t),
            style::number(h.scale().sqrt() * model.function_unit()),
        ]);
    }
    "terms:\n".to_string() + &style::columns(&rows)
}

fn column_length_scales(model: &Model, h: &TermHyperparameters, of: &str) -> String {
    let scales = h.column_length_scales.iter().enumerate();
    let rows: Vec<_> = scales.map(|(i, s)| vec![model.column_name(i), style::number(*s)]).collect();
    format!("length-scales{of}, in standard deviations of each column:\n") + &style::columns(&rows)
}

fn sub_kernels(model: &Model, term: usize, of: &str) -> String {
    let h = &model.hyperparameters().terms[term];
    let mut rows = vec![vec!["number".into(), "std".into(), "length-scales".into()]];
    let common = model.config().terms[term].length_scales == LengthScales::Common;
    let mut scales = h.length_scales.iter();
    let degrees = model.projections()[term].degrees().iter();
    for (j, (&degree, v)) in degrees.zip(&h.variances).enumerate() {
        let count = if common { 1 } else { degree };
        let own: Vec<String> = scales.by_ref().take(count).map(|s| style::number(*s)).collect();
        let std = style::number(v.sqrt() * model.function_unit());
        rows.push(vec![j.to_string(), std, own.join(" ")]);
    }
    format!("sub-kernels{of}:\n") + &style::columns(&rows)
}
