//! The agent's settings and the socket's abilities in the session's terms, and the session's facts in the call's.

use std::sync::Arc;

use media::{
    playout::LineAbilities,
    session::SessionEvent,
    turn::endpointing::{PausePolicy, Recogniser, Utterance},
};
use ractor::ActorRef;

use super::{SpeechId, StreamEvent, StreamMessage, StreamSettings, heard::Heard};
use domain::{
    agent::{Agent, DEFAULT_VOICE, SpellingPatience, SupportedVoice, TurnEagerness, TurnSection},
    ports::{
        media_leg::MediaLeg,
        synthesizer::VoiceConfig,
        transcriber::{Promise, Transcriber, TranscriberConfig, TranscriptStream},
        usage::Meter,
    },
};

/// How the agent usually sounds in the language it speaks.
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
        speed: tts.speed as f32,
        stability: tts.stability as f32,
        similarity_boost: tts.similarity_boost as f32,
        latency: u8::try_from(tts.optimize_streaming_latency).unwrap_or(0),
        meter,
    }
}

/// How the agent sounds in one of its other voices. What that leaves open is as usual.
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
        speed: voice.speed.unwrap_or(tts.speed) as f32,
        stability: voice.stability.unwrap_or(tts.stability) as f32,
        similarity_boost: voice.similarity_boost.unwrap_or(tts.similarity_boost) as f32,
        latency: u8::try_from(tts.optimize_streaming_latency).unwrap_or(0),
        meter,
    }
}

/// A `voiceId` as provider and voice; none and nothing are the service's.
fn named(voice_id: &str) -> (Option<String>, String) {
    let (provider, voice) = match voice_id.split_once(':') {
        Some((provider, voice)) => (Some(provider.to_owned()), voice),
        None => (None, voice_id),
    };
    (provider, if voice == DEFAULT_VOICE { "" } else { voice }.to_owned())
}

/// What the line can do.
pub(super) fn abilities(leg: &MediaLeg) -> LineAbilities {
    LineAbilities {
        buffers: leg.abilities.buffers,
        marks: leg.abilities.marks,
        clear: leg.abilities.clear,
    }
}

/// When the user's turn is over.
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

/// What the recogniser promises.
pub(super) fn promised(promise: Promise) -> Recogniser {
    Recogniser {
        final_wait_ms: u64::try_from(promise.final_within.as_millis()).unwrap_or(u64::MAX),
        answers_each: promise.answers_each,
        tells_turns: promise.tells_turns,
        tells_interims: promise.tells_interims,
    }
}

/// Opens the recogniser, and what it says.
pub(super) fn transcribe(
    transcriber: &dyn Transcriber,
    agent: &Agent,
    (sample_rate, meter): (u32, Meter),
    me: &ActorRef<StreamMessage>,
) -> (Box<dyn TranscriptStream>, Arc<Heard>) {
    let config = TranscriberConfig {
        language: agent.conversation_config.agent.primary_language.clone(),
        hinglish: agent.conversation_config.agent.is_hinglish(),
        meter,
        keywords: agent.conversation_config.asr.keywords.clone(),
        sample_rate,
    };
    let me = me.clone();
    let heard = Heard::new(move || {
        // The actor may be gone.
        let _ = me.cast(StreamMessage::TranscriptWaits);
    });
    let hears = heard.clone();
    let stream = transcriber.open(config, Box::new(move |event| hears.push(event)));
    (stream, heard)
}

/// Moments that the session does not know, in the stream's milliseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moments {
    /// The recogniser's last final words of this turn came.
    pub(super) final_ms: Option<u64>,
    /// The first audio of the newest speech came.
    pub(super) audio_ms: Option<u64>,
}

/// A fact of the session as the call is told it; none of those the stream sees to itself.
pub(super) fn reported(event: SessionEvent, moments: Moments) -> Option<StreamEvent> {
    Some(match event {
        SessionEvent::FinalWanted => return None,
        SessionEvent::TurnPaused { text, at_ms } => StreamEvent::TurnPaused { text, at_ms },
        SessionEvent::TurnResumed { at_ms } => StreamEvent::TurnResumed { at_ms },
        SessionEvent::PlayoutPaused { speech, at_ms } => StreamEvent::PlayoutPaused {
            speech: SpeechId(speech),
            at_ms,
        },
        SessionEvent::PlayoutResumed { speech, at_ms } => StreamEvent::PlayoutResumed {
            speech: SpeechId(speech),
            at_ms,
        },
        SessionEvent::EchoIgnored { at_ms } => StreamEvent::EchoIgnored { at_ms },
        SessionEvent::SpeechStarted { at_ms } => StreamEvent::SpeechStarted { at_ms },
        SessionEvent::Interim { text } => StreamEvent::Interim { text },
        SessionEvent::UtteranceEnded(Utterance {
            text,
            damaged,
            started_ms,
            ended_ms,
        }) => StreamEvent::UtteranceEnded {
            text,
            damaged,
            started_ms,
            ended_ms,
            final_ms: moments.final_ms,
        },
        SessionEvent::SpeakingStarted { speech, at_ms } => StreamEvent::SpeakingStarted {
            speech: SpeechId(speech),
            at_ms,
            audio_ms: moments.audio_ms,
        },
        SessionEvent::BargedIn { speech, heard, at_ms } => StreamEvent::BargedIn {
            speech: SpeechId(speech),
            heard,
            at_ms,
        },
        SessionEvent::SpeakingEnded { speech, heard, at_ms } => StreamEvent::SpeakingEnded {
            speech: SpeechId(speech),
            heard,
            at_ms,
        },
        SessionEvent::BeepEnded { at_ms } => StreamEvent::BeepEnded { at_ms },
        SessionEvent::Amd(finding) => StreamEvent::Amd(finding),
    })
}
