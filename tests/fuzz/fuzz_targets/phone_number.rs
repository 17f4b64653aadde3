//! See `ringback::fuzzing::phone_number`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::phone_number(data));
