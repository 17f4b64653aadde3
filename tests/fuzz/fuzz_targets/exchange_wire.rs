//! See `ringback::fuzzing::exchange_wire`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::exchange_wire(data));
