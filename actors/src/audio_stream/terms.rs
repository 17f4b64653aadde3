//! Translates the agent's settings and the socket's abilities into the session's types.

use std::sync::Arc;

use media::{format::LineFormat, playout::LineAbilities, turn::endpointing::PausePolicy};
use ractor::ActorRef;

use super::{StreamMessage, StreamSettings, transcript_queue::TranscriptQueue};
use domain::{
    agent::{Agent, DEFAULT_VOICE, SpellingPatience, SupportedVoice, TurnEagerness, TurnSection},
    ports::{
        media_leg::MediaLeg,
        synthesizer::VoiceConfig,
        transcriber::{Transcriber, TranscriberConfig, TranscriptStream},
        usage::Meter,
    },
};

/// Returns the agent's usual voice in the language it speaks.
pub(super) fn usual_voice(agent: &Agent, sample_rate: u32, meter: Meter) -> VoiceConfig {
    let config = &agent.conversation_config;
    let tts = &config.tts;
    if let Some(voice) = config.tts.usual(&config.agent.primary_language) {
        return other_voice(agent, voice, (sample_rate, meter));
    }
    let (provider, voice) = named(&tts.voice_id);
    VoiceConfig {
        provider,
        voice,
        language: config.agent.primary_language.clone(),
        sample_rate,
        format: tts.format().map(|format| format.line),
        speed: tts.speed as f32,
        stability: tts.stability as f32,
        similarity_boost: tts.similarity_boost as f32,
        latency: u8::try_from(tts.optimize_streaming_latency).unwrap_or(0),
        dictionaries: tts.pronunciation_dictionary.clone(),
        meter,
    }
}

/// Returns one of the agent's other voices. Settings it leaves open are taken from the usual voice.
pub(super) fn other_voice(agent: &Agent, voice: &SupportedVoice, (sample_rate, meter): (u32, Meter)) -> VoiceConfig {
    let config = &agent.conversation_config;
    let tts = &config.tts;
    let (provider, name) = named(voice.voice_id.as_deref().unwrap_or(&tts.voice_id));
    let language = voice.language.as_deref().filter(|language| !language.trim().is_empty());
    VoiceConfig {
        provider,
        voice: name,
        language: language.unwrap_or(&config.agent.primary_language).to_owned(),
        sample_rate,
        format: tts.format().map(|format| format.line),
        speed: voice.speed.unwrap_or(tts.speed) as f32,
        stability: voice.stability.unwrap_or(tts.stability) as f32,
        similarity_boost: voice.similarity_boost.unwrap_or(tts.similarity_boost) as f32,
        latency: u8::try_from(tts.optimize_streaming_latency).unwrap_or(0),
        dictionaries: tts.pronunciation_dictionary.clone(),
        meter,
    }
}

/// Splits a `voiceId` into provider and voice. If one of them is missing, the service's default applies.
fn named(voice_id: &str) -> (Option<String>, String) {
    let (provider, voice) = match voice_id.split_once(':') {
        Some((provider, voice)) => (Some(provider.to_owned()), voice),
        None => (None, voice_id),
    };
    (provider, if voice == DEFAULT_VOICE { "" } else { voice }.to_owned())
}

/// Returns the abilities of the line.
pub(super) fn abilities(leg: &MediaLeg) -> LineAbilities {
    LineAbilities {
        buffers: leg.abilities.buffers,
        marks: leg.abilities.marks,
        clear: leg.abilities.clear,
    }
}

/// Returns the policy that decides when the user's turn is over.
pub(super) fn pause_policy(turn: &TurnSection, settings: StreamSettings) -> PausePolicy {
    PausePolicy {
        base_ms: match turn.turn_eagerness {
            TurnEagerness::Eager => 250,
            TurnEagerness::Normal => 450,
            TurnEagerness::Patient => 800,
        },
        fixed_ms: settings.fixed_pause_ms,
        spelling_patience: turn.spelling_patience == SpellingPatience::Auto,
    }
}

/// Returns the format to request from the recogniser: the agent's if it sets one that the recogniser takes,
/// otherwise the usual one of the rate that the recogniser takes instead.
pub(super) fn recogniser_format(transcriber: &dyn Transcriber, agent: &Agent, line_rate: u32) -> LineFormat {
    let set = agent.conversation_config.asr.format().map(|format| format.line);
    let rate = transcriber.sample_rate(set.map_or(line_rate, |format| format.sample_rate));
    let taken = set.filter(|format| format.sample_rate == rate);
    taken.unwrap_or(LineFormat::of_rate(rate))
}

/// Opens the recogniser and the queue of its events.
pub(super) fn transcribe(
    transcriber: &dyn Transcriber,
    agent: &Agent,
    (format, meter): (LineFormat, Meter),
    me: &ActorRef<StreamMessage>,
) -> (Box<dyn TranscriptStream>, Arc<TranscriptQueue>) {
    let config = TranscriberConfig {
        language: agent.conversation_config.agent.primary_language.clone(),
        hinglish: agent.conversation_config.agent.is_hinglish(),
        meter,
        keywords: agent.conversation_config.asr.keywords.clone(),
        format,
    };
    let me = me.clone();
    let heard = TranscriptQueue::new(move || {
        // The actor may be gone.
        let _ = me.cast(StreamMessage::TranscriptWaits);
    });
    let hears = heard.clone();
    let stream = transcriber.open(config, Box::new(move |event| hears.push(event)));
    (stream, heard)
}
