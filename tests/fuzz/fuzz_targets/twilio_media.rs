//! See `ringback_fuzz::twilio_media`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::twilio_media(data));
