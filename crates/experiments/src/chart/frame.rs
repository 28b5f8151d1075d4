//! Axes of a plot: grid, ticks and labels.

use anyhow::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::canvas::{Area, Canvas, Words, shortened, text_width};
use super::scale::{Scale, Ticks};

pub(super) const TICK_TEXT: f64 = 13.0;
pub(super) const LABEL_TEXT: f64 = 14.0;
pub(super) const TITLE_TEXT: f64 = 15.0;
/// Pixels below a plot for its tick labels, and for the axis label under those.
pub(super) const UNDER_TICKS: f64 = 23.0;
pub(super) const UNDER_LABEL: f64 = 20.0;
/// Pixels left of a plot for the axis label, and between tick labels and plot.
const BESIDE_LABEL: f64 = 20.0;
const BESIDE_TICKS: f64 = 8.0;
const TICK: f64 = 4.0;
pub(super) const INK: RGBColor = RGBColor(60, 60, 60);
const GRID: f64 = 0.1;

/// Ticks for a horizontal axis of this length in pixels.
pub(super) fn ticks_across(scale: &Scale, length: f64) -> Ticks {
    const GAP: f64 = 9.0;
    scale.ticks(|ticks| {
        ticks.windows(2).all(|pair| {
            let half = |text: &str| 0.5 * text_width(text, TICK_TEXT);
            (pair[1].0 - pair[0].0) * length >= half(&pair[0].1) + half(&pair[1].1) + GAP
        })
    })
}

/// Ticks for a vertical axis of this length in pixels.
pub(super) fn ticks_up(scale: &Scale, length: f64) -> Ticks {
    scale.ticks(|ticks| {
        ticks.windows(2).all(|pair| (pair[1].0 - pair[0].0) * length >= 1.5 * TICK_TEXT)
    })
}

/// Pixels a vertical axis needs to the left of its plot.
pub(super) fn left_of_plot(ticks: &Ticks, label: &str) -> f64 {
    let widths = ticks.labelled.iter().map(|(_, text)| text_width(text, TICK_TEXT));
    let beside = if label.trim().is_empty() { 0.0 } else { BESIDE_LABEL };
    widths.fold(0.0, f64::max) + BESIDE_TICKS + beside
}

/// The faint lines at labelled ticks.
pub(super) fn grid(canvas: &mut Canvas<'_>, plot: Area, across: &Ticks, up: &Ticks) -> Result<()> {
    for (share, _) in &across.labelled {
        let x = plot.left + share * plot.width();
        canvas.line(&[(x, plot.top), (x, plot.bottom)], BLACK.mix(GRID), 1.0)?;
    }
    for (share, _) in &up.labelled {
        let y = plot.bottom - share * plot.height();
        canvas.line(&[(plot.left, y), (plot.right, y)], BLACK.mix(GRID), 1.0)?;
    }
    Ok(())
}

/// The horizontal axis below a plot.
pub(super) fn axis_across(
    canvas: &mut Canvas<'_>,
    plot: Area,
    ticks: &Ticks,
    label: &str,
) -> Result<()> {
    let at = |share: f64| plot.left + share * plot.width();
    let tick =
        |share: f64, length: f64| [(at(share), plot.bottom), (at(share), plot.bottom + length)];
    canvas.line(&[(plot.left, plot.bottom), (plot.right, plot.bottom)], INK, 1.0)?;
    for &share in &ticks.bare {
        canvas.line(&tick(share, 0.6 * TICK), INK, 0.75)?;
    }
    let words = Words::new(TICK_TEXT, HPos::Center, VPos::Top);
    for (share, text) in &ticks.labelled {
        canvas.line(&tick(*share, TICK), INK, 1.0)?;
        canvas.words(text, (at(*share), plot.bottom + TICK + 3.0), words)?;
    }
    let words = Words::new(LABEL_TEXT, HPos::Center, VPos::Top);
    let label = shortened(label, LABEL_TEXT, 1.15 * plot.width());
    canvas.words(&label, (plot.centre().0, plot.bottom + UNDER_TICKS), words)
}

/// The vertical axis left of a plot, its label `room` to the left.
pub(super) fn axis_up(
    canvas: &mut Canvas<'_>,
    plot: Area,
    ticks: &Ticks,
    label: &str,
    room: f64,
) -> Result<()> {
    let at = |share: f64| plot.bottom - share * plot.height();
    let tick = |share: f64, length: f64| [(plot.left - length, at(share)), (plot.left, at(share))];
    canvas.line(&[(plot.left, plot.top), (plot.left, plot.bottom)], INK, 1.0)?;
    for &share in &ticks.bare {
        canvas.line(&tick(share, 0.6 * TICK), INK, 0.75)?;
    }
    let words = Words::new(TICK_TEXT, HPos::Right, VPos::Center);
    for (share, text) in &ticks.labelled {
        canvas.line(&tick(*share, TICK), INK, 1.0)?;
        canvas.words(text, (plot.left - TICK - 3.0, at(*share) + 1.0), words)?;
    }
    let words = Words::new(LABEL_TEXT, HPos::Center, VPos::Center).turned();
    let x = plot.left - room + 0.5 * LABEL_TEXT;
    let label = shortened(label, LABEL_TEXT, 1.15 * plot.height());
    canvas.words(&label, (x, plot.centre().1), words)
}

/// The title above a plot.
pub(super) fn title(canvas: &mut Canvas<'_>, plot: Area, text: &str) -> Result<()> {
    let words = Words::new(TITLE_TEXT, HPos::Center, VPos::Bottom);
    let text = shortened(text, TITLE_TEXT, plot.width() + 20.0);
    canvas.words(&text, (plot.centre().0, plot.top - 4.0), words)
}
