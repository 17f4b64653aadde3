//! See `ringback_fuzz::signatures`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::signatures(data));
