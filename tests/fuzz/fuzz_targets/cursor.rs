//! See `ringback::fuzzing::cursor`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::cursor(data));
