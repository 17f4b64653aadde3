//! Client of OpenAI's `/v1/audio/speech`, which other servers have too: 24 kHz PCM streamed over HTTP, without word
//! times.

use std::sync::Arc;

use domain::ports::synthesizer::VoiceConfig;
use media::format::{Encoding, LineFormat};
use serde_json::json;

use crate::{
    endpoint::Endpoint,
    failure::Failure,
    protocols::tts::{
        http_audio::HttpVoice,
        provider::{Source, SourceSettings, VoiceProvider},
        takes::Takes,
    },
};

/// Format that `pcm` means there. The rate cannot be chosen.
const FORMAT: LineFormat = LineFormat {
    encoding: Encoding::Linear16,
    sample_rate: 24_000,
};

/// Maximum length of an input, in characters.
const MOST_CHARACTERS: usize = 4_096;

/// Voices of a server with this API.
struct Speech {
    endpoint: Endpoint,
    model: String,
    client: reqwest::Client,
    /// Sample rate to ask for, if the server's voices differ.
    sample_rate: Option<u32>,
}

/// Returns the voices of a server.
pub(crate) fn voices(settings: SourceSettings) -> Arc<dyn Source> {
    Arc::new(Speech {
        model: settings.model(),
        endpoint: settings.endpoint,
        client: settings.client,
        sample_rate: None,
    })
}

/// Returns the voices of a server that are to speak at one rate.
pub(crate) fn voices_at_rate(settings: SourceSettings) -> Arc<dyn Source> {
    Arc::new(Speech {
        model: settings.model(),
        endpoint: settings.endpoint,
        client: settings.client,
        sample_rate: Some(FORMAT.sample_rate),
    })
}

/// Returns the settings that these voices take.
pub(crate) fn takes(_model: Option<&str>) -> Takes {
    Takes::speed(0.25, 4.0)
}

impl Source for Speech {
    fn open(&self, config: &VoiceConfig) -> Box<dyn VoiceProvider> {
        let Self {
            endpoint,
            model,
            client,
            sample_rate,
        } = self;
        let mut body = json!({ "model": model, "input": "", "voice": config.voice, "response_format": "pcm" });
        let speed = takes(Some(model)).nearest_speed(config.speed);
        if speed != 1.0 {
            body["speed"] = speed.into();
        }
        if let Some(rate) = sample_rate {
            body["sample_rate"] = (*rate).into();
        }
        let (client, server, url) = (client.clone(), endpoint.clone(), endpoint.url("/audio/speech"));
        Box::new(HttpVoice {
            endpoint: endpoint.clone(),
            model: model.clone(),
            format: FORMAT,
            line_rate: config.sample_rate,
            meter: config.meter.clone(),
            request: move |text: &str| {
                let characters = text.chars().count();
                if characters > MOST_CHARACTERS {
                    let why = format!("a text of {characters} characters is too long: {MOST_CHARACTERS} at most");
                    return Err(Failure::OurFault(why));
                }
                body["input"] = text.into();
                Ok(server.signed(client.post(&url).json(&body)))
            },
        })
    }

    fn signature(&self, _config: &VoiceConfig) -> String {
        format!("{} {}", self.model, self.endpoint.base_url)
    }
}
