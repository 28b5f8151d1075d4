//! Where results go: standard output, or a file that appears whole or not at all.

use crate::interrupt;
use anyhow::{Context, Result};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Runs `body` on a writer to `path` (`-` is standard output).
pub(crate) fn write(path: &Path, body: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    if path == Path::new("-") {
        let mut out = BufWriter::new(io::stdout().lock());
        body(&mut out)?;
        out.flush()?;
        return Ok(());
    }
    interrupt::whole(|| {
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let about = || format!("cannot write {}", path.display());
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
        let mut file = builder.tempfile_in(folder).with_context(about)?;
        let mut out = BufWriter::new(file.as_file_mut());
        body(&mut out)?;
        out.flush().with_context(about)?;
        drop(out);
        file.as_file().sync_all().with_context(about)?;
        file.persist(path).map_err(|e| e.error).with_context(about)?;
        Ok(())
    })
}

/// Whether the reader of our output went away.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        io.is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// Prints a line of results to standard output.
pub(crate) fn print_line(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(())
}
