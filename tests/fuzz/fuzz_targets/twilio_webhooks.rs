//! See `ringback_fuzz::twilio_webhooks`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringback_fuzz::twilio_webhooks(data));
