//! See `ringback_fuzz::event_stream`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::event_stream(data));
