//! The source of an error.

use super::*;
use std::error::Error as _;
use std::io;

#[test]
fn errors_of_the_system_are_kept_as_the_source() {
    let reason = || io::Error::from(io::ErrorKind::PermissionDenied);
    let says = reason().to_string();
    let file = Error::Io { path: "a".into(), reason: reason() };
    assert_eq!(file.to_string(), format!("a: {says}"));
    let store = Error::Store { folder: "b".into(), reason: reason() };
    let rows = format!("b: rows cannot be kept in a temporary file there ({says})");
    assert_eq!(store.to_string(), rows);
    for error in [file, store] {
        let source = error.source().and_then(|e| e.downcast_ref::<io::Error>()).unwrap();
        assert_eq!(source.kind(), io::ErrorKind::PermissionDenied);
    }
    assert!(Error::NoSubKernels.source().is_none());
}
