//! Tasks and answers as bytes, with the version of the library that wrote them.

use crate::engine::Tensor;
use crate::error::{ClusterError, Result};
use crate::file::checksum;
use crate::persist::{pack_message, unpack_message};
use serde::{Deserialize, Serialize};

/// What all messages start with, before the version and a line break.
const MAGIC: &[u8] = b"raysum ";
/// The version of this library.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The longest version that is looked for.
const LONGEST: usize = 100;

/// The bytes of a message of some kind: "task" or "answer".
pub(super) fn seal(what: &'static str, content: &impl Serialize, tensors: Vec<Tensor>) -> Vec<u8> {
    let mut bytes = [MAGIC, VERSION.as_bytes(), b"\n"].concat();
    bytes.extend(pack_message(what, content, tensors));
    bytes
}

/// Reads a message of this kind.
pub(super) fn open<C: for<'a> Deserialize<'a>>(
    what: &'static str,
    bytes: &[u8],
) -> Result<(C, Vec<Tensor>)> {
    let damaged = |detail: String| ClusterError::Message { what, detail };
    let no_message = || damaged("it is not a message of raysum".into());
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(no_message)?;
    let end = rest.iter().take(LONGEST).position(|byte| *byte == b'\n').ok_or_else(no_message)?;
    let theirs = String::from_utf8_lossy(&rest[..end]).into_owned();
    if theirs != VERSION {
        return Err(ClusterError::Version { what, theirs, ours: VERSION.into() }.into());
    }
    Ok(unpack_message(&rest[end + 1..], what).map_err(damaged)?)
}

/// A name for a task, which its answers carry.
pub(super) fn name_of(task: &[u8]) -> String {
    checksum("task", vec![("", task)])
}
