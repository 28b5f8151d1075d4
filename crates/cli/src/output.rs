//! Where results go: standard output, or a file that appears whole or not at all.

use crate::interrupt;
use anyhow::{Context, Result};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Runs `body` on a writer to `path` (`-` is standard output).
pub(crate) fn write(
    path: &Path,
    body: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    if path == Path::new("-") {
        let mut out = BufWriter::new(io::stdout().lock());
        body(&mut out)?;
        out.flush()?;
        return Ok(());
    }
    let written = interrupt::whole(|| raysum::file::write(path, body));
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// Fails if nothing could be written to `path`: better now than after an hour of fitting.
pub(crate) fn check(path: &Path) -> Result<()> {
    if path == Path::new("-") {
        return Ok(());
    }
    raysum::file::check(path).with_context(|| format!("cannot write {}", path.display()))
}

/// Whether the reader of our output went away.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        io.is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// Says something on standard error; if nobody can hear it, the job goes on all the same.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints a line of results to standard output.
pub(crate) fn print_line(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(())
}
