//! Deepgram's `/v1/listen`, as far as its clients can tell.

use std::{collections::VecDeque, ops::ControlFlow, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{RawQuery, State, WebSocketUpgrade, ws::Message},
    http::{HeaderMap, HeaderValue, header},
    response::Response,
    routing::get,
};
use rand::rngs::StdRng;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use crate::stub_providers::{
    fault::Fault,
    log::Service,
    recogniser::{
        Recogniser, Span, Word,
        outlet::{LastWords, Outlet, bounded},
        parameter, parameters, request_id,
    },
    stub::{Stub, given, refused},
};

/// The connection is closed after this long without audio or a `KeepAlive`.
const IDLE: Duration = Duration::from_secs(10);

/// Approximate interval between interims, in milliseconds of audio.
const INTERIM_MS: u64 = 1_000;

/// Without endpointing, words become final this long after they were said.
const RIPE_MS: u64 = 3_000;

/// Audio that is ahead of real time by more than a quarter and by more than this is too fast.
const BURST_MS: u64 = 1_000;

/// `/v1/listen`.
pub const LISTEN: Service = Service("/v1/listen");

/// Returns the route.
pub(crate) fn routes() -> Router<Arc<Stub>> {
    Router::new().route("/v1/listen", get(listen))
}

/// Returns the key in either of Deepgram's headers.
pub(super) fn key(headers: &HeaderMap) -> Option<&str> {
    let authorization = given(headers, "authorization").and_then(|value| {
        let (scheme, key) = value.split_once(' ')?;
        let known = ["token", "bearer"].contains(&scheme.to_ascii_lowercase().as_str());
        known.then(|| key.trim())
    });
    authorization.or_else(|| {
        let (_, key) = given(headers, header::SEC_WEBSOCKET_PROTOCOL.as_str())?.split_once(',')?;
        Some(key.trim())
    })
}

/// Key of a project whose requests must opt out of the improvement of models.
const PRIVATE_PROJECT: &str = "private-project";

/// Returns the status with which a request is refused, if it is. `opts_out` of the improvement of models.
pub(super) fn admit(stub: &Stub, fault: &Fault, headers: &HeaderMap, opts_out: bool) -> Result<(), u16> {
    let key = key(headers);
    match fault {
        Fault::Refuse(status) => Err(*status),
        _ if !stub.takes(key) => Err(401),
        _ if !opts_out && key == Some(PRIVATE_PROJECT) => Err(403),
        _ => Ok(()),
    }
}

/// An accepted client.
pub(super) struct Client {
    pub(super) fault: Fault,
    /// Parameters of its query.
    pub(super) query: Vec<(String, String)>,
    pub(super) recogniser: Recogniser,
}

/// Accepts a client, or refuses it with a status.
pub(super) fn enter(stub: &Stub, service: Service, query: Option<&str>, headers: &HeaderMap) -> Result<Client, u16> {
    let fault = stub.connected(service, query);
    let query = parameters(query);
    let opts_out = parameter(&query, "mip_opt_out").is_some_and(|value| value == "true");
    admit(stub, &fault, headers, opts_out)?;
    let rate = parameter(&query, "sample_rate").and_then(|rate| rate.parse().ok());
    let recogniser = Recogniser::new(&parameter(&query, "encoding").unwrap_or_default(), rate.unwrap_or(0));
    Ok(Client {
        recogniser: recogniser.ok_or(400_u16)?,
        fault,
        query,
    })
}

/// Returns an error in Deepgram's words.
pub(super) fn refusal(status: u16) -> Response {
    let (code, words) = match status {
        401 => ("INVALID_AUTH", "Invalid credentials."),
        402 => ("ASR_PAYMENT_REQUIRED", "Project does not have enough credits."),
        403 => (
            "INSUFFICIENT_PERMISSIONS",
            "Project does not allow requests without mip_opt_out.",
        ),
        429 => ("TOO_MANY_REQUESTS", "Too many requests. Please try again later."),
        413 => ("PAYLOAD_TOO_LARGE", "The text is too long."),
        400..=499 => ("Bad Request", "Unsupported encoding, sample rate or parameter."),
        _ => ("INTERNAL_SERVER_ERROR", "Something went wrong."),
    };
    let id = request_id();
    let mut response = refused(status, json!({ "err_code": code, "err_msg": words, "request_id": id }));
    let headers = response.headers_mut();
    headers.insert("dg-error", HeaderValue::from_static(words));
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert("dg-request-id", id);
    }
    response
}

async fn listen(
    State(stub): State<Arc<Stub>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let entered = enter(&stub, LISTEN, query.as_deref(), &headers);
    let Client {
        fault,
        query,
        recogniser,
    } = match entered {
        Ok(client) => client,
        Err(status) => return refusal(status),
    };
    let Some(model) = parameter(&query, "model") else {
        return refusal(400);
    };
    let id = request_id();
    let session = Session::new(&query, model, id.clone(), recogniser, stub.clone());
    let mut response = bounded(upgrade).on_upgrade(move |socket| async move {
        let last_words = LastWords {
            message: None,
            code: 1011,
            reason: "NET-0000",
        };
        session.serve(Outlet::new(socket, fault, last_words)).await;
        stub.received(LISTEN, "disconnected");
    });
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert("dg-request-id", id);
    }
    response
}

#[derive(Deserialize)]
struct Control {
    #[serde(rename = "type")]
    kind: String,
}

/// A message to send at a time.
struct Due {
    at: Instant,
    message: String,
}

struct Session {
    stub: Arc<Stub>,
    recogniser: Recogniser,
    chances: StdRng,
    id: String,
    model: String,
    interims: bool,
    /// Silence that ends an utterance, in milliseconds of audio.
    endpointing_ms: Option<u64>,
    utterance_end_ms: Option<u64>,
    vad_events: bool,
    /// Position in the audio of the last interim.
    shown_ms: u64,
    /// Whether `SpeechStarted` was sent for the words so far.
    started: bool,
    /// End of the word for which `UtteranceEnd` is outstanding.
    utterance_ms: Option<u64>,
    due: VecDeque<Due>,
    alive: Instant,
    began: Option<Instant>,
    too_fast: bool,
}

impl Session {
    fn new(query: &[(String, String)], model: String, id: String, recogniser: Recogniser, stub: Arc<Stub>) -> Self {
        let flag = |name: &str| parameter(query, name).as_deref() == Some("true");
        let number = |name: &str| parameter(query, name).and_then(|text| text.parse().ok());
        let endpointing_ms = match parameter(query, "endpointing").as_deref() {
            Some("false") => None,
            Some("true") | None => Some(10),
            Some(text) => text.parse().ok(),
        };
        Self {
            chances: stub.chances(),
            stub,
            recogniser,
            id,
            model,
            interims: flag("interim_results"),
            endpointing_ms,
            utterance_end_ms: number("utterance_end_ms"),
            vad_events: flag("vad_events"),
            shown_ms: 0,
            started: false,
            utterance_ms: None,
            due: VecDeque::new(),
            alive: Instant::now(),
            began: None,
            too_fast: false,
        }
    }

    async fn serve(mut self, mut outlet: Outlet) {
        while self.turn(&mut outlet).await.is_continue() {}
    }

    /// Waits for one event and handles it.
    async fn turn(&mut self, outlet: &mut Outlet) -> ControlFlow<()> {
        let idle = self.alive + IDLE;
        let next = self.due.front().map_or(idle, |due| due.at.min(idle));
        let message = tokio::select! {
            biased;
            message = outlet.socket.recv() => message,
            () = sleep_until(next) => {
                if self.due.front().is_none_or(|due| due.at > Instant::now()) {
                    return outlet.close(1011, "NET-0001").await;
                }
                let due = self.due.pop_front();
                return outlet.send(due.map(|due| due.message).unwrap_or_default()).await;
            }
        };
        match message {
            Some(Ok(Message::Binary(audio))) if audio.is_empty() => self.finish(outlet).await,
            Some(Ok(Message::Binary(audio))) => self.audio(&audio, outlet).await,
            Some(Ok(Message::Text(text))) => self.control(&text, outlet).await,
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => ControlFlow::Continue(()),
            Some(Ok(Message::Close(_))) => outlet.read_out().await,
            Some(Err(_)) | None => ControlFlow::Break(()),
        }
    }

    async fn audio(&mut self, audio: &[u8], outlet: &mut Outlet) -> ControlFlow<()> {
        if self.stub.settings.keep_log {
            self.stub.received(LISTEN, format!("audio {}", audio.len()));
        }
        self.alive = Instant::now();
        self.recogniser.push(audio);
        self.watch_speed();
        let now_ms = self.recogniser.now_ms();
        if self.vad_events && self.recogniser.has_words() && !self.started {
            self.started = true;
            let started = self.recogniser.so_far().words.first().map_or(0.0, Word::start_s);
            outlet
                .send(json!({ "type": "SpeechStarted", "channel": [0, 1], "timestamp": started }).to_string())
                .await?;
        }
        let spoken_ms = self.recogniser.spoken().map_or(0, |(ms, _)| ms);
        let over = !self.recogniser.in_utterance() && self.recogniser.has_words();
        match self.endpointing_ms {
            Some(silence_ms) if over && now_ms >= spoken_ms + silence_ms => self.answer(true, false),
            None if over && now_ms >= spoken_ms + RIPE_MS => self.answer(false, false),
            _ => {}
        }
        let in_order = self.due.is_empty();
        if self.interims && in_order && self.recogniser.has_words() && now_ms >= self.shown_ms + INTERIM_MS {
            self.shown_ms = now_ms;
            let interim = self.results(&self.recogniser.so_far(), [false, false, false]);
            outlet.send(interim).await?;
        }
        if let (Some(silence_ms), Some(ended_ms)) = (self.utterance_end_ms, self.utterance_ms)
            && now_ms >= ended_ms + silence_ms
        {
            self.utterance_ms = None;
            let last = ended_ms as f64 / 1_000.0;
            outlet
                .send(json!({ "type": "UtteranceEnd", "channel": [0, 1], "last_word_end": last }).to_string())
                .await?;
        }
        ControlFlow::Continue(())
    }

    fn watch_speed(&mut self) {
        let began = *self.began.get_or_insert_with(Instant::now);
        let allowed = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX) * 5 / 4 + BURST_MS;
        if self.recogniser.now_ms() > allowed && !self.too_fast {
            self.too_fast = true;
            self.stub.received(LISTEN, "too fast");
        }
    }

    async fn control(&mut self, text: &str, outlet: &mut Outlet) -> ControlFlow<()> {
        self.stub.received(LISTEN, text);
        let control = serde_json::from_str::<Control>(text).ok();
        let Some(control) = control.filter(|_| self.stub.takes_fields("deepgram", "listen", text)) else {
            return outlet.close(1008, "DATA-0000").await;
        };
        match control.kind.as_str() {
            // Keeps the connection alive only if some audio was received.
            "KeepAlive" if self.began.is_some() => self.alive = Instant::now(),
            "Finalize" => self.answer(true, true),
            "CloseStream" => return self.finish(outlet).await,
            _ => {}
        }
        ControlFlow::Continue(())
    }

    /// Makes the words final. They are sent when a recogniser of this kind would send them.
    fn answer(&mut self, speech_final: bool, from_finalize: bool) {
        let span = self.recogniser.take();
        // With nothing buffered no response is sent.
        if span.end_ms == span.start_ms {
            return;
        }
        let spoken = self
            .recogniser
            .spoken()
            .map(|(_, at)| at)
            .filter(|_| !span.words.is_empty());
        let now = Instant::now();
        let took = self.stub.settings.times.final_transcript.draw(&mut self.chances);
        let at = spoken.map_or(now, |spoken| now.max(spoken + took));
        // Keeps the order, whatever delay was drawn.
        let at = self.due.back().map_or(at, |due| due.at.max(at));
        self.utterance_ms = span.words.last().map(|word| word.end_ms).or(self.utterance_ms);
        self.started = false;
        self.shown_ms = span.end_ms;
        let message = self.results(&span, [true, speech_final, from_finalize]);
        self.due.push_back(Due { at, message });
    }

    /// Ends the session: sends outstanding messages and the metadata, then closes properly.
    async fn finish(&mut self, outlet: &mut Outlet) -> ControlFlow<()> {
        if self.recogniser.has_words() {
            self.answer(true, false);
        }
        for due in std::mem::take(&mut self.due) {
            sleep_until(due.at).await;
            outlet.send(due.message).await?;
        }
        let duration = self.recogniser.now_ms() as f64 / 1_000.0;
        let metadata = json!({
            "type": "Metadata", "transaction_key": "deprecated", "request_id": self.id, "sha256": "0".repeat(64),
            "created": "2026-01-01T00:00:00.000Z", "duration": duration, "channels": 1,
        });
        outlet.send(metadata.to_string()).await?;
        outlet.close(1000, "").await
    }

    fn results(&self, span: &Span, [is_final, speech_final, from_finalize]: [bool; 3]) -> String {
        let start = span.start_ms as f64 / 1_000.0;
        let duration = (span.end_ms - span.start_ms) as f64 / 1_000.0;
        let alternative = json!({
            "transcript": span.text(), "confidence": if span.words.is_empty() { 0.0 } else { 0.99 },
            "words": span.listen_words(),
        });
        let results: Value = json!({
            "type": "Results", "channel_index": [0, 1], "duration": duration, "start": start,
            "is_final": is_final, "speech_final": speech_final, "from_finalize": from_finalize,
            "channel": { "alternatives": [alternative] },
            "metadata": {
                "request_id": self.id, "model_uuid": "00000000-0000-0000-0000-000000000000",
                "model_info": { "name": self.model, "version": "2026-01-01.0", "arch": "babble" },
            },
        });
        results.to_string()
    }
}
