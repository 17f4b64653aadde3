//! See `ringback::fuzzing::event_stream`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::event_stream(data));
