//! The page: what is shown about each target, around it the head with style and script.

use crate::Subject;
use crate::checks::{self, Looked};
use crate::columns::{columns, hold_training_rows, spread};
use crate::evidence::Evidence;
use crate::{effects, sections, text, verdict};
use raysum::{Error, Matrix, Result, Stack};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// Most columns whose effects are drawn, over all targets, and fewest of each target.
const MOST_EFFECTS: usize = 18;
const LEAST_EFFECTS: usize = 3;
/// Most targets that are shown.
const MOST_TARGETS: usize = 12;
/// Characters of a note or command that are shown.
const MOST_SHOWN: usize = 400;

/// The report as one HTML page that loads nothing.
pub fn page(subject: &Subject<'_>) -> Result<String> {
    let (expected, found) = (subject.stacks.len(), subject.targets.len());
    if expected != found || expected == 0 {
        return Err(Error::TargetCount { expected, found });
    }
    if subject.x.rows() == 0 {
        return Err(Error::NoTargets);
    }
    let known_rows = hold_training_rows(subject.stacks[0].first(), subject.x)?;
    let sample = subject.x.gather(&spread(subject.x.rows(), checks::MOST_ROWS))?;
    let shown = expected.min(MOST_TARGETS);
    let mut body = String::new();
    for target in 0..shown {
        body += &of_target(subject, target, (known_rows, &sample), MOST_EFFECTS / shown)?;
    }
    if expected > shown {
        let more = text::counted(expected - shown, "further target");
        body += &format!("<p>{more} of the model: not shown.</p>");
    }
    body += &origin(subject);
    let first = subject.stacks[0].first();
    let title = first.target_name().unwrap_or("model");
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <meta name=\"generator\" content=\"raysum {}\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\
         <title>{} – raysum report</title><style>{STYLE}</style></head>\n<body><main>\n{body}</main>\
         <div id=\"tip\" role=\"status\" hidden></div><script>{SCRIPT}</script></body></html>\n",
        env!("CARGO_PKG_VERSION"),
        text::short(title),
    ))
}

/// All sections about one target.
fn of_target(
    subject: &Subject<'_>,
    target: usize,
    (known_rows, sample): (bool, &Matrix),
    most: usize,
) -> Result<String> {
    let stack = &subject.stacks[target];
    let columns = columns(stack.first());
    let shares = stack.relevance();
    let mut ranked: Vec<usize> = (0..columns.len()).collect();
    ranked.sort_by(|a, b| shares[*b].total_cmp(&shares[*a]));
    let evidence = Evidence::gather(subject, target, known_rows)?;
    let rows = spread(subject.x.rows(), checks::MOST_ROWS);
    let truth: Vec<f64> = rows.iter().map(|&i| subject.targets[target][i]).collect();
    let looked = Looked {
        stack,
        columns: &columns,
        sample,
        target: &truth,
        training: evidence.training,
        outside: evidence.outside,
    };
    let warnings = looked.warnings();
    let drawn: Vec<usize> = ranked
        .iter()
        .copied()
        .filter(|c| shares[*c] > 0.0 || ranked.len() <= LEAST_EFFECTS)
        .take(most.max(LEAST_EFFECTS))
        .collect();
    let curves = effects::of_columns(stack, sample, &columns, &drawn)?;
    let pairs = effects::of_pairs(stack, sample, &columns, &drawn)?;
    let name = stack.first().target_name().unwrap_or("target");
    let scores = stack
        .held_out()
        .map(|found| (found.scores.in_units(found.unit), found.constant.in_units(found.unit)));
    let scores = evidence.new_rows.or(scores);
    let verdict = verdict::of_evidence(stack, &columns, &evidence);
    let mut out = header(subject, stack);
    out += &sections::verdict(&verdict, scores.as_ref().map(|(own, constant)| (own, constant)));
    let notes: Vec<String> = subject.notes.iter().map(|note| cut(note)).collect();
    out += &sections::warnings(&warnings, if target == 0 { &notes } else { &[] });
    out += &sections::scores(stack, &evidence);
    out += &sections::trust(&evidence, name);
    out += &sections::relevance(&columns, &shares, &ranked);
    if !curves.is_empty() {
        out += &sections::effects(&columns, &curves, name, columns.len());
        out += &sections::pairs(&columns, &pairs);
    }
    out += &sections::surprises(&evidence, &columns);
    out += &sections::members(stack);
    Ok(format!("<article>{out}</article>\n"))
}

fn header(subject: &Subject<'_>, stack: &Stack) -> String {
    let model = stack.first();
    format!(
        "<header><p class=\"brand\">raysum report</p><h1>{}</h1><p class=\"about\">{} with {} · model fitted to {} · from <bdi>{}</bdi></p></header>",
        text::name(model.target_name().unwrap_or("target")),
        text::counted(subject.x.rows(), "row"),
        text::counted(stack.relevance().len(), "column"),
        text::counted(stack.rows(), "row"),
        text::long(subject.source),
    )
}

/// Versions, settings and commands.
fn origin(subject: &Subject<'_>) -> String {
    let first = subject.stacks[0].first();
    let mut commands = String::new();
    for command in &subject.commands {
        commands += &format!("<pre><code>{}</code></pre>", text::html(&cut(command)));
    }
    let config = serde_json::to_string_pretty(first.config()).unwrap_or_default();
    let body = format!(
        "<p>Model fitted by raysum {}, report by raysum {}. Charts of large tables show evenly spaced rows: at most {} for warnings and histograms, and 4,000 for predictions.</p>{commands}<details><summary>Settings of the first member</summary><pre><code>{}</code></pre></details>",
        text::long(first.version()),
        env!("CARGO_PKG_VERSION"),
        text::count(checks::MOST_ROWS),
        text::html(&config),
    );
    format!("<footer>{}</footer>", sections::section("How this was made", "", &body))
}

fn cut(text: &str) -> String {
    let mut shown: String = raysum_table::escaped(text).chars().take(MOST_SHOWN).collect();
    if text.chars().count() > MOST_SHOWN {
        shown.push('…');
    }
    shown
}
