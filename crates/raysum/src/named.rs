//! Looks up choices by name.

use crate::error::{Error, Result};

/// The choice with this name among `all`; the error names the `kind` and all there are.
pub(crate) fn find<T: Copy>(
    kind: &'static str,
    all: &[(&'static str, T)],
    name: &str,
) -> Result<T> {
    let found = all.iter().find(|(known, _)| *known == name);
    found.map(|(_, choice)| *choice).ok_or_else(|| Error::UnknownName {
        kind,
        name: name.into(),
        known: all.iter().map(|(known, _)| *known).collect(),
    })
}
