//! See `ringback::fuzzing::csv`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::csv(data));
