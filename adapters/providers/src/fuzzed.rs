//! Fuzzing entry points for the message parsers of recognisers and voices. Each line is a message, and each
//! parser sees all lines as one connection.

use domain::ports::{transcriber::TranscriberConfig, usage::Meter};
use media::format::LineFormat;

use crate::settings::Endpoint;
use crate::{
    stt::{deepgram::Listen, flux::Flux, protocol::RecogniserProtocol, scribe::Scribe, transcriptions},
    tts::{aura, cartesia, elevenlabs},
};

fn endpoint(provider: &'static str) -> Endpoint {
    Endpoint {
        assumed: false,
        privacy: None,
        provider,
        base_url: "http://127.0.0.1:1".into(),
        key: None,
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
        format: LineFormat::MULAW_8000,
        meter: Meter::default(),
    };
    let (deepgram, elevenlabs) = (endpoint("deepgram"), endpoint("elevenlabs"));
    let mut protocols: [Box<dyn RecogniserProtocol>; 3] = [
        Box::new(Flux::new(&deepgram, "flux", &config)),
        Box::new(Listen::new(&deepgram, None, &config)),
        Box::new(Scribe::new(&elevenlabs, None, &config)),
    ];
    for line in lines(data) {
        for protocol in &mut protocols {
            let _ = protocol.read(line);
        }
    }
    transcriptions::fuzzed(data);
}

/// Messages of voices.
pub fn voices(data: &[u8]) {
    for line in lines(data) {
        aura::fuzzed(endpoint("deepgram"), line);
        cartesia::fuzzed(endpoint("cartesia"), line);
        elevenlabs::fuzzed(&endpoint("elevenlabs"), line);
    }
}
