//! See `ringback_fuzz::chat_stream`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::chat_stream(data));
