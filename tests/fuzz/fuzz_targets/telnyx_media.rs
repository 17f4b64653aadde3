//! See `ringback_fuzz::telnyx_media`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::telnyx_media(data));
