//! The babble voice carries words exactly over a telephone line, in speech-like sound at about human speed.
//!
//! Text travels in packets of up to 12 bytes. A sound lasts 40 ms and is a vowel of three formants with four
//! places each: 6 bits. A packet is a pause, a hum (the sync), a header (length, sequence), the bytes, and a
//! CRC of three sounds. The start value of the CRC tells whether the packet is the first or last of its
//! utterance. Damaged text is reported as missing, never guessed.

mod listener;
mod packet;
mod sound;
mod speaker;
mod spectrum;
mod transcript;
mod voice;

pub use listener::{Listener, ListenerEvent};
pub use speaker::{Speaker, UnsupportedRate};
pub use transcript::{MISSING, Transcript, Utterance};
pub use voice::Voice;

#[cfg(test)]
mod tests;
