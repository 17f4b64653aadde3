//! Deepgram's Flux, `/v2/listen`, as far as its clients can tell. Time is the audio's: if the audio
//! stops, no turn ends.

use std::{ops::ControlFlow, sync::Arc};

use axum::{
    Router,
    extract::{RawQuery, State, WebSocketUpgrade, ws::Message},
    http::HeaderMap,
    response::Response,
    routing::get,
};
use media::turn::words::{self, Ending};
use rand::rngs::StdRng;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::stub_providers::{
    deepgram::listen::{Client, enter, refusal},
    log::Service,
    recogniser::{
        Recogniser, Span, Word,
        outlet::{LastWords, Outlet, bounded},
        parameter, request_id,
    },
    stub::Stub,
};

/// Approximate interval between `Update`s, in milliseconds of audio.
const UPDATE_MS: u64 = 250;

/// Additional silence after words that others must follow.
const OPEN_MS: u64 = 1_200;

/// Silence that ends any turn, unless the client says otherwise.
const TIMEOUT_MS: u64 = 5_000;

/// `/v2/listen`.
pub const FLUX: Service = Service("/v2/listen");

/// Returns the route.
pub(crate) fn routes() -> Router<Arc<Stub>> {
    Router::new().route("/v2/listen", get(listen))
}

async fn listen(
    State(stub): State<Arc<Stub>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let entered = enter(&stub, FLUX, query.as_deref(), &headers);
    let Client {
        fault,
        query,
        recogniser,
    } = match entered {
        Ok(client) => client,
        Err(status) => return refusal(status),
    };
    if !parameter(&query, "model").is_some_and(|model| model.starts_with("flux-")) {
        return refusal(400);
    }
    let session = Session {
        chances: stub.chances(),
        stub: stub.clone(),
        recogniser,
        id: request_id(),
        sequence: 0,
        turn: 0,
        state: Turn::Waiting,
        updated_ms: 0,
        eager: parameter(&query, "eager_eot_threshold").is_some(),
        timeout_ms: parameter(&query, "eot_timeout_ms")
            .and_then(|ms| ms.parse().ok())
            .unwrap_or(TIMEOUT_MS),
    };
    bounded(upgrade).on_upgrade(move |socket| async move {
        let failure = json!({
            "type": "Error", "sequence_id": 0, "code": "INTERNAL_SERVER_ERROR",
            "description": "An internal server error occurred while processing the request.",
        });
        let last_words = LastWords {
            message: Some(failure.to_string()),
            code: 1011,
            reason: "NET-0000",
        };
        session.serve(Outlet::new(socket, fault, last_words)).await;
        stub.received(FLUX, "disconnected");
    })
}

#[derive(Deserialize)]
struct Control {
    #[serde(rename = "type")]
    kind: String,
}

/// State of the current turn.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Turn {
    /// No turn has begun.
    Waiting,
    /// Somebody speaks.
    Going,
    /// The words have paused; the turn ends at `end_ms` of the audio.
    Pausing { end_ms: u64, told: Option<String> },
}

struct Session {
    stub: Arc<Stub>,
    recogniser: Recogniser,
    chances: StdRng,
    id: String,
    sequence: u64,
    turn: u64,
    state: Turn,
    updated_ms: u64,
    eager: bool,
    timeout_ms: u64,
}

impl Session {
    async fn serve(mut self, mut outlet: Outlet) {
        let connected = json!({ "type": "Connected", "request_id": self.id, "sequence_id": 0 });
        if outlet.send(connected.to_string()).await.is_break() {
            return;
        }
        while let Some(Ok(message)) = outlet.socket.recv().await {
            let done = match message {
                Message::Binary(audio) => self.audio(&audio, &mut outlet).await,
                Message::Text(text) => self.control(&text, &mut outlet).await,
                Message::Close(_) => outlet.read_out().await,
                Message::Ping(_) | Message::Pong(_) => ControlFlow::Continue(()),
            };
            if done.is_break() {
                return;
            }
        }
    }

    async fn audio(&mut self, audio: &[u8], outlet: &mut Outlet) -> ControlFlow<()> {
        if self.stub.settings.keep_log {
            self.stub.received(FLUX, format!("audio {}", audio.len()));
        }
        let before_ms = self.recogniser.spoken().map(|(ms, _)| ms);
        self.recogniser.push(audio);
        let spoken_ms = self.recogniser.spoken().map(|(ms, _)| ms);
        if !self.recogniser.has_words() {
            return ControlFlow::Continue(());
        }
        if spoken_ms != before_ms {
            self.went_on(outlet).await?;
        } else if !self.recogniser.in_utterance() || matches!(self.state, Turn::Pausing { .. }) {
            self.paused(spoken_ms.unwrap_or(0), outlet).await?;
        }
        let now_ms = self.recogniser.now_ms();
        if now_ms >= self.updated_ms + UPDATE_MS {
            self.updated_ms = now_ms;
            outlet.send(self.info("Update", &self.recogniser.so_far())).await?;
        }
        ControlFlow::Continue(())
    }

    /// Handles further words.
    async fn went_on(&mut self, outlet: &mut Outlet) -> ControlFlow<()> {
        let span = self.recogniser.so_far();
        match std::mem::replace(&mut self.state, Turn::Going) {
            Turn::Waiting => {
                self.updated_ms = self.recogniser.now_ms();
                outlet.send(self.info("StartOfTurn", &span)).await
            }
            Turn::Pausing { told: Some(_), .. } => outlet.send(self.info("TurnResumed", &span)).await,
            Turn::Going | Turn::Pausing { told: None, .. } => ControlFlow::Continue(()),
        }
    }

    /// Handles a pause since `spoken_ms`.
    async fn paused(&mut self, spoken_ms: u64, outlet: &mut Outlet) -> ControlFlow<()> {
        if self.state == Turn::Going {
            let took = self.stub.settings.times.final_transcript.draw(&mut self.chances);
            let text = self.recogniser.so_far().text();
            let open_ms = match words::ending(&text) {
                Ending::Complete | Ending::Plain => 0,
                Ending::Hesitating | Ending::Open | Ending::Spelling => OPEN_MS,
            };
            let silence_ms = (u64::try_from(took.as_millis()).unwrap_or(0) + open_ms).min(self.timeout_ms);
            let told = self.eager.then_some(text);
            self.state = Turn::Pausing {
                end_ms: spoken_ms + silence_ms,
                told,
            };
            if self.eager {
                outlet
                    .send(self.info("EagerEndOfTurn", &self.recogniser.so_far()))
                    .await?;
            }
        }
        match self.state {
            Turn::Pausing { end_ms, .. } if self.recogniser.now_ms() >= end_ms => self.end("model", outlet).await,
            _ => ControlFlow::Continue(()),
        }
    }

    async fn end(&mut self, trigger: &str, outlet: &mut Outlet) -> ControlFlow<()> {
        let span = self.recogniser.take();
        let mut info = self.shown("EndOfTurn", &span);
        info["trigger"] = trigger.into();
        self.turn += 1;
        self.state = Turn::Waiting;
        outlet.send(info.to_string()).await
    }

    async fn control(&mut self, text: &str, outlet: &mut Outlet) -> ControlFlow<()> {
        self.stub.received(FLUX, text);
        let kind = serde_json::from_str::<Control>(text).map(|control| control.kind);
        let kind = kind.ok().filter(|_| self.stub.takes_fields("deepgram", "flux", text));
        match kind.as_deref() {
            Some("ForceEndTurn") if self.recogniser.has_words() => self.end("manual", outlet).await,
            Some("Configure") => {
                self.sequence += 1;
                let answer = json!({
                    "type": "ConfigureSuccess", "request_id": self.id, "sequence_id": self.sequence,
                    "thresholds": {}, "keyterms": [], "language_hints": [],
                });
                outlet.send(answer.to_string()).await
            }
            Some("CloseStream") => {
                if self.recogniser.has_words() {
                    outlet.send(self.info("Update", &self.recogniser.so_far())).await?;
                }
                outlet.close_silently().await
            }
            Some(_) => ControlFlow::Continue(()),
            None => {
                let failure = json!({
                    "type": "Error", "sequence_id": self.sequence, "code": "UNPARSABLE_CLIENT_MESSAGE",
                    "description": "The client sent a message that could not be read.",
                });
                outlet.send(failure.to_string()).await?;
                outlet.close(1008, "").await
            }
        }
    }

    fn info(&mut self, event: &str, span: &Span) -> String {
        self.shown(event, span).to_string()
    }

    fn shown(&mut self, event: &str, span: &Span) -> Value {
        self.sequence += 1;
        let show = |word: &Word| json!({ "word": word.text, "confidence": 0.99, "start": word.start_s(), "end": word.end_s() });
        let confidence = match event {
            "EndOfTurn" => 0.9,
            "EagerEndOfTurn" => 0.6,
            _ => 0.1,
        };
        json!({
            "type": "TurnInfo", "request_id": self.id, "sequence_id": self.sequence, "event": event,
            "turn_index": self.turn, "audio_window_start": span.start_ms as f64 / 1_000.0,
            "audio_window_end": span.end_ms as f64 / 1_000.0, "transcript": span.text(),
            "words": span.words.iter().map(show).collect::<Vec<_>>(), "end_of_turn_confidence": confidence,
        })
    }
}
