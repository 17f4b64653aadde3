//! See `ringback::fuzzing::asterisk_media`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::asterisk_media(data));
