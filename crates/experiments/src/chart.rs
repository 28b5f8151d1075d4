//! Draws the paper's figures as SVG: panels of lines, dots in groups, filled contours.

mod canvas;
mod contours;
mod dots;
mod frame;
mod isobands;
mod legend;
mod lines;
mod scale;
#[cfg(test)]
mod tests;

pub(crate) use contours::{Field, contours};
pub(crate) use dots::{Group, dots};
pub(crate) use lines::lines;

/// How a series is drawn, so that one model looks the same in every figure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Index into the palette; wraps.
    pub(crate) colour: usize,
    /// A dashed line and hollow markers.
    pub(crate) dashed: bool,
    pub(crate) marker: Marker,
}

/// The marker at a series' points.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Marker {
    None,
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
}

/// A line through points; where one cannot be drawn (not finite, not positive on a log axis) the
/// line has a gap.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) look: Look,
    pub(crate) points: Vec<(f64, f64)>,
    /// Lower and upper, one per point; empty: no band.
    pub(crate) band: Vec<(f64, f64)>,
}

/// An axis; without a range, or with one that cannot be drawn, it spans the data.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) log: bool,
    pub(crate) range: Option<(f64, f64)>,
}

/// One pair of axes with its series.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
}
