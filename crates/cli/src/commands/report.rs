//! `raysum report`: one HTML page about a model and a table.

use super::Voice;
use crate::args::{AUTO, ReportArgs};
use crate::{output, style, tables};
use anyhow::{Context, Result, ensure};
use raysum::Stack;
use raysum::schema::Schema;
use raysum_report::Subject;
use raysum_table::TrainingTable;
use serde_json::json;
use std::path::Path;

pub(super) fn run(args: &ReportArgs, voice: Voice) -> Result<()> {
    let rows = &args.rows;
    output::check(&args.output, rows.tables().chain([rows.model.as_path()]))?;
    let job = rows.resolve();
    let stacks = Stack::load_all(job.model)?;
    let table = tables::more_rows(&job, &stacks)?;
    voice.notes(&table.notes);
    let name = rows.data.display().to_string();
    ensure!(table.rows() > 0, "{name} has no rows to report on");
    let commands = commands(&stacks, &rows.model, &rows.data, &args.output);
    let page = page(&stacks, &table, &name, commands).with_context(|| name.clone())?;
    write(&args.output, &page)?;
    if args.output == Path::new("-") {
        return Ok(());
    }
    let to = args.output.display();
    if voice.json {
        let line = json!({"rows": table.rows(), "bytes": page.len(), "output": to.to_string()});
        return output::print_json(&line);
    }
    output::print_line(&format!(
        "report on {} written to {to}; open it in a browser",
        style::counted(table.rows(), "row")
    ))
}

/// The page about models and the rows of a table.
pub(super) fn page(
    stacks: &[Stack],
    table: &TrainingTable,
    source: &str,
    commands: Vec<String>,
) -> raysum::Result<String> {
    raysum_report::page(&Subject {
        stacks,
        x: table.into(),
        targets: table.labels.targets.iter().map(Vec::as_slice).collect(),
        first_row: 1,
        left_out: &table.left_out,
        source,
        notes: table.notes.iter().map(|note| note.text().to_owned()).collect(),
        commands,
    })
}

/// Writes a page, atomically.
pub(super) fn write(path: &Path, page: &str) -> Result<()> {
    output::write(path, |out| out.write_all(page.as_bytes()))
}

/// The commands that make the model and its page again.
pub(super) fn commands(stacks: &[Stack], model: &Path, data: &Path, page: &Path) -> Vec<String> {
    let first = stacks[0].first();
    let targets: Vec<&str> = stacks.iter().filter_map(|s| s.first().target_name()).collect();
    // A member that auto found may have another name than its preset.
    let named = stacks[0].single().and(first.preset());
    let named = named.filter(|preset| *preset == stacks[0].members()[0].name);
    let (model, data, page) = (shell(model), shell(data), shell(page));
    let mut fit = format!("raysum fit {data} --target {}", quoted(&targets.join(",")));
    fit += &format!(" --model {} --seed {}", quoted(named.unwrap_or(AUTO)), first.config().seed);
    let indicated = |schema: &Schema| schema.features.iter().any(|feature| feature.indicator);
    if first.schema().is_some_and(indicated) {
        fit += " --missing indicate";
    }
    vec![
        format!("{fit} -o {model}  # if no other options were given"),
        format!("raysum report {model} {data} -o {page}"),
    ]
}

fn shell(path: &Path) -> String {
    quoted(&path.display().to_string())
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=+,:".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
