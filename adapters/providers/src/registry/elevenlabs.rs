//! ElevenLabs: a recogniser and voices.

mod messages;
mod scribe;
mod speech;

use std::sync::Arc;

use crate::{
    endpoint::{Address, Privacy, hosted},
    provider::{List, Provider, Stt, SttWay, Tts},
};

pub(super) static ELEVENLABS: Provider = Provider {
    name: "elevenlabs",
    address: Some(Address {
        key_header: ("xi-api-key", ""),
        privacy: Some(Privacy {
            argument: "elevenlabs-logging",
            variable: "RINGBACK_ELEVENLABS_LOGGING",
            help: "Whether ElevenLabs may keep audio and texts; `false` needs an enterprise account there",
            default: "true",
            parameter: ("enable_logging", "false"),
        }),
        ..hosted!("ELEVENLABS", "https://api.elevenlabs.io")
    }),
    stt: Some(Stt {
        model: scribe::MODEL,
        way: SttWay::Socket {
            open: |endpoint, model, config| Box::new(scribe::Scribe::new(endpoint, model, config)),
            others: &[],
            sample_rate: |_, wanted| wanted,
        },
    }),
    tts: Some(Tts {
        takes: speech::takes,
        ..Tts::hosted(speech::FAST_MODEL, "JBFqnCBsd6RMkjVDRZzb", |settings| {
            Arc::new(speech::ElevenLabs::new(
                settings.endpoint,
                settings.model,
                settings.client,
            ))
        })
    }),
    voices: Some(List {
        path: "/v2/voices?page_size=100",
        items: "voices",
        page: Some("next_page_token"),
    }),
    ..Provider::NONE
};
