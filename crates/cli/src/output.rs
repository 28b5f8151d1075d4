//! Where results go: standard output, or a file that is written atomically.

use crate::{interrupt, same_file};
use anyhow::{Context, Result, bail};
use raysum::file::Draft;
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
    let mut draft = Draft::new(path).with_context(cannot)?;
    interrupt::removes(draft.temporary());
    let done = body(&mut Named { draft: &mut draft, path })
        .map_err(Into::into)
        .and_then(|()| interrupt::whole(|| draft.commit()).with_context(cannot));
    interrupt::removes(None);
    done
}

/// A draft whose errors tell which file could not be written.
struct Named<'a> {
    draft: &'a mut Draft,
    path: &'a Path,
}

impl Named<'_> {
    fn cannot(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("cannot write {}: {error}", self.path.display()))
    }
}

impl Write for Named<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.draft.write(bytes).map_err(|error| self.cannot(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.draft.flush().map_err(|error| self.cannot(&error))
    }
}

/// Fails if nothing could be written to `path`, or if that would overwrite one of the `inputs`:
/// better now than after an hour of fitting.
pub(crate) fn check<'a>(path: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    check_inputs(path, inputs)?;
    if path == Path::new("-") {
        return Ok(());
    }
    raysum::file::check(path).with_context(|| format!("cannot write {}", path.display()))
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

/// Whether the reader of our output went away.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
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
