//! Any bytes, as a table.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| raysum_cli::fuzzing::table(bytes));
