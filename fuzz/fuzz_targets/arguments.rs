//! Any bytes, as arguments.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| raysum_cli::fuzzing::arguments(bytes));
