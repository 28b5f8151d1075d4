//! Common code of `predict` and `sample`: a table is read, predicted and written in chunks, so that
//! it and the output may be of any size. Line k of the output belongs to row k of the input.

use crate::program::Voice;
use crate::resolve::AnswerJob;
use crate::{output, tables};
use anyhow::{Result, ensure};
use raysum::Stack;
use raysum_table::{AnswerChunk, NewRows, TableWriter, escaped};

/// Maximum number of results that are computed at a time: a few times 32 MB.
const NUMBERS: usize = 4_000_000;

/// Writes columns with these names, whose values `answer` computes for the rows of a table.
pub(super) fn run(
    job: &AnswerJob<'_>,
    stacks: &[Stack],
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
        notes = tables::new_rows(job, stacks, start, |rows| {
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

/// Fails if two columns of the output have the same name.
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
