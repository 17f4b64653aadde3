//! See `ringback_fuzz::schedules`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::schedules(data));
