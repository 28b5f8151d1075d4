//! What `predict` and `sample` share: a table is read, answered and written some rows at a time, so
//! that it may be of any size, and so may be what is written for each row. Line k of the output
//! belongs to row k of the input.

use super::Voice;
use crate::args::ReadArgs;
use crate::lines::Lines;
use crate::output;
use crate::source::{self, NewRows};
use anyhow::Result;
use raysum::Model;
use std::ops::Range;
use std::path::Path;

/// Numbers that are answered with at a time: a few times 32 MB.
const NUMBERS: usize = 4_000_000;

/// From a table to lines.
pub(super) struct Streamed<'a> {
    pub(super) data: &'a Path,
    pub(super) reading: &'a ReadArgs,
    pub(super) output: &'a Path,
    /// Numbers on each line.
    pub(super) width: usize,
    pub(super) voice: Voice,
}

impl Streamed<'_> {
    /// Writes the lines that `answer` gives for the rows of a table for this model.
    pub(super) fn run(
        &self,
        model: &Model,
        mut answer: impl FnMut(&NewRows) -> Result<Lines>,
    ) -> Result<()> {
        let mut notes = Vec::new();
        output::write(self.output, |out| -> Result<()> {
            let mut first = true;
            let most = (NUMBERS / self.width.max(1)).max(1);
            let mut write = |rows: &NewRows| -> Result<()> {
                answer(rows)?.write(self.voice.json, first, out)?;
                first = false;
                Ok(())
            };
            notes = source::new_rows(self.data, self.reading, model, |rows| {
                if rows.rows <= most {
                    return write(rows);
                }
                let starts = (0..rows.rows).step_by(most);
                let mut ranges = starts.map(|start| start..(start + most).min(rows.rows));
                ranges.try_for_each(|range| write(&some(rows, range)))
            })?;
            Ok(())
        })?;
        self.voice.notes(&notes);
        Ok(())
    }
}

/// Some of the rows.
fn some(all: &NewRows, range: Range<usize>) -> NewRows {
    let first = all.kept.partition_point(|row| *row < range.start);
    let end = all.kept.partition_point(|row| *row < range.end);
    let chosen: Vec<usize> = (first..end).collect();
    NewRows {
        x: all.x.gather(&chosen),
        noise_std: all.noise_std.as_ref().map(|noise| noise[first..end].to_vec()),
        kept: all.kept[first..end].iter().map(|row| row - range.start).collect(),
        rows: range.len(),
    }
}
