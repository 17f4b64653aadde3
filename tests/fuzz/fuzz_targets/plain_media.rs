//! See `ringback_fuzz::plain_media`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::plain_media(data));
