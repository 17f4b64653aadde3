//! See `ringback::fuzzing::strict_json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::strict_json(data));
