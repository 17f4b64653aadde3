//! Deepgram's `/v1/speak`: a socket with one stream of audio, flushed and cleared by order, and the plain HTTP answer.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use axum::{
    Extension, Json, Router,
    extract::{Query, State, WebSocketUpgrade, ws::Message},
    http::{HeaderMap, HeaderName, StatusCode},
    response::{IntoResponse, Response},
    routing::get,
};
use media::format::{Encoding, LineFormat};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::{
    Fault, Service, Stub,
    listen::key,
    speaking::{Body, Closing, Gone, Speeches, Spoken, Wire, format, upgrade},
};

const SERVICE: Service = Service::Speak;
const CHUNK_MS: u64 = 400;
const SMALLEST_MS: u64 = 20;
/// Flushes in a minute.
const MOST_FLUSHES: usize = 20;
/// Characters of one text.
const MOST_CHARACTERS: usize = 2_000;

pub(super) fn routes() -> Router<Arc<Stub>> {
    Router::new()
        .route("/v1/speak", get(socket).post(plain))
        .layer(Extension(Arc::new(Speeches::default())))
}

#[derive(Debug, Deserialize)]
struct Asked {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    encoding: Option<String>,
    #[serde(default)]
    sample_rate: Option<u32>,
    #[serde(default)]
    container: Option<String>,
}

impl Asked {
    fn format(&self) -> Option<LineFormat> {
        let encoding = match self.encoding.as_deref().unwrap_or("linear16") {
            "linear16" => Encoding::Linear16,
            "mulaw" => Encoding::MuLaw,
            "alaw" => Encoding::ALaw,
            _ => return None,
        };
        let rate = self.sample_rate.unwrap_or(24_000);
        matches!(rate, 8_000 | 16_000 | 24_000 | 48_000).then(|| format(encoding, rate))
    }

    fn voice(&self) -> &str {
        self.model.as_deref().unwrap_or("aura-asteria-en")
    }
}

fn refusal(status: u16) -> Response {
    let (code, words) = match status {
        401 => ("INVALID_AUTH", "Invalid credentials."),
        402 => ("ASR_PAYMENT_REQUIRED", "Project does not have enough credits."),
        413 => ("PAYLOAD_TOO_LARGE", "The text is too long."),
        429 => ("TOO_MANY_REQUESTS", "Too many requests."),
        400..=499 => ("BAD_REQUEST", "The request is not valid."),
        _ => ("INTERNAL_SERVER_ERROR", "Something went wrong."),
    };
    let body = json!({ "err_code": code, "err_msg": words, "request_id": "stub" });
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut headers = vec![
        (HeaderName::from_static("dg-error"), words),
        (HeaderName::from_static("dg-request-id"), "stub"),
    ];
    if status == StatusCode::TOO_MANY_REQUESTS {
        headers.push((HeaderName::from_static("retry-after"), "1"));
    }
    let mut answer = (status, Json(body)).into_response();
    for (name, value) in headers {
        if let Ok(value) = value.parse() {
            answer.headers_mut().insert(name, value);
        }
    }
    answer
}

async fn plain(
    State(stub): State<Arc<Stub>>,
    Extension(speeches): Extension<Arc<Speeches>>,
    Query(asked): Query<Asked>,
    headers: HeaderMap,
    body: String,
) -> Response {
    stub.received(SERVICE, format!("POST {body}"));
    let fault = stub.fault_of(SERVICE, asked.voice());
    if let Fault::Refuse(status) = fault {
        return refusal(status);
    }
    if !stub.takes(key(&headers).as_deref()) {
        return refusal(401);
    }
    let body: Value = serde_json::from_str(&body).unwrap_or_default();
    let text = body.get("text").and_then(Value::as_str).unwrap_or_default();
    if text.chars().count() > MOST_CHARACTERS {
        return refusal(413);
    }
    let format = asked.format().filter(|_| asked.container.as_deref() == Some("none"));
    let Some(spoken) = format.and_then(|format| speeches.of(text, asked.voice(), format)) else {
        return refusal(400);
    };
    let after = stub.settings.times.first_audio.draw(&mut stub.chances());
    Body { spoken, after, fault }.answer("audio/l16").await
}

async fn socket(
    State(stub): State<Arc<Stub>>,
    Extension(speeches): Extension<Arc<Speeches>>,
    Query(asked): Query<Asked>,
    headers: HeaderMap,
    socket: WebSocketUpgrade,
) -> Response {
    let fault = stub.fault_of(SERVICE, asked.voice());
    if let Fault::Refuse(status) = fault {
        return refusal(status);
    }
    if !stub.takes(key(&headers).as_deref()) {
        return refusal(401);
    }
    let Some(format) = asked.format() else {
        return refusal(400);
    };
    let door = stub.clone();
    upgrade(socket, (door, SERVICE, fault), move |wire| async move {
        let session = Session {
            voice: asked.voice().to_owned(),
            format,
            wire,
            stub,
            speeches,
            text: String::new(),
            speeches_due: VecDeque::new(),
            flushes: VecDeque::new(),
            sequence: 0,
        };
        session.serve().await;
    })
}

/// A client's message.
#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
enum Said {
    Speak { text: String },
    Flush,
    Clear,
    Close,
}

struct Speech {
    spoken: Arc<Spoken>,
    at_ms: u64,
    due: Instant,
}

struct Session {
    wire: Wire,
    stub: Arc<Stub>,
    speeches: Arc<Speeches>,
    voice: String,
    format: LineFormat,
    text: String,
    speeches_due: VecDeque<Speech>,
    flushes: VecDeque<Instant>,
    sequence: u64,
}

fn broken(reason: &'static str) -> Option<Closing> {
    Some(Closing { code: 1008, reason })
}

impl Session {
    /// Until the connection is gone, or is closed with a reason.
    async fn serve(mut self) {
        let metadata = json!({ "type": "Metadata", "request_id": "stub", "model_name": self.voice,
                               "model_version": "1", "model_uuid": "stub" });
        let mut end = self.say(&metadata).await.err().map(|Gone| None);
        while end.is_none() {
            end = self.step().await.err();
        }
        if let Some(Some(closing)) = end {
            self.wire.close(closing).await;
        }
    }

    async fn step(&mut self) -> Result<(), Option<Closing>> {
        let due = self.speeches_due.front().map(|speech| speech.due);
        tokio::select! {
            biased;
            message = self.wire.receive() => {
                let message = message.map_err(|Gone| None)?;
                self.take(&message).await
            }
            () = sleep_until(due.unwrap_or_else(|| Instant::now() + Duration::from_secs(3_600))), if due.is_some() => {
                self.speak().await.map_err(|Gone| None)
            }
        }
    }

    async fn take(&mut self, message: &str) -> Result<(), Option<Closing>> {
        let said: Said = serde_json::from_str(message).map_err(|_| broken("DATA-0000"))?;
        match said {
            Said::Speak { text } if text.chars().count() > MOST_CHARACTERS => Err(broken("DATA-0001")),
            Said::Speak { text } => {
                self.text.push_str(&text);
                Ok(())
            }
            Said::Flush => self.flush().await.map_err(|Gone| None),
            Said::Clear => {
                self.text.clear();
                self.speeches_due.clear();
                self.acknowledge("Cleared").await.map_err(|Gone| None)
            }
            Said::Close => Err(Some(Closing { code: 1000, reason: "" })),
        }
    }

    async fn flush(&mut self) -> Result<(), Gone> {
        let now = Instant::now();
        let minute = Duration::from_secs(60);
        self.flushes.retain(|at| now - *at < minute);
        if self.flushes.len() >= MOST_FLUSHES {
            let warning = json!({ "type": "Warning", "code": "EXCESSIVE_FLUSH",
                                  "description": "More than 20 flushes in 60 seconds: this one is ignored" });
            return self.say(&warning).await;
        }
        self.flushes.push_back(now);
        let text = std::mem::take(&mut self.text);
        let Some(spoken) = self.speeches.of(&text, &self.voice, self.format) else {
            return Ok(());
        };
        let due = now + self.stub.settings.times.first_audio.draw(&mut self.stub.chances());
        self.speeches_due.push_back(Speech { spoken, at_ms: 0, due });
        Ok(())
    }

    /// Sends one message of what is due.
    async fn speak(&mut self) -> Result<(), Gone> {
        let drip = self.wire.faulty.drip();
        let Some(speech) = self.speeches_due.front_mut() else {
            return Ok(());
        };
        let ms = if drip.is_some() { SMALLEST_MS } else { CHUNK_MS };
        let audio = speech.spoken.chunk(speech.at_ms, ms).map(|(audio, _)| audio.to_vec());
        speech.at_ms += ms;
        speech.due += drip.unwrap_or_default();
        match audio {
            Some(audio) => self.wire.answer(Message::Binary(audio.into()), error).await,
            None => {
                self.speeches_due.pop_front();
                self.acknowledge("Flushed").await
            }
        }
    }

    async fn acknowledge(&mut self, what: &str) -> Result<(), Gone> {
        let sequence = self.sequence;
        self.sequence += 1;
        let message = json!({ "type": what, "sequence_id": sequence });
        self.wire.answer(Message::text(message.to_string()), error).await
    }

    /// Says something that is no answer to a text.
    async fn say(&mut self, message: &Value) -> Result<(), Gone> {
        self.wire.say(message.to_string()).await
    }
}

fn error() -> String {
    json!({ "type": "Error", "err_code": "INTERNAL_SERVER_ERROR", "err_msg": "Something went wrong.",
            "description": "Something went wrong.", "code": "NET-0001" })
    .to_string()
}
