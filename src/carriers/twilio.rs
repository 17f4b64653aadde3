//! Twilio's formats. The simulated exchange streams audio in the same one.

pub mod stream;
