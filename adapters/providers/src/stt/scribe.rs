//! ElevenLabs' Scribe in real time: audio in base64, partial transcripts, and a commit where our own detector wants one.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use domain::ports::transcriber::{Promise, TranscriberConfig};
use media::format::{Encoding, LineFormat};
use serde::Deserialize;
use tokio_tungstenite::tungstenite::Message;

use crate::failure::Failure;
use crate::settings::Endpoint;
use crate::stt::protocol::expired;
use crate::stt::{
    audio_buffer::AudioBuffer,
    protocol::{Idle, RecogniserEvent, RecogniserProtocol},
};

const DEFAULT_MODEL: &str = "scribe_v2_realtime";

/// Without audio for so long silence is sent.
const SILENCE_AFTER: Duration = Duration::from_secs(5);

/// 407 ms after the speech in the slowest hundredth of cases; counted from our asking, 100 ms after it.
const FINAL_WITHIN: Duration = Duration::from_millis(450);

/// Key terms that it takes, and the characters of each.
const MOST_KEYWORDS: usize = 50;
const LONGEST_KEYWORD: usize = 20;

/// The dialect.
pub(super) struct Scribe {
    model: String,
    url: String,
    headers: Vec<(&'static str, String)>,
    sample_rate: u32,
}

impl Scribe {
    pub(super) fn new(endpoint: &Endpoint, model: Option<&str>, config: &TranscriberConfig) -> Self {
        let format = AudioBuffer::new(config.sample_rate).format();
        let model = model.unwrap_or(DEFAULT_MODEL);
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query
            .append_pair("model_id", model)
            .append_pair("audio_format", &audio_format(format))
            .append_pair("commit_strategy", "manual");
        let language = match config.hinglish {
            true => "hi",
            false => config.language.split(['-', '_']).next().unwrap_or_default(),
        };
        if !language.is_empty() {
            query.append_pair("language_code", language);
        }
        let keywords = config.keywords.iter().map(|word| word.trim());
        let keywords = keywords.filter(|word| (1..=LONGEST_KEYWORD).contains(&word.chars().count()));
        for keyword in keywords.take(MOST_KEYWORDS) {
            query.append_pair("keyterms", keyword);
        }
        let path = endpoint.socket_url("/v1/speech-to-text/realtime");
        let key = endpoint.key.iter();
        Self {
            model: model.to_owned(),
            url: format!("{path}?{}", query.finish()),
            headers: key.map(|key| ("xi-api-key", key.secret().to_owned())).collect(),
            sample_rate: format.sample_rate,
        }
    }

    fn chunk(&self, audio: &[u8], commit: bool) -> Message {
        let (audio, rate) = (STANDARD.encode(audio), self.sample_rate);
        Message::text(format!(
            r#"{{"message_type":"input_audio_chunk","audio_base_64":"{audio}","commit":{commit},"sample_rate":{rate}}}"#
        ))
    }
}

fn audio_format(format: LineFormat) -> String {
    match format.encoding {
        Encoding::MuLaw => format!("ulaw_{}", format.sample_rate),
        _ => format!("pcm_{}", format.sample_rate),
    }
}

#[derive(Deserialize)]
struct Received {
    message_type: Option<String>,
    text: Option<String>,
    error: Option<String>,
}

impl RecogniserProtocol for Scribe {
    fn request(&self) -> (String, Vec<(&'static str, String)>) {
        (self.url.clone(), self.headers.clone())
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn greets(&self) -> bool {
        true
    }

    fn promise(&self) -> Promise {
        Promise {
            final_within: FINAL_WITHIN,
            answers_each: true,
            tells_turns: false,
            tells_interims: true,
        }
    }

    fn audio(&self, bytes: &[u8]) -> Message {
        self.chunk(bytes, false)
    }

    fn finalize(&mut self) -> Option<Message> {
        Some(self.chunk(&[], true))
    }

    fn idle(&self) -> Idle {
        Idle {
            after: SILENCE_AFTER,
            message: None,
        }
    }

    fn goodbye(&self) -> Option<Message> {
        None
    }

    fn read(&mut self, text: &str) -> Result<Option<RecogniserEvent>, Failure> {
        let protocol = |why: String| Failure::Protocol(why);
        let received: Received = serde_json::from_str(text).map_err(|error| protocol(error.to_string()))?;
        let kind = received.message_type.unwrap_or_default();
        let words = || {
            received
                .text
                .clone()
                .ok_or_else(|| protocol(format!("{kind} without text")))
        };
        let why = format!("{kind}: {}", received.error.as_deref().unwrap_or_default());
        Ok(match kind.as_str() {
            "session_started" => Some(RecogniserEvent::Ready),
            "partial_transcript" => Some(RecogniserEvent::Interim(words()?)),
            "committed_transcript" => Some(RecogniserEvent::Final {
                text: words()?,
                up_to_s: None,
                answers: true,
            }),
            // There was too little in it: no words.
            "insufficient_audio_activity" => Some(RecogniserEvent::Final {
                text: String::new(),
                up_to_s: None,
                answers: true,
            }),
            "commit_throttled" => Some(RecogniserEvent::AskAgain),
            "auth_error" | "quota_exceeded" => return Err(Failure::Refused(why)),
            "input_error" | "chunk_size_exceeded" => return Err(Failure::OurFault(why)),
            "rate_limited" | "resource_exhausted" => return Err(Failure::Busy { retry_after: None }),
            "session_time_limit_exceeded" => return Err(expired()),
            _ if received.error.is_some() || kind.ends_with("_error") => return Err(Failure::Unavailable(why)),
            "queue_overflow" => return Err(Failure::Unavailable(why)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests;
