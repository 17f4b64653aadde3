//! Protocol of Deepgram's Flux, `/v2/listen`. It detects turns itself and says when one may be over and when it is.

use std::time::Duration;

use domain::ports::transcriber::{Capabilities, TranscriberConfig};
use serde::Deserialize;
use tokio_tungstenite::tungstenite::{Message, protocol::CloseFrame};

use crate::{
    endpoint::Endpoint,
    failure::Failure,
    json,
    name::plain_language,
    protocols::stt::{Idle, RecogniserEvent, RecogniserProtocol, Request, keywords, promised},
    registry::deepgram::listen::{closed, encoding, goodbye, kind},
};

/// Models for the plain name `flux`, by language.
const ENGLISH: &str = "flux-general-en";
const MULTILINGUAL: &str = "flux-general-multi";

/// Confidence that the turn may be over from which the reply is begun. At the default of 0.7 the turn is over.
const EAGER_THRESHOLD: &str = "0.5";

/// Time without audio after which silence is sent. Otherwise a turn that is cut off would never end.
const SILENCE_AFTER: Duration = Duration::from_millis(500);

/// Time limit for the end of a turn after `ForceEndTurn`.
const FINAL_WITHIN: Duration = Duration::from_millis(400);

/// Maximum number of key terms. Flux accepts 500 tokens of them in total.
const MOST_KEYWORDS: usize = 100;

/// Protocol of `/v2/listen`.
pub(crate) struct Flux {
    request: Request,
    /// Whether the current turn has words.
    in_turn: bool,
}

impl Flux {
    pub(crate) fn new(endpoint: &Endpoint, model: &str, config: &TranscriberConfig) -> Self {
        let format = config.format;
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
            let hints: &[&str] = match config.hinglish {
                true => &["hi", "en"],
                false => &[plain_language(&config.language)],
            };
            for hint in hints.iter().filter(|hint| !hint.is_empty()) {
                query.append_pair("language_hint", hint);
            }
        }
        for keyword in keywords(config, MOST_KEYWORDS) {
            query.append_pair("keyterm", keyword);
        }
        Self {
            request: Request::new(endpoint, "/v2/listen", model, query),
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
    fn request(&self) -> &Request {
        &self.request
    }

    fn greets(&self) -> bool {
        true
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            tells_turns: true,
            ..promised(FINAL_WITHIN)
        }
    }

    fn finalize(&mut self) -> Option<Message> {
        self.in_turn.then(|| Message::text(r#"{"type":"ForceEndTurn"}"#))
    }

    fn idle(&self) -> Idle {
        Idle::silence(SILENCE_AFTER)
    }

    fn goodbye(&self) -> Option<Message> {
        goodbye()
    }

    fn read(&mut self, text: &str) -> Result<Option<RecogniserEvent>, Failure> {
        match kind(text)?.as_deref() {
            Some("Connected") => return Ok(Some(RecogniserEvent::Ready)),
            Some("Error") => {
                let FluxError { code, description } = json::read(text)?;
                let [code, words] = [code, description].map(Option::unwrap_or_default);
                return Err(Failure::Unavailable(format!("{code}: {words}")));
            }
            Some("TurnInfo") => {}
            _ => return Ok(None),
        }
        let turn: TurnInfo = json::read(text)?;
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
