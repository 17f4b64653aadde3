//! See `ringback::fuzzing::recognisers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::recognisers(data));
