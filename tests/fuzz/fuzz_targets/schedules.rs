//! See `ringback::fuzzing::schedules`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::schedules(data));
