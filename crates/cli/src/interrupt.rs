//! Ctrl-C: stop at once with code 130, but never in the middle of putting a file in place.

use std::io::Write;
use std::sync::Mutex;

static WRITING: Mutex<()> = Mutex::new(());

/// Installs the handler.
pub(crate) fn install() {
    // Without a handler the system's own applies, which is good enough.
    let _ = ctrlc::set_handler(|| {
        let _wait_for_file = WRITING.lock();
        // Not eprintln, which panics if standard error is closed: the job would run on.
        let text = "\nraysum: interrupted; no file was left half-written";
        let _ = writeln!(std::io::stderr(), "{text}");
        std::process::exit(130);
    });
}

/// Runs `body`, which puts a file in place, before any interruption takes effect.
pub(crate) fn whole<T>(body: impl FnOnce() -> T) -> T {
    let _guard = WRITING.lock();
    body()
}
