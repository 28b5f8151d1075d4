//! Ctrl-C: exit at once with code 130, but never while a file is being renamed into place.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static WRITING: Mutex<()> = Mutex::new(());
/// A file that is not complete yet.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);
/// The checkpoint of the fit that runs.
static KEPT: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Installs the handler of a program with this name.
pub(crate) fn install(name: &'static str) {
    // If this fails, the system's default handler applies, which suffices.
    let _ = ctrlc::set_handler(move || {
        let _wait_for_file = WRITING.lock();
        if let Some(path) = lock(&UNFINISHED).take() {
            let _ = std::fs::remove_file(path);
        }
        // Not eprintln, which panics if standard error is closed; the job would then continue.
        let kept = match &*lock(&KEPT) {
            Some(path) => format!(
                "; {} keeps what was found so far, and the same command goes on from there",
                path.display()
            ),
            None => "; no file was left half-written".into(),
        };
        let _ = writeln!(std::io::stderr(), "\n{name}: interrupted{kept}");
        std::process::exit(130);
    });
}

/// Sets the checkpoint that the message of an interruption names.
pub(crate) fn keeps(checkpoint: Option<&Path>) {
    *lock(&KEPT) = checkpoint.map(Path::to_owned);
}

/// Sets the incomplete file that an interruption removes.
pub(crate) fn removes(unfinished: Option<&Path>) {
    *lock(&UNFINISHED) = unfinished.map(Path::to_owned);
}

fn lock(path: &Mutex<Option<PathBuf>>) -> MutexGuard<'_, Option<PathBuf>> {
    path.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `body`, which renames a file into place, without interruption.
pub fn whole<T>(body: impl FnOnce() -> T) -> T {
    let _guard = WRITING.lock();
    body()
}
