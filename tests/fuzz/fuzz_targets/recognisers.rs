//! See `ringback_fuzz::recognisers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::recognisers(data));
