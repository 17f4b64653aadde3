//! See `ringback_fuzz::phone_number`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::phone_number(data));
