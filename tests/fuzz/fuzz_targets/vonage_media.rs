//! See `ringback::fuzzing::vonage_media`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::vonage_media(data));
