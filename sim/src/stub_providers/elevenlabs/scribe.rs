//! ElevenLabs' Scribe in real time, as far as its clients can tell.

use std::{collections::VecDeque, ops::ControlFlow, sync::Arc};

use axum::{
    Router,
    extract::{RawQuery, State, WebSocketUpgrade, ws::Message},
    http::HeaderMap,
    response::Response,
    routing::get,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use rand::rngs::StdRng;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use crate::stub_providers::{
    fault::Fault,
    log::Service,
    recogniser::{
        Recogniser, Span,
        outlet::{LastWords, Outlet, bounded},
        parameter, parameters, request_id,
    },
    stub::{Stub, given, refused},
};

/// Approximate interval between partial transcripts, in milliseconds of audio.
const PARTIAL_MS: u64 = 300;

/// Less audio than this is not committed.
const LEAST_MS: u64 = 300;

/// Silence after which `commit_strategy=vad` commits, unless the client says otherwise, in seconds.
const VAD_SILENCE_S: f64 = 1.5;

/// `/v1/speech-to-text/realtime`.
pub const SCRIBE: Service = Service("/v1/speech-to-text/realtime");

/// Returns the route.
pub(crate) fn routes() -> Router<Arc<Stub>> {
    Router::new().route("/v1/speech-to-text/realtime", get(realtime))
}

fn refusal(status: u16) -> Response {
    let (code, words) = match status {
        401 => ("invalid_api_key", "Invalid API key"),
        429 => ("too_many_concurrent_requests", "Too many concurrent requests."),
        400 => ("invalid_parameters", "Unsupported audio format or model."),
        _ => ("internal_error", "Something went wrong."),
    };
    refused(status, json!({ "detail": { "status": code, "message": words } }))
}

async fn realtime(
    State(stub): State<Arc<Stub>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let fault = stub.connected(SCRIBE, query.as_deref());
    if let Fault::Refuse(status) = fault {
        return refusal(status);
    }
    let query = parameters(query.as_deref());
    let token = parameter(&query, "token");
    if !stub.takes(given(&headers, "xi-api-key").or(token.as_deref())) {
        return refusal(401);
    }
    let format = parameter(&query, "audio_format").unwrap_or_else(|| "pcm_16000".into());
    let recogniser = format
        .split_once('_')
        .and_then(|(encoding, rate)| Recogniser::new(encoding, rate.parse().ok()?));
    let (Some(recogniser), Some(model)) = (recogniser, parameter(&query, "model_id")) else {
        return refusal(400);
    };
    let by_vad = parameter(&query, "commit_strategy").as_deref() == Some("vad");
    let silence = parameter(&query, "vad_silence_threshold_secs").and_then(|text| text.parse().ok());
    let session = Session {
        chances: stub.chances(),
        stub: stub.clone(),
        recogniser,
        id: request_id(),
        settings: json!({ "model_id": model, "audio_format": format }),
        language: parameter(&query, "language_code").unwrap_or_else(|| "en".into()),
        timestamps: parameter(&query, "include_timestamps").as_deref() == Some("true"),
        silence_ms: by_vad.then(|| (silence.unwrap_or(VAD_SILENCE_S) * 1_000.0) as u64),
        shown_ms: 0,
        due: VecDeque::new(),
    };
    bounded(upgrade).on_upgrade(move |socket| async move {
        let failure = json!({ "message_type": "transcriber_error", "error": "The transcriber failed." });
        let last_words = LastWords {
            message: Some(failure.to_string()),
            code: 1011,
            reason: "transcriber_error",
        };
        session.serve(Outlet::new(socket, fault, last_words)).await;
        stub.received(SCRIBE, "disconnected");
    })
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    audio_base_64: String,
    #[serde(default)]
    commit: bool,
}

struct Session {
    stub: Arc<Stub>,
    recogniser: Recogniser,
    chances: StdRng,
    id: String,
    settings: Value,
    language: String,
    timestamps: bool,
    /// Silence that commits automatically.
    silence_ms: Option<u64>,
    shown_ms: u64,
    due: VecDeque<(Instant, String)>,
}

impl Session {
    async fn serve(mut self, mut outlet: Outlet) {
        let started = json!({
            "message_type": "session_started", "session_id": self.id, "config": self.settings,
        });
        if outlet.send(started.to_string()).await.is_break() {
            return;
        }
        while self.turn(&mut outlet).await.is_continue() {}
    }

    async fn turn(&mut self, outlet: &mut Outlet) -> ControlFlow<()> {
        let next = self.due.front().map(|(at, _)| *at);
        let message = tokio::select! {
            biased;
            message = outlet.socket.recv() => message,
            () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {
                let message = self.due.pop_front().map(|(_, message)| message);
                return outlet.send(message.unwrap_or_default()).await;
            }
        };
        match message {
            Some(Ok(Message::Text(text))) => self.chunk(&text, outlet).await,
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => ControlFlow::Continue(()),
            Some(Ok(Message::Binary(_))) => self.fail("input_error", "Binary messages are not taken.", outlet).await,
            Some(Ok(Message::Close(_))) => outlet.read_out().await,
            Some(Err(_)) | None => ControlFlow::Break(()),
        }
    }

    async fn fail(&mut self, kind: &str, words: &str, outlet: &mut Outlet) -> ControlFlow<()> {
        outlet
            .send(json!({ "message_type": kind, "error": words }).to_string())
            .await
    }

    async fn chunk(&mut self, text: &str, outlet: &mut Outlet) -> ControlFlow<()> {
        let chunk = serde_json::from_str::<Chunk>(text);
        let chunk = chunk
            .ok()
            .filter(|_| self.stub.takes_fields("elevenlabs", "scribe", text));
        let audio = chunk
            .as_ref()
            .and_then(|chunk| STANDARD.decode(&chunk.audio_base_64).ok());
        let (Some(chunk), Some(audio)) = (chunk, audio) else {
            return self.fail("input_error", "The message could not be read.", outlet).await;
        };
        if self.stub.settings.keep_log {
            let what = if chunk.commit {
                "commit".into()
            } else {
                format!("audio {}", audio.len())
            };
            self.stub.received(SCRIBE, what);
        }
        self.recogniser.push(&audio);
        if chunk.commit {
            return self.commit(outlet).await;
        }
        let now_ms = self.recogniser.now_ms();
        let spoken_ms = self.recogniser.spoken().map_or(0, |(ms, _)| ms);
        let pausing = self
            .silence_ms
            .is_some_and(|silence_ms| now_ms >= spoken_ms + silence_ms);
        if pausing && self.recogniser.has_words() && !self.recogniser.in_utterance() {
            return self.commit(outlet).await;
        }
        if self.recogniser.has_words() && self.due.is_empty() && now_ms >= self.shown_ms + PARTIAL_MS {
            self.shown_ms = now_ms;
            let text = self.recogniser.so_far().text();
            outlet
                .send(json!({ "message_type": "partial_transcript", "text": text }).to_string())
                .await?;
        }
        ControlFlow::Continue(())
    }

    async fn commit(&mut self, outlet: &mut Outlet) -> ControlFlow<()> {
        if self.recogniser.now_ms() < self.recogniser.so_far().start_ms + LEAST_MS {
            let words = "Commit request ignored: less than 0.3 s of uncommitted audio.";
            return self.fail("commit_throttled", words, outlet).await;
        }
        let span = self.recogniser.take();
        let spoken = self
            .recogniser
            .spoken()
            .map(|(_, at)| at)
            .filter(|_| !span.words.is_empty());
        let now = Instant::now();
        let took = self.stub.settings.times.final_transcript.draw(&mut self.chances);
        let at = spoken.map_or(now, |spoken| now.max(spoken + took));
        let at = self.due.back().map_or(at, |(before, _)| at.max(*before));
        self.shown_ms = span.end_ms;
        let committed = json!({ "message_type": "committed_transcript", "text": span.text() });
        self.due.push_back((at, committed.to_string()));
        if self.timestamps {
            self.due.push_back((at, self.with_timestamps(&span)));
        }
        ControlFlow::Continue(())
    }

    fn with_timestamps(&self, span: &Span) -> String {
        let words = span.words.iter().map(|word| {
            json!({ "text": word.text, "start": word.start_s(), "end": word.end_s(), "type": "word", "logprob": 0.0 })
        });
        json!({
            "message_type": "committed_transcript_with_timestamps", "text": span.text(),
            "language_code": self.language, "words": words.collect::<Vec<_>>(),
        })
        .to_string()
    }
}
