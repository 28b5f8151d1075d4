//! The report on a fitted model: one self-contained HTML page with scores, charts, explanations and
//! warnings. The command line and the Python package both write it.
//!
//! [`page`] gathers what is shown ([`evidence`], [`effects`], [`checks`]), draws it as SVG ([`charts`])
//! and puts it into sections. The page holds curves, counts and a few rows, never the table, and
//! loads nothing.

mod card;
mod charts;
mod checks;
mod columns;
mod effects;
mod evidence;
mod page;
mod sections;
mod svg;
mod text;
mod verdict;

pub use card::card;
pub use page::page;
pub use verdict::{HARDLY_BETTER, WORSE};

use raysum::{MatrixRef, Stack};

/// What a report is about.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// The models, one per target.
    pub stacks: &'a [Stack],
    /// The rows, encoded for the models.
    pub x: MatrixRef<'a>,
    /// Their targets.
    pub targets: Vec<&'a [f64]>,
    /// The number of the first row of the table, as its users count.
    pub first_row: usize,
    /// The rows of the table that are left out, in order, counted from 0.
    pub left_out: &'a [usize],
    /// The name of the table.
    pub source: &'a str,
    /// Remarks on how the table was read.
    pub notes: Vec<String>,
    /// Commands that make the model and this page again.
    pub commands: Vec<String>,
}
