//! A card about fitted models, for notebooks: the verdict, scores and what matters.

use crate::columns::columns;
use crate::text::{self, number, percent};
use crate::verdict;
use raysum::{Scores, Stack};

const STYLE: &str = include_str!("card.css");
/// Columns that are shown.
const BARS: usize = 6;
/// Targets that are shown.
const MOST_TARGETS: usize = 6;

/// A card about fitted models, one per target, as a fragment of HTML. `title` is the caller's text.
pub fn card(title: &str, stacks: &[Stack]) -> String {
    let mut out = format!(
        "<div class=\"raysum-card\"><style>{STYLE}</style><p class=\"rs-title\">{}</p>",
        text::long(title)
    );
    for stack in stacks.iter().take(MOST_TARGETS) {
        out += &of_target(stack);
    }
    if stacks.len() > MOST_TARGETS {
        out += &format!("<p>{}</p>", text::counted(stacks.len() - MOST_TARGETS, "more target"));
    }
    out + "</div>"
}

fn of_target(stack: &Stack) -> String {
    let columns = columns(stack.first());
    let verdict = verdict::of_model(stack, &columns);
    let mut out = format!("<p class=\"rs-headline\">{}</p>", verdict.headline);
    if let Some(found) = stack.held_out() {
        out += "<table><thead><tr><th></th><th>RMSE</th><th>NLPD</th><th>in 95 %</th><th>width</th></tr></thead><tbody>";
        let mut add = |name: &str, scores: &Scores| {
            let s = scores.in_units(found.unit);
            out += &format!(
                "<tr><th>{name}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                number(s.rmse),
                number(s.nlpd),
                percent(s.coverage95),
                number(s.width95)
            );
        };
        add("raysum", &found.scores);
        if let Some(ridge) = &found.ridge {
            add("ridge regression", ridge);
        }
        add("constant", &found.constant);
        out += "</tbody></table>";
    }
    let shares = stack.relevance();
    let mut ranked: Vec<usize> = (0..columns.len()).collect();
    ranked.sort_by(|a, b| shares[*b].total_cmp(&shares[*a]));
    let top = ranked.first().map_or(0.0, |c| shares[*c]).max(f64::MIN_POSITIVE);
    out += "<table class=\"rs-bars\"><tbody>";
    for c in ranked.into_iter().take(BARS) {
        out += &format!(
            "<tr><th>{}</th><td class=\"rs-bar\"><span style=\"width:{:.0}%\"></span></td><td>{}</td></tr>",
            text::name(&columns[c].name),
            100.0 * shares[c] / top,
            percent(shares[c])
        );
    }
    out += "</tbody></table>";
    let members: Vec<String> = stack
        .members()
        .iter()
        .map(|member| format!("{} ({})", text::long(&member.name), percent(member.share.mean)))
        .collect();
    out + &format!(
        "<p class=\"rs-small\">Fitted to {}: {}.</p>",
        text::counted(stack.rows(), "row"),
        members.join(", ")
    )
}
