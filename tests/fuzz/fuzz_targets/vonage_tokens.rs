//! See `ringback_fuzz::vonage_tokens`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::vonage_tokens(data));
