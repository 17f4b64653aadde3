//! See `ringback::fuzzing::signatures`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::signatures(data));
