//! See `ringback::fuzzing::message_stream`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::message_stream(data));
