//! See `ringback_fuzz::exchange_protocol`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::exchange_protocol(data));
