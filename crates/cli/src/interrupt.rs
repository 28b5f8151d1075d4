//! Ctrl-C: stop at once with code 130, but never in the middle of putting a file in place.

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
    // Without a handler the system's own applies, which is good enough.
    let _ = ctrlc::set_handler(move || {
        let _wait_for_file = WRITING.lock();
        if let Some(path) = lock(&UNFINISHED).take() {
            let _ = std::fs::remove_file(path);
        }
        // Not eprintln, which panics if standard error is closed: the job would run on.
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

/// What an interruption says is kept, from now on.
pub(crate) fn keeps(checkpoint: Option<&Path>) {
    *lock(&KEPT) = checkpoint.map(Path::to_owned);
}

/// What an interruption removes, from now on.
pub(crate) fn removes(unfinished: Option<&Path>) {
    *lock(&UNFINISHED) = unfinished.map(Path::to_owned);
}

fn lock(path: &Mutex<Option<PathBuf>>) -> MutexGuard<'_, Option<PathBuf>> {
    path.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `body`, which puts a file in place, before any interruption takes effect.
pub fn whole<T>(body: impl FnOnce() -> T) -> T {
    let _guard = WRITING.lock();
    body()
}
