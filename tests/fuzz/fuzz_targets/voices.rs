//! See `ringback::fuzzing::voices`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::voices(data));
