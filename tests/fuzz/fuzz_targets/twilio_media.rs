//! See `ringback::fuzzing::twilio_media`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::twilio_media(data));
