//! Protocol of ElevenLabs' realtime Scribe: base64 audio, partial transcripts, and a commit when our own
//! detector wants a final.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use domain::ports::transcriber::{Capabilities, TranscriberConfig};
use media::format::{Encoding, LineFormat};
use serde::Deserialize;
use tokio_tungstenite::tungstenite::Message;

use crate::{
    endpoint::Endpoint,
    failure::Failure,
    json,
    name::plain_language,
    protocols::stt::{Idle, RecogniserEvent, RecogniserProtocol, Request, expired, keywords, promised},
};

/// Model that is used if none is named.
pub(crate) const MODEL: &str = "scribe_v2_realtime";

/// Time without audio after which silence is sent.
const SILENCE_AFTER: Duration = Duration::from_secs(5);

/// Time limit for a final. The slowest hundredth takes 407 ms after the speech. We ask 100 ms after the
/// speech and count from then.
const FINAL_WITHIN: Duration = Duration::from_millis(450);

/// Maximum number of key terms, and of characters in each.
const MOST_KEYWORDS: usize = 50;
const LONGEST_KEYWORD: usize = 20;

/// Protocol of `/v1/speech-to-text/realtime`.
pub(crate) struct Scribe {
    request: Request,
    sample_rate: u32,
}

impl Scribe {
    pub(crate) fn new(endpoint: &Endpoint, model: Option<&str>, config: &TranscriberConfig) -> Self {
        let format = config.format;
        let model = model.unwrap_or(MODEL);
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query
            .append_pair("model_id", model)
            .append_pair("audio_format", &audio_format(format))
            .append_pair("commit_strategy", "manual");
        let language = match config.hinglish {
            true => "hi",
            false => plain_language(&config.language),
        };
        if !language.is_empty() {
            query.append_pair("language_code", language);
        }
        let short = keywords(config, usize::MAX).filter(|word| word.chars().count() <= LONGEST_KEYWORD);
        for keyword in short.take(MOST_KEYWORDS) {
            query.append_pair("keyterms", keyword);
        }
        let request = Request::new(endpoint, "/v1/speech-to-text/realtime", model, query);
        Self {
            request,
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
    fn request(&self) -> &Request {
        &self.request
    }

    fn greets(&self) -> bool {
        true
    }

    fn capabilities(&self) -> Capabilities {
        promised(FINAL_WITHIN)
    }

    fn audio(&self, bytes: &[u8]) -> Message {
        self.chunk(bytes, false)
    }

    fn finalize(&mut self) -> Option<Message> {
        Some(self.chunk(&[], true))
    }

    fn idle(&self) -> Idle {
        Idle::silence(SILENCE_AFTER)
    }

    fn read(&mut self, text: &str) -> Result<Option<RecogniserEvent>, Failure> {
        let received: Received = json::read(text)?;
        let kind = received.message_type.unwrap_or_default();
        let committed = |text: String| RecogniserEvent::Final {
            text,
            up_to_s: None,
            answers: true,
        };
        let text = received
            .text
            .ok_or_else(|| Failure::Protocol(format!("{kind} without text")));
        let why = format!("{kind}: {}", received.error.as_deref().unwrap_or_default());
        Ok(match kind.as_str() {
            "session_started" => Some(RecogniserEvent::Ready),
            "partial_transcript" => Some(RecogniserEvent::Interim(text?)),
            "committed_transcript" => Some(committed(text?)),
            // The audio was too short to contain words.
            "insufficient_audio_activity" => Some(committed(String::new())),
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
