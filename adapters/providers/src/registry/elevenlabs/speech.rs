//! Protocol of ElevenLabs' `multi-stream-input`: one socket per call, one context per text, with character
//! times. Models of the third generation are not available there and are requested over HTTP.
//!
//! Other clients use one context per turn. We do not, because a flush is not followed by an end message, but
//! a closed context is. To play texts one after the other, the end of each must be known.

use std::time::Duration;

use domain::ports::synthesizer::VoiceConfig;
use media::format::{Encoding, LineFormat};
use serde_json::{Value, json};

use crate::{
    endpoint::Endpoint,
    failure::Failure,
    name::path_segment,
    protocols::tts::{
        http_audio::HttpVoice,
        protocol::{VoiceEvent, VoiceProtocol, line_format, plain_language, rounded},
        provider::{Source, VoiceProvider},
        socket::SocketVoice,
        takes::{Range, Takes},
    },
    registry::elevenlabs::messages,
};

/// Maximum number of contexts on a socket. One more closes it.
const MOST_CONTEXTS: usize = 5;

/// Seconds of inactivity after which a context is closed; 180 is the maximum.
const INACTIVITY_S: u32 = 180;

/// Interval of keep-alive messages. Proxies may close a quiet socket sooner than the provider.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Model that is used if none is named and latency matters.
pub(crate) const FAST_MODEL: &str = "eleven_flash_v2_5";

/// Name by which agents mean this provider's dictionaries.
const NAME: &str = "elevenlabs";

/// ElevenLabs' voice provider.
pub(crate) struct ElevenLabs {
    endpoint: Endpoint,
    model: Option<String>,
    client: reqwest::Client,
}

impl ElevenLabs {
    /// Creates the provider for an address. Without a model, the requested latency decides.
    pub(crate) fn new(endpoint: Endpoint, model: Option<String>, client: reqwest::Client) -> Self {
        Self {
            endpoint,
            model,
            client,
        }
    }

    fn model(&self, config: &VoiceConfig) -> String {
        let by_latency = if config.latency >= 2 {
            FAST_MODEL
        } else {
            "eleven_multilingual_v2"
        };
        self.model.clone().unwrap_or_else(|| by_latency.to_owned())
    }

    /// Opens a voice over streaming HTTP: one request per text, raw audio as it is made, and no times.
    fn streamed(&self, model: String, config: &VoiceConfig) -> Box<dyn VoiceProvider> {
        let (endpoint, client, format) = (self.endpoint.clone(), self.client.clone(), line_format(config));
        let (voice, name) = (path_segment(&config.voice), output_format(format));
        let privacy = endpoint.privacy.map(|(name, value)| format!("&{name}={value}"));
        let privacy = privacy.unwrap_or_default();
        let url = endpoint.url(&format!(
            "/v1/text-to-speech/{voice}/stream?output_format={name}{privacy}"
        ));
        let (settings, locators) = (settings(&model, config), locators(&model, config));
        let (charged, server) = (model.clone(), endpoint.clone());
        Box::new(HttpVoice {
            endpoint,
            model: charged,
            format,
            line_rate: config.sample_rate,
            meter: config.meter.clone(),
            request: move |text: &str| {
                let mut body = json!({ "text": text.trim(), "model_id": model, "voice_settings": settings });
                add(&locators, &mut body);
                Ok(server.signed(client.post(&url).json(&body)))
            },
        })
    }
}

impl Source for ElevenLabs {
    fn open(&self, config: &VoiceConfig) -> Box<dyn VoiceProvider> {
        let model = self.model(config);
        if is_v3(&model) {
            return self.streamed(model, config);
        }
        let protocol = MultiStream {
            endpoint: self.endpoint.clone(),
            voice: config.voice.clone(),
            language: plain_language(config),
            format: line_format(config),
            settings: settings(&model, config),
            locators: locators(&model, config),
            model,
        };
        Box::new(SocketVoice::open(protocol, config))
    }

    fn signature(&self, config: &VoiceConfig) -> String {
        let model = self.model(config);
        let signature = format!("{model} context {}", self.endpoint.base_url);
        let locators = locators(&model, config);
        match locators.is_empty() {
            true => signature,
            false => format!("{signature} {}", Value::from(locators)),
        }
    }

    #[cfg(feature = "fuzzing")]
    fn fuzz(&self, _config: &VoiceConfig, message: &str) {
        let _ = messages::read(&self.endpoint, message);
    }

    fn takes_cues(&self, config: &VoiceConfig) -> bool {
        is_v3(&self.model(config))
    }

    fn cue(&self, config: &VoiceConfig, tag: &str) -> Option<String> {
        self.takes_cues(config).then(|| format!("[{tag}]"))
    }
}

/// Returns whether a model is of the third generation, which follows audio tags and is not available on sockets.
fn is_v3(model: &str) -> bool {
    model.contains("_v3")
}

/// Returns the settings that the voices of a model take.
pub(crate) fn takes(model: Option<&str>) -> Takes {
    Takes {
        speed: Some(Range::new(0.7, 1.2)),
        stability: Some(Range {
            step: if model.is_some_and(is_v3) { 0.5 } else { 0.0 },
            ..Range::new(0.0, 1.0)
        }),
        similarity_boost: Some(Range::new(0.0, 1.0)),
        latency: model.is_none(),
        dictionaries: 3,
        versions: true,
    }
}

fn settings(model: &str, config: &VoiceConfig) -> Value {
    let takes = takes(Some(model));
    let taken = |range: Option<Range>, value: f32| range.map(|range| range.nearest(rounded(value)));
    json!({
        "stability": taken(takes.stability, config.stability),
        "similarity_boost": taken(takes.similarity_boost, config.similarity_boost),
        "speed": taken(takes.speed, config.speed),
    })
}

/// Returns the pronunciation dictionaries in the provider's format.
fn locators(model: &str, config: &VoiceConfig) -> Vec<Value> {
    let own = takes(Some(model)).usable(NAME, &config.dictionaries);
    own.map(|dictionary| {
        json!({
            "pronunciation_dictionary_id": dictionary.pronunciation_dictionary_id,
            "version_id": dictionary.version_id,
        })
    })
    .collect()
}

/// Adds the pronunciation dictionaries, if there are any, to a request or to the first message of a context.
fn add(locators: &[Value], message: &mut Value) {
    if !locators.is_empty() {
        message["pronunciation_dictionary_locators"] = locators.into();
    }
}

/// Returns the provider's name of a format.
fn output_format(format: LineFormat) -> String {
    let codec = match format.encoding {
        Encoding::MuLaw => "ulaw",
        Encoding::ALaw => "alaw",
        Encoding::Linear16 => "pcm",
    };
    format!("{codec}_{}", format.sample_rate)
}

struct MultiStream {
    endpoint: Endpoint,
    model: String,
    voice: String,
    language: String,
    format: LineFormat,
    settings: Value,
    locators: Vec<Value>,
}

impl VoiceProtocol for MultiStream {
    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn url(&self) -> String {
        let format = output_format(self.format);
        let voice = path_segment(&self.voice);
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query
            .append_pair("model_id", &self.model)
            .append_pair("output_format", &format)
            .append_pair("inactivity_timeout", &INACTIVITY_S.to_string())
            .append_pair("auto_mode", "true")
            .append_pair("sync_alignment", "true")
            .extend_pairs(self.endpoint.privacy);
        // Other models detect the language themselves and refuse the parameter.
        if self.model.ends_with("_v2_5") && !self.language.is_empty() {
            query.append_pair("language_code", &self.language);
        }
        let path = format!("/v1/text-to-speech/{voice}/multi-stream-input?{}", query.finish());
        self.endpoint.socket_url(&path)
    }

    fn format(&self) -> LineFormat {
        self.format
    }

    fn most_open(&self) -> usize {
        MOST_CONTEXTS
    }

    fn begin(&self, id: u64, text: &str, out: &mut Vec<String>) {
        let context = format!("t{id}");
        let spoken = format!("{} ", text.trim_end());
        let mut first = json!({ "text": " ", "context_id": context, "voice_settings": self.settings });
        add(&self.locators, &mut first);
        for message in [
            first,
            json!({ "text": spoken, "context_id": context }),
            json!({ "context_id": context, "flush": true }),
            json!({ "context_id": context, "close_context": true }),
        ] {
            out.push(message.to_string());
        }
    }

    /// Each context was closed when it began, and a context is closed once. Its audio ends by itself.
    fn cancel(&self, _id: u64, _out: &mut Vec<String>) {}

    fn keep_alive(&self) -> Option<(Duration, String)> {
        Some((KEEP_ALIVE, json!({ "text": "" }).to_string()))
    }

    fn goodbye(&self) -> Option<String> {
        Some(json!({ "close_socket": true }).to_string())
    }

    fn read<'m>(&self, message: &'m str) -> Result<VoiceEvent<'m>, Failure> {
        messages::read(&self.endpoint, message)
    }
}

#[cfg(test)]
mod tests;
