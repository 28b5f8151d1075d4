//! One legend for a whole figure, in columns below it.

use anyhow::Result;
use plotters::prelude::Color;
use plotters::style::text_anchor::{HPos, VPos};

use super::Look;
use super::canvas::{Area, Canvas, Words, colour, shortened, text_width};
use super::frame::LABEL_TEXT;
use super::lines::{BAND, LINE, RADIUS};

const ROW: f64 = 22.0;
const BEFORE_NAME: f64 = 7.0;
const BETWEEN: f64 = 24.0;

/// The symbol of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sample {
    Line { band: bool },
    Dot,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) look: Look,
    pub(super) sample: Sample,
}

pub(super) struct Legend {
    entries: Vec<Entry>,
    /// Widths of the columns; entries fill row by row.
    columns: Vec<f64>,
}

impl Sample {
    fn width(self) -> f64 {
        if self == Self::Dot { 12.0 } else { 34.0 }
    }
}

impl Legend {
    /// As few rows as the width allows, and no more columns than these rows need.
    pub(super) fn new(mut entries: Vec<Entry>, width: f64) -> Self {
        entries.retain(|entry| !entry.name.trim().is_empty());
        for entry in &mut entries {
            entry.name =
                shortened(&entry.name, LABEL_TEXT, width - entry.sample.width() - BEFORE_NAME);
        }
        let fitting = |count: &usize| {
            let columns = widths(&entries, *count);
            let gaps = BETWEEN * columns.len().saturating_sub(1) as f64;
            columns.iter().sum::<f64>() + gaps <= width
        };
        let most = (1..=entries.len()).rev().find(fitting).unwrap_or(1);
        let rows = entries.len().div_ceil(most);
        let fewest = (1..=most).find(|c| entries.len().div_ceil(*c) == rows && fitting(c));
        let columns = widths(&entries, fewest.unwrap_or(most));
        Self { entries, columns }
    }

    fn rows(&self) -> usize {
        self.entries.len().div_ceil(self.columns.len().max(1))
    }

    pub(super) fn height(&self) -> f64 {
        if self.entries.is_empty() { 0.0 } else { self.rows() as f64 * ROW + 10.0 }
    }

    /// Draws it with its first row below `top`, about `middle`.
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>, middle: f64, top: f64) -> Result<()> {
        let gaps = BETWEEN * self.columns.len().saturating_sub(1) as f64;
        let left = middle - 0.5 * (self.columns.iter().sum::<f64>() + gaps);
        let words = Words::new(LABEL_TEXT, HPos::Left, VPos::Center);
        for (i, entry) in self.entries.iter().enumerate() {
            let (row, column) = (i / self.columns.len(), i % self.columns.len());
            let before = &self.columns[..column];
            let x = left + before.iter().sum::<f64>() + BETWEEN * column as f64;
            let y = top + 4.0 + (row as f64 + 0.5) * ROW;
            entry.sample(canvas, x, y)?;
            canvas.words(&entry.name, (x + entry.sample.width() + BEFORE_NAME, y), words)?;
        }
        Ok(())
    }
}

impl Entry {
    fn sample(&self, canvas: &mut Canvas<'_>, x: f64, y: f64) -> Result<()> {
        let right = x + self.sample.width();
        let centre = f64::midpoint(x, right);
        match self.sample {
            Sample::Line { band } => {
                if band {
                    let area = Area { left: x, top: y - 6.0, right, bottom: y + 6.0 };
                    canvas.area(area, colour(self.look).mix(BAND))?;
                }
                canvas.stroke(&[(x, y), (right, y)], self.look, LINE)?;
            }
            Sample::Dot => {
                canvas.line(&[(centre, y - 8.0), (centre, y + 8.0)], colour(self.look), 1.25)?;
            }
        }
        canvas.marker((centre, y), self.look, RADIUS)
    }
}

fn widths(entries: &[Entry], count: usize) -> Vec<f64> {
    let mut columns = vec![0.0_f64; count.min(entries.len())];
    for (i, entry) in entries.iter().enumerate() {
        let width = entry.sample.width() + BEFORE_NAME + text_width(&entry.name, LABEL_TEXT);
        columns[i % count] = columns[i % count].max(width);
    }
    columns
}
