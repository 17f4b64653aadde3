//! Whether a text is heard: one with words of which no sound comes has failed, however well it ended; and what sounds
//! for far too short a time is not worth keeping.

use std::collections::VecDeque;

use domain::ports::synthesizer::{SpeechPiece, VoiceConfig};
use futures_util::{StreamExt, stream};

use crate::failure::Failure;
use crate::tts::provider::Pieces;

/// What never gets louder is silence: -50 dB of full scale, where a quiet voice peaks at -20 dB.
const AUDIBLE: u16 = 100;

/// A letter, a digit or a sign takes at least so long at the speed 1: people and voices take 60 to 80 ms for a letter,
/// and more for a digit or a sign of Chinese. Low, because nothing may refuse a fast voice.
const LEAST_MS: f64 = 25.0;

/// Whether anything is to be heard in it.
pub(crate) fn is_audible(piece: &SpeechPiece) -> bool {
    piece.samples.iter().any(|sample| sample.unsigned_abs() > AUDIBLE)
}

/// The samples that a complete speech of this text has at least.
pub(super) fn least_samples(text: &str, config: &VoiceConfig) -> u64 {
    let spoken = text.chars().filter(|c| c.is_alphanumeric()).count() as f64;
    let seconds = spoken * LEAST_MS / 1_000.0 / f64::from(config.speed.max(1.0));
    // A cast of a float saturates.
    (seconds * f64::from(config.sample_rate)) as u64
}

/// The pieces of a text, where silence waits for the first sound, and is a failure when none comes.
pub(super) fn sounding(text: &str, pieces: Pieces) -> Pieces {
    if !text.chars().any(char::is_alphanumeric) {
        return pieces;
    }
    let waiting = Sounding {
        pieces,
        silence: VecDeque::new(),
        heard: false,
        over: false,
    };
    stream::unfold(waiting, async |mut waiting| {
        let piece = waiting.next().await?;
        Some((piece, waiting))
    })
    .boxed()
}

struct Sounding {
    pieces: Pieces,
    /// What came before the first sound, and that sound; bounded, as all audio of a text is.
    silence: VecDeque<SpeechPiece>,
    heard: bool,
    over: bool,
}

impl Sounding {
    async fn next(&mut self) -> Option<Result<SpeechPiece, Failure>> {
        while !self.heard && !self.over {
            match self.pieces.next().await {
                Some(Ok(piece)) => {
                    self.heard = is_audible(&piece);
                    self.silence.push_back(piece);
                }
                failed => {
                    self.over = true;
                    let silent = || Err(Failure::Protocol("no sound came".into()));
                    return Some(failed.unwrap_or_else(silent));
                }
            }
        }
        match self.silence.pop_front() {
            Some(piece) if self.heard => Some(Ok(piece)),
            _ if self.over => None,
            _ => self.pieces.next().await,
        }
    }
}
