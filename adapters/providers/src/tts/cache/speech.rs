//! Kept speech and its key.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::ports::synthesizer::{SpeechPiece, VoiceConfig};
use futures_util::{StreamExt, stream};
use sha2::{Digest, Sha256};

use crate::{protocols::tts::provider::Pieces, tts::sound_check::is_audible};

/// Version of the key. It changes when kept speech would be synthesised differently.
const VERSION: &str = "1";

/// Key of a cached speech.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key([u8; 32]);

impl Key {
    /// Returns the key of a text in a voice, over everything that shapes its sound. The voice is the provider's own.
    pub(crate) fn new(provider: &str, signature: &str, config: &VoiceConfig, text: &str) -> Self {
        let mut hash = Sha256::new();
        let settings = format!(
            "{} {} {} {}",
            config.speed, config.stability, config.similarity_boost, config.latency
        );
        let rate = match config.format {
            Some(format) => format!("{} {format:?}", config.sample_rate),
            None => config.sample_rate.to_string(),
        };
        for part in [
            VERSION,
            provider,
            signature,
            &config.voice,
            &settings,
            &config.language,
            &rate,
            text.trim(),
        ] {
            // Each part is hashed with its length, so that different lists of parts give different keys.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    pub(super) fn name(self) -> String {
        hex::encode(self.0)
    }

    pub(super) fn of_name(name: &str) -> Option<Self> {
        let mut key = [0; 32];
        hex::decode_to_slice(name, &mut key).ok()?;
        Some(Self(key))
    }
}

/// Complete speech of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Speech(pub(super) Arc<[SpeechPiece]>);

impl Speech {
    pub(super) fn bytes(&self) -> usize {
        let of = |piece: &SpeechPiece| 2 * piece.samples.len() + 16 * piece.words.len() + size_of::<SpeechPiece>();
        self.0.iter().map(of).sum()
    }

    /// Returns the number of samples in the audible pieces.
    pub(super) fn sounding_samples(&self) -> u64 {
        let sounding = self.0.iter().filter(|piece| is_audible(piece));
        sounding.map(|piece| piece.samples.len() as u64).sum()
    }

    pub(super) fn play(self) -> Pieces {
        stream::iter((0..self.0.len()).map(move |n| Ok(self.0[n].clone()))).boxed()
    }
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
