//! Protocol of Deepgram's `/v1/listen`: interim and final results as the user speaks. Our own detector
//! decides when to request a final.

use std::time::Duration;

use domain::ports::transcriber::{Capabilities, TranscriberConfig};
use media::format::{Encoding, LineFormat};
use serde::Deserialize;
use tokio_tungstenite::tungstenite::{Message, protocol::CloseFrame};
use url::form_urlencoded::Serializer;

use crate::{
    endpoint::Endpoint,
    failure::Failure,
    json,
    protocols::stt::{Idle, RecogniserEvent, RecogniserProtocol, Request, expired, keywords, promised},
};
use net::redact;

/// Model that is used if none is named.
pub(crate) const MODEL: &str = "nova-3";

/// Interval of keep-alive messages. Deepgram wants one every 3 to 5 s and closes a connection after 10 s without audio.
const KEEP_ALIVE_AFTER: Duration = Duration::from_secs(4);

/// Time limit for a final. The slowest hundredth takes 326 ms after the speech. We ask 100 ms after the
/// speech and count from then.
const FINAL_WITHIN: Duration = Duration::from_millis(400);

/// Maximum number of key terms. Nova-3 accepts 500 tokens of them in total, and a term has a few.
const MOST_KEYWORDS: usize = 100;

/// Protocol of `/v1/listen`.
pub(crate) struct Listen(Request);

impl Listen {
    pub(crate) fn new(endpoint: &Endpoint, model: Option<&str>, config: &TranscriberConfig) -> Self {
        let format = config.format;
        let model = model.unwrap_or(MODEL);
        let query = query(model, config, format);
        Self(Request::new(endpoint, "/v1/listen", model, query))
    }
}

/// Returns Deepgram's name of a line's encoding.
pub(crate) fn encoding(format: LineFormat) -> &'static str {
    match format.encoding {
        Encoding::MuLaw => "mulaw",
        Encoding::ALaw => "alaw",
        Encoding::Linear16 => "linear16",
    }
}

fn query(model: &str, config: &TranscriberConfig, format: LineFormat) -> Serializer<'static, String> {
    let newest = model.starts_with("nova-3");
    let language = match (config.hinglish, newest) {
        // Only Nova-3's mixture of languages includes Hindi.
        (true, true) => "multi",
        (true, false) => "hi",
        (false, _) => config.language.as_str(),
    };
    let mut query = Serializer::new(String::new());
    query
        .append_pair("model", model)
        .append_pair("language", language)
        .append_pair("encoding", encoding(format))
        .append_pair("sample_rate", &format.sample_rate.to_string())
        .append_pair("channels", "1")
        .append_pair("interim_results", "true")
        // Our own detector knows the line, and when the agent speaks.
        .append_pair("endpointing", "false")
        // Formats numbers and punctuation, without the delay of waiting for the rest of a number.
        .append_pair("smart_format", "true")
        .append_pair("no_delay", "true");
    if language.starts_with("en") {
        // A hesitation shows that the turn is not over.
        query.append_pair("filler_words", "true");
    }
    for keyword in keywords(config, MOST_KEYWORDS) {
        query.append_pair(if newest { "keyterm" } else { "keywords" }, keyword);
    }
    query
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Results {
    start: f64,
    duration: f64,
    is_final: Option<bool>,
    from_finalize: Option<bool>,
    channel: Channel,
}

#[derive(Deserialize)]
struct Channel {
    alternatives: Vec<Alternative>,
}

#[derive(Deserialize)]
struct Alternative {
    transcript: String,
}

/// Reads the `type` of a message.
pub(crate) fn kind(text: &str) -> Result<Option<String>, Failure> {
    Ok(json::read::<Kind>(text)?.kind)
}

impl RecogniserProtocol for Listen {
    fn request(&self) -> &Request {
        &self.0
    }

    fn capabilities(&self) -> Capabilities {
        promised(FINAL_WITHIN)
    }

    fn finalize(&mut self) -> Option<Message> {
        Some(Message::text(r#"{"type":"Finalize"}"#))
    }

    fn idle(&self) -> Idle {
        Idle {
            after: KEEP_ALIVE_AFTER,
            message: Some(r#"{"type":"KeepAlive"}"#),
        }
    }

    fn goodbye(&self) -> Option<Message> {
        goodbye()
    }

    fn read(&mut self, text: &str) -> Result<Option<RecogniserEvent>, Failure> {
        match kind(text)?.as_deref() {
            Some("Results") => {}
            Some("Error") => return Err(Failure::Unavailable(redact::fit(text))),
            _ => return Ok(None),
        }
        // An unreadable message may have been a final, so all audio since the last one is sent again.
        let results: Results = json::read(text)?;
        let best = results.channel.alternatives.into_iter().next();
        let text = best.map(|best| best.transcript).unwrap_or_default();
        Ok(Some(match results.is_final.unwrap_or(false) {
            true => RecogniserEvent::Final {
                text,
                up_to_s: Some(results.start + results.duration),
                answers: results.from_finalize.unwrap_or(false),
            },
            false => RecogniserEvent::Interim(text),
        }))
    }

    fn closed(&self, frame: Option<&CloseFrame>) -> Failure {
        closed(frame)
    }
}

/// Returns the message that ends a session.
pub(crate) fn goodbye() -> Option<Message> {
    Some(Message::text(r#"{"type":"CloseStream"}"#))
}

/// Returns the failure for the closing of a connection by Deepgram.
pub(crate) fn closed(frame: Option<&CloseFrame>) -> Failure {
    let Some(frame) = frame else {
        return Failure::Unavailable("closed without a reason".into());
    };
    let words = format!("closed: {} {}", u16::from(frame.code), frame.reason);
    // Deepgram's error code comes first, followed by text.
    match frame.reason.split([' ', ':']).next() {
        Some("DATA-0000") => Failure::OurFault(words),
        // No audio came in time because the line was silent. The connection is made anew.
        Some("NET-0001") => expired(),
        _ => Failure::Unavailable(words),
    }
}

#[cfg(test)]
mod tests;
