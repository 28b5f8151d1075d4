//! The sections of the page, as HTML.

use crate::charts;
use crate::checks::Warning;
use crate::columns::{ColumnKind, TableColumn};
use crate::effects::{Effect, PairEffect};
use crate::evidence::{Evidence, Origin};
use crate::text::{self, count, counted, number, percent};
use crate::verdict::{self, Grade, Verdict};
use raysum::{Scores, Stack};
use std::fmt::Write;

/// Most columns that are listed by relevance.
const MOST_LISTED: usize = 1_000;
/// Columns that have a bar before the list is folded.
const BARS: usize = 12;

/// A section with a heading and an introduction, both HTML.
pub(crate) fn section(title: &str, intro: &str, body: &str) -> String {
    let intro =
        if intro.is_empty() { String::new() } else { format!("<p class=\"intro\">{intro}</p>") };
    format!("<section><h2>{title}</h2>{intro}{body}</section>\n")
}

fn figure(title: &str, chart: &str, caption: &str) -> String {
    format!("<figure><h3>{title}</h3>{chart}<figcaption>{caption}</figcaption></figure>")
}

/// A table whose columns can be sorted; cells are HTML, with the value to sort by.
fn table(head: &[&str], rows: &[Vec<(String, Option<f64>)>]) -> String {
    let mut out = String::from("<div class=\"scroll\"><table class=\"sortable\"><thead><tr>");
    for title in head {
        let _ = write!(out, "<th scope=\"col\"><button type=\"button\">{title}</button></th>");
    }
    out += "</tr></thead><tbody>";
    for row in rows {
        out += "<tr>";
        for (cell, value) in row {
            match value {
                Some(value) => {
                    let _ = write!(out, "<td class=\"number\" data-v=\"{value}\">{cell}</td>");
                }
                None => {
                    let _ = write!(out, "<td>{cell}</td>");
                }
            }
        }
        out += "</tr>";
    }
    out + "</tbody></table></div>"
}

fn words(text: impl Into<String>) -> (String, Option<f64>) {
    (text.into(), None)
}

fn value(value: f64) -> (String, Option<f64>) {
    (number(value), Some(value).filter(|v| v.is_finite()))
}

fn share(value: f64) -> (String, Option<f64>) {
    (percent(value), Some(value).filter(|v| v.is_finite()))
}

/// The verdict with the numbers behind it.
pub(crate) fn verdict(verdict: &Verdict, scores: Option<(&Scores, &Scores)>) -> String {
    let (class, word) = match verdict.grade {
        Grade::Good => ("good", "Looks sound"),
        Grade::Careful => ("careful", "With care"),
        Grade::Poor => ("poor", "Not useful"),
    };
    let details: String = verdict.details.iter().flat_map(|line| ["<li>", line, "</li>"]).collect();
    let mut out = format!(
        "<div class=\"verdict {class}\"><p class=\"badge\">{word}</p><p class=\"headline\">{}</p><ul>{details}</ul></div>",
        verdict.headline
    );
    if let Some((own, constant)) = scores {
        let tile = |title: &str, value: String, note: String| {
            format!("<div class=\"tile\"><dt>{title}</dt><dd>{value}</dd><p>{note}</p></div>")
        };
        out += "<dl class=\"tiles\">";
        out += &tile(
            "Explained",
            percent(verdict::explained(own, constant)),
            "of the target’s variance".into(),
        );
        out += &tile("RMSE", number(own.rmse), format!("constant: {}", number(constant.rmse)));
        out += &tile("In 95 % intervals", percent(own.coverage95), "of the observations".into());
        out += &tile(
            "Width of 95 %",
            number(own.width95),
            format!("constant: {}", number(constant.width95)),
        );
        out += "</dl>";
    }
    out
}

/// Scores beside those of simple predictions and of the models that were tried.
pub(crate) fn scores(stack: &Stack, evidence: &Evidence) -> String {
    let mut rows = Vec::new();
    let mut add = |name: String, s: &Scores| {
        rows.push(vec![
            words(name),
            value(s.rmse),
            value(s.mae),
            value(s.nlpd),
            value(s.crps),
            share(s.coverage95),
            value(s.width95),
        ]);
    };
    if let Some((own, constant)) = &evidence.new_rows {
        add("<strong>raysum, rows of this table</strong>".into(), own);
        add("constant, rows of this table".into(), constant);
    }
    let mut intro = "No rows were held out when the model was fitted.".to_string();
    if let Some(found) = stack.held_out() {
        intro = if found.folds > 1 {
            format!(
                "{}, each predicted once by a model that was fitted without it ({} folds).",
                counted(found.rows, "row"),
                found.folds
            )
        } else {
            format!("{} that were held out of the fit.", counted(found.rows, "row"))
        };
        intro += " Lower is better, except for the share inside intervals, which should be 95 %.";
        add("constant".into(), &found.constant.in_units(found.unit));
        if let Some(ridge) = &found.ridge {
            add("ridge regression".into(), &ridge.in_units(found.unit));
        }
        add("<strong>raysum</strong>".into(), &found.scores.in_units(found.unit));
    }
    let head = ["", "RMSE", "MAE", "NLPD", "CRPS", "in 95 %", "width"];
    let body = if rows.is_empty() { String::new() } else { table(&head, &rows) };
    section("Scores", &intro, &body)
}

/// Calibration, predictions against observations, and errors.
pub(crate) fn trust(evidence: &Evidence, target: &str) -> String {
    let found = &evidence.diagnostics;
    let rows = counted(found.rows, "row");
    let intro = match evidence.origin {
        Origin::HeldOut => format!("{rows}, predicted without having been seen."),
        Origin::NewRows => format!("{rows} of this table, which the model was not fitted to."),
        Origin::LeaveOneOut => {
            format!("{rows}, each predicted from all others at the same hyperparameters.")
        }
        Origin::TrainingRows => {
            format!(
                "{rows}, among them those that the model was fitted to: it looks better here than on new rows."
            )
        }
    };
    let widths = match found.widths[..] {
        [low, _, middle, _, high] => format!(
            "The width of 95 % intervals is {} in the middle; nine of ten are from {} to {}.",
            number(middle),
            number(low),
            number(high)
        ),
        _ => String::new(),
    };
    let body = figure(
        "Do intervals hold what they say?",
        &charts::calibration(found),
        &format!("On the diagonal they do; the band is what chance allows. {widths}"),
    ) + &figure(
        "Predicted against true",
        &charts::predicted_against_true(found, target),
        "Darker cells have more rows. On the line predictions are right.",
    ) + &figure(
        "Errors",
        &charts::residuals(found, target),
        "The median error, and bands with half and nine tenths of the errors, by prediction. A median away from 0 is a bias.",
    );
    section(
        "Can the predictions be trusted?",
        &intro,
        &format!("<div class=\"charts\">{body}</div>"),
    )
}

/// The relevance of each column.
pub(crate) fn relevance(columns: &[TableColumn], shares: &[f64], ranked: &[usize]) -> String {
    let top = ranked.first().map_or(0.0, |c| shares[*c]).max(f64::MIN_POSITIVE);
    let bar = |c: usize| {
        format!(
            "<tr><th scope=\"row\">{}</th><td class=\"bar\"><span class=\"mark\" style=\"width:{:.1}%\"></span></td><td class=\"number\">{}</td></tr>",
            text::name(&columns[c].name),
            100.0 * shares[c] / top,
            percent(shares[c])
        )
    };
    let bars: String = ranked.iter().take(BARS).map(|c| bar(*c)).collect();
    let mut body = format!("<table class=\"bars\"><tbody>{bars}</tbody></table>");
    if ranked.len() > BARS {
        let listed = ranked.len().min(MOST_LISTED);
        let rows: Vec<_> = ranked[BARS..listed]
            .iter()
            .map(|c| {
                vec![
                    words(text::name(&columns[*c].name)),
                    words(kind(&columns[*c])),
                    share(shares[*c]),
                ]
            })
            .collect();
        let left = ranked.len() - listed;
        let more = if left > 0 {
            format!("<p>… and {}.</p>", counted(left, "more column"))
        } else {
            String::new()
        };
        let _ = write!(
            body,
            "<details><summary>{}</summary>{}{more}</details>",
            counted(ranked.len() - BARS, "more column"),
            table(&["column", "kind", "relevance"], &rows)
        );
    }
    section(
        "What matters",
        "The share of each column in how much the prediction changes when the column’s value is replaced by that of another row.",
        &body,
    )
}

fn kind(column: &TableColumn) -> String {
    match &column.kind {
        ColumnKind::Numbers => "numbers".into(),
        ColumnKind::Days => "dates".into(),
        ColumnKind::Categories(names) => {
            counted(names.len(), "category").replace("categorys", "categories")
        }
    }
}

/// The effects of the most relevant columns.
pub(crate) fn effects(
    columns: &[TableColumn],
    effects: &[Effect],
    target: &str,
    of: usize,
) -> String {
    let range = charts::common_range(effects);
    let mut body = String::new();
    for effect in effects {
        let column = &columns[effect.column];
        body +=
            &figure(&text::name(&column.name), &charts::effect(effect, column, range, target), "");
    }
    let some = if of > effects.len() {
        format!(" The {} most relevant columns of {}.", effects.len(), count(of))
    } else {
        String::new()
    };
    let intro = format!(
        "The average prediction where only this column changes, with a band of two standard deviations of the function at a typical row, and below it how often values occur. All charts have one scale.{some}"
    );
    section("Effect of each column", &intro, &format!("<div class=\"charts\">{body}</div>"))
}

/// The pairs whose effects do not add up.
pub(crate) fn pairs(columns: &[TableColumn], pairs: &[PairEffect]) -> String {
    if pairs.is_empty() {
        return section(
            "Pairs of columns",
            "Among the most relevant columns of numbers no two interact noticeably: their effects add up.",
            "",
        );
    }
    let mut body = String::new();
    for pair in pairs {
        let (a, b) = pair.columns;
        let title = format!("{} × {}", text::name(&columns[a].name), text::name(&columns[b].name));
        let means = pair.means.iter().flatten().copied();
        let (low, high) = crate::columns::range_of(means);
        let caption = format!(
            "<span class=\"ramp\" aria-hidden=\"true\"></span> {} to {}; interaction {}",
            number(low),
            number(high),
            number(pair.interaction)
        );
        body += &figure(&title, &charts::pair(pair, columns), &caption);
    }
    section(
        "Pairs of columns",
        "The strongest interactions: the average prediction for values of both columns. The interaction is the standard deviation of what their two effects alone leave out, in the target’s units.",
        &format!("<div class=\"charts\">{body}</div>"),
    )
}

/// The members of the stack.
pub(crate) fn members(stack: &Stack) -> String {
    let found = stack.held_out();
    let alone = |name: &str| {
        let found = found?;
        let tried = found.tried.iter().find(|tried| tried.name == name)?;
        Some(tried.scores?.in_units(found.unit).rmse)
    };
    let mut rows = Vec::new();
    for member in stack.members() {
        let model = &member.model;
        rows.push(vec![
            words(text::long(&member.name)),
            share(member.share.mean),
            share(member.share.spread),
            value(member.share.inflation),
            alone(&member.name).map_or_else(|| words("–"), value),
            words(text::html(model.engine())),
        ]);
    }
    let mixed: Vec<&str> = stack.members().iter().map(|m| m.name.as_str()).collect();
    let mut body =
        table(&["member", "in the mean", "in the spread", "κ", "RMSE alone", "engine"], &rows);
    let others: Vec<_> = found.map_or(Vec::new(), |found| {
        let left = found.tried.iter().filter(|tried| !mixed.contains(&tried.name.as_str()));
        left.map(|tried| {
            let rmse = tried.scores.map(|s| s.in_units(found.unit).rmse);
            vec![
                words(text::long(&tried.name)),
                rmse.map_or_else(|| words("could not be fitted"), value),
            ]
        })
        .collect()
    });
    if !others.is_empty() {
        let _ = write!(
            body,
            "<details><summary>{} tried and left out</summary>{}</details>",
            counted(others.len(), "model"),
            table(&["model", "RMSE alone"], &others)
        );
    }
    let intro = if stack.members().len() > 1 {
        "Several models are mixed, with weights that held-out rows chose. κ is what a member’s standard deviations are multiplied by."
    } else {
        "One model. κ is what its standard deviations are multiplied by."
    };
    section("What the model is made of", intro, &body)
}

/// The rows that surprise most.
pub(crate) fn surprises(evidence: &Evidence, columns: &[TableColumn]) -> String {
    let rows: Vec<_> = evidence
        .surprises
        .iter()
        .map(|s| {
            let reason = |(c, by): &(usize, f64)| {
                let sign = if *by >= 0.0 { "+" } else { "" };
                format!("{} {sign}{}", text::name(&columns[*c].name), number(*by))
            };
            let reasons: Vec<String> = s.reasons.iter().map(reason).collect();
            vec![
                (count(s.row), Some(s.row as f64)),
                value(s.truth),
                value(s.mean),
                words(format!("{} to {}", number(s.interval.0), number(s.interval.1))),
                value(s.score),
                words(reasons.join(", ")),
            ]
        })
        .collect();
    let how = match evidence.examined.0 {
        Origin::LeaveOneOut => ", each predicted from all others",
        Origin::TrainingRows => ", among them those that the model was fitted to",
        Origin::NewRows | Origin::HeldOut => "",
    };
    let intro = format!(
        "The largest errors among {} of the table{how}, in predicted standard deviations, with what the columns contribute to the prediction. Wrong entries of a table are often among them.",
        counted(evidence.examined.1, "row")
    );
    let head =
        ["row", "true", "predicted", "95 % interval", "error / std", "largest contributions"];
    section("Rows that surprise", &intro, &table(&head, &rows))
}

/// Warnings about the table.
pub(crate) fn warnings(warnings: &[Warning], notes: &[String]) -> String {
    let mut items = String::new();
    for warning in warnings {
        let _ = write!(
            items,
            "<li><span class=\"topic\">{}</span> {}</li>",
            warning.topic, warning.text
        );
    }
    for note in notes {
        let _ = write!(items, "<li><span class=\"topic\">note</span> {}</li>", text::html(note));
    }
    let body = if items.is_empty() {
        "<p>Nothing unusual was found: no constant, duplicated, drifting or leaking columns, no gaps, no heavy tails.</p>".into()
    } else {
        format!("<ul class=\"warnings\">{items}</ul>")
    };
    section("About the data", "", &body)
}
