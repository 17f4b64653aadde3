//! See `ringback_fuzz::message_stream`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::message_stream(data));
