//! Deepgram's Flux, `/v2/listen`: it listens for turns itself, and says when one may be over and when it is.

use std::time::Duration;

use domain::ports::transcriber::{Promise, TranscriberConfig};
use serde::Deserialize;
use tokio_tungstenite::tungstenite::{Message, protocol::CloseFrame};

use crate::failure::Failure;
use crate::settings::Endpoint;
use crate::stt::{
    audio_buffer::AudioBuffer,
    deepgram::{authorization, closed, encoding, kind},
    protocol::{Idle, RecogniserEvent, RecogniserProtocol},
};

/// Plain `flux` is the model that fits the language.
const ENGLISH: &str = "flux-general-en";
const MULTILINGUAL: &str = "flux-general-multi";

/// So sure it must be that a turn may be over for the answer to be begun; at its default of 0.7 it is.
const EAGER_THRESHOLD: &str = "0.5";

/// If audio stops in the midst of a turn its end never comes: silence goes in its place after so long.
const SILENCE_AFTER: Duration = Duration::from_millis(500);

/// The end of a turn that it is told to end.
const FINAL_WITHIN: Duration = Duration::from_millis(400);

/// Key terms have 500 tokens in all.
const MOST_KEYWORDS: usize = 100;

/// The dialect.
pub(super) struct Flux {
    model: String,
    url: String,
    headers: Vec<(&'static str, String)>,
    /// The turn it is in has words.
    in_turn: bool,
}

impl Flux {
    pub(super) fn new(endpoint: &Endpoint, model: &str, config: &TranscriberConfig) -> Self {
        let format = AudioBuffer::new(config.sample_rate).format();
        let english = config.language.starts_with("en") && !config.hinglish;
        let model = match model {
            "flux" if english => ENGLISH,
            "flux" => MULTILINGUAL,
            other => other,
        };
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query
            .append_pair("model", model)
            .append_pair("encoding", encoding(format))
            .append_pair("sample_rate", &format.sample_rate.to_string())
            .append_pair("eager_eot_threshold", EAGER_THRESHOLD);
        if model.contains("multi") {
            let language = config.language.split(['-', '_']).next().unwrap_or_default();
            let hints = if config.hinglish {
                vec!["hi", "en"]
            } else {
                vec![language]
            };
            for hint in hints.into_iter().filter(|hint| !hint.is_empty()) {
                query.append_pair("language_hint", hint);
            }
        }
        let keywords = config.keywords.iter().map(|word| word.trim()).filter(|w| !w.is_empty());
        for keyword in keywords.take(MOST_KEYWORDS) {
            query.append_pair("keyterm", keyword);
        }
        Self {
            model: model.to_owned(),
            url: format!("{}?{}", endpoint.socket_url("/v2/listen"), query.finish()),
            headers: authorization(endpoint),
            in_turn: false,
        }
    }
}

#[derive(Deserialize)]
struct TurnInfo {
    event: String,
    transcript: String,
    audio_window_end: f64,
}

#[derive(Deserialize)]
struct FluxError {
    code: Option<String>,
    description: Option<String>,
}

impl RecogniserProtocol for Flux {
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
            tells_turns: true,
            tells_interims: true,
        }
    }

    fn audio(&self, bytes: &[u8]) -> Message {
        Message::binary(bytes.to_vec())
    }

    fn finalize(&mut self) -> Option<Message> {
        self.in_turn.then(|| Message::text(r#"{"type":"ForceEndTurn"}"#))
    }

    fn idle(&self) -> Idle {
        Idle {
            after: SILENCE_AFTER,
            message: None,
        }
    }

    fn goodbye(&self) -> Option<Message> {
        Some(Message::text(r#"{"type":"CloseStream"}"#))
    }

    fn read(&mut self, text: &str) -> Result<Option<RecogniserEvent>, Failure> {
        let protocol = |error: serde_json::Error| Failure::Protocol(error.to_string());
        match kind(text)?.as_deref() {
            Some("Connected") => return Ok(Some(RecogniserEvent::Ready)),
            Some("Error") => {
                let failure: FluxError = serde_json::from_str(text).map_err(protocol)?;
                let (code, words) = (
                    failure.code.unwrap_or_default(),
                    failure.description.unwrap_or_default(),
                );
                return Err(Failure::Unavailable(format!("{code}: {words}")));
            }
            Some("TurnInfo") => {}
            _ => return Ok(None),
        }
        let turn: TurnInfo = serde_json::from_str(text).map_err(protocol)?;
        self.in_turn = turn.event != "EndOfTurn" && !turn.transcript.trim().is_empty();
        Ok(match turn.event.as_str() {
            "EndOfTurn" => Some(RecogniserEvent::TurnEnded {
                text: turn.transcript,
                up_to_s: turn.audio_window_end,
            }),
            "EagerEndOfTurn" => Some(RecogniserEvent::TurnPaused { text: turn.transcript }),
            "TurnResumed" => Some(RecogniserEvent::TurnResumed { text: turn.transcript }),
            "StartOfTurn" | "Update" => Some(RecogniserEvent::Interim(turn.transcript)),
            _ => None,
        })
    }

    fn closed(&self, frame: Option<&CloseFrame>) -> Failure {
        closed(frame)
    }

    fn restarted(&mut self) {
        self.in_turn = false;
    }
}

#[cfg(test)]
mod tests;
