//! Cartesia: voices on a WebSocket. One socket per call, one context per text, with word times.

use std::{borrow::Cow, sync::Arc};

use domain::{agent::PronunciationDictionary, ports::synthesizer::VoiceConfig};
use media::format::{Encoding, LineFormat};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    endpoint::{Address, Endpoint, hosted},
    failure::Failure,
    protocols::tts::{
        protocol::{Spoken, VoiceEvent, VoiceProtocol, line_format, plain_language, read_json},
        provider::{Source, VoiceProvider},
        refusal::in_words,
        socket::SocketVoice,
        takes::Takes,
    },
    provider::{List, Provider, Tts},
};

/// Version of the API that this code implements.
const VERSION: &str = "2026-03-01";

/// Voice model that is used if none is named, the newest.
const MODEL: &str = "sonic-3";

pub(super) static CARTESIA: Provider = Provider {
    name: "cartesia",
    address: Some(Address {
        key_header: ("x-api-key", ""),
        headers: &[("cartesia-version", VERSION)],
        ..hosted!("CARTESIA", "https://api.cartesia.ai")
    }),
    tts: Some(Tts {
        takes,
        ..Tts::hosted(MODEL, "f786b574-daa5-4673-aa0c-cbe3e8534c02", |settings| {
            Arc::new(Cartesia::new(settings.endpoint, settings.model))
        })
    }),
    voices: Some(List {
        path: "/voices?limit=100",
        items: "data",
        page: Some("starting_after"),
    }),
    ..Provider::NONE
};

/// Returns the settings that the voices of a model take.
fn takes(model: Option<&str>) -> Takes {
    match has_controls(model.unwrap_or(MODEL)) {
        true => Takes {
            dictionaries: 1,
            ..Takes::speed(0.6, 1.5)
        },
        false => Takes::NOTHING,
    }
}

/// Maximum number of contexts at once. The provider limits texts in progress, and one call needs few.
const MOST_CONTEXTS: usize = 5;

/// Words of audio tags that mean laughter.
const LAUGHTER: [&str; 10] = [
    "laugh",
    "laughs",
    "laughing",
    "laughter",
    "chuckle",
    "chuckles",
    "chuckling",
    "giggle",
    "giggles",
    "giggling",
];

/// Words of audio tags, with the Cartesia emotion for them.
const EMOTIONS: [(&str, &str); 20] = [
    ("happy happily cheerful cheerfully joyful", "happy"),
    ("excited excitedly", "excited"),
    ("enthusiastic enthusiastically", "enthusiastic"),
    ("surprised surprise gasps", "surprised"),
    ("amazed", "amazed"),
    ("curious curiously", "curious"),
    ("calm calmly soothing reassuring", "calm"),
    ("content warm warmly friendly", "content"),
    ("grateful thankful", "grateful"),
    ("affectionate", "affectionate"),
    ("sympathetic empathetic concerned", "sympathetic"),
    ("sarcastic sarcastically", "sarcastic"),
    ("angry angrily", "angry"),
    ("frustrated annoyed", "frustrated"),
    ("sad sadly", "sad"),
    ("disappointed", "disappointed"),
    ("apologetic apologetically sorry", "apologetic"),
    ("hesitant hesitates hesitantly", "hesitant"),
    ("tired", "tired"),
    ("scared nervous nervously anxious", "scared"),
];

/// Cartesia's voice provider.
struct Cartesia {
    endpoint: Endpoint,
    model: String,
}

impl Cartesia {
    /// Creates the provider for an address. Without a model, the newest is used.
    fn new(endpoint: Endpoint, model: Option<String>) -> Self {
        Self {
            endpoint,
            model: model.unwrap_or_else(|| MODEL.to_owned()),
        }
    }

    fn dictionary<'c>(&self, config: &'c VoiceConfig) -> Option<&'c PronunciationDictionary> {
        takes(Some(&self.model))
            .usable(CARTESIA.name, &config.dictionaries)
            .next()
    }

    fn protocol(&self, config: &VoiceConfig) -> TtsSocket {
        TtsSocket {
            endpoint: self.endpoint.clone(),
            model: self.model.clone(),
            voice: config.voice.clone(),
            language: plain_language(config),
            speed: takes(Some(&self.model)).nearest_speed(config.speed),
            dictionary: self
                .dictionary(config)
                .map(|own| own.pronunciation_dictionary_id.clone()),
            format: line_format(config),
        }
    }
}

impl Source for Cartesia {
    fn open(&self, config: &VoiceConfig) -> Box<dyn VoiceProvider> {
        Box::new(SocketVoice::open(self.protocol(config), config))
    }

    fn signature(&self, config: &VoiceConfig) -> String {
        let signature = format!("{} {}", self.model, self.endpoint.base_url);
        match self.dictionary(config) {
            Some(dictionary) => format!("{signature} {dictionary:?}"),
            None => signature,
        }
    }

    #[cfg(feature = "fuzzing")]
    fn fuzz(&self, config: &VoiceConfig, message: &str) {
        let _ = self.protocol(config).read(message);
    }

    fn takes_cues(&self, _config: &VoiceConfig) -> bool {
        has_controls(&self.model)
    }

    fn cue(&self, config: &VoiceConfig, tag: &str) -> Option<String> {
        self.takes_cues(config).then(|| markup(tag)).flatten()
    }
}

/// Returns whether a model can be told speed and emotions.
fn has_controls(model: &str) -> bool {
    model.starts_with("sonic-3")
}

/// Converts an audio tag to Cartesia's markup, which sonic-3 and its successors follow: `[laughter]`, and
/// emotions. The voice would read other tags aloud.
fn markup(tag: &str) -> Option<String> {
    if tag.split(' ').any(|word| LAUGHTER.contains(&word)) {
        return Some("[laughter]".into());
    }
    let emotion = tag.split(' ').find_map(|word| {
        let known = EMOTIONS.iter().find(|(tags, _)| tags.split(' ').any(|tag| tag == word));
        known.map(|(_, emotion)| *emotion)
    })?;
    Some(format!("<emotion value=\"{emotion}\"/>"))
}

struct TtsSocket {
    endpoint: Endpoint,
    model: String,
    voice: String,
    language: String,
    speed: f64,
    dictionary: Option<String>,
    format: LineFormat,
}

#[derive(Deserialize)]
struct Received<'m> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'m, str>,
    #[serde(borrow)]
    context_id: Option<Cow<'m, str>>,
    #[serde(borrow)]
    data: Option<Cow<'m, str>>,
    #[serde(borrow)]
    word_timestamps: Option<Words<'m>>,
    done: Option<bool>,
    error_code: Option<Value>,
    status_code: Option<Value>,
    error: Option<Value>,
    title: Option<Value>,
    message: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Words<'m> {
    #[serde(borrow)]
    words: Vec<Cow<'m, str>>,
    end: Vec<f64>,
}

impl Received<'_> {
    fn failure(&self, endpoint: &Endpoint) -> Option<Failure> {
        if self.kind != "error" && self.error_code.is_none() && self.error.is_none() {
            return None;
        }
        let words = [&self.error, &self.title, &self.message].map(in_words).join(" ");
        let codes = [&self.error_code, &self.status_code].map(in_words);
        Some(Failure::of_codes(endpoint, &[&codes[0], &codes[1]], &words))
    }
}

impl VoiceProtocol for TtsSocket {
    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn url(&self) -> String {
        self.endpoint
            .socket_url(&format!("/tts/websocket?cartesia_version={VERSION}"))
    }

    fn format(&self) -> LineFormat {
        self.format
    }

    fn most_open(&self) -> usize {
        MOST_CONTEXTS
    }

    fn begin(&self, id: u64, text: &str, out: &mut Vec<String>) {
        let encoding = match self.format.encoding {
            Encoding::MuLaw => "pcm_mulaw",
            Encoding::ALaw => "pcm_alaw",
            Encoding::Linear16 => "pcm_s16le",
        };
        let mut message = json!({
            "context_id": format!("t{id}"),
            "model_id": self.model,
            "transcript": text.trim_end(),
            "continue": false,
            "voice": { "mode": "id", "id": self.voice },
            "output_format": { "container": "raw", "encoding": encoding, "sample_rate": self.format.sample_rate },
            "language": self.language,
            "add_timestamps": true,
            // The text is a whole sentence, so waiting for more gains nothing.
            "max_buffer_delay_ms": 0,
        });
        if self.speed != 1.0 {
            message["generation_config"] = json!({ "speed": self.speed });
        }
        if let Some(dictionary) = &self.dictionary {
            message["pronunciation_dict_id"] = dictionary.as_str().into();
        }
        out.push(message.to_string());
    }

    fn cancel(&self, id: u64, out: &mut Vec<String>) {
        out.push(json!({ "context_id": format!("t{id}"), "cancel": true }).to_string());
    }

    fn read<'m>(&self, message: &'m str) -> Result<VoiceEvent<'m>, Failure> {
        let reply: Received<'m> = read_json(&self.endpoint, message)?;
        let failed = reply.failure(&self.endpoint);
        let context = reply.context_id.as_deref().filter(|name| !name.is_empty());
        let id = context.and_then(|name| name.strip_prefix('t')?.parse().ok());
        if (context.is_some() && id.is_none()) || (id.is_none() && failed.is_none()) {
            return Ok(VoiceEvent::default());
        }
        let times = reply.word_timestamps.unwrap_or_default();
        // Our own markup is not a word, even if it is reported as one.
        let markup = |text: &str| text.starts_with(['<', '[']) || text.ends_with("/>");
        let words = times.words.into_iter().zip(times.end);
        let words = words.filter(|(text, _)| !markup(text));
        let spoken = words.map(|(text, end)| Spoken {
            text,
            is_word: true,
            end_ms: end * 1_000.0,
            from_here: false,
        });
        Ok(VoiceEvent {
            id,
            audio: reply.data.filter(|_| reply.kind == "chunk"),
            spoken: spoken.collect(),
            ended: reply.kind == "done" || reply.done == Some(true),
            cleared: false,
            failed,
        })
    }
}

#[cfg(test)]
mod tests;
