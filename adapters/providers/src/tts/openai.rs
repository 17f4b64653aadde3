//! `/v1/audio/speech` of OpenAI, Kokoro-FastAPI and speaches: 24 kHz PCM over HTTP as it is made; no times of words.

use domain::ports::{
    synthesizer::VoiceConfig,
    usage::{Meter, Unit},
};
use futures_util::{StreamExt, stream};
use media::format::{Encoding, LineFormat};
use serde_json::json;

use crate::failure::Failure;
use crate::settings::Endpoint;
use crate::tts::{
    http_audio::{Asked, audio},
    provider::{Pieces, Source, VoiceProvider},
};

/// What `pcm` means there; the rate cannot be chosen.
const FORMAT: LineFormat = LineFormat {
    encoding: Encoding::Linear16,
    sample_rate: 24_000,
};

/// The longest input that is taken.
const MOST_CHARACTERS: usize = 4_096;

/// Speeds that are taken.
const SPEED: std::ops::RangeInclusive<f32> = 0.25..=4.0;

/// A server of this kind.
pub(super) struct OpenAiSpeech {
    endpoint: Endpoint,
    model: String,
    client: reqwest::Client,
}

impl OpenAiSpeech {
    /// At this address; a model of none is the server's usual one.
    pub(super) fn new(endpoint: Endpoint, model: Option<String>, client: reqwest::Client) -> Self {
        let usual = match endpoint.provider {
            "kokoro" => "kokoro",
            "speaches" => "speaches-ai/Kokoro-82M-v1.0-ONNX",
            _ => "gpt-4o-mini-tts",
        };
        Self {
            model: model.unwrap_or_else(|| usual.to_owned()),
            endpoint,
            client,
        }
    }

    /// The voice of a server when none is asked for.
    pub(super) fn default_voice(provider: &str) -> &'static str {
        match provider {
            "kokoro" | "speaches" => "af_bella",
            _ => "alloy",
        }
    }
}

impl Source for OpenAiSpeech {
    fn open(&self, config: &VoiceConfig) -> Box<dyn VoiceProvider> {
        Box::new(Speaker {
            endpoint: self.endpoint.clone(),
            model: self.model.clone(),
            client: self.client.clone(),
            voice: config.voice.clone(),
            speed: (f64::from(config.speed.clamp(*SPEED.start(), *SPEED.end())) * 1_000.0).round() / 1_000.0,
            line_rate: config.sample_rate,
            meter: config.meter.clone(),
        })
    }

    fn signature(&self, _config: &VoiceConfig) -> String {
        format!("{} {}", self.model, self.endpoint.base_url)
    }
}

struct Speaker {
    endpoint: Endpoint,
    model: String,
    client: reqwest::Client,
    voice: String,
    speed: f64,
    line_rate: u32,
    meter: Meter,
}

impl VoiceProvider for Speaker {
    fn speak(&mut self, text: &str) -> Pieces {
        let characters = text.chars().count();
        if characters > MOST_CHARACTERS {
            let why = format!("a text of {characters} characters is too long: {MOST_CHARACTERS} at most");
            return stream::iter([Err(Failure::OurFault(why))]).boxed();
        }
        let mut body = json!({ "model": self.model, "input": text, "voice": self.voice, "response_format": "pcm" });
        if self.speed != 1.0 {
            body["speed"] = self.speed.into();
        }
        if self.endpoint.provider == "speaches" {
            // Its voices have rates of their own, unless asked.
            body["sample_rate"] = FORMAT.sample_rate.into();
        }
        let mut request = self.client.post(self.endpoint.url("/audio/speech")).json(&body);
        if let Some(key) = &self.endpoint.key {
            request = request.bearer_auth(key.secret());
        }
        let asked = Asked {
            endpoint: self.endpoint.clone(),
            request,
            format: FORMAT,
            line_rate: self.line_rate,
            characters,
        };
        let (meter, provider, model) = (self.meter.clone(), self.endpoint.provider, self.model.clone());
        let mut charged = false;
        audio(asked)
            .inspect(move |piece| {
                // What is refused, or never comes, is not charged.
                if piece.is_ok() && !std::mem::replace(&mut charged, true) {
                    meter.add(provider, &model, Unit::Characters, characters as u64);
                }
            })
            .boxed()
    }
}
