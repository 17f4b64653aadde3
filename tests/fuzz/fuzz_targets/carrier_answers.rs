//! See `ringback_fuzz::carrier_answers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::carrier_answers(data));
