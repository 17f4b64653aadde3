//! See `ringback_fuzz::templates`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::templates(data));
