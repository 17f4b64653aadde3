//! See `ringback_fuzz::cursor`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::cursor(data));
