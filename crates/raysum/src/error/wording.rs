//! Sizes and files as messages write them.

use std::path::Path;

/// A number of bytes, as people write it.
pub(super) fn size(bytes: u64) -> String {
    let bytes = bytes as f64;
    match bytes {
        1e12.. => format!("{:.1} TB", bytes / 1e12),
        1e9.. => format!("{:.1} GB", bytes / 1e9),
        _ => format!("{:.0} MB", bytes / 1e6),
    }
}

/// What happened to which file, if it has a name.
pub(super) fn about_file(path: &Path, reason: &std::io::Error) -> String {
    match path.to_str() {
        Some("") => reason.to_string(),
        _ => format!("{}: {reason}", path.display()),
    }
}
