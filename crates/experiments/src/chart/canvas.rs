//! Drawing primitives of the figures: lines, dashes, areas, markers and text, in pixels.

use anyhow::{Result, anyhow};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::fmt::Display;

use super::{Look, Marker};

/// Colours that colour-blind readers can tell apart (Okabe and Ito), but for their yellow, which
/// is too faint on white.
const PALETTE: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(110, 110, 110),
];
/// Plotters draws at whole pixels, which shows in curves: the canvas has this many per pixel.
const FINE: f64 = 4.0;
/// Plotters divides a font's size by this on its way into the SVG.
const FONT_UNIT: f64 = 1.24;
/// Pixels of a dash and of the gap after it.
const DASH: [f64; 2] = [7.0, 4.0];

pub(super) type Point = (f64, f64);

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Area {
    pub(super) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(super) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    pub(super) fn centre(&self) -> Point {
        (f64::midpoint(self.left, self.right), f64::midpoint(self.top, self.bottom))
    }

    pub(super) fn contains(&self, (x, y): Point) -> bool {
        // A marker on the frame counts as inside, despite rounding.
        const SLACK: f64 = 0.01;
        (self.left - SLACK..=self.right + SLACK).contains(&x)
            && (self.top - SLACK..=self.bottom + SLACK).contains(&y)
    }
}

/// Alignment and orientation of text.
#[derive(Clone, Copy)]
pub(super) struct Words {
    pub(super) size: f64,
    pub(super) across: HPos,
    pub(super) down: VPos,
    /// Read from the bottom to the top.
    pub(super) turned: bool,
}

impl Words {
    pub(super) fn new(size: f64, across: HPos, down: VPos) -> Self {
        Self { size, across, down, turned: false }
    }

    pub(super) fn turned(self) -> Self {
        Self { turned: true, ..self }
    }
}

pub(super) fn colour(look: Look) -> RGBColor {
    PALETTE[look.colour % PALETTE.len()]
}

/// A picture of this size in pixels, as SVG text.
pub(super) fn picture(
    width: f64,
    height: f64,
    draw: impl FnOnce(&mut Canvas<'_>) -> Result<()>,
) -> Result<String> {
    let (width, height) = (width.ceil() as u32, height.ceil() as u32);
    let fine = (width.saturating_mul(FINE as u32), height.saturating_mul(FINE as u32));
    let mut text = String::new();
    {
        let mut canvas = Canvas { back: SVGBackend::with_string(&mut text, fine) };
        let whole =
            Area { left: 0.0, top: 0.0, right: f64::from(width), bottom: f64::from(height) };
        canvas.area(whole, WHITE)?;
        draw(&mut canvas)?;
        canvas.back.present().map_err(failed)?;
    }
    let size = |(w, h): (u32, u32)| format!("width=\"{w}\" height=\"{h}\"");
    Ok(text.replacen(&size(fine), &size((width, height)), 1))
}

fn failed(error: impl Display) -> anyhow::Error {
    anyhow!("cannot draw: {error}")
}

pub(super) struct Canvas<'a> {
    back: SVGBackend<'a>,
}

impl Canvas<'_> {
    pub(super) fn area(&mut self, area: Area, colour: impl Color) -> Result<()> {
        let corners = (fine((area.left, area.top)), fine((area.right, area.bottom)));
        self.back.draw_rect(corners.0, corners.1, &colour.filled(), true).map_err(failed)
    }

    pub(super) fn polygon(&mut self, points: &[Point], colour: impl Color) -> Result<()> {
        let path = straightened(points);
        if path.len() < 3 {
            return Ok(());
        }
        self.back.fill_polygon(path, &colour.filled()).map_err(failed)
    }

    pub(super) fn line(&mut self, points: &[Point], colour: impl Color, width: f64) -> Result<()> {
        let path = straightened(points);
        if path.len() < 2 {
            return Ok(());
        }
        self.back.draw_path(path, &colour.stroke_width(thick(width))).map_err(failed)
    }

    /// Dashes go on around corners, so that a line through many close points has gaps too.
    pub(super) fn dashed(
        &mut self,
        points: &[Point],
        colour: impl Color,
        width: f64,
    ) -> Result<()> {
        let (mut phase, mut left) = (0, DASH[0]);
        let mut dash: Vec<Point> = points.iter().take(1).copied().collect();
        for pair in points.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            let length = (b.0 - a.0).hypot(b.1 - a.1);
            let mut done = 0.0;
            while length - done > left {
                done += left;
                let share = done / length;
                let here = (a.0 + share * (b.0 - a.0), a.1 + share * (b.1 - a.1));
                if phase == 0 {
                    dash.push(here);
                    self.line(&dash, colour.to_rgba(), width)?;
                }
                dash = vec![here];
                phase = 1 - phase;
                left = DASH[phase];
            }
            left -= length - done;
            dash.push(b);
        }
        if phase == 0 { self.line(&dash, colour, width) } else { Ok(()) }
    }

    /// A line in the series' style.
    pub(super) fn stroke(&mut self, points: &[Point], look: Look, width: f64) -> Result<()> {
        if look.dashed {
            self.dashed(points, colour(look), width)
        } else {
            self.line(points, colour(look), width)
        }
    }

    pub(super) fn marker(&mut self, (x, y): Point, look: Look, radius: f64) -> Result<()> {
        let shape = |corners: &[Point]| -> Vec<Point> {
            corners.iter().map(|(dx, dy)| (x + radius * dx, y + radius * dy)).collect()
        };
        let corners = match look.marker {
            Marker::None => return Ok(()),
            Marker::Circle => {
                let (at, r) = (fine((x, y)), thick(radius));
                if look.dashed {
                    self.back.draw_circle(at, r, &WHITE.filled(), true).map_err(failed)?;
                    let rim = colour(look).stroke_width(thick(1.5));
                    return self.back.draw_circle(at, r, &rim, false).map_err(failed);
                }
                return self.back.draw_circle(at, r, &colour(look).filled(), true).map_err(failed);
            }
            Marker::Cross => {
                for ends in [[(-0.9, -0.9), (0.9, 0.9)], [(-0.9, 0.9), (0.9, -0.9)]] {
                    self.line(&shape(&ends), colour(look), 2.0)?;
                }
                return Ok(());
            }
            // Sizes that look equal.
            Marker::Square => shape(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
            Marker::Triangle => shape(&[(0.0, -1.25), (1.15, 0.8), (-1.15, 0.8)]),
            Marker::Diamond => shape(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
        };
        if !look.dashed {
            return self.polygon(&corners, colour(look));
        }
        self.polygon(&corners, WHITE)?;
        // Past the first corner again, to close the outline without a notch.
        let rim: Vec<Point> = corners.iter().chain(&corners[..2]).copied().collect();
        self.line(&rim, colour(look), 1.5)
    }

    pub(super) fn words(&mut self, text: &str, at: Point, words: Words) -> Result<()> {
        // XML has no way to write control characters.
        let text: String = text
            .chars()
            .map(|c| if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') { ' ' } else { c })
            .collect();
        if text.trim().is_empty() {
            return Ok(());
        }
        let size = words.size * FINE * FONT_UNIT;
        let font = FontDesc::new(FontFamily::SansSerif, size, FontStyle::Normal);
        let turn = if words.turned { FontTransform::Rotate270 } else { FontTransform::None };
        let style = TextStyle::from(font.transform(turn))
            .color(&BLACK)
            .pos(Pos::new(words.across, words.down));
        self.back.draw_text(&text, &style, fine(at)).map_err(failed)
    }
}

fn fine((x, y): Point) -> (i32, i32) {
    ((x * FINE).round() as i32, (y * FINE).round() as i32)
}

fn thick(width: f64) -> u32 {
    (width * FINE).round().max(1.0) as u32
}

/// The path without collinear points.
fn straightened(points: &[Point]) -> Vec<(i32, i32)> {
    let mut path: Vec<(i32, i32)> = Vec::new();
    for point in points.iter().map(|&p| fine(p)) {
        if path.last() == Some(&point) {
            continue;
        }
        if let [.., a, b] = path[..] {
            let (ab, bc) = (apart(a, b), apart(b, point));
            let onward = ab.0 * bc.0 + ab.1 * bc.1 > 0;
            if onward && ab.0 * bc.1 == ab.1 * bc.0 {
                path.pop();
            }
        }
        path.push(point);
    }
    path
}

fn apart(a: (i32, i32), b: (i32, i32)) -> (i64, i64) {
    (i64::from(b.0) - i64::from(a.0), i64::from(b.1) - i64::from(a.1))
}

/// Approximate width of a text; generous, since the reader's font is unknown.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | 'I' => 0.32,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' | '⁰'..='⁻' | '¹' | '²' | '³' => {
            0.42
        }
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '—' | '…' => 0.95,
        'A'..='Z' => 0.7,
        c if c.is_ascii() => 0.63,
        c if c < '\u{1100}' => 0.68,
        _ => 1.0,
    };
    size * text.chars().map(em).sum::<f64>()
}

/// The text, truncated to the available width.
pub(super) fn shortened(text: &str, size: f64, room: f64) -> String {
    if text_width(text, size) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = text_width("…", size);
    for c in text.chars() {
        used += text_width(c.encode_utf8(&mut [0; 4]), size);
        if used > room {
            break;
        }
        kept.push(c);
    }
    kept + "…"
}
