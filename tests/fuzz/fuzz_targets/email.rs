//! See `ringback_fuzz::email`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::email(data));
