//! Stubs of providers behind the service: which ones, their delays, and the service's settings for them.

use std::net::SocketAddr;

use crate::cli::{BenchCallsArgs, Trio};
use ringback::cli::StubTimesMode;
use sim::stub_providers::FAULTY;

/// Base URLs that end with `/v1`.
const OF_VERSION_1: [&str; 5] = [
    "OPENAI_BASE_URL",
    "GROQ_BASE_URL",
    "OLLAMA_BASE_URL",
    "SPEACHES_BASE_URL",
    "KOKORO_BASE_URL",
];

const KEYS: [&str; 4] = [
    "OPENAI_API_KEY",
    "GROQ_API_KEY",
    "DEEPGRAM_API_KEY",
    "ELEVENLABS_API_KEY",
];

/// Language model, recogniser and tts behind the service.
#[derive(Debug, Clone, Copy)]
pub struct Behind {
    trio: Trio,
    /// Delays of the stubs.
    pub times: StubTimesMode,
    /// Whether some providers have faults, so that fallbacks are needed.
    others: bool,
}

impl Behind {
    /// Returns the requested providers; `None` means the embedded language and speech.
    pub fn of(args: &BenchCallsArgs) -> Option<Self> {
        args.providers.map(|trio| Self {
            trio,
            times: args.times,
            others: args.faulty > 0,
        })
    }

    /// Returns the service's environment: names and addresses.
    pub fn environment(self, stubs: SocketAddr) -> Vec<(&'static str, String)> {
        let root = format!("http://{stubs}");
        let named = |with: &str, other: &str| match self.others {
            true => format!("{with},{other}"),
            false => with.to_owned(),
        };
        let (llm, stt, tts) = match self.trio {
            Trio::Hosted => ("openai/gpt-4.1-mini", "deepgram", "elevenlabs"),
            Trio::Local => ("ollama/llama3.2", "speaches", "kokoro"),
        };
        let mut all = vec![
            ("RINGBACK_LLM", named(llm, "groq/llama-3.3-70b")),
            ("RINGBACK_STT", named(stt, "elevenlabs")),
            ("RINGBACK_TTS", named(tts, "openai:alloy")),
        ];
        all.extend(OF_VERSION_1.map(|base| (base, format!("{root}/v1"))));
        all.extend(["DEEPGRAM_BASE_URL", "ELEVENLABS_BASE_URL"].map(|base| (base, root.clone())));
        all.extend(KEYS.map(|key| (key, "stub".to_owned())));
        all
    }

    /// Returns the model, voice and keyword by which the stubs recognise the calls that have faults.
    pub fn faulty(self) -> [String; 3] {
        let (llm, tts) = match self.trio {
            Trio::Hosted => ("openai", "elevenlabs"),
            Trio::Local => ("ollama", "kokoro"),
        };
        [format!("{llm}/{FAULTY}"), format!("{tts}:{FAULTY}"), FAULTY.to_owned()]
    }
}
