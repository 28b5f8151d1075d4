//! Checks whether there is enough memory for a request, before anything large is allocated.
//!
//! Most systems overcommit memory, and kill the process that uses it. Therefore the memory that a
//! request needs is compared with what the machine, the process and its control group have left;
//! a successful allocation is no evidence.

use crate::error::{Error, Result};
use std::fmt;

/// Requests below this number of bytes are not checked.
const SMALL: u64 = 32 << 20;
/// The reserve, as a fraction (1/n) of the memory left.
const SPARE: u64 = 20;

/// The memory that this process can still take, in bytes: what is free on the machine, or less
/// where the process or its control group has a limit. A twentieth of it is kept in reserve. `None`
/// if the system does not report it.
pub fn available() -> Option<u64> {
    system::left().map(|left| left - left / SPARE)
}

/// The sum of some products, such as `[&[rows, columns], &[rows]]`: how many numbers a request
/// takes.
pub(crate) fn count(terms: &[&[usize]]) -> u64 {
    let product = |term: &&[usize]| term.iter().fold(1_u64, |p, n| p.saturating_mul(*n as u64));
    terms.iter().map(product).fold(0, u64::saturating_add)
}

/// Fails with [`Error::OutOfMemory`] if there is no memory for this number of 64-bit
/// floats. `what` would take them: a noun phrase, as the beginning of a sentence.
pub fn require(what: fmt::Arguments<'_>, numbers: u64) -> Result<()> {
    let needed = numbers.saturating_mul(size_of::<f64>() as u64);
    if needed < SMALL {
        return Ok(());
    }
    let error = |available| {
        Err(Error::OutOfMemory { what: what.to_string(), needed, available, enough_for: None })
    };
    match available() {
        Some(available) if needed > available => error(Some(available)),
        Some(_) => Ok(()),
        // Otherwise the allocation itself is tried.
        None => {
            match usize::try_from(needed).map(|size| Vec::<u8>::new().try_reserve_exact(size)) {
                Ok(Ok(())) => Ok(()),
                _ => error(None),
            }
        }
    }
}

/// The same for rows of `each` numbers; the error says for how many rows there is memory.
pub(crate) fn require_for_rows(what: fmt::Arguments<'_>, rows: usize, each: usize) -> Result<()> {
    let size = (each * size_of::<f64>()) as u64;
    require(what, count(&[&[rows, each]])).map_err(|error| match error {
        Error::OutOfMemory { what, needed, available, .. } => {
            let enough_for = available.map(|free| free / size.max(1));
            Error::OutOfMemory { what, needed, available, enough_for }
        }
        other => other,
    })
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;
    use std::path::{Path, PathBuf};

    /// The least of everything that limits the process.
    pub(super) fn left() -> Option<u64> {
        [machine(), committed(), process(), group()].into_iter().flatten().min()
    }

    /// The number behind a name at the start of a line, in bytes.
    fn field(text: &str, name: &str) -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let mut words = line.split_whitespace();
        let value: u64 = words.next()?.parse().ok()?;
        value.checked_mul(if words.next() == Some("kB") { 1024 } else { 1 })
    }

    fn number(path: &Path) -> Option<u64> {
        fs::read_to_string(path).ok()?.trim().parse().ok()
    }

    /// What the machine can give without ending a process.
    fn machine() -> Option<u64> {
        let info = fs::read_to_string("/proc/meminfo").ok()?;
        Some(field(&info, "MemAvailable:")? + field(&info, "SwapFree:").unwrap_or(0))
    }

    /// What it may promise, where it promises no more than it has.
    fn committed() -> Option<u64> {
        number(Path::new("/proc/sys/vm/overcommit_memory")).filter(|mode| *mode == 2)?;
        let info = fs::read_to_string("/proc/meminfo").ok()?;
        Some(field(&info, "CommitLimit:")?.saturating_sub(field(&info, "Committed_AS:")?))
    }

    /// The limits of the process itself (`ulimit -v` and `-d`).
    fn process() -> Option<u64> {
        let limits = fs::read_to_string("/proc/self/limits").ok()?;
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let left = |limit, used| Some(field(&limits, limit)?.saturating_sub(field(&status, used)?));
        let address_space = left("Max address space", "VmSize:");
        let data = left("Max data size", "VmData:");
        [address_space, data].into_iter().flatten().min()
    }

    /// The limits of the control groups that the process is in, such as those of a container.
    fn group() -> Option<u64> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let left = groups.lines().filter_map(|line| {
            let mut parts = line.splitn(3, ':');
            let (_, kind, path) = (parts.next()?, parts.next()?, parts.next()?);
            if kind.is_empty() {
                let mounts = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
                mounts.iter().filter_map(|root| upwards(root, path, &SECOND)).min()
            } else if kind.split(',').any(|controller| controller == "memory") {
                upwards("/sys/fs/cgroup/memory", path, &FIRST)
            } else {
                None
            }
        });
        left.min()
    }

    /// The names of a version of control groups.
    struct Names {
        limit: &'static str,
        usage: &'static str,
        /// Pages of files, which are dropped when memory is needed.
        files: [&'static str; 2],
    }

    const FIRST: Names = Names {
        limit: "memory.limit_in_bytes",
        usage: "memory.usage_in_bytes",
        files: ["total_inactive_file ", "total_active_file "],
    };
    const SECOND: Names = Names {
        limit: "memory.max",
        usage: "memory.current",
        files: ["inactive_file ", "active_file "],
    };

    /// The least that is left in a group and in those it is part of. Inside a container the path is
    /// not always there; its root is.
    fn upwards(root: &str, path: &str, names: &Names) -> Option<u64> {
        let root = Path::new(root);
        let mut folder: PathBuf = root.join(path.trim_start_matches('/'));
        let mut least = None;
        loop {
            least = least.into_iter().chain(in_group(&folder, names)).min();
            if folder == root || !folder.pop() {
                return least;
            }
        }
    }

    fn in_group(folder: &Path, names: &Names) -> Option<u64> {
        // A group without a limit has a word there, or the largest number there is.
        let limit = number(&folder.join(names.limit))?;
        let usage = number(&folder.join(names.usage))?;
        let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
        let files: u64 = names.files.iter().filter_map(|name| field(&stat, name)).sum();
        Some(limit.saturating_sub(usage.saturating_sub(files)))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_least_of_all_groups_counts() {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().to_str().unwrap();
            let write = |place: &str, name: &str, text: &str| {
                let group = folder.path().join(place);
                fs::create_dir_all(&group).unwrap();
                fs::write(group.join(name), text).unwrap();
            };
            write("", "memory.max", "max\n");
            write("", "memory.current", "123\n");
            assert_eq!(upwards(root, "/a/b", &SECOND), None);
            write("a/b", "memory.max", "9000\n");
            write("a/b", "memory.current", "1000\n");
            assert_eq!(upwards(root, "/a/b", &SECOND), Some(8000));
            write("a", "memory.max", "5000\n");
            write("a", "memory.current", "2000\n");
            assert_eq!(upwards(root, "/a/b", &SECOND), Some(3000));
            // Pages of files can go.
            write("a", "memory.stat", "anon 1\ninactive_file 500\nactive_file 300\n");
            assert_eq!(upwards(root, "/a/b", &SECOND), Some(3800));
            assert_eq!(upwards(root, "/elsewhere", &SECOND), None);
            write("v", "memory.limit_in_bytes", "700\n");
            write("v", "memory.usage_in_bytes", "900\n");
            assert_eq!(upwards(root, "/v", &FIRST), Some(0));
        }

        #[test]
        fn fields_are_found_with_their_unit() {
            let text = "MemFree:      12 kB\nMax data size   unlimited  7 bytes\nfile 4\n";
            assert_eq!(field(text, "MemFree:"), Some(12 << 10));
            assert_eq!(field(text, "Max data size"), None);
            assert_eq!(field(text, "file "), Some(4));
            assert_eq!(field(text, "SwapFree:"), None);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn left() -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_do_not_overflow() {
        assert_eq!(count(&[&[3, 4], &[5]]), 17);
        assert_eq!(count(&[]), 0);
        assert_eq!(count(&[&[usize::MAX, usize::MAX], &[1]]), u64::MAX);
    }

    #[test]
    fn what_does_not_fit_is_an_error_with_both_sizes() {
        require(format_args!("a little"), 1000).unwrap();
        let e = require(format_args!("everything"), 1 << 50).unwrap_err();
        let Error::OutOfMemory { needed, available, .. } = &e else { panic!("{e}") };
        assert_eq!(*needed, 1 << 53);
        let says = "everything would take 9007.2 TB of memory, ";
        assert!(e.to_string().starts_with(says), "{e}");
        if cfg!(target_os = "linux") {
            // Some of it is free, and no machine has a thousandth of what was asked for.
            assert!(available.is_some_and(|free| free > 1 << 20 && free < 1 << 43), "{e}");
        }
    }

    #[test]
    fn rows_that_do_not_fit_are_an_error_with_how_many_would() {
        let e = require_for_rows(format_args!("all rows"), 1 << 40, 1 << 10).unwrap_err();
        let Error::OutOfMemory { available, enough_for, .. } = &e else { panic!("{e}") };
        assert_eq!(*enough_for, available.map(|free| free >> 13));
        let says = e.to_string();
        assert_eq!(says.contains(" is free, enough for "), available.is_some(), "{says}");
    }
}
