//! Atomic writes: a file is written under a temporary name and renamed when it is complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes an [`AtomicFile`]; an older file of that name stays for good if `body` fails.
pub(crate) fn write(
    path: &Path,
    body: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = AtomicFile::new(path)?;
    body(&mut file)?;
    file.commit()
}

/// A file that is written under a temporary name, and renamed when it is complete. A previous file
/// of that name stays whole until then; one that is dropped before leaves nothing.
///
/// A symbolic link is followed. A device or a named pipe is written to, not replaced. The new file
/// has the permissions of the one it replaces, and its owner where the system permits that; a file
/// that was not there before has those of the process (its umask).
#[derive(Debug)]
pub struct AtomicFile {
    out: BufWriter<File>,
    place: PathBuf,
    /// The temporary file, if there is one.
    beside: Option<tempfile::TempPath>,
}

impl AtomicFile {
    /// Fails if no file could be written to `path`, as far as can be known before.
    pub fn check(path: &Path) -> io::Result<()> {
        check_name(path)?;
        let path = resolved(path);
        if path.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
        }
        if !is_special(&path) {
            beside(&path)?;
        }
        Ok(())
    }

    /// Begins a file.
    pub fn new(path: &Path) -> io::Result<Self> {
        check_name(path)?;
        let place = resolved(path);
        let (file, beside) = if is_special(&place) {
            (OpenOptions::new().write(true).open(&place)?, None)
        } else {
            let (file, path) = beside(&place)?.into_parts();
            (file, Some(path))
        };
        Ok(Self { out: BufWriter::new(file), place, beside })
    }

    /// The temporary file, which must be removed if the process ends before it is complete.
    pub fn temporary(&self) -> Option<&Path> {
        self.beside.as_deref()
    }

    /// Syncs the file and renames it into place.
    pub fn commit(mut self) -> io::Result<()> {
        self.out.flush()?;
        if let Some(beside) = self.beside {
            self.out.get_ref().sync_all()?;
            beside.persist(&self.place).map_err(|e| e.error)?;
        }
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Fails on an empty name, for which the system's message is misleading.
pub(crate) fn check_name(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "the name of the file is empty"));
    }
    Ok(())
}

/// The target of a link.
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
    let replaced = fs::metadata(path).ok();
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    if replaced.is_none() {
        // An ordinary new file, from which the umask takes its share. In place of another file it
        // stays private to the user, as temporary files are, until it has that file's permissions.
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    let file = builder.tempfile_in(folder).map_err(|e| without_path(&e))?;
    if let Some(replaced) = replaced {
        copy_access(&replaced, file.as_file())?;
    }
    Ok(file)
}

/// Gives a file the owner, the group and the permissions of another one, as far as that is
/// permitted.
#[cfg(unix)]
fn copy_access(from: &fs::Metadata, to: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let now = to.metadata()?;
    let (user, group) = (from.uid(), from.gid());
    if now.uid() != user {
        // Only the superuser can change the owner of a file.
        let _ = fchown(to, Some(user), None);
    }
    let same_group = now.gid() == group || fchown(to, None, Some(group)).is_ok();
    let mode = from.mode() & 0o777;
    // Permissions of a group are not for the members of another one.
    let mode = if same_group { mode } else { mode & (0o707 | (mode & 0o007) << 3) };
    to.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn copy_access(from: &fs::Metadata, to: &File) -> io::Result<()> {
    to.set_permissions(from.permissions())
}

/// The system's message without the name of the temporary file.
fn without_path(error: &io::Error) -> io::Error {
    let text = error.to_string();
    let word = text.split(" at path ").next().unwrap_or(&text);
    io::Error::new(error.kind(), word)
}

/// FNV-1a in 64 bits over the text and the arrays, by name: it detects accidental damage, such as a
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_replaced_file_keeps_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let link = folder.path().join("link");
        fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for bits in [0o600, 0o640, 0o644, 0o666, 0o755, 0o400, 0o604] {
            for name in [&path, &link] {
                fs::set_permissions(&path, fs::Permissions::from_mode(bits)).unwrap();
                let mut file = AtomicFile::new(name).unwrap();
                // Nobody else can read it while it is written, either.
                assert_eq!(mode(file.temporary().unwrap()), bits, "{bits:o}");
                file.write_all(b"new").unwrap();
                file.commit().unwrap();
                assert_eq!(mode(&path), bits, "{bits:o}");
            }
        }
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_new_file_has_the_permissions_of_any_other_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let [ours, theirs] = ["ours", "theirs"].map(|name| folder.path().join(name));
        write(&ours, |out| out.write_all(b"1")).unwrap();
        fs::write(&theirs, "1").unwrap();
        assert_eq!(mode(&ours), mode(&theirs));
    }

    #[test]
    fn the_owner_and_the_group_are_kept_where_that_is_permitted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        // Only the superuser can give a file away; for others there is nothing to be tested.
        if std::os::unix::fs::chown(&path, Some(12345), Some(54321)).is_err() {
            return;
        }
        write(&path, |out| out.write_all(b"new")).unwrap();
        let found = fs::metadata(&path).unwrap();
        assert_eq!((found.uid(), found.gid(), mode(&path)), (12345, 54321, 0o640));
    }
}
