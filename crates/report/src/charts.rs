//! The charts of the report.

use crate::columns::{ColumnKind, TableColumn, range_of};
use crate::effects::{Effect, PairEffect};
use crate::svg::{Chart, FLOOR, date};
use crate::text::{self, number, percent};
use raysum::stack::Diagnostics;

/// The share of the height that a histogram below an effect takes.
const STRIP: f64 = 34.0;

/// The share of observations inside intervals, against their probability.
pub(crate) fn calibration(found: &Diagnostics) -> String {
    let mut chart = Chart::new("Calibration of intervals", (0.0, 1.0), (0.0, 1.0))
        .labelled("probability of the interval", "share inside");
    chart.line("reference", &[(0.0, 0.0), (1.0, 1.0)]);
    // Two standard errors about the diagonal.
    let error = |p: f64| 2.0 * (p * (1.0 - p) / found.rows.max(1) as f64).sqrt();
    let steps: Vec<f64> = (0..=40).map(|k| f64::from(k) / 40.0).collect();
    let lower: Vec<(f64, f64)> = steps.iter().map(|p| (*p, p - error(*p))).collect();
    let upper: Vec<(f64, f64)> = steps.iter().map(|p| (*p, p + error(*p))).collect();
    chart.area("band", &lower, &upper);
    let mut points = vec![(0.0, 0.0)];
    points.extend(&found.coverage);
    points.push((1.0, 1.0));
    chart.line("curve", &points);
    for (level, share) in &found.coverage {
        let tip = format!("{} intervals hold {}", percent(*level), percent(*share));
        chart.dot("mark", (*level, *share), 3.5, &tip);
    }
    chart.finish()
}

/// Counts of rows by observation and prediction.
pub(crate) fn predicted_against_true(found: &Diagnostics, target: &str) -> String {
    let mut chart = Chart::new("Predicted against true", found.range, found.range)
        .labelled(&format!("predicted {target}"), &format!("true {target}"));
    let most = found.counts.iter().map(|(_, _, count)| *count).max().unwrap_or(1) as f64;
    let (low, high) = found.range;
    let edge = |k: usize| low + (high - low) * k as f64 / found.cells.max(1) as f64;
    for (predicted, observed, count) in &found.counts {
        let (x, y) = (edge(*predicted), edge(*observed));
        let places = (
            (chart.x.at(x), chart.x.at(edge(predicted + 1))),
            (chart.y.at(y), chart.y.at(edge(observed + 1))),
        );
        let opacity = 0.15 + 0.85 * (*count as f64 / most).sqrt();
        let half = (high - low) / (2 * found.cells.max(1)) as f64;
        let tip = format!(
            "predicted about {}, true about {}: {}",
            number(x + half),
            number(y + half),
            text::counted(*count, "row")
        );
        chart.rect("mark", places.0, places.1, opacity, &tip);
    }
    chart.line("reference", &[(low, low), (high, high)]);
    chart.finish()
}

/// Quantiles of errors in groups of rows by their prediction.
pub(crate) fn residuals(found: &Diagnostics, target: &str) -> String {
    let at = |k: usize| -> Vec<(f64, f64)> {
        found
            .groups
            .iter()
            .map(|g| (g.predicted, g.errors.get(k).copied().unwrap_or(0.0)))
            .collect()
    };
    let x = range_of(found.groups.iter().map(|g| g.predicted));
    let y = range_of(found.groups.iter().flat_map(|g| g.errors.iter().copied()));
    let margin = 0.06 * (y.1 - y.0);
    let mut chart = Chart::new("Errors", x, (y.0 - margin, y.1 + margin))
        .labelled(&format!("predicted {target}"), "true − predicted");
    chart.area("band", &at(0), &at(4));
    chart.area("band", &at(1), &at(3));
    chart.line("reference", &[(x.0, 0.0), (x.1, 0.0)]);
    chart.line("curve", &at(2));
    for group in &found.groups {
        let [low, _, middle, _, high] = group.errors[..] else { continue };
        let tip = format!(
            "predicted about {}: errors mostly from {} to {}, in the middle {} ({})",
            number(group.predicted),
            number(low),
            number(high),
            number(middle),
            text::counted(group.rows, "row")
        );
        chart.dot("mark", (group.predicted, middle), 3.5, &tip);
    }
    chart.finish()
}

/// The effect of a column, with its band and histogram.
pub(crate) fn effect(
    effect: &Effect,
    column: &TableColumn,
    range: (f64, f64),
    target: &str,
) -> String {
    let days = column.kind == ColumnKind::Days;
    let title = format!("Effect of {}", column.name);
    // The strip at the bottom belongs to the histogram.
    let room = (range.1 - range.0) * STRIP / (206.0 - STRIP);
    let mut chart = Chart::new(&title, effect.range, (range.0 - room, range.1))
        .labelled(&column.name, &format!("predicted {target}"))
        .with_days(days);
    let most = effect.histogram.iter().map(|bin| bin.2).fold(f64::MIN_POSITIVE, f64::max);
    for (start, end, share) in effect.histogram.iter().filter(|bin| bin.2 > 0.0) {
        let x = (chart.x.at(*start) + 0.3, chart.x.at(*end) - 0.3);
        let height = STRIP * 0.85 * share / most;
        let tip = format!("{} of the rows", percent(*share));
        chart.rect("strip", x, (FLOOR, FLOOR - height), 1.0, &tip);
    }
    if let Some(categories) = &effect.categories {
        let labels =
            categories.iter().enumerate().map(|(k, (name, _))| (k as f64, text::label(name, 9)));
        chart = chart.with_categories(labels.collect());
        for (point, (name, share)) in effect.points.iter().zip(categories) {
            let ends = [point.mean - 2.0 * point.std, point.mean + 2.0 * point.std];
            chart.line("whisker", &[(point.value, ends[0]), (point.value, ends[1])]);
            let tip = format!(
                "{}: {} ± {}, {} of the rows",
                shortened(name),
                number(point.mean),
                number(2.0 * point.std),
                percent(*share)
            );
            chart.dot("mark", (point.value, point.mean), 4.5, &tip);
        }
        return chart.finish();
    }
    let line = |side: f64| -> Vec<(f64, f64)> {
        effect.points.iter().map(|p| (p.value, p.mean + side * p.std)).collect()
    };
    chart.area("band", &line(-2.0), &line(2.0));
    chart.line("curve", &line(0.0));
    for point in &effect.points {
        let value = if days { date(point.value) } else { number(point.value) };
        let tip = format!("{value}: {} ± {}", number(point.mean), number(2.0 * point.std));
        chart.dot("mark hit", (point.value, point.mean), 7.0, &tip);
    }
    chart.finish()
}

/// The range of all effects, so that their charts have one scale.
pub(crate) fn common_range(effects: &[Effect]) -> (f64, f64) {
    let ends = effects.iter().flat_map(|effect| &effect.points);
    let (low, high) = range_of(ends.flat_map(|p| [p.mean - 2.0 * p.std, p.mean + 2.0 * p.std]));
    if !(low.is_finite() && high.is_finite()) {
        return (0.0, 1.0);
    }
    let margin = 0.04 * (high - low);
    (low - margin, high + margin)
}

/// The effect of two columns as a map.
pub(crate) fn pair(pair: &PairEffect, columns: &[TableColumn]) -> String {
    let (a, b) = (&columns[pair.columns.0], &columns[pair.columns.1]);
    let (xs, ys) = &pair.values;
    let edges = |v: &[f64]| -> Vec<f64> {
        let middle = v.windows(2).map(|w| f64::midpoint(w[0], w[1]));
        let (first, last) = (v[0], v[v.len() - 1]);
        std::iter::once(first).chain(middle).chain(std::iter::once(last)).collect()
    };
    let title = format!("Effect of {} and {}", a.name, b.name);
    let (x_edges, y_edges) = (edges(xs), edges(ys));
    let mut chart =
        Chart::new(&title, range_of(x_edges.iter().copied()), range_of(y_edges.iter().copied()))
            .labelled(&a.name, &b.name)
            .with_days(a.kind == ColumnKind::Days);
    let (low, high) = range_of(pair.means.iter().flatten().copied());
    for (r, row) in pair.means.iter().enumerate() {
        for (c, mean) in row.iter().enumerate() {
            let share = if high > low { (mean - low) / (high - low) } else { 0.5 };
            let tip = format!("{}, {}: {}", number(xs[c]), number(ys[r]), number(*mean));
            let places = (
                (chart.x.at(x_edges[c]), chart.x.at(x_edges[c + 1])),
                (chart.y.at(y_edges[r]), chart.y.at(y_edges[r + 1])),
            );
            chart.cell(places.0, places.1, 0.04 + 0.92 * share, &tip);
        }
    }
    chart.finish()
}

fn shortened(name: &str) -> String {
    let mut shown: String = raysum_table::escaped(name).chars().take(40).collect();
    if name.chars().count() > 40 {
        shown.push('…');
    }
    shown
}
