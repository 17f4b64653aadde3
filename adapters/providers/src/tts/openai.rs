//! Client of `/v1/audio/speech`, for OpenAI, Kokoro-FastAPI and speaches: 24 kHz PCM streamed over HTTP,
//! without word times.

use domain::ports::synthesizer::VoiceConfig;
use media::format::{Encoding, LineFormat};
use serde_json::json;

use crate::defaults;
use crate::failure::Failure;
use crate::settings::Endpoint;
use crate::tts::{
    http_audio::HttpVoice,
    provider::{Source, VoiceProvider},
    takes,
};

/// Format that `pcm` means there. The rate cannot be chosen.
const FORMAT: LineFormat = LineFormat {
    encoding: Encoding::Linear16,
    sample_rate: 24_000,
};

/// Maximum length of an input, in characters.
const MOST_CHARACTERS: usize = 4_096;

/// Voice provider with this API.
pub(super) struct OpenAiSpeech {
    endpoint: Endpoint,
    model: String,
    client: reqwest::Client,
}

impl OpenAiSpeech {
    /// Creates the provider for an address. Without a model, the server's usual one is used.
    pub(super) fn new(endpoint: Endpoint, model: Option<String>, client: reqwest::Client) -> Self {
        Self {
            model: model.unwrap_or_else(|| defaults::of(endpoint.provider).tts.to_owned()),
            endpoint,
            client,
        }
    }
}

impl Source for OpenAiSpeech {
    fn open(&self, config: &VoiceConfig) -> Box<dyn VoiceProvider> {
        let Self {
            endpoint,
            model,
            client,
        } = self;
        let mut body = json!({ "model": model, "input": "", "voice": config.voice, "response_format": "pcm" });
        let speed = takes::speed(endpoint.provider, model, config.speed);
        if speed != 1.0 {
            body["speed"] = speed.into();
        }
        if endpoint.provider == "speaches" {
            // The voices of speaches have different rates unless one is requested.
            body["sample_rate"] = FORMAT.sample_rate.into();
        }
        let (client, url, key) = (client.clone(), endpoint.url("/audio/speech"), endpoint.key.clone());
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
                let request = client.post(&url).json(&body);
                Ok(match &key {
                    Some(key) => request.bearer_auth(key.secret()),
                    None => request,
                })
            },
        })
    }

    fn signature(&self, _config: &VoiceConfig) -> String {
        format!("{} {}", self.model, self.endpoint.base_url)
    }
}
