//! Check whether speech is audible. A text with words but no sound has failed, however well it ended. Speech
//! that is far too short is not worth caching.

use std::collections::VecDeque;

use domain::ports::synthesizer::{SpeechPiece, VoiceConfig};
use futures_util::{StreamExt, stream};

use crate::{failure::Failure, protocols::tts::provider::Pieces};

/// Peak level up to which audio is silent: -50 dB of full scale. A quiet voice peaks at -20 dB.
const AUDIBLE: u16 = 100;

/// Minimum milliseconds per letter, digit or sign at speed 1. People and voices take 60 to 80 ms per letter,
/// and more per digit or Chinese character. The value is low so that no fast voice is refused.
const LEAST_MS: f64 = 25.0;

/// Returns whether a piece is audible.
pub(crate) fn is_audible(piece: &SpeechPiece) -> bool {
    piece.samples.iter().any(|sample| sample.unsigned_abs() > AUDIBLE)
}

/// Returns the minimum number of samples of a complete speech of this text.
pub(super) fn least_samples(text: &str, config: &VoiceConfig) -> u64 {
    let spoken = text.chars().filter(|c| c.is_alphanumeric()).count() as f64;
    let seconds = spoken * LEAST_MS / 1_000.0 / f64::from(config.speed.max(1.0));
    // A cast from a float saturates.
    (seconds * f64::from(config.sample_rate)) as u64
}

/// Holds back silence until the first sound. Fails if there is none.
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
    /// Silent pieces before the first sound, and that sound. Bounded like all audio of a text.
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
