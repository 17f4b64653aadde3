//! See `ringback_fuzz::spoken_times`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::spoken_times(data));
