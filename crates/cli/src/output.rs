//! Writes results to standard output, or atomically to a file.

use crate::{interrupt, same_file};
use anyhow::{Context, Result, bail};
use raysum::system::AtomicFile;
use raysum_table::{escaped, is_obeyed};
use serde_json::Value;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Runs `body` on a writer to `path` (`-` is standard output). The file is renamed into place when
/// it is complete, and an interruption removes it.
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

/// A draft whose errors name the file that could not be written.
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

/// Fails if `path` cannot be written, or if that would overwrite one of the `inputs`. Called before
/// the work starts.
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

/// The causes of an error, from the outermost to the first. The library's errors end the chain:
/// their messages contain that of the system.
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

/// Whether the error is a closed pipe at the reader's end.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    causes(error).any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        io.is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// Prints to standard error; a failure to do so is ignored.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{}", shown(text));
}

/// Prints lines of results to standard output.
pub fn print_line(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", shown(text))?;
    Ok(())
}

/// Prints a JSON object as a line of results, with JSON escapes for characters that a terminal
/// would interpret. Only strings contain such characters.
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

/// Lines without characters that a terminal would interpret. Column names are escaped where they
/// are formatted; this is for file names and messages of other libraries.
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
