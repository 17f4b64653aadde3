//! See `ringback_fuzz::csv`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::csv(data));
