//! ElevenLabs over its plain HTTP stream: a request a text, raw audio as it is made, no times.

use domain::ports::{
    synthesizer::VoiceConfig,
    usage::{Meter, Unit},
};
use futures_util::StreamExt;
use media::format::LineFormat;
use serde_json::{Value, json};

use crate::tts::{
    elevenlabs::{output_format, settings},
    http_audio::{Asked, audio},
    protocol::line_format,
    provider::{Pieces, VoiceProvider},
};
use crate::{name::path_segment, settings::Endpoint};

/// One voice of the provider's.
pub(super) struct Streamed {
    endpoint: Endpoint,
    client: reqwest::Client,
    url: String,
    model: String,
    settings: Value,
    format: LineFormat,
    line_rate: u32,
    meter: Meter,
}

impl Streamed {
    /// A voice that speaks with this model.
    pub(super) fn new(endpoint: &Endpoint, client: &reqwest::Client, model: String, config: &VoiceConfig) -> Self {
        let format = line_format(config);
        let (voice, name) = (path_segment(&config.voice), output_format(format));
        let mut settings = settings(config);
        // These models take three degrees of it.
        let stability = f64::from(config.stability.clamp(0.0, 1.0));
        settings["stability"] = ((stability * 2.0).round() / 2.0).into();
        Self {
            url: endpoint.url(&format!("/v1/text-to-speech/{voice}/stream?output_format={name}")),
            endpoint: endpoint.clone(),
            client: client.clone(),
            model,
            settings,
            format,
            line_rate: config.sample_rate,
            meter: config.meter.clone(),
        }
    }
}

impl VoiceProvider for Streamed {
    fn speak(&mut self, text: &str) -> Pieces {
        let characters = text.chars().count();
        let body = json!({ "text": text.trim(), "model_id": self.model, "voice_settings": self.settings });
        let mut request = self.client.post(&self.url).json(&body);
        if let Some(key) = &self.endpoint.key {
            request = request.header("xi-api-key", key.secret());
        }
        let asked = Asked {
            endpoint: self.endpoint.clone(),
            request,
            format: self.format,
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
