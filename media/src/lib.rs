//! Sans-IO audio: no async, no clock, no socket. Time is passed in as a number, audio as slices, and facts
//! are returned as values.
//!
//! All audio inside is mono `i16`. The recogniser's side runs at 16 kHz, a telephone line at 8 kHz.

pub mod amd;
pub mod babble;
pub mod codec;
pub mod format;
pub mod frames;
pub mod listener_audio;
pub mod opus;
pub mod playout;
pub mod recording;
pub mod resample;
pub mod session;
pub mod tone;
pub mod translate;
pub mod turn;
pub mod vad;
