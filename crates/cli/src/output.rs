//! Where results go: standard output, or a file that is written atomically.

use crate::{interrupt, same_file};
use anyhow::{Context, Result, bail};
use raysum::AtomicFile;
use raysum_table::{escaped, is_obeyed};
use serde_json::Value;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Runs `body` on a writer to `path` (`-` is standard output). It may take its time: a file is put
/// in its place when it is complete, and an interruption leaves nothing of it.
pub fn write<E: Into<anyhow::Error>>(
    path: &Path,
    body: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), E>,
) -> Result<()> {
    if path == Path::new("-") {
        let mut out = BufWriter::new(io::stdout());
        body(&mut out).map_err(Into::into)?;
        out.flush()?;
        return Ok(());
    }
    let cannot = || format!("cannot write {}", path.display());
    let mut file = AtomicFile::new(path).with_context(cannot)?;
    interrupt::removes(file.temporary());
    let done = body(&mut Named { file: &mut file, path })
        .map_err(Into::into)
        .and_then(|()| interrupt::whole(|| file.commit()).with_context(cannot));
    interrupt::removes(None);
    done
}

/// A file whose errors tell which file could not be written.
struct Named<'a> {
    file: &'a mut AtomicFile,
    path: &'a Path,
}

impl Named<'_> {
    fn cannot(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("cannot write {}: {error}", self.path.display()))
    }
}

impl Write for Named<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| self.cannot(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| self.cannot(&error))
    }
}

/// Fails if nothing could be written to `path`, or if that would overwrite one of the `inputs`:
/// better now than after an hour of fitting.
pub(crate) fn check<'a>(path: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    check_inputs(path, inputs)?;
    if path == Path::new("-") {
        return Ok(());
    }
    AtomicFile::check(path).with_context(|| format!("cannot write {}", path.display()))
}

/// Fails if `path` is the same file as one of the `inputs`.
pub(crate) fn check_inputs<'a>(
    path: &Path,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<()> {
    let Some(input) = inputs.into_iter().find(|input| same_file::overwrites(path, input)) else {
        return Ok(());
    };
    let name = |path: &Path, standard: &str| match path.to_str() {
        Some("-") => standard.to_string(),
        _ => path.display().to_string(),
    };
    let (output, input) = (name(path, "standard output"), name(input, "standard input"));
    if output == input {
        bail!("cannot write {output}: it is an input of this command; name another file");
    }
    bail!(
        "cannot write {output}: it is the same file as {input}, an input of this command; name \
         another file"
    );
}

/// What led to an error, from the last step to the first. The library's errors end it: their sentences
/// hold what the system said.
fn causes(error: &anyhow::Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    let mut told = false;
    error.chain().take_while(move |cause| {
        let before = told;
        told = told || cause.is::<raysum::Error>();
        !before
    })
}

/// An error with its causes, as one sentence.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Whether the reader of our output went away.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    causes(error).any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        io.is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// Says something on standard error; if nobody can hear it, the job goes on all the same.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{}", shown(text));
}

/// Prints lines of results to standard output.
pub fn print_line(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", shown(text))?;
    Ok(())
}

/// Prints a JSON object as a line of results, with escapes of JSON's own for what a terminal would
/// obey. Only strings hold such characters.
pub fn print_json(value: &Value) -> Result<()> {
    let mut line = String::new();
    for c in value.to_string().chars() {
        if is_obeyed(c) {
            line += &format!("\\u{:04x}", c as u32);
        } else {
            line.push(c);
        }
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(())
}

/// Lines without anything that a terminal would obey. Names are escaped where they are put into a
/// line; this is for file names and the words of other libraries.
fn shown(text: &str) -> String {
    text.split('\n').map(escaped).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_said_is_told_once() {
        let reason = io::Error::from(io::ErrorKind::BrokenPipe);
        let says = reason.to_string();
        let error = anyhow::Error::from(raysum::Error::Io { path: "a".into(), reason });
        let error = error.context("cannot do it");
        assert_eq!(sentence(&error), format!("cannot do it: a: {says}"));
        // A file that could not be written is a failure; only standard output may go away.
        assert!(!is_broken_pipe(&error));
        let error = anyhow::Error::from(io::Error::from(io::ErrorKind::BrokenPipe)).context("cut");
        assert_eq!(sentence(&error), format!("{error:#}"));
        assert!(is_broken_pipe(&error));
    }
}
