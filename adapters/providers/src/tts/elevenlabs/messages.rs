//! The messages of ElevenLabs' sockets, in either spelling.

use std::borrow::Cow;

use serde::Deserialize;

use crate::failure::Failure;
use crate::settings::Endpoint;
use crate::tts::protocol::{Spoken, VoiceEvent};

#[derive(Deserialize)]
struct Reply<'m> {
    #[serde(borrow, default)]
    audio: Option<Cow<'m, str>>,
    #[serde(rename = "isFinal", alias = "is_final", default)]
    is_final: Option<bool>,
    #[serde(borrow, default)]
    alignment: Option<Alignment<'m>>,
    #[serde(borrow, rename = "normalizedAlignment", alias = "normalized_alignment", default)]
    normalized: Option<Alignment<'m>>,
    #[serde(borrow, rename = "contextId", default)]
    context: Option<Cow<'m, str>>,
    // Not an alias: where both are sent they would be one field given twice.
    #[serde(borrow, rename = "context_id", default)]
    context_snake: Option<Cow<'m, str>>,
    #[serde(default)]
    error: Option<serde_json::Value>,
    #[serde(default)]
    message: Option<serde_json::Value>,
    #[serde(default)]
    code: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Alignment<'m> {
    #[serde(borrow, default)]
    chars: Vec<Cow<'m, str>>,
    #[serde(rename = "charStartTimesMs", alias = "char_start_times_ms", default)]
    starts: Vec<f64>,
    #[serde(
        rename = "charDurationsMs",
        alias = "charsDurationsMs",
        alias = "char_durations_ms",
        default
    )]
    durations: Vec<f64>,
}

impl<'m> Alignment<'m> {
    fn spoken(self) -> Vec<Spoken<'m>> {
        // What has no time is left out.
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

/// Reads a message of a multi-context socket.
pub(super) fn read<'m>(endpoint: &Endpoint, message: &'m str) -> Result<VoiceEvent<'m>, Failure> {
    let reply: Reply<'m> =
        serde_json::from_str(message).map_err(|error| Failure::Protocol(format!("{}: {error}", endpoint.provider)))?;
    let failed = failure(endpoint, &reply);
    let context = reply.context.or(reply.context_snake);
    let id = context.as_deref().and_then(|name| name.strip_prefix('t')?.parse().ok());
    if context.is_some() && id.is_none() {
        // None of ours.
        return Ok(VoiceEvent::default());
    }
    if id.is_none() && failed.is_none() {
        return Ok(VoiceEvent::default());
    }
    // The original text's times fit the words we know; the spoken form's are better than none.
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

fn failure(endpoint: &Endpoint, reply: &Reply<'_>) -> Option<Failure> {
    let text = |value: &Option<serde_json::Value>| match value {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(serde_json::Value::Null | serde_json::Value::Bool(false)) | None => String::new(),
        Some(other) => other.to_string(),
    };
    let (error, message) = (text(&reply.error), text(&reply.message));
    let failed = !error.is_empty() || (!message.is_empty() && reply.audio.is_none());
    failed.then(|| Failure::of_codes(endpoint, &[&error, &text(&reply.code)], &message))
}
