//! `raysum update`, `stats` and `merge`: rows added or removed after the fit.

use crate::args::{MergeArgs, RowsArgs, StatsArgs, UpdateArgs};
use crate::program::Voice;
use crate::{interrupt, output, style, tables};
use anyhow::{Result, anyhow, ensure};
use raysum::error::UpdateError;
use raysum::{Error, Shard, Stack};
use raysum_table::{TrainingTable, row_of_table};
use serde_json::json;
use std::path::{Path, PathBuf};

/// What a mixture of models does not have.
const SHARDS: &str = "statistics of shards";

pub(super) fn update(args: &UpdateArgs, voice: Voice) -> Result<()> {
    let to = args.output.as_deref().unwrap_or(&args.rows.model);
    // The output may replace the model, but not the rows.
    output::check(to, args.rows.tables())?;
    let (mut stacks, table) = read(&args.rows, voice)?;
    for (k, stack) in stacks.iter_mut().enumerate() {
        let data = table.labels.dataset(&table, k..k + 1)?;
        let changed = if args.remove { stack.remove(&data) } else { stack.update(&data) };
        changed.map_err(|error| by_row(error, &args.rows.data, &table))?;
    }
    let rows = table.rows();
    save(&stacks, to, voice, if args.remove { "rows_removed" } else { "rows_added" }, rows)
}

pub(super) fn stats(args: &StatsArgs, voice: Voice) -> Result<()> {
    output::check(&args.output, args.rows.tables().chain([args.rows.model.as_path()]))?;
    let (stacks, table) = read(&args.rows, voice)?;
    let mut shards = Vec::with_capacity(stacks.len());
    for (k, stack) in stacks.iter().enumerate() {
        let model = stack.require_single(SHARDS)?;
        let shard = model.shard(&table.labels.dataset(&table, k..k + 1)?);
        shards.push(shard.map_err(|error| by_row(error, &args.rows.data, &table))?);
    }
    interrupt::whole(|| Shard::save_all(&shards, &args.output))?;
    let beyond = shards.iter().map(Shard::rows_beyond).max().unwrap_or(0);
    let to = args.output.display();
    if voice.json {
        let line =
            json!({"rows": table.rows(), "rows_kept_whole": beyond, "output": to.to_string()});
        return output::print_json(&line);
    }
    output::print_line(&format!(
        "{}, {beyond} of them kept whole; saved to {to}",
        style::counted(table.rows(), "row")
    ))
}

pub(super) fn merge(args: &MergeArgs, voice: Voice) -> Result<()> {
    let inputs = args.shards.iter().chain([&args.model]);
    output::check(&args.output, inputs.map(PathBuf::as_path))?;
    let mut stacks = Stack::load_all(&args.model)?;
    let mut by_target: Vec<Vec<Shard>> = vec![Vec::new(); stacks.len()];
    let mut rows = 0;
    for path in &args.shards {
        let shards = Shard::load_all(path)?;
        let (found, expected) = (shards.len(), stacks.len());
        let path = path.display();
        ensure!(found == expected, "{path}: {found} targets, but the model has {expected}");
        rows += shards.first().map_or(0, Shard::rows) as usize;
        by_target.iter_mut().zip(shards).for_each(|(own, shard)| own.push(shard));
    }
    for (stack, shards) in stacks.iter_mut().zip(&by_target) {
        let model = stack.require_single_mut(SHARDS)?;
        let merged = match (args.only_shards, args.allow_duplicates) {
            (false, false) => model.merge(shards),
            (false, true) => model.merge_repeated(shards),
            (true, false) => model.replace(shards),
            (true, true) => model.replace_repeated(shards),
        };
        merged.map_err(|error| by_name(error, &args.shards))?;
    }
    save(&stacks, &args.output, voice, "rows_added", rows)
}

/// An error about rows of a table, with the name of its file and the number of a row there, from 1.
fn by_row(error: Error, file: &Path, table: &TrainingTable) -> anyhow::Error {
    let file = file.display();
    match error {
        Error::Update(UpdateError::NoLogarithm { row, value }) => anyhow!(
            "{file}, row {}: the target is {value}, but the model takes the target's logarithm; fit again on \
             all rows",
            row_of_table(row, &table.left_out) + 1
        ),
        other => anyhow!(other).context(file.to_string()),
    }
}

/// An error about one of several shards, with the names of their files.
fn by_name(error: Error, files: &[PathBuf]) -> anyhow::Error {
    match error {
        Error::NotForThisModel { shard: Some(shard) } => {
            anyhow!(error).context(files[shard].display().to_string())
        }
        Error::RepeatedShard { shard, same_as } => {
            let file = files[shard].display();
            let why = match same_as {
                Some(other) if files[other] == files[shard] => {
                    "the file is given twice".to_string()
                }
                Some(other) => format!("they are in {} too", files[other].display()),
                None => "they are in the model already".to_string(),
            };
            anyhow!(
                "{file}: its rows would count twice: {why}; leave it out, or give --allow-duplicates"
            )
        }
        other => other.into(),
    }
}

fn read(args: &RowsArgs, voice: Voice) -> Result<(Vec<Stack>, TrainingTable)> {
    let job = args.resolve();
    let stacks = Stack::load_all(job.model)?;
    let table = tables::more_rows(&job, &stacks)?;
    voice.notes(&table.notes);
    Ok((stacks, table))
}

fn save(stacks: &[Stack], to: &Path, voice: Voice, what: &str, changed: usize) -> Result<()> {
    interrupt::whole(|| Stack::save_all(stacks, to))?;
    let rows = stacks[0].rows();
    let to = to.display();
    if voice.json {
        let line = json!({what: changed, "n": rows, "output": to.to_string()});
        return output::print_json(&line);
    }
    let did = if what == "rows_removed" { "taken out" } else { "taken in" };
    let changed = style::counted(changed, "row");
    output::print_line(&format!("{changed} {did}, {rows} in all; saved to {to}"))
}
