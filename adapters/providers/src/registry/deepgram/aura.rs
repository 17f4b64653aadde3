//! Protocol of Deepgram's Aura: one socket per call and one text at a time, which is flushed at its end and
//! cleared when dropped. Only a few flushes per minute are allowed, so further texts are requested over HTTP.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use domain::ports::{
    synthesizer::VoiceConfig,
    usage::{Meter, Unit},
};
use futures_util::{StreamExt, stream};
use media::format::LineFormat;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    endpoint::Endpoint,
    failure::Failure,
    protocols::tts::{
        http_audio::{Asked, audio},
        protocol::{VoiceEvent, VoiceProtocol, line_format, read_json},
        provider::{Pieces, Source, SourceSettings, VoiceProvider},
        refusal::in_words,
        socket::SocketVoice,
    },
    registry::deepgram::listen::encoding,
};
use net::redact;

/// Flushes that we use of the 20 per 60 seconds that a socket allows. One is left for texts in progress.
const MOST_FLUSHES: usize = 19;
const FLUSHES_WITHIN: Duration = Duration::from_secs(60);

/// Maximum characters of one message or request.
const MOST_CHARACTERS: usize = 2_000;

/// Voice that is used if none is named.
pub(crate) const VOICE: &str = "aura-2-thalia-en";

/// Returns Deepgram's voices.
pub(crate) fn voices(settings: SourceSettings) -> Arc<dyn Source> {
    let SourceSettings { endpoint, client, .. } = settings;
    Arc::new(Aura { endpoint, client })
}

/// Deepgram's voice provider.
struct Aura {
    endpoint: Endpoint,
    client: reqwest::Client,
}

impl Aura {
    fn protocol(&self, config: &VoiceConfig) -> Speak {
        Speak {
            endpoint: self.endpoint.clone(),
            voice: config.voice.clone(),
            format: format_for(config),
            warned: Arc::default(),
        }
    }
}

impl Source for Aura {
    fn open(&self, config: &VoiceConfig) -> Box<dyn VoiceProvider> {
        let speak = self.protocol(config);
        let plain = Plain {
            speak: speak.clone(),
            client: self.client.clone(),
            line_rate: config.sample_rate,
            meter: config.meter.clone(),
        };
        Box::new(AuraVoice {
            socket: SocketVoice::open(speak, config),
            plain,
            flushes: Mutex::default(),
        })
    }

    fn signature(&self, _config: &VoiceConfig) -> String {
        format!("aura {}", self.endpoint.base_url)
    }

    #[cfg(feature = "fuzzing")]
    fn fuzz(&self, config: &VoiceConfig, message: &str) {
        let _ = self.protocol(config).read(message);
    }
}

struct AuraVoice {
    socket: SocketVoice,
    plain: Plain,
    flushes: Mutex<VecDeque<Instant>>,
}

impl VoiceProvider for AuraVoice {
    fn speak(&mut self, text: &str) -> Pieces {
        match self.may_flush() {
            true => self.socket.speak(text),
            false => self.plain.speak(text),
        }
    }
}

impl AuraVoice {
    fn may_flush(&self) -> bool {
        let mut flushes = self.flushes.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        flushes.retain(|at| now - *at < FLUSHES_WITHIN);
        let may = flushes.len() < MOST_FLUSHES;
        if may {
            flushes.push_back(now);
        }
        may
    }
}

/// Requests of texts over HTTP.
struct Plain {
    speak: Speak,
    client: reqwest::Client,
    line_rate: u32,
    meter: Meter,
}

impl Plain {
    fn speak(&self, text: &str) -> Pieces {
        let endpoint = self.speak.endpoint.clone();
        let url = endpoint.url(&format!("/v1/speak?{}&container=none", self.speak.query()));
        let parts: Vec<String> = split(text).into_iter().map(str::to_owned).collect();
        let (format, line_rate, client) = (self.speak.format, self.line_rate, self.client.clone());
        let characters = text.chars().count() as u64;
        self.meter
            .add(endpoint.provider, &self.speak.voice, Unit::Characters, characters);
        let asked = parts.into_iter().map(move |text| {
            audio(Asked {
                request: endpoint.signed(client.post(&url).json(&json!({ "text": text }))),
                endpoint: endpoint.clone(),
                format,
                line_rate,
                characters: text.chars().count(),
            })
        });
        // Parts are requested in order: the next one once the previous one is complete.
        stream::iter(asked).flatten().boxed()
    }
}

/// Returns the audio format to request. For rates that Deepgram does not speak at, it is the next higher one.
fn format_for(config: &VoiceConfig) -> LineFormat {
    let format = line_format(config);
    let sample_rate = match format.sample_rate {
        22_050 => 24_000,
        44_100 => 48_000,
        spoken => spoken,
    };
    LineFormat { sample_rate, ..format }
}

/// Splits a text between words into parts that fit into a message.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((most, _)) = rest.char_indices().nth(MOST_CHARACTERS) {
        let head = rest.get(..most).unwrap_or_default();
        let cut = head.rfind(char::is_whitespace).filter(|&cut| cut > 0).unwrap_or(most);
        let (part, behind) = rest.split_at(cut);
        parts.push(part);
        rest = behind;
    }
    parts.push(rest);
    parts
}

#[derive(Clone)]
struct Speak {
    endpoint: Endpoint,
    voice: String,
    format: LineFormat,
    /// Whether a warning was logged. One per call is enough.
    warned: Arc<AtomicBool>,
}

impl Speak {
    fn query(&self) -> String {
        url::form_urlencoded::Serializer::new(String::new())
            .append_pair("model", &self.voice)
            .append_pair("encoding", encoding(self.format))
            .append_pair("sample_rate", &self.format.sample_rate.to_string())
            .extend_pairs(self.endpoint.privacy)
            .finish()
    }

    /// Returns the words of the socket's first warning, fit for the log, and nothing for later ones.
    fn first_warning(&self, words: &str) -> Option<String> {
        (!self.warned.swap(true, Ordering::Relaxed)).then(|| redact::fit(words))
    }
}

#[derive(Deserialize)]
struct Received {
    #[serde(rename = "type", default)]
    kind: String,
    code: Option<Value>,
    err_code: Option<Value>,
    description: Option<String>,
    err_msg: Option<String>,
}

impl VoiceProtocol for Speak {
    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn model(&self) -> &str {
        &self.voice
    }

    fn url(&self) -> String {
        self.endpoint.socket_url(&format!("/v1/speak?{}", self.query()))
    }

    fn format(&self) -> LineFormat {
        self.format
    }

    fn most_open(&self) -> usize {
        // The audio does not name its text, so only one text may be open.
        1
    }

    fn begin(&self, _id: u64, text: &str, out: &mut Vec<String>) {
        let parts = split(text)
            .into_iter()
            .map(|part| json!({ "type": "Speak", "text": part }));
        out.extend(
            parts
                .chain([json!({ "type": "Flush" })])
                .map(|message| message.to_string()),
        );
    }

    fn cancel(&self, _id: u64, out: &mut Vec<String>) {
        out.push(json!({ "type": "Clear" }).to_string());
    }

    fn clears(&self) -> bool {
        true
    }

    fn goodbye(&self) -> Option<String> {
        Some(json!({ "type": "Close" }).to_string())
    }

    fn read<'m>(&self, message: &'m str) -> Result<VoiceEvent<'m>, Failure> {
        let reply: Received = read_json(&self.endpoint, message)?;
        let code = in_words(&reply.code.or(reply.err_code));
        let words = reply.description.or(reply.err_msg).unwrap_or_default();
        let failed = match reply.kind.as_str() {
            "Error" => Some(Failure::of_codes(&self.endpoint, &[&code], &words)),
            // A flush that was refused yields no audio.
            "Warning" if code.contains("FLUSH") => Some(Failure::Busy { retry_after: None }),
            "Warning" => {
                if let Some(words) = self.first_warning(&words) {
                    tracing::warn!(
                        provider = self.endpoint.provider,
                        words,
                        "voice provider sent a warning"
                    );
                }
                None
            }
            _ => None,
        };
        Ok(VoiceEvent {
            ended: reply.kind == "Flushed",
            cleared: reply.kind == "Cleared",
            failed,
            ..VoiceEvent::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::registry::deepgram::DEEPGRAM;

    fn speak() -> Speak {
        Speak {
            endpoint: Endpoint::new(
                DEEPGRAM.name,
                DEEPGRAM.address.as_ref().unwrap(),
                "https://api.deepgram.com",
            ),
            voice: VOICE.into(),
            format: LineFormat::MULAW_8000,
            warned: Arc::default(),
        }
    }

    #[test]
    fn a_long_text_is_cut_between_words_and_flushed_once() {
        let text = "word ".repeat(900);
        let mut out = Vec::new();
        speak().begin(0, &text, &mut out);
        let out: Vec<Value> = out
            .iter()
            .map(|message| serde_json::from_str(message).unwrap())
            .collect();
        let parts: Vec<&str> = out.iter().filter_map(|message| message["text"].as_str()).collect();
        assert_eq!(parts.concat(), text);
        assert!(parts.iter().all(|part| part.chars().count() <= MOST_CHARACTERS) && parts.len() == 3);
        assert_eq!(out.last().unwrap(), &json!({ "type": "Flush" }));
    }

    #[test]
    fn every_message_is_read_and_others_are_ignored() {
        let speak = speak();
        let url = "wss://api.deepgram.com/v1/speak?model=aura-2-thalia-en&encoding=mulaw&sample_rate=8000";
        assert_eq!(speak.url(), url);
        let flushed = r#"{"type":"Flushed","sequence_id":0}"#;
        assert!(speak.read(flushed).unwrap().ended);
        assert!(speak.read(&crate::json::doubled(flushed)).unwrap().ended);
        assert!(speak.read(r#"{"type":"Cleared","sequence_id":0}"#).unwrap().cleared);
        for ignored in [
            r#"{"type":"Metadata","request_id":"x"}"#,
            r#"{"type":"Warning","code":"ODD","description":"x"}"#,
            r#"{"what":1}"#,
        ] {
            assert_eq!(speak.read(ignored), Ok(VoiceEvent::default()), "{ignored}");
        }
        let error = r#"{"type":"Error","description":"broken","code":"NET-0001"}"#;
        assert!(matches!(
            speak.read(error).unwrap().failed,
            Some(Failure::Unavailable(_))
        ));
        let warning = r#"{"type":"Warning","code":"EXCESSIVE_FLUSH","description":"x"}"#;
        assert!(matches!(
            speak.read(warning).unwrap().failed,
            Some(Failure::Busy { .. })
        ));
        assert!(matches!(speak.read("Flushed"), Err(Failure::Protocol(_))));
    }

    #[test]
    fn a_flood_of_warnings_is_one_short_line() {
        let speak = speak();
        let words = "x".repeat(100_000);
        let logged: Vec<String> = (0..100).filter_map(|_| speak.first_warning(&words)).collect();
        assert_eq!(logged.len(), 1);
        assert!(!logged[0].is_empty() && logged[0].len() < 600, "{}", logged[0]);
        let warning = json!({ "type": "Warning", "code": "ODD", "description": words }).to_string();
        assert_eq!(speak.read(&warning), Ok(VoiceEvent::default()));
    }

    proptest! {
        #[test]
        fn parts_make_up_the_text(text in "[a-zé ]{0,50}", times in 1usize..120) {
            let text = text.repeat(times);
            let parts = split(&text);
            prop_assert_eq!(parts.concat(), text.clone());
            prop_assert!(parts.iter().all(|part| part.chars().count() <= MOST_CHARACTERS));
        }
    }
}
