//! OpenAI, at its own address and at Azure's.

mod azure;
mod gpt;

pub(super) use self::azure::AZURE;
use crate::{
    endpoint::hosted,
    protocols::{llm::chat::Chat, tts::speech},
    provider::{Llm, MODELS, Provider, Stt, Tts},
};

pub(super) static OPENAI: Provider = Provider {
    name: "openai",
    address: Some(hosted!("OPENAI", "https://api.openai.com/v1")),
    llm: Llm::api(
        "gpt-6-luna",
        &Chat {
            stream_options: &[("include_usage", true), ("include_obfuscation", false)],
            ..gpt::CHAT
        },
    ),
    stt: Stt::clips("gpt-transcribe", 2_010),
    tts: Some(Tts {
        takes: speech::takes,
        ..Tts::hosted("gpt-4o-mini-tts", "alloy", speech::voices)
    }),
    embeddings: true,
    models: Some(MODELS),
    voices: None,
    ends: &[
        ("gpt-4.1", "2027-01-14"),
        ("gpt-4.1-mini", "2027-01-14"),
        ("gpt-4o", "2027-01-14"),
        ("gpt-4o-mini", "2027-01-14"),
        ("gpt-5", "2026-12-11"),
        ("gpt-5-mini", "2026-12-11"),
        ("gpt-5-nano", "2026-12-11"),
        ("gpt-4o-mini-tts", "2027-01-06"),
        ("whisper-1", "2027-02-26"),
        ("gpt-4o-transcribe", "2027-02-26"),
        ("gpt-4o-mini-transcribe", "2027-02-26"),
    ],
};
