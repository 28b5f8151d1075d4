//! Dots with error bars, in groups side by side.

use anyhow::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::canvas::{Area, Canvas, Words, colour, picture, shortened, text_width};
use super::frame::{INK, TICK_TEXT, axis_up, grid, left_of_plot, ticks_up};
use super::legend::{Entry, Legend, Sample};
use super::scale::{Scale, Ticks};
use super::{Axis, Look, Marker};

/// One group of dots along the x axis (a data set).
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) label: String,
    /// One per series: value and half-width of its error bar; `None`: no dot.
    pub(crate) dots: Vec<Option<(f64, f64)>>,
}

/// A figure across a page, wider only where the dots would touch.
const WIDTH: f64 = 1020.0;
const HEIGHT: f64 = 300.0;
const MARGIN: f64 = 10.0;
const LONGEST_LABEL: f64 = 170.0;
/// Pixels from dot to dot of a group.
const STEP: (f64, f64) = (5.0, 14.0);
const WIDEST_GROUP: f64 = 130.0;

/// Values of several series in groups side by side, with error bars. A dot beyond a given range
/// is an arrow at the edge.
pub(crate) fn dots(series: &[(String, Look)], groups: &[Group], y: &Axis) -> Result<String> {
    let ends = |&(value, half): &(f64, f64)| {
        let half = if half.is_finite() { half.abs() } else { 0.0 };
        [value, value - half, value + half]
    };
    let shown = |group: &Group| -> Vec<(f64, f64)> {
        let dots = group.dots.iter().take(series.len()).flatten();
        dots.filter(|dot| dot.0.is_finite()).copied().collect()
    };
    let scale = Scale::new(y, groups.iter().flat_map(shown).flat_map(|dot| ends(&dot)));
    let up = ticks_up(&scale, HEIGHT);
    let left = MARGIN + left_of_plot(&up, &y.label);
    let count = groups.len().max(1) as f64;
    let narrowest = STEP.0 * (series.len() as f64 + 1.0);
    let group = ((WIDTH - left - MARGIN) / count).min(WIDEST_GROUP).max(narrowest).max(20.0);
    let labels: Vec<String> =
        groups.iter().map(|g| shortened(&g.label, TICK_TEXT, LONGEST_LABEL)).collect();
    let longest = labels.iter().map(|l| text_width(l, TICK_TEXT)).fold(0.0, f64::max);
    let upright = longest + 8.0 <= group;
    let below = 16.0 + if upright { TICK_TEXT } else { longest };
    let plot = Area {
        left,
        top: MARGIN,
        right: left + (count * group).max(260.0),
        bottom: MARGIN + HEIGHT,
    };
    let width = plot.right + MARGIN;
    let entry = |(name, look): &(String, Look)| Entry {
        name: name.clone(),
        look: visible(*look),
        sample: Sample::Dot,
    };
    let legend = Legend::new(series.iter().map(entry).collect(), width - 2.0 * MARGIN);
    let bottom = plot.bottom + below;
    picture(width, bottom + legend.height() + 4.0, |canvas| {
        let middle = |i: usize| plot.left + (i as f64 + 0.5) * group;
        for i in (0..groups.len()).step_by(2) {
            let (left, right) = (middle(i) - 0.5 * group, middle(i) + 0.5 * group);
            canvas.area(Area { left, right, ..plot }, BLACK.mix(0.05))?;
        }
        grid(canvas, plot, &Ticks::default(), &up)?;
        for (i, one) in groups.iter().enumerate() {
            draw_group(
                canvas,
                series,
                one,
                &scale,
                Area { left: middle(i) - 0.5 * group, right: middle(i) + 0.5 * group, ..plot },
            )?;
            if upright {
                let words = Words::new(TICK_TEXT, HPos::Center, VPos::Top);
                canvas.words(&labels[i], (middle(i), plot.bottom + 7.0), words)?;
            } else {
                let words = Words::new(TICK_TEXT, HPos::Right, VPos::Center).turned();
                canvas.words(&labels[i], (middle(i), plot.bottom + 7.0), words)?;
            }
        }
        canvas.line(&[(plot.left, plot.bottom), (plot.right, plot.bottom)], INK, 1.0)?;
        axis_up(canvas, plot, &up, &y.label, left - MARGIN)?;
        legend.draw(canvas, 0.5 * width, bottom)
    })
}

/// A dot must show even where the series' line would have no marker.
fn visible(look: Look) -> Look {
    match look.marker {
        Marker::None => Look { marker: Marker::Circle, ..look },
        _ => look,
    }
}

fn draw_group(
    canvas: &mut Canvas<'_>,
    series: &[(String, Look)],
    group: &Group,
    scale: &Scale,
    area: Area,
) -> Result<()> {
    let step = (0.8 * area.width() / series.len().max(1) as f64).min(STEP.1);
    let radius = (0.42 * step).clamp(2.5, 4.0);
    let to_y = |share: f64| area.bottom - share.clamp(0.0, 1.0) * area.height();
    for (k, ((_, look), dot)) in series.iter().zip(&group.dots).enumerate() {
        let Some((value, half)) = *dot else { continue };
        let Some(share) = scale.place(value) else { continue };
        let x = area.centre().0 + (k as f64 - 0.5 * (series.len() as f64 - 1.0)) * step;
        if half.is_finite()
            && let (Some(low), Some(high)) =
                (scale.place_or_bottom(value - half.abs()), scale.place(value + half.abs()))
        {
            canvas.line(&[(x, to_y(low)), (x, to_y(high))], colour(*look), 1.25)?;
            for end in [low, high].into_iter().filter(|end| (0.0..=1.0).contains(end)) {
                let cap = [(x - 0.7 * radius, to_y(end)), (x + 0.7 * radius, to_y(end))];
                canvas.line(&cap, colour(*look), 1.25)?;
            }
        }
        if (-1e-9..=1.0 + 1e-9).contains(&share) {
            canvas.marker((x, to_y(share)), visible(*look), radius)?;
        } else {
            let (edge, inward) = (to_y(share), if share > 1.0 { 1.0 } else { -1.0 });
            let shaft = [(x, edge), (x, edge + 12.0 * inward)];
            let head = [-radius, 0.0, radius].map(|dx| (x + dx, edge + 1.3 * dx.abs() * inward));
            canvas.line(&shaft, colour(*look), 1.5)?;
            canvas.line(&head, colour(*look), 1.5)?;
        }
    }
    Ok(())
}
