//! See `ringback::fuzzing::carrier_answers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::carrier_answers(data));
