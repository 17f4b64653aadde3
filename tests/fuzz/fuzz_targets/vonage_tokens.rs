//! See `ringback::fuzzing::vonage_tokens`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::vonage_tokens(data));
