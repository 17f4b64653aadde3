//! Models and voices of providers that are named alone, and the days on which models end.
//!
//! The packages compared: openai 3.57, anthropic 2.14, groq 1.7, google-genai 3.6, deepgram-sdk 7.17, elevenlabs 2.78,
//! cartesia 4.2.

/// Day on which these tables were compared with the providers' packages and documents.
pub const CHECKED: &str = "2026-11-29";

/// Defaults of one provider. A field is empty if there is none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Defaults {
    /// Name of the provider.
    pub provider: &'static str,
    /// Language model, a fast one that suits calls.
    pub llm: &'static str,
    /// Recogniser.
    pub stt: &'static str,
    /// Model of the voices.
    pub tts: &'static str,
    /// Voice.
    pub voice: &'static str,
}

/// Defaults of all providers that have some. llama.cpp serves only one model, whatever its name.
pub const DEFAULTS: [Defaults; 12] = [
    row("openai", "gpt-6-luna", "gpt-transcribe", "gpt-4o-mini-tts", "alloy"),
    row("anthropic", "claude-haiku-5-5", "", "", ""),
    row("groq", "openai/gpt-oss-120b", "whisper-large-v3-turbo", "", ""),
    row("gemini", "gemini-3.8-flash", "", "", ""),
    row("deepgram", "", "nova-3", "", "aura-2-thalia-en"),
    row(
        "elevenlabs",
        "",
        "scribe_v2_realtime",
        "eleven_flash_v2_5",
        "JBFqnCBsd6RMkjVDRZzb",
    ),
    row("cartesia", "", "", "sonic-3", "f786b574-daa5-4673-aa0c-cbe3e8534c02"),
    row("vllm", "", "openai/whisper-large-v3", "", ""),
    row("llamacpp", "default", "", "", ""),
    row(
        "speaches",
        "",
        "Systran/faster-whisper-small",
        "speaches-ai/Kokoro-82M-v1.0-ONNX",
        "af_bella",
    ),
    row("whispercpp", "", "whisper-1", "", ""),
    row("kokoro", "", "", "kokoro", "af_bella"),
];

/// Hosted models that their providers end, with the day, or the month if only that is known.
pub const ENDS: [(&str, &str, &str); 14] = [
    ("openai", "gpt-4.1", "2027-01-14"),
    ("openai", "gpt-4.1-mini", "2027-01-14"),
    ("openai", "gpt-4o", "2027-01-14"),
    ("openai", "gpt-4o-mini", "2027-01-14"),
    ("openai", "gpt-5", "2026-12-11"),
    ("openai", "gpt-5-mini", "2026-12-11"),
    ("openai", "gpt-5-nano", "2026-12-11"),
    ("openai", "gpt-4o-mini-tts", "2027-01-06"),
    ("openai", "whisper-1", "2027-02-26"),
    ("openai", "gpt-4o-transcribe", "2027-02-26"),
    ("openai", "gpt-4o-mini-transcribe", "2027-02-26"),
    ("gemini", "gemini-2.5-flash", "2026-12-01"),
    ("groq", "llama-3.3-70b-versatile", "2026-08"),
    ("anthropic", "claude-sonnet-4-5", "2026-11-30"),
];

type Name = &'static str;

const fn row(provider: Name, llm: Name, stt: Name, tts: Name, voice: Name) -> Defaults {
    Defaults {
        provider,
        llm,
        stt,
        tts,
        voice,
    }
}

/// Returns the defaults of a provider.
pub(crate) fn of(provider: &str) -> Defaults {
    let known = DEFAULTS.into_iter().find(|row| row.provider == provider);
    known.unwrap_or_default()
}

/// Returns the day on which a provider ends a model.
pub(crate) fn end_of(provider: &str, model: &str) -> Option<&'static str> {
    let ending = ENDS
        .into_iter()
        .find(|(of, ending, _)| *of == provider && *ending == model);
    ending.map(|(.., day)| day)
}
