//! What `predict` and `sample` share: a table is read, answered and written some rows at a time, so
//! that it may be of any size, and so may be what is written for each row. Line k of the output
//! belongs to row k of the input.

use crate::program::Voice;
use crate::resolve::AnswerJob;
use crate::{output, tables};
use anyhow::{Result, ensure};
use raysum::Model;
use raysum_table::{AnswerChunk, NewRows, TableWriter, escaped};

/// Numbers that are answered with at a time: a few times 32 MB.
const NUMBERS: usize = 4_000_000;

/// Writes the columns of these names, which `answer` adds for the rows of a table.
pub(super) fn run(
    job: &AnswerJob<'_>,
    models: &[Model],
    names: &[String],
    voice: Voice,
    mut answer: impl FnMut(&NewRows, &mut AnswerChunk) -> Result<()>,
) -> Result<()> {
    let mut notes = Vec::new();
    output::write(job.output, |out| -> Result<()> {
        let mut writer = TableWriter::new(job.format, out)?;
        let start = |kept: &[String]| check_names(kept, names);
        let most = (NUMBERS / names.len().max(1)).max(1);
        let mut write = |mut rows: NewRows| -> Result<()> {
            let mut chunk = AnswerChunk::new(rows.rows, std::mem::take(&mut rows.columns));
            answer(&rows, &mut chunk)?;
            writer.write(&chunk)
        };
        notes = tables::new_rows(job, models, start, |rows| {
            if rows.rows <= most {
                return write(rows);
            }
            let starts = (0..rows.rows).step_by(most);
            let mut ranges = starts.map(|start| start..(start + most).min(rows.rows));
            ranges.try_for_each(|range| write(rows.range(range)))
        })?;
        writer.finish()
    })?;
    voice.notes(&notes);
    Ok(())
}

/// A table has no two columns of one name.
fn check_names(kept: &[String], names: &[String]) -> Result<()> {
    for (k, name) in kept.iter().enumerate() {
        let shown = escaped(name);
        ensure!(!kept[..k].contains(name), "--keep: column '{shown}' is named twice");
        ensure!(
            !names.contains(name),
            "--keep: the results have a column '{shown}' of their own; rename it in the table"
        );
    }
    Ok(())
}
