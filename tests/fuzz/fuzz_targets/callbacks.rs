//! See `ringback::fuzzing::callbacks`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::callbacks(data));
