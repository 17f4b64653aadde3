//! See `ringback::fuzzing::twilio_webhooks`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback::fuzzing::twilio_webhooks(data));
