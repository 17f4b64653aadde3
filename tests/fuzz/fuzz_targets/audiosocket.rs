//! See `ringback::fuzzing::audiosocket`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::audiosocket(data));
