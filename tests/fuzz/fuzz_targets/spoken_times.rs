//! See `ringback::fuzzing::spoken_times`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::spoken_times(data));
