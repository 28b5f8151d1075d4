//! Filled contours of functions of two variables, with one colour scale.

use anyhow::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::canvas::{Area, Canvas, Words, picture, text_width};
use super::frame::{
    INK, TICK_TEXT, UNDER_LABEL, UNDER_TICKS, axis_across, axis_up, left_of_plot, ticks_across,
    ticks_up, title,
};
use super::isobands::{Grid, Loop};
use super::scale::{Scale, Ticks, labels, round_step};

/// A function on the square.
pub(crate) struct Field<'a> {
    pub(crate) title: String,
    pub(crate) value: &'a dyn Fn(f64, f64) -> f64,
}

/// Evenly spaced colours of matplotlib's viridis, which look evenly spaced too.
const VIRIDIS: [RGBColor; 11] = [
    RGBColor(68, 1, 84),
    RGBColor(72, 36, 117),
    RGBColor(65, 68, 135),
    RGBColor(53, 95, 141),
    RGBColor(42, 120, 142),
    RGBColor(33, 145, 140),
    RGBColor(34, 168, 132),
    RGBColor(68, 191, 112),
    RGBColor(122, 209, 81),
    RGBColor(189, 223, 38),
    RGBColor(253, 231, 37),
];
/// Where a function has no value.
const NOTHING: RGBColor = RGBColor(190, 190, 190);
const CELLS: usize = 60;
/// The most colours, but for what is cut off at the ends.
const BANDS: f64 = 14.0;
const WIDTH: f64 = 1020.0;
const SIDE: (f64, f64) = (150.0, 280.0);
const BETWEEN: f64 = 28.0;
const MARGIN: f64 = 10.0;
const TOP: f64 = 28.0;
const BAR: f64 = 16.0;

/// Filled contours of functions on a square, with contour lines, one common colour scale with a
/// colour bar, in a row.
pub(crate) fn contours(fields: &[Field<'_>], half_width: f64, x: &str, y: &str) -> Result<String> {
    let half = if (1e-200..1e200).contains(&half_width) { half_width } else { 1.0 };
    let at = |i: usize| half * (2.0 * i as f64 / CELLS as f64 - 1.0);
    let sampled: Vec<Vec<f64>> = fields.iter().map(|f| sample(f, at)).collect();
    let colours = Colours::new(sampled.iter().flatten().copied());
    let scale = Scale::between(-half, half);
    let widest = colours.labels.iter().map(|l| text_width(l, TICK_TEXT)).fold(0.0, f64::max);
    let bar_room = 16.0 + BAR + 10.0 + widest + MARGIN;
    let count = fields.len().max(1) as f64;
    let left = |side: f64| MARGIN + left_of_plot(&ticks_up(&scale, side), y);
    let side = (WIDTH - left(SIDE.0) - bar_room + BETWEEN) / count - BETWEEN;
    let side = side.floor().clamp(SIDE.0, SIDE.1);
    let (up, across) = (ticks_up(&scale, side), ticks_across(&scale, side));
    let left = left(side);
    let right = left + count * (side + BETWEEN) - BETWEEN;
    let height = TOP + side + UNDER_TICKS + UNDER_LABEL + 2.0;
    picture(right + bar_room, height, |canvas| {
        for (i, (field, values)) in fields.iter().zip(&sampled).enumerate() {
            let start = left + i as f64 * (side + BETWEEN);
            let plot = Area { left: start, top: TOP, right: start + side, bottom: TOP + side };
            fill(canvas, values, &colours, plot)?;
            outline(canvas, plot)?;
            axis_across(canvas, plot, &across, x)?;
            // The squares share their vertical axis.
            let (ticks, label) = if i == 0 { (&up, y) } else { (&Ticks::default(), "") };
            axis_up(canvas, plot, ticks, label, left - MARGIN)?;
            title(canvas, plot, &field.title)?;
        }
        let start = right + 16.0;
        colours.bar(canvas, Area { left: start, top: TOP, right: start + BAR, bottom: TOP + side })
    })
}

/// Values at the corners of the cells, row by row from the bottom; NaN where there is none.
fn sample(field: &Field<'_>, at: impl Fn(usize) -> f64) -> Vec<f64> {
    let corner = |i: usize| (field.value)(at(i % (CELLS + 1)), at(i / (CELLS + 1)));
    let usable = |v: f64| if v.abs() <= 1e300 { v } else { f64::NAN };
    (0..(CELLS + 1) * (CELLS + 1)).map(|i| usable(corner(i))).collect()
}

/// The common colour scale: bands between round levels.
struct Colours {
    /// The lowest and the highest are the ends of the bar.
    levels: Vec<f64>,
    labels: Vec<String>,
}

impl Colours {
    fn new(values: impl Iterator<Item = f64>) -> Self {
        let known = values.filter(|v| !v.is_nan());
        let (low, high) = known.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        // A constant needs one band around it, nothing at all any band.
        let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
        let size = low.abs().max(high.abs());
        let flat = high - low <= (1e-9 * size).max(1e-280);
        let step = if flat {
            if size < 1e-280 { 1.0 } else { round_step(0.1 * size) }
        } else {
            round_step((high - low) / BANDS)
        };
        let first = (low / step + 1e-9).floor();
        let last = (high / step - 1e-9).ceil().max(first + 1.0);
        let bands = (last - first) as u32;
        let levels: Vec<f64> = (0..=bands).map(|k| (first + f64::from(k)) * step).collect();
        Self { labels: labels(&levels, step), levels }
    }

    fn bands(&self) -> usize {
        self.levels.len() - 1
    }

    fn colour(&self, band: usize) -> RGBColor {
        let last = (VIRIDIS.len() - 1) as f64;
        let place = last * (band as f64 + 0.5) / self.bands() as f64;
        let below = (place.floor() as usize).min(VIRIDIS.len() - 2);
        let share = place - below as f64;
        let mix = |a: u8, b: u8| (f64::from(a) + share * (f64::from(b) - f64::from(a))) as u8;
        let (a, b) = (VIRIDIS[below], VIRIDIS[below + 1]);
        RGBColor(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
    }

    fn bar(&self, canvas: &mut Canvas<'_>, area: Area) -> Result<()> {
        let y = |level: usize| area.bottom - area.height() * level as f64 / self.bands() as f64;
        for band in 0..self.bands() {
            let part = Area { top: y(band + 1), bottom: y(band), ..area };
            canvas.area(part, self.colour(band))?;
        }
        outline(canvas, area)?;
        let room = area.height() / self.bands() as f64;
        let every = (1.5 * TICK_TEXT / room).ceil().max(1.0);
        let words = Words::new(TICK_TEXT, HPos::Left, VPos::Center);
        // Counted from zero, so that labels are skipped between round numbers.
        let step = self.levels[1] - self.levels[0];
        let labelled = |level: f64| ((level / step).round() % every).abs() < 0.5;
        for (i, label) in self.labels.iter().enumerate().filter(|(i, _)| labelled(self.levels[*i]))
        {
            canvas.line(&[(area.right, y(i)), (area.right + 4.0, y(i))], INK, 1.0)?;
            canvas.words(label, (area.right + 7.0, y(i) + 1.0), words)?;
        }
        Ok(())
    }
}

/// Loops of different levels never cross, so they can be painted like a map, from the largest to
/// the smallest, each with the colour of what is directly inside. What has no value is below the
/// lowest level.
fn fill(canvas: &mut Canvas<'_>, values: &[f64], colours: &Colours, plot: Area) -> Result<()> {
    let grid = Grid::new(CELLS, |column, row| {
        let value = values[row * (CELLS + 1) + column];
        if value.is_nan() { f64::NEG_INFINITY } else { value.max(colours.levels[0]) }
    });
    let mut loops: Vec<(usize, Loop)> = (0..colours.bands())
        .flat_map(|k| grid.loops(colours.levels[k]).into_iter().map(move |one| (k, one)))
        .collect();
    // Around holes without a value the loops of all levels coincide: the lowest is painted last
    // there, and the highest around islands.
    let inward = |(k, one): &(usize, Loop)| if one.area > 0.0 { *k } else { usize::MAX - k };
    loops.sort_by(|a, b| b.1.area.abs().total_cmp(&a.1.area.abs()).then(inward(a).cmp(&inward(b))));
    let cell = plot.width() / CELLS as f64;
    let place = |&(x, y): &(f64, f64)| (plot.left + x * cell, plot.bottom - y * cell);
    canvas.area(plot, NOTHING)?;
    for (level, one) in &loops {
        let inside = if one.area > 0.0 { Some(*level) } else { level.checked_sub(1) };
        let outline: Vec<(f64, f64)> = one.points.iter().map(place).collect();
        canvas.polygon(&outline, inside.map_or(NOTHING, |band| colours.colour(band)))?;
    }
    for curve in loops.iter().flat_map(|(_, one)| one.curves(CELLS)) {
        let curve: Vec<(f64, f64)> = curve.iter().map(place).collect();
        canvas.line(&curve, BLACK.mix(0.35), 0.75)?;
    }
    Ok(())
}

fn outline(canvas: &mut Canvas<'_>, area: Area) -> Result<()> {
    let Area { left, top, right, bottom } = area;
    let corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
    canvas.line(&corners, INK, 1.0)
}
