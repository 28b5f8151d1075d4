//! `raysum inspect`: describes a model file.

use crate::args::InspectArgs;
use crate::program::Voice;
use crate::{describe, output, style};
use anyhow::Result;
use raysum::Model;
use serde_json::{Value, json};

pub(super) fn run(args: &InspectArgs, voice: Voice) -> Result<()> {
    let models = Model::load_all(&args.model)?;
    for (k, model) in models.iter().enumerate() {
        if voice.json {
            output::print_json(&to_json(model))?;
        } else {
            let gap = if k == 0 { "" } else { "\n" };
            output::print_line(&format!("{gap}{}", text(model).trim_end()))?;
        }
    }
    Ok(())
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
        "signal_std": h.scale().sqrt() * model.target_scale().std,
        "constant": model.constant(),
        "evaluations": model.report().evaluations,
        "hit_limit": model.report().hit_limit,
        "unconverged": model.report().unconverged,
        "config": config,
        "hyperparameters": h,
        "columns": model.column_names(),
        "table": model.schema(),
        "relevance": relevance(model),
        "diversity_loss": model.projections().diversity_loss(),
        "smallest_angle_degrees": model.projections().smallest_angle(),
        "raysum": model.version(),
        "format": raysum::FORMAT,
    })
}

/// The share of each original column, by its name.
fn relevance(model: &Model) -> Value {
    let share = |(k, share): (usize, &f64)| (model.feature_name(k), json!(share));
    model.relevance().iter().enumerate().map(share).collect::<serde_json::Map<_, _>>().into()
}

fn text(model: &Model) -> String {
    let h = model.hyperparameters();
    let c = model.config();
    let row = |name: &str, value: String| vec![name.to_string(), value];
    let yes = |b: bool| if b { "yes" } else { "no" }.to_string();
    let unit = model.target_scale().std;
    let mut rows = vec![
        row("model", preset(model).into()),
        row("engine", describe::engine(model)),
        row("target", model.target_name().unwrap_or("(not recorded)").into()),
        row("training rows", model.report().rows.to_string()),
        row("columns", model.columns().to_string()),
        row("sub-kernel", c.kernel.name().into()),
        row("degrees", c.degrees.to_string()),
        row("directions", c.directions.name().into()),
        row("length-scales", describe::length_scales(model)),
        row("weights learned", yes(c.learn_weights)),
        row("seed", c.seed.to_string()),
        row("log marginal likelihood", describe::likelihood(model)),
        row("evaluations", model.report().evaluations.to_string()),
        row("noise std", style::number(model.noise_std())),
        row("signal std", style::number(h.scale().sqrt() * unit)),
        row("constant", style::number(model.constant())),
    ];
    if let Some(angle) = model.projections().smallest_angle() {
        rows.push(row("smallest angle", format!("{angle:.1}°")));
        rows.push(row("diversity loss", style::number(model.projections().diversity_loss())));
    }
    rows.push(row("made by raysum", model.version().into()));
    let mut text = style::columns(&rows);
    text += &if h.column_length_scales.is_empty() {
        sub_kernels(model)
    } else {
        column_length_scales(model)
    };
    text += &describe::unconverged(model);
    text += "relevance of the columns:\n";
    text += &describe::relevance(model, usize::MAX);
    text
}

fn column_length_scales(model: &Model) -> String {
    let scales = model.hyperparameters().column_length_scales.iter().enumerate();
    let rows: Vec<_> = scales.map(|(i, s)| vec![model.column_name(i), style::number(*s)]).collect();
    "length-scales, in standard deviations of each column:\n".to_string() + &style::columns(&rows)
}

fn sub_kernels(model: &Model) -> String {
    let h = model.hyperparameters();
    let mut rows = vec![vec!["number".into(), "std".into(), "length-scales".into()]];
    let mut scales = h.length_scales.iter();
    for (j, (&degree, v)) in model.projections().degrees().iter().zip(&h.variances).enumerate() {
        let own: Vec<String> = scales.by_ref().take(degree).map(|s| style::number(*s)).collect();
        let std = style::number(v.sqrt() * model.target_scale().std);
        rows.push(vec![j.to_string(), std, own.join(" ")]);
    }
    "sub-kernels:\n".to_string() + &style::columns(&rows)
}
