//! Panels of lines with bands.

use anyhow::Result;
use plotters::prelude::Color;

use super::canvas::{Area, Canvas, Point, colour, picture};
use super::frame::{
    UNDER_LABEL, UNDER_TICKS, axis_across, axis_up, grid, left_of_plot, ticks_across, ticks_up,
    title,
};
use super::legend::{Entry, Legend, Sample};
use super::scale::{Scale, Ticks};
use super::{Look, Marker, Panel, Series};

/// Size of a panel with its labels, and of a single panel.
const CELL: (f64, f64) = (340.0, 268.0);
const ALONE: (f64, f64) = (460.0, 330.0);
const MARGIN: f64 = 8.0;
/// Half of the last tick's label.
const RIGHT: f64 = 20.0;
const TOP: f64 = 10.0;
const TITLE: f64 = 26.0;
const BELOW: f64 = UNDER_TICKS + UNDER_LABEL + 8.0;
pub(super) const LINE: f64 = 2.0;
pub(super) const RADIUS: f64 = 4.0;
/// How much of a band covers what is below.
pub(super) const BAND: f64 = 0.2;
/// Markers closer than this are omitted, since they would hide their line.
const BETWEEN_MARKERS: f64 = 13.0;
const ALONG_CURVE: f64 = 40.0;
const CURVE: usize = 40;

struct Scales {
    x: Scale,
    y: Scale,
    up: Ticks,
}

/// Panels of lines in rows of `columns`, one legend below for all of them.
pub(crate) fn lines(panels: &[Panel], columns: usize) -> Result<String> {
    let columns = columns.clamp(1, panels.len().max(1));
    let rows = panels.len().div_ceil(columns);
    let cell = if panels.len() == 1 { ALONE } else { CELL };
    let top = if panels.iter().all(|p| p.title.trim().is_empty()) { TOP } else { TITLE };
    let height = cell.1 - top - BELOW;
    let scales: Vec<Scales> = panels.iter().map(|panel| scales(panel, height)).collect();
    // One margin for all, so that the plots stand in columns and have one size.
    let left = panels.iter().zip(&scales).map(|(p, s)| left_of_plot(&s.up, &p.y.label));
    let left = left.fold(0.0, f64::max);
    let width = columns as f64 * cell.0 + 2.0 * MARGIN;
    let legend = Legend::new(entries(panels), width - 2.0 * MARGIN);
    let bottom = MARGIN + rows as f64 * cell.1;
    picture(width, bottom + legend.height(), |canvas| {
        for (i, (panel, scales)) in panels.iter().zip(&scales).enumerate() {
            let corner =
                (MARGIN + (i % columns) as f64 * cell.0, MARGIN + (i / columns) as f64 * cell.1);
            let plot = Area {
                left: corner.0 + left,
                top: corner.1 + top,
                right: corner.0 + cell.0 - RIGHT,
                bottom: corner.1 + top + height,
            };
            draw(canvas, panel, scales, plot, left)?;
        }
        legend.draw(canvas, 0.5 * width, bottom)
    })
}

fn scales(panel: &Panel, height: f64) -> Scales {
    let drawable = |series: &Series| -> Vec<Point> {
        let points = series.points.iter().zip(0..);
        let edges = points.flat_map(|(p, i)| {
            let band = series.band.get(i).map(|&(low, high)| [(p.0, low), (p.0, high)]);
            std::iter::once(*p).chain(band.into_iter().flatten())
        });
        edges.collect()
    };
    let all: Vec<Point> = panel.series.iter().flat_map(drawable).collect();
    let x = Scale::new(&panel.x, all.iter().map(|p| p.0));
    // Points outside the x axis do not extend the y axis.
    let shown = |x_value: f64| x.place(x_value).is_some_and(|s| (-1e-9..=1.0 + 1e-9).contains(&s));
    let y = Scale::new(&panel.y, all.iter().filter(|p| shown(p.0)).map(|p| p.1));
    Scales { x, y, up: ticks_up(&y, height) }
}

/// Every name once, as it looks where it first appears.
fn entries(panels: &[Panel]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for series in panels.iter().flat_map(|panel| &panel.series) {
        let band = !series.band.is_empty();
        match entries.iter_mut().find(|entry| entry.name == series.name) {
            Some(known) if band => known.sample = Sample::Line { band },
            Some(_) => {}
            None => entries.push(Entry {
                name: series.name.clone(),
                look: series.look,
                sample: Sample::Line { band },
            }),
        }
    }
    entries
}

fn draw(
    canvas: &mut Canvas<'_>,
    panel: &Panel,
    scales: &Scales,
    plot: Area,
    left: f64,
) -> Result<()> {
    let across = ticks_across(&scales.x, plot.width());
    grid(canvas, plot, &across, &scales.up)?;
    axis_across(canvas, plot, &across, &panel.x.label)?;
    axis_up(canvas, plot, &scales.up, &panel.y.label, left)?;
    title(canvas, plot, &panel.title)?;
    let to_x = |share: f64| plot.left + share * plot.width();
    let to_y = |share: f64| plot.bottom - share * plot.height();
    for series in &panel.series {
        let edge = |((x, _), (a, b)): (&Point, &Point)| {
            let x = to_x(scales.x.place(*x)?);
            let a = to_y(scales.y.place_or_bottom(*a)?);
            Some((x, a, to_y(scales.y.place_or_bottom(*b)?)))
        };
        for run in runs(series.points.iter().zip(&series.band).map(edge)) {
            let there = run.iter().map(|&(x, a, _)| (x, a));
            let back = run.iter().rev().map(|&(x, _, b)| (x, b));
            let outline: Vec<Point> = there.chain(back).collect();
            canvas.polygon(&clipped_area(outline, plot), colour(series.look).mix(BAND))?;
        }
    }
    for series in &panel.series {
        let place = |&(x, y): &Point| Some((to_x(scales.x.place(x)?), to_y(scales.y.place(y)?)));
        let runs = runs(series.points.iter().map(place));
        for piece in runs.iter().flat_map(|run| clipped(run, plot)) {
            canvas.stroke(&piece, series.look, LINE)?;
        }
        markers(canvas, &runs, series.look, plot)?;
    }
    Ok(())
}

fn markers(canvas: &mut Canvas<'_>, runs: &[Vec<Point>], look: Look, plot: Area) -> Result<()> {
    for run in runs {
        // A point without neighbours is not on any line.
        let look = match look.marker {
            Marker::None if run.len() == 1 => Look { marker: Marker::Circle, ..look },
            _ => look,
        };
        let apart = if run.len() > CURVE { ALONG_CURVE } else { BETWEEN_MARKERS };
        let mut last: Option<Point> = None;
        for &at in run.iter().filter(|&&at| plot.contains(at)) {
            let far = |from: Point| (at.0 - from.0).hypot(at.1 - from.1) >= apart;
            if last.is_none_or(far) {
                canvas.marker(at, look, RADIUS)?;
                last = Some(at);
            }
        }
    }
    Ok(())
}

/// The runs of points between gaps.
fn runs<T>(items: impl Iterator<Item = Option<T>>) -> Vec<Vec<T>> {
    let mut runs = vec![Vec::new()];
    for item in items {
        match (item, runs.last_mut()) {
            (Some(item), Some(run)) => run.push(item),
            _ => runs.push(Vec::new()),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

/// The parts of a line inside the plot.
fn clipped(points: &[Point], plot: Area) -> Vec<Vec<Point>> {
    let mut pieces: Vec<Vec<Point>> = Vec::new();
    for pair in points.windows(2) {
        let Some((a, b)) = clipped_segment(pair[0], pair[1], plot) else { continue };
        match pieces.last_mut() {
            Some(piece) if piece.last() == Some(&a) => piece.push(b),
            _ => pieces.push(vec![a, b]),
        }
    }
    pieces
}

/// Liang and Barsky's clipping: the shares of the segment where it enters and leaves.
fn clipped_segment(a: Point, b: Point, plot: Area) -> Option<(Point, Point)> {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
    for (slope, room) in [
        (-dx, a.0 - plot.left),
        (dx, plot.right - a.0),
        (-dy, a.1 - plot.top),
        (dy, plot.bottom - a.1),
    ] {
        if slope == 0.0 {
            if room < 0.0 {
                return None;
            }
        } else if slope < 0.0 {
            enter = enter.max(room / slope);
        } else {
            leave = leave.min(room / slope);
        }
    }
    if enter > leave {
        return None;
    }
    let at = |share: f64| (a.0 + share * dx, a.1 + share * dy);
    // The exact ends, so that the next segment is recognised as a continuation.
    let first = if enter == 0.0 { a } else { at(enter) };
    let last = if leave == 1.0 { b } else { at(leave) };
    Some((first, last))
}

/// Sutherland and Hodgman's clipping: cut at one side after another.
fn clipped_area(mut outline: Vec<Point>, plot: Area) -> Vec<Point> {
    // Each side as the distance inside of it.
    let sides: [&dyn Fn(Point) -> f64; 4] =
        [&|p| p.0 - plot.left, &|p| plot.right - p.0, &|p| p.1 - plot.top, &|p| plot.bottom - p.1];
    for inside in sides {
        let mut kept = Vec::with_capacity(outline.len());
        let mut previous = outline.last().copied();
        for point in outline {
            if let Some(from) = previous {
                let (a, b) = (inside(from), inside(point));
                if (a < 0.0) != (b < 0.0) {
                    let share = a / (a - b);
                    let cut = |u: f64, v: f64| u + share * (v - u);
                    kept.push((cut(from.0, point.0), cut(from.1, point.1)));
                }
                if b >= 0.0 {
                    kept.push(point);
                }
            }
            previous = Some(point);
        }
        outline = kept;
    }
    outline
}
