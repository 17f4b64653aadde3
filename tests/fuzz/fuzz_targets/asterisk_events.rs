//! See `ringback::fuzzing::asterisk_events`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::asterisk_events(data));
