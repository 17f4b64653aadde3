//! Messages of ElevenLabs' sockets, in camel case or snake case.

use std::borrow::Cow;

use serde::Deserialize;

use crate::failure::Failure;
use crate::settings::Endpoint;
use crate::tts::{
    protocol::{Spoken, VoiceEvent, read_json},
    refusal::in_words,
};

#[derive(Deserialize)]
struct Received<'m> {
    #[serde(borrow)]
    audio: Option<Cow<'m, str>>,
    #[serde(rename = "isFinal", alias = "is_final")]
    is_final: Option<bool>,
    #[serde(borrow)]
    alignment: Option<Alignment<'m>>,
    #[serde(borrow, rename = "normalizedAlignment", alias = "normalized_alignment")]
    normalized: Option<Alignment<'m>>,
    #[serde(borrow, rename = "contextId")]
    context: Option<Cow<'m, str>>,
    // This is not an alias: if both are sent, serde would report a duplicate field.
    #[serde(borrow, rename = "context_id")]
    context_snake: Option<Cow<'m, str>>,
    error: Option<serde_json::Value>,
    message: Option<serde_json::Value>,
    code: Option<serde_json::Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Alignment<'m> {
    #[serde(borrow)]
    chars: Vec<Cow<'m, str>>,
    #[serde(rename = "charStartTimesMs", alias = "char_start_times_ms")]
    starts: Vec<f64>,
    #[serde(rename = "charDurationsMs", alias = "charsDurationsMs", alias = "char_durations_ms")]
    durations: Vec<f64>,
}

impl<'m> Alignment<'m> {
    fn spoken(self) -> Vec<Spoken<'m>> {
        // Characters without times are left out.
        let times = self.starts.into_iter().zip(self.durations);
        let characters = self.chars.into_iter().zip(times);
        characters
            .map(|(text, (start, duration))| Spoken {
                text,
                is_word: false,
                end_ms: start + duration,
                from_here: true,
            })
            .collect()
    }
}

/// Parses a message of a multi-context socket.
pub(super) fn read<'m>(endpoint: &Endpoint, message: &'m str) -> Result<VoiceEvent<'m>, Failure> {
    let reply: Received<'m> = read_json(endpoint, message)?;
    let failed = failure(endpoint, &reply);
    let context = reply.context.or(reply.context_snake);
    let id = context.as_deref().and_then(|name| name.strip_prefix('t')?.parse().ok());
    // The message belongs to a foreign context, or to none.
    if id.is_none() && (context.is_some() || failed.is_none()) {
        return Ok(VoiceEvent::default());
    }
    // Times of the original text match our words; times of the normalised text are better than none.
    let alignment = reply.alignment.or(reply.normalized);
    Ok(VoiceEvent {
        id,
        audio: reply.audio,
        spoken: alignment.map(Alignment::spoken).unwrap_or_default(),
        ended: reply.is_final == Some(true),
        cleared: false,
        failed,
    })
}

fn failure(endpoint: &Endpoint, reply: &Received<'_>) -> Option<Failure> {
    let (error, message) = (in_words(&reply.error), in_words(&reply.message));
    let failed = !error.is_empty() || (!message.is_empty() && reply.audio.is_none());
    failed.then(|| Failure::of_codes(endpoint, &[&error, &in_words(&reply.code)], &message))
}
