//! See `ringback_fuzz::audiosocket`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::audiosocket(data));
