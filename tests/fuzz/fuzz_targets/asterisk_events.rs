//! See `ringback_fuzz::asterisk_events`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::asterisk_events(data));
