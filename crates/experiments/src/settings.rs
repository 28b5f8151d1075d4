//! The common settings of a folder's results: results of other seeds, or of a concurrent run, are
//! refused.

use anyhow::{Context, Result, bail, ensure};
use raysum_cli::output;
use serde_json::{Map, Value};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

fn path(folder: &Path) -> PathBuf {
    folder.join("settings.json")
}

fn read(folder: &Path) -> Result<Map<String, Value>> {
    let path = path(folder);
    match std::fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text)
            .with_context(|| format!("{} cannot be read as settings", path.display())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Map::new()),
        Err(e) => Err(e).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Locks the folder until the file is closed, at the latest at the end of the process: two
/// concurrent runs would repeat the same fits and overwrite each other's results.
pub(crate) fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(".lock");
    let cannot = || format!("cannot write {}", path.display());
    let file = File::create(&path).with_context(cannot)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let folder = folder.display();
            bail!("another run is at work in {folder}; wait for it, or give another --output")
        }
        Err(TryLockError::Error(e)) => Err(e).with_context(cannot),
    }
}

/// Fails if the folder's results have another value of this setting; records the value if there is
/// none yet.
pub(crate) fn agree(folder: &Path, name: &str, value: impl Into<Value>) -> Result<()> {
    let mut settings = read(folder)?;
    let value = value.into();
    if let Some(old) = settings.get(name) {
        ensure!(
            *old == value,
            "the results in {} were made with {name} {old}, not {value}; give another --output",
            folder.display()
        );
        return Ok(());
    }
    settings.insert(name.into(), value);
    let text = serde_json::to_string_pretty(&settings)?;
    output::write(&path(folder), |out| writeln!(out, "{text}"))
}

/// The settings in a line, for the page.
pub(crate) fn words(folder: &Path) -> Result<String> {
    let settings = read(folder)?;
    let one = |(name, value): (&String, &Value)| match value {
        Value::String(text) => format!("{name} {text}"),
        other => format!("{name} {other}"),
    };
    Ok(settings.iter().map(one).collect::<Vec<_>>().join(", "))
}
