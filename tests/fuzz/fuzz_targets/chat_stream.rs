//! See `ringback::fuzzing::chat_stream`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::chat_stream(data));
