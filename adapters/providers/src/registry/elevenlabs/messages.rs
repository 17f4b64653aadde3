//! Messages of ElevenLabs' sockets, in camel case or snake case.

use std::borrow::Cow;

use serde::Deserialize;

use crate::{
    endpoint::Endpoint,
    failure::Failure,
    protocols::tts::{
        protocol::{Spoken, VoiceEvent, read_json},
        refusal::in_words,
    },
};

#[derive(Deserialize)]
struct Received<'m> {
    #[serde(borrow)]
    audio: Option<Cow<'m, str>>,
    #[serde(rename = "isFinal")]
    is_final: Option<bool>,
    // The other spelling is not an alias: if both are sent, serde would report a duplicate field.
    #[serde(rename = "is_final")]
    is_final_snake: Option<bool>,
    #[serde(borrow)]
    alignment: Option<Alignment<'m>>,
    #[serde(borrow, rename = "normalizedAlignment")]
    normalized: Option<Alignment<'m>>,
    #[serde(borrow, rename = "normalized_alignment")]
    normalized_snake: Option<Alignment<'m>>,
    #[serde(borrow, rename = "contextId")]
    context: Option<Cow<'m, str>>,
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
    #[serde(rename = "charStartTimesMs")]
    char_starts: Times,
    #[serde(rename = "charsStartTimesMs")]
    chars_starts: Times,
    #[serde(rename = "char_start_times_ms")]
    char_starts_snake: Times,
    #[serde(rename = "chars_start_times_ms")]
    chars_starts_snake: Times,
    #[serde(rename = "charDurationsMs")]
    char_durations: Times,
    #[serde(rename = "charsDurationsMs")]
    chars_durations: Times,
    #[serde(rename = "char_durations_ms")]
    char_durations_snake: Times,
    #[serde(rename = "chars_durations_ms")]
    chars_durations_snake: Times,
}

/// Milliseconds of each character, in one of the spellings.
type Times = Option<Vec<f64>>;

/// Returns the times in the first spelling that is there.
fn first(spellings: [Times; 4]) -> Vec<f64> {
    spellings.into_iter().flatten().next().unwrap_or_default()
}

impl<'m> Alignment<'m> {
    fn spoken(self) -> Vec<Spoken<'m>> {
        // Characters without times are left out.
        let starts = [
            self.char_starts,
            self.chars_starts,
            self.char_starts_snake,
            self.chars_starts_snake,
        ];
        let durations = [
            self.char_durations,
            self.chars_durations,
            self.char_durations_snake,
            self.chars_durations_snake,
        ];
        let times = first(starts).into_iter().zip(first(durations));
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
pub(crate) fn read<'m>(endpoint: &Endpoint, message: &'m str) -> Result<VoiceEvent<'m>, Failure> {
    let reply: Received<'m> = read_json(endpoint, message)?;
    let failed = failure(endpoint, &reply);
    let context = reply.context.or(reply.context_snake);
    let id = context.as_deref().and_then(|name| name.strip_prefix('t')?.parse().ok());
    // The message belongs to a foreign context, or to none.
    if id.is_none() && (context.is_some() || failed.is_none()) {
        return Ok(VoiceEvent::default());
    }
    // Times of the original text match our words; times of the normalised text are better than none.
    let alignment = reply.alignment.or(reply.normalized).or(reply.normalized_snake);
    Ok(VoiceEvent {
        id,
        audio: reply.audio,
        spoken: alignment.map(Alignment::spoken).unwrap_or_default(),
        ended: reply.is_final.or(reply.is_final_snake) == Some(true),
        cleared: false,
        failed,
    })
}

fn failure(endpoint: &Endpoint, reply: &Received<'_>) -> Option<Failure> {
    let (error, message) = (in_words(&reply.error), in_words(&reply.message));
    let failed = !error.is_empty() || (!message.is_empty() && reply.audio.is_none());
    failed.then(|| Failure::of_codes(endpoint, &[&error, &in_words(&reply.code)], &message))
}
