//! Log of the messages that the stubs received.

use std::sync::{Mutex, PoisonError};

/// Service of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Service {
    /// `/v1/chat/completions`.
    ChatCompletions,
    /// `/v1/messages`, Anthropic's.
    Messages,
    /// `/v1/embeddings`.
    Embeddings,
    /// `/v1/listen`, Deepgram's.
    Listen,
    /// `/v2/listen`, Deepgram's Flux.
    Flux,
    /// `/v1/audio/transcriptions`.
    Transcriptions,
    /// `/v1/speech-to-text/realtime`, ElevenLabs'.
    Scribe,
    /// `/v1/text-to-speech/…`, ElevenLabs'.
    ElevenLabs,
    /// `/v1/audio/speech`.
    Speech,
    /// `/v1/speak`, Deepgram's.
    Speak,
    /// `/tts/websocket`, Cartesia's.
    Cartesia,
}

/// A message or an action of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Service that received it.
    pub service: Service,
    /// A text message or body as received; any other event in a word or two: `connected`, `disconnected`, `audio 3200`.
    pub what: String,
}

/// Entries in the order of arrival.
#[derive(Debug, Default)]
pub(super) struct Log(Mutex<Vec<Received>>);

impl Log {
    pub(super) fn push(&self, received: Received) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(received);
    }

    pub(super) fn of(&self, service: Service) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of = all.iter().filter(|received| received.service == service);
        of.map(|received| received.what.clone()).collect()
    }
}
