//! Writing a file so that it is there whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a file as a [`Draft`]; an older file of that name stays for good if `body` fails.
pub fn write(path: &Path, body: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut draft = Draft::new(path)?;
    body(&mut draft)?;
    draft.commit()
}

/// A file that is written beside its place, and moved there when it is complete. An older file of
/// that name stays whole until then; a draft that is dropped leaves nothing.
///
/// A symbolic link is followed. A device or a named pipe is written to, not replaced.
#[derive(Debug)]
pub struct Draft {
    out: BufWriter<File>,
    place: PathBuf,
    /// Where it is written, unless that is its place.
    beside: Option<tempfile::TempPath>,
}

impl Draft {
    /// Begins a file.
    pub fn new(path: &Path) -> io::Result<Self> {
        let place = resolved(path);
        let (file, beside) = if is_special(&place) {
            (OpenOptions::new().write(true).open(&place)?, None)
        } else {
            let (file, path) = beside(&place)?.into_parts();
            (file, Some(path))
        };
        Ok(Self { out: BufWriter::new(file), place, beside })
    }

    /// Where it is written: to be removed by whoever ends the process before it is complete.
    pub fn temporary(&self) -> Option<&Path> {
        self.beside.as_deref()
    }

    /// Puts the file in its place, after it has reached the disk.
    pub fn commit(mut self) -> io::Result<()> {
        self.out.flush()?;
        if let Some(beside) = self.beside {
            self.out.get_ref().sync_all()?;
            beside.persist(&self.place).map_err(|e| e.error)?;
        }
        Ok(())
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Fails if [`write`] would, as far as can be known before.
pub fn check(path: &Path) -> io::Result<()> {
    let path = resolved(path);
    if path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
    }
    if !is_special(&path) {
        beside(&path)?;
    }
    Ok(())
}

/// Where a link leads.
fn resolved(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir())
}

/// A new file in the same folder, which vanishes unless it is moved.
fn beside(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if folder.exists() && !folder.is_dir() {
        let text = format!("{} is not a folder", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotADirectory, text));
    }
    if !folder.is_dir() {
        let text = format!("the folder {} does not exist", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, text));
    }
    let mut builder = tempfile::Builder::new();
    // Temporary files are private to their owner; this is to become an ordinary one.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    builder.tempfile_in(folder).map_err(|e| without_path(&e))
}

/// The system's word alone: the name of a temporary file says nothing to the user.
fn without_path(error: &io::Error) -> io::Error {
    let text = error.to_string();
    let word = text.split(" at path ").next().unwrap_or(&text);
    io::Error::new(error.kind(), word)
}

/// FNV-1a in 64 bits over the text and the arrays, by name: not against malice, but against a
/// flipped bit.
pub(crate) fn checksum(text: &str, mut arrays: Vec<(&str, &[u8])>) -> String {
    arrays.sort_unstable_by_key(|(name, _)| *name);
    let parts = arrays.iter().flat_map(|(name, bytes)| [name.as_bytes(), bytes]);
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in std::iter::once(text.as_bytes()).chain(parts).flatten() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
}
