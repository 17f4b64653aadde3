//! See `ringback_fuzz::callbacks`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::callbacks(data));
