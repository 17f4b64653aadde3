//! See `ringback::fuzzing::email`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::email(data));
