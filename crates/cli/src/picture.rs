//! Draws a fitted model as SVG: predicted against true values with intervals, and relevance.

use anyhow::{Result, anyhow};
use plotters::chart::MeshStyle;
use plotters::coord::Shift;
use plotters::coord::ranged1d::Ranged;
use plotters::prelude::*;
use raysum::{Prediction, Stack};
use raysum_table::escaped;
use std::fmt::Display;

const SIZE: (u32, u32) = (1000, 460);
/// A blue and an orange that colour-blind readers can tell apart (Okabe and Ito).
const BLUE: RGBColor = RGBColor(0, 114, 178);
const ORANGE: RGBColor = RGBColor(213, 94, 0);
const GREY: RGBColor = RGBColor(110, 110, 110);
/// Columns shown in the right panel.
const MOST_COLUMNS: usize = 10;

type Panel<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// What the left panel shows.
pub(crate) struct Held<'a> {
    pub(crate) target: &'a str,
    pub(crate) truth: &'a [f64],
    pub(crate) prediction: &'a Prediction,
    pub(crate) level: f64,
}

/// The picture as SVG text.
pub(crate) fn draw(held: &Held<'_>, stack: &Stack) -> Result<String> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        let (left, right) = root.split_horizontally(560);
        predicted_against_true(&left, held)?;
        relevance(&right, stack)?;
        root.present().map_err(failed)?;
    }
    Ok(text)
}

fn failed(error: impl Display) -> anyhow::Error {
    anyhow!("cannot draw: {error}")
}

fn predicted_against_true(panel: &Panel<'_>, held: &Held<'_>) -> Result<()> {
    let (lower, upper) = held.prediction.interval(held.level)?;
    let inside = |i: usize| (lower[i]..=upper[i]).contains(&held.truth[i]);
    let all = held.truth.iter().chain(&lower).chain(&upper);
    let (low, high) = all.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
    let margin = 0.04 * (high - low).max(f64::MIN_POSITIVE);
    let axis = low - margin..high + margin;
    let percent = 100.0 * held.level;
    let mut chart = ChartBuilder::on(panel)
        .margin(14)
        .caption(
            format!("{} held-out rows: predicted against true", held.truth.len()),
            ("sans-serif", 17),
        )
        .x_label_area_size(42)
        .y_label_area_size(58)
        .build_cartesian_2d(axis.clone(), axis)
        .map_err(failed)?;
    plain(&mut chart.configure_mesh())
        .x_desc(format!("true {}", held.target))
        .y_desc(format!("predicted {}", held.target))
        .x_labels(8)
        .y_labels(8)
        .x_label_formatter(&|v| format!("{v}"))
        .y_label_formatter(&|v| format!("{v}"))
        .draw()
        .map_err(failed)?;
    let diagonal = [(low - margin, low - margin), (high + margin, high + margin)];
    chart.draw_series(LineSeries::new(diagonal, GREY.stroke_width(1))).map_err(failed)?;
    for (keep, colour, label) in [
        (true, BLUE, format!("truth inside the {percent:.0} % interval")),
        (false, ORANGE, "truth outside".to_string()),
    ] {
        let rows: Vec<usize> = (0..held.truth.len()).filter(|&i| inside(i) == keep).collect();
        if rows.is_empty() {
            continue;
        }
        let bar = |&i: &usize| {
            let ends = vec![(held.truth[i], lower[i]), (held.truth[i], upper[i])];
            PathElement::new(ends, colour.mix(0.35).stroke_width(2))
        };
        chart.draw_series(rows.iter().map(bar)).map_err(failed)?;
        let dot =
            |&i: &usize| Circle::new((held.truth[i], held.prediction.mean[i]), 3, colour.filled());
        chart
            .draw_series(rows.iter().map(dot))
            .map_err(failed)?
            .label(label)
            .legend(move |(x, y)| Circle::new((x + 8, y), 4, colour.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.2))
        .label_font(("sans-serif", 14))
        .draw()
        .map_err(failed)
}

fn relevance(panel: &Panel<'_>, stack: &Stack) -> Result<()> {
    let (model, shares) = (stack.first(), stack.relevance());
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|a, b| shares[*b].total_cmp(&shares[*a]));
    order.truncate(MOST_COLUMNS);
    let bars = order.len();
    let longest = order.first().map_or(0.0, |&i| shares[i]).max(1e-9);
    let mut chart = ChartBuilder::on(panel)
        .margin(14)
        .caption("relevance of the columns", ("sans-serif", 17))
        .x_label_area_size(42)
        .y_label_area_size(112)
        .build_cartesian_2d(0.0..112.0 * longest, (0..bars).into_segmented())
        .map_err(failed)?;
    // Row 0 is at the bottom; the most relevant column belongs on top.
    let column = |row: usize| order[bars - 1 - row];
    plain(&mut chart.configure_mesh())
        .x_desc("share of the slope of the prediction (%)")
        .y_label_formatter(&|row| match row {
            SegmentValue::CenterOf(row) if *row < bars => {
                shortened(escaped(&model.feature_name(column(*row))))
            }
            _ => String::new(),
        })
        .y_labels(bars)
        .x_labels(6)
        .x_label_formatter(&|v| format!("{v}"))
        .disable_y_mesh()
        .draw()
        .map_err(failed)?;
    let bar = |row: usize| {
        let corners = [
            (0.0, SegmentValue::Exact(row)),
            (100.0 * shares[column(row)], SegmentValue::Exact(row + 1)),
        ];
        let mut bar = Rectangle::new(corners, BLUE.filled());
        bar.set_margin(4, 4, 0, 0);
        bar
    };
    chart.draw_series((0..bars).map(bar)).map_err(failed)?;
    Ok(())
}

/// Axes and grid of both panels: readable labels, faint lines at the labels only.
fn plain<'m, 'a, 'b, X: Ranged, Y: Ranged, DB: DrawingBackend>(
    mesh: &'m mut MeshStyle<'a, 'b, X, Y, DB>,
) -> &'m mut MeshStyle<'a, 'b, X, Y, DB> {
    mesh.light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.08))
        .axis_desc_style(("sans-serif", 15))
        .label_style(("sans-serif", 13))
}

fn shortened(name: String) -> String {
    const MOST: usize = 16;
    if name.chars().count() <= MOST {
        return name;
    }
    name.chars().take(MOST - 1).chain(std::iter::once('…')).collect()
}
