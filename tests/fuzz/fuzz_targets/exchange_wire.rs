//! See `ringback_fuzz::exchange_wire`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::exchange_wire(data));
