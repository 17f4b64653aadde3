//! Fuzzing entry points for the readers of providers' messages. Each line is a message, and each reader sees all lines as
//! one connection.

use domain::{
    ports::{transcriber::TranscriberConfig, usage::Meter},
    prompt::Tool,
};
use media::format::LineFormat;
use serde_json::json;

use crate::{
    endpoint::{Address, Endpoint},
    protocols::{
        llm::{api::LanguageApi, chat::Chat, format::Format, reply_stream::Protocol, sse},
        tts::{http_audio, provider::SourceSettings},
    },
    provider::{LlmWay, SttWay, TtsWay},
    registry::PROVIDERS,
    stt, tts,
};

fn endpoint(provider: &'static str, address: &'static Address) -> Endpoint {
    Endpoint::new(provider, address, "http://127.0.0.1:1")
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
    for provider in PROVIDERS {
        let (Some(address), Some(stt)) = (&provider.address, &provider.stt) else {
            continue;
        };
        let SttWay::Socket { open, others, .. } = stt.way else {
            continue;
        };
        for model in others.iter().copied().chain([stt.model]) {
            let mut protocol = open(&endpoint(provider.name, address), Some(model), &config);
            for line in lines(data) {
                let _ = protocol.read(line);
            }
        }
    }
    stt::fuzzed(data);
}

/// Messages of voices.
pub fn voices(data: &[u8]) {
    let config = tts::plain_config("v");
    for provider in PROVIDERS {
        let (Some(address), Some(tts)) = (&provider.address, &provider.tts) else {
            continue;
        };
        let TtsWay::Hosted(source) = tts.way else { continue };
        let source = source(SourceSettings {
            endpoint: endpoint(provider.name, address),
            model: None,
            usual_model: tts.model,
            client: http_audio::client(),
        });
        for line in lines(data) {
            source.fuzz(&config, line);
        }
    }
}

/// Parses an event stream in pieces of the size given by the first byte. Checks that the piece size does not
/// change the result.
fn events(data: &[u8]) -> Option<Vec<sse::Event>> {
    let (size, bytes) = data.split_first()?;
    let read = |size: usize| {
        let (mut reader, mut events) = (sse::Reader::default(), Vec::new());
        let fed = bytes.chunks(size).try_for_each(|piece| reader.feed(piece, &mut events));
        fed.and_then(|()| reader.finish(&mut events)).map(|()| events)
    };
    let whole = read(usize::MAX);
    assert_eq!(read(usize::from(*size).max(1)), whole);
    whole.ok()
}

/// Server-sent events.
pub fn event_stream(data: &[u8]) {
    let _ = events(data);
}

fn taken(mut protocol: Box<dyn Protocol>, data: &[u8]) {
    let mut deltas = Vec::new();
    for event in events(data).unwrap_or_default() {
        if protocol.take(&event, &mut deltas).is_err() {
            return;
        }
    }
    let _ = protocol.closed(true, &mut deltas);
}

/// Streams of chat completions, in every format.
pub fn chat_stream(data: &[u8]) {
    let tools = [Tool {
        name: "collect".into(),
        description: String::new(),
        parameters: json!({}),
    }];
    for format in [Format::Plain, Format::Marked, Format::Thinking, Format::Harmony] {
        taken(Chat::PLAIN.reader("chat", format, &tools), data);
    }
}

/// Streams of each provider's language models.
pub fn message_stream(data: &[u8]) {
    for provider in PROVIDERS {
        if let Some(LlmWay::Api(api)) = provider.llm.as_ref().map(|llm| &llm.way) {
            taken(api.reader(provider.name, Format::Plain, &[]), data);
        }
    }
}
