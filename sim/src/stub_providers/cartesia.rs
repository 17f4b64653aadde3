//! Cartesia's socket: contexts with continued texts, and words with their times.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Range,
    sync::Arc,
    time::Duration,
};

use axum::{
    Extension, Router,
    extract::{Query, State, WebSocketUpgrade, ws::Message},
    http::HeaderMap,
    response::Response,
    routing::get,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use media::format::{Encoding, LineFormat};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use crate::stub_providers::{
    fault::Fault,
    log::Service,
    speaking::{ClientSocket, Closing, Gone, Speech, Speeches, Spoken, format, upgrade},
    stub::{Stub, StubProvider, bearer, given, refused},
};

/// An idle socket is closed after this time.
const IDLE: Duration = Duration::from_secs(300);

pub(super) const STUB: StubProvider = StubProvider {
    name: "cartesia",
    routes,
    refusal: |_, why| {
        let refusal = json!({ "error_code": "invalid_request", "title": "Bad Request", "message": why });
        (400, refusal)
    },
};

/// `/tts/websocket`.
pub const SPEECH: Service = Service("/tts/websocket");

fn routes() -> Router<Arc<Stub>> {
    Router::new()
        .route("/tts/websocket", get(socket))
        .layer(Extension(Arc::new(Speeches::default())))
}

#[derive(Debug, Deserialize)]
struct Asking {
    api_key: Option<String>,
    cartesia_version: Option<String>,
}

fn refusal(status: u16) -> Response {
    let (code, title) = match status {
        401 => ("unauthorized", "Invalid API key"),
        402 => ("quota_exceeded", "Out of credits"),
        429 => ("concurrency_limited", "Too many concurrent requests"),
        400..=499 => ("invalid_request", "The request is not valid"),
        _ => ("internal_error", "Something went wrong"),
    };
    refused(
        status,
        json!({ "error_code": code, "title": title, "message": title, "request_id": "stub" }),
    )
}

async fn socket(
    State(stub): State<Arc<Stub>>,
    Extension(speeches): Extension<Arc<Speeches>>,
    Query(asking): Query<Asking>,
    headers: HeaderMap,
    socket: WebSocketUpgrade,
) -> Response {
    let fault = stub.fault(SPEECH);
    if let Fault::Refuse(status) = fault {
        return refusal(status);
    }
    let key = given(&headers, "x-api-key").or(bearer(&headers));
    if !stub.takes(key.or(asking.api_key.as_deref())) {
        return refusal(401);
    }
    if given(&headers, "cartesia-version").is_none() && asking.cartesia_version.is_none() {
        return refusal(400);
    }
    let shared = stub.clone();
    upgrade(socket, shared, SPEECH, fault, move |client| async move {
        let session = Session {
            client,
            stub,
            speeches,
            contexts: BTreeMap::new(),
        };
        session.serve().await;
    })
}

#[derive(Debug, Deserialize)]
struct ModelRequest {
    context_id: String,
    #[serde(default)]
    cancel: bool,
    #[serde(default)]
    transcript: String,
    #[serde(default, rename = "continue")]
    goes_on: bool,
    voice: Option<Value>,
    output_format: Option<Value>,
    #[serde(default)]
    add_timestamps: bool,
    max_buffer_delay_ms: Option<u64>,
}

impl ModelRequest {
    fn format(&self) -> Option<LineFormat> {
        let format_of = self.output_format.as_ref()?;
        let text = |name: &str| format_of.get(name).and_then(Value::as_str);
        let rate = u32::try_from(format_of.get("sample_rate")?.as_u64()?).ok()?;
        let encoding = match text("encoding")? {
            "pcm_s16le" => Encoding::Linear16,
            "pcm_mulaw" => Encoding::MuLaw,
            "pcm_alaw" => Encoding::ALaw,
            _ => return None,
        };
        let known = matches!(rate, 8_000 | 16_000 | 22_050 | 24_000 | 44_100 | 48_000);
        (known && text("container") == Some("raw")).then(|| format(encoding, rate))
    }

    fn voice(&self) -> Option<&str> {
        self.voice.as_ref()?.get("id")?.as_str()
    }
}

/// One context.
#[derive(Default)]
struct Context {
    speeches: VecDeque<Speech>,
    times: bool,
    /// Milliseconds of the previous speeches.
    before_ms: u64,
    /// Time at which the input ended.
    closed: Option<Instant>,
}

impl Context {
    fn due(&self) -> Option<Instant> {
        self.speeches.front().map(|speech| speech.due).or(self.closed)
    }
}

struct Session {
    client: ClientSocket,
    stub: Arc<Stub>,
    speeches: Arc<Speeches>,
    contexts: BTreeMap<String, Context>,
}

impl Session {
    async fn serve(mut self) {
        while self.step().await.is_ok() {}
    }

    async fn step(&mut self) -> Result<(), Gone> {
        let due = self.contexts.values().filter_map(Context::due).min();
        tokio::select! {
            biased;
            message = self.client.receive() => {
                let message = message?;
                self.take(&message).await
            }
            () = sleep_until(due.unwrap_or_else(|| Instant::now() + IDLE)) => match due {
                Some(due) => self.speak(due).await,
                None => {
                    self.client.close(Closing { code: 1000, reason: "idle" }).await;
                    Err(Gone)
                }
            },
        }
    }

    async fn take(&mut self, message: &str) -> Result<(), Gone> {
        let asked = serde_json::from_str::<ModelRequest>(message).ok();
        let Some(asked) = asked.filter(|_| self.stub.takes_fields("cartesia", "tts", message)) else {
            return self.client.say(error("", "invalid_request")).await;
        };
        if asked.cancel {
            if self.contexts.remove(&asked.context_id).is_some() {
                return self.client.say(ended(&asked.context_id)).await;
            }
            return Ok(());
        }
        let (Some(format), Some(voice)) = (asked.format(), asked.voice()) else {
            return self.client.say(error(&asked.context_id, "invalid_request")).await;
        };
        let spoken = match asked.transcript.trim().is_empty() {
            true => None,
            false => self.speeches.of(&asked.transcript, voice, format),
        };
        let first = self.stub.settings.times.first_audio.draw(&mut self.stub.chances());
        // A continued text waits for more of it.
        let delay = Duration::from_millis(asked.max_buffer_delay_ms.unwrap_or(3_000));
        let due = Instant::now() + first + if asked.goes_on { delay } else { Duration::ZERO };
        let context = self.contexts.entry(asked.context_id).or_default();
        context.times |= asked.add_timestamps;
        context.speeches.extend(spoken.map(|spoken| Speech::new(spoken, due)));
        if !asked.goes_on {
            context.closed = Some(due);
        }
        Ok(())
    }

    /// Sends the next chunk that is due, with the words that begin in it, or the end of the context.
    async fn speak(&mut self, due: Instant) -> Result<(), Gone> {
        let drip = self.client.faulty.drip();
        let found = self.contexts.iter_mut().find(|(_, context)| context.due() == Some(due));
        let Some((name, context)) = found else { return Ok(()) };
        let name = name.clone();
        let Some(speech) = context.speeches.front_mut() else {
            self.contexts.remove(&name);
            return self.answer(ended(&name), &name).await;
        };
        let (spoken, from_ms, ms) = speech.next(drip);
        let due = speech.due;
        let Some((audio, _)) = spoken.chunk(from_ms, ms) else {
            context.before_ms += spoken.characters.last().map_or(0, |c| c.end_ms);
            context.speeches.pop_front();
            context.closed = context.closed.map(|closed| closed.max(due));
            return Ok(());
        };
        let words = words(&spoken, from_ms..from_ms + ms, context.before_ms);
        let times = context.times.then_some(words).flatten();
        if let Some(words) = times {
            let message = json!({ "type": "timestamps", "context_id": name, "status_code": 206, "done": false,
                                  "word_timestamps": words });
            self.client.say(message.to_string()).await?;
        }
        let message = json!({ "type": "chunk", "data": STANDARD.encode(audio), "context_id": name, "done": false,
                              "status_code": 206, "step_time": 12.5 });
        self.answer(message.to_string(), &name).await
    }

    async fn answer(&mut self, message: String, context: &str) -> Result<(), Gone> {
        self.client
            .answer(Message::text(message), || error(context, "internal_error"))
            .await
    }
}

fn ended(context: &str) -> String {
    json!({ "type": "done", "context_id": context, "status_code": 200, "done": true }).to_string()
}

fn error(context: &str, code: &str) -> String {
    json!({ "type": "error", "error_code": code, "title": "Error", "message": "The request failed", "status_code": 500,
            "request_id": "stub", "context_id": context, "done": true })
    .to_string()
}

/// Returns the words that begin between two moments of a speech, with their times in seconds.
fn words(spoken: &Spoken, at_ms: Range<u64>, before_ms: u64) -> Option<Value> {
    let seconds = |ms: u64| (ms + before_ms) as f64 / 1_000.0;
    let (mut words, mut start, mut end) = (Vec::new(), Vec::new(), Vec::new());
    for word in spoken.characters.split(|c| c.text.is_whitespace()) {
        let (Some(first), Some(last)) = (word.first(), word.last()) else {
            continue;
        };
        if at_ms.contains(&first.start_ms) {
            words.push(word.iter().map(|c| c.text).collect::<String>());
            start.push(seconds(first.start_ms));
            end.push(seconds(last.end_ms));
        }
    }
    (!words.is_empty()).then(|| json!({ "words": words, "start": start, "end": end }))
}
