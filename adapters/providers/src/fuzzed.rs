//! The readers of recognisers' and voices' messages, for fuzzing: a message a line, to one connection each.

use domain::ports::{synthesizer::VoiceConfig, transcriber::TranscriberConfig, usage::Meter};

use crate::settings::Endpoint;
use crate::{
    stt::{deepgram::Listen, flux::Flux, protocol::VoiceProtocol, scribe::Scribe, transcriptions},
    tts::{aura, cartesia, elevenlabs},
};

pub(super) fn endpoint(provider: &'static str) -> Endpoint {
    Endpoint {
        assumed: false,
        provider,
        base_url: "http://127.0.0.1:1".into(),
        key: None,
    }
}

pub(super) fn voice() -> VoiceConfig {
    VoiceConfig {
        provider: None,
        voice: "v".into(),
        language: "en".into(),
        sample_rate: 8_000,
        speed: 1.0,
        stability: 0.5,
        similarity_boost: 0.8,
        latency: 3,
        meter: Meter::default(),
    }
}

fn lines(data: &[u8]) -> impl Iterator<Item = &str> {
    data.split(|byte| *byte == b'\n')
        .filter_map(|line| std::str::from_utf8(line).ok())
}

/// Messages of recognisers.
pub fn recognisers(data: &[u8]) {
    let config = TranscriberConfig {
        language: "en".into(),
        hinglish: false,
        keywords: vec!["Ann".into()],
        sample_rate: 8_000,
        meter: Meter::default(),
    };
    let (deepgram, elevenlabs) = (endpoint("deepgram"), endpoint("elevenlabs"));
    let mut dialects: [Box<dyn VoiceProtocol>; 3] = [
        Box::new(Flux::new(&deepgram, "flux", &config)),
        Box::new(Listen::new(&deepgram, None, &config)),
        Box::new(Scribe::new(&elevenlabs, None, &config)),
    ];
    for line in lines(data) {
        for dialect in &mut dialects {
            let _ = dialect.read(line);
        }
    }
    transcriptions::fuzzed(data);
}

/// Messages of voices.
pub fn voices(data: &[u8]) {
    for line in lines(data) {
        aura::fuzzed(line);
        cartesia::fuzzed(line);
        elevenlabs::fuzzed(line);
    }
}
