//! Sans-IO audio: no async, no clock, no socket. Time enters as a number, audio as slices, facts leave as values.
//!
//! Everything inside is mono `i16`; the recogniser's side is 16 kHz, a telephone line 8 kHz.

pub mod amd;
pub mod babble;
pub mod codec;
pub mod format;
pub mod playout;
pub mod recording;
pub mod resample;
pub mod session;
pub mod tone;
pub mod translate;
pub mod turn;
pub mod vad;
