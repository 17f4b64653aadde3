//! See `ringback_fuzz::strict_json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::strict_json(data));
