//! Deepgram's `/v1/speak`: a socket with one stream of audio, flushed and cleared by request, and the
//! plain HTTP response.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use axum::{
    Extension, Router,
    extract::{Query, State, WebSocketUpgrade, ws::Message},
    http::HeaderMap,
    response::Response,
    routing::get,
};
use media::format::{Encoding, LineFormat};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use crate::stub_providers::{
    deepgram::listen::{admit, refusal},
    log::Service,
    speaking::{Body, ClientSocket, Closing, Gone, Speech, Speeches, format, upgrade},
    stub::Stub,
};

/// Most flushes per minute.
const MOST_FLUSHES: usize = 20;
/// Most characters of one text.
const MOST_CHARACTERS: usize = 2_000;

/// `/v1/speak`.
pub const SPEAK: Service = Service("/v1/speak");

pub(crate) fn routes() -> Router<Arc<Stub>> {
    Router::new()
        .route("/v1/speak", get(socket).post(plain))
        .layer(Extension(Arc::new(Speeches::default())))
}

#[derive(Debug, Deserialize)]
struct ModelRequest {
    model: Option<String>,
    encoding: Option<String>,
    sample_rate: Option<u32>,
    container: Option<String>,
    #[serde(default)]
    mip_opt_out: bool,
}

impl ModelRequest {
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

async fn plain(
    State(stub): State<Arc<Stub>>,
    Extension(speeches): Extension<Arc<Speeches>>,
    Query(asked): Query<ModelRequest>,
    headers: HeaderMap,
    body: String,
) -> Response {
    stub.received(SPEAK, format!("POST {body}"));
    let fault = stub.fault_of(SPEAK, asked.voice());
    if let Err(status) = admit(&stub, &fault, &headers, asked.mip_opt_out) {
        return refusal(status);
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
    Query(asked): Query<ModelRequest>,
    headers: HeaderMap,
    socket: WebSocketUpgrade,
) -> Response {
    let fault = stub.fault_of(SPEAK, asked.voice());
    if let Err(status) = admit(&stub, &fault, &headers, asked.mip_opt_out) {
        return refusal(status);
    }
    let Some(format) = asked.format() else {
        return refusal(400);
    };
    let shared = stub.clone();
    upgrade(socket, shared, SPEAK, fault, move |client| async move {
        let session = Session {
            voice: asked.voice().to_owned(),
            format,
            client,
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

struct Session {
    client: ClientSocket,
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
    /// Serves until the connection is gone or is closed with a reason.
    async fn serve(mut self) {
        let metadata = json!({ "type": "Metadata", "request_id": "stub", "model_name": self.voice,
                               "model_version": "1", "model_uuid": "stub" });
        let mut end = self.say(&metadata).await.err().map(|Gone| None);
        while end.is_none() {
            end = self.step().await.err();
        }
        if let Some(Some(closing)) = end {
            self.client.close(closing).await;
        }
    }

    async fn step(&mut self) -> Result<(), Option<Closing>> {
        let due = self.speeches_due.front().map(|speech| speech.due);
        tokio::select! {
            biased;
            message = self.client.receive() => {
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
        if !self.stub.takes_fields("deepgram", "speak", message) {
            return Err(broken("DATA-0000"));
        }
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
        self.speeches_due.push_back(Speech::new(spoken, due));
        Ok(())
    }

    /// Sends one message that is due.
    async fn speak(&mut self) -> Result<(), Gone> {
        let drip = self.client.faulty.drip();
        let Some(speech) = self.speeches_due.front_mut() else {
            return Ok(());
        };
        let (spoken, from_ms, ms) = speech.next(drip);
        match spoken.chunk(from_ms, ms) {
            Some((audio, _)) => self.client.answer(Message::binary(audio.to_vec()), error).await,
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
        self.client.answer(Message::text(message.to_string()), error).await
    }

    /// Sends a message that is no response to a text.
    async fn say(&mut self, message: &Value) -> Result<(), Gone> {
        self.client.say(message.to_string()).await
    }
}

fn error() -> String {
    json!({ "type": "Error", "err_code": "INTERNAL_SERVER_ERROR", "err_msg": "Something went wrong.",
            "description": "Something went wrong.", "code": "NET-0001" })
    .to_string()
}
