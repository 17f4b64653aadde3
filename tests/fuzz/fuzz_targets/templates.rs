//! See `ringback::fuzzing::templates`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::templates(data));
