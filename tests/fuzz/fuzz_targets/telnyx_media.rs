//! See `ringback::fuzzing::telnyx_media`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::telnyx_media(data));
