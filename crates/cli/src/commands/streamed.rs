//! What `predict` and `sample` share: a table is read, answered and written some rows at a time, so
//! that it may be of any size. Line k of the output belongs to row k of the input.

use super::Voice;
use crate::args::ReadArgs;
use crate::lines::Lines;
use crate::output;
use crate::source::{self, NewRows};
use anyhow::Result;
use raysum::Model;
use std::path::Path;

/// From a table to lines.
pub(super) struct Streamed<'a> {
    pub(super) data: &'a Path,
    pub(super) reading: &'a ReadArgs,
    pub(super) output: &'a Path,
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
            notes = source::new_rows(self.data, self.reading, model, |rows| {
                answer(rows)?.write(self.voice.json, first, out)?;
                first = false;
                Ok(())
            })?;
            Ok(())
        })?;
        self.voice.notes(&notes);
        Ok(())
    }
}
