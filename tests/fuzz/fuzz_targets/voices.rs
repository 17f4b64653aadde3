//! See `ringback_fuzz::voices`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::voices(data));
