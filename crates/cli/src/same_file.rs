//! Whether two names refer to the same file, through any links.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

/// The name of standard input and output.
const STANDARD: &str = "-";
/// Maximum number of links to follow; the system's own limit is 40.
const MOST_LINKS: usize = 40;

/// The identity of a file.
#[derive(Debug, PartialEq)]
enum Identity {
    /// Device and inode of an existing file.
    #[cfg(unix)]
    File(u64, u64),
    /// The path of a file, with all links of its folder resolved.
    Place(PathBuf),
}

/// Whether writing to `output` would change `input`. `-` is standard output and standard input.
///
/// Devices, terminals and pipes are never the same: writing to them does not change what is read.
pub(crate) fn overwrites(output: &Path, input: &Path) -> bool {
    let standard = Path::new(STANDARD);
    let output = if output == standard { stdout() } else { of_path(output) };
    let input = if input == standard { stdin() } else { of_path(input) };
    output.is_some() && output == input
}

/// Whether two outputs, which need not exist yet, are the same file.
pub(crate) fn same(one: &Path, other: &Path) -> bool {
    let one = of_path(one);
    one.is_some() && one == of_path(other)
}

fn of_path(path: &Path) -> Option<Identity> {
    match fs::metadata(path) {
        Ok(found) => of_file(&found, path),
        Err(_) => of_place(path, MOST_LINKS),
    }
}

#[cfg(unix)]
fn of_file(found: &Metadata, _path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    found.is_file().then(|| Identity::File(found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn of_file(found: &Metadata, path: &Path) -> Option<Identity> {
    found.is_file().then(|| fs::canonicalize(path).ok().map(Identity::Place)).flatten()
}

/// The path at which a file that does not exist yet would be created.
fn of_place(path: &Path, links: usize) -> Option<Identity> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if let (Ok(target), 1..) = (fs::read_link(path), links) {
        return of_place(&folder.join(target), links - 1);
    }
    Some(Identity::Place(fs::canonicalize(folder).ok()?.join(path.file_name()?)))
}

#[cfg(unix)]
fn stdin() -> Option<Identity> {
    use std::os::fd::AsFd;
    of_handle(std::io::stdin().as_fd())
}

#[cfg(unix)]
fn stdout() -> Option<Identity> {
    use std::os::fd::AsFd;
    of_handle(std::io::stdout().as_fd())
}

#[cfg(unix)]
fn of_handle(handle: std::os::fd::BorrowedFd<'_>) -> Option<Identity> {
    let file = fs::File::from(handle.try_clone_to_owned().ok()?);
    of_file(&file.metadata().ok()?, Path::new(STANDARD))
}

#[cfg(not(unix))]
fn stdin() -> Option<Identity> {
    None
}

#[cfg(not(unix))]
fn stdout() -> Option<Identity> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_lead_to_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), "1").unwrap();
        fs::write(path("b"), "1").unwrap();
        fs::hard_link(path("a"), path("hard")).unwrap();
        symlink("a", path("soft")).unwrap();
        symlink("soft", path("softer")).unwrap();
        fs::create_dir(path("sub")).unwrap();
        for name in ["a", "hard", "soft", "softer", "sub/../a", "./a"] {
            assert!(overwrites(&path(name), &path("a")), "{name}");
            assert!(overwrites(&path("a"), &path(name)), "{name}");
        }
        for name in ["b", "sub", "c", "sub/a"] {
            assert!(!overwrites(&path(name), &path("a")), "{name}");
        }
    }

    #[test]
    fn files_to_come_are_told_by_their_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("sub")).unwrap();
        symlink("sub", path("also")).unwrap();
        symlink("new", path("dangling")).unwrap();
        symlink("round", path("round")).unwrap();
        assert!(same(&path("new"), &path("sub/../new")));
        assert!(same(&path("sub/new"), &path("also/new")));
        assert!(same(&path("new"), &path("dangling")));
        assert!(!same(&path("new"), &path("sub/new")));
        assert!(!same(&path("none/new"), &path("new")));
        assert!(!same(&path("round"), &path("new")));
    }

    #[test]
    fn devices_are_nobodys_file() {
        assert!(!overwrites(Path::new("/dev/null"), Path::new("/dev/null")));
    }
}
