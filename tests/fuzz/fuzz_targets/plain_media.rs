//! See `ringback::fuzzing::plain_media`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::plain_media(data));
