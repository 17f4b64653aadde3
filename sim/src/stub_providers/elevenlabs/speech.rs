//! ElevenLabs: `stream-input` with one context, `multi-stream-input` with up to five, and the plain HTTP stream.

mod context;
mod http;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{
    Extension, Router,
    extract::{Path, Query, State, WebSocketUpgrade, ws::Message},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use media::format::{Encoding, LineFormat};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use self::context::{Context, Frame};
use crate::stub_providers::{
    fault::Fault,
    log::Service,
    speaking::{ClientSocket, Closing, Gone, Speeches, format, upgrade},
    stub::{Stub, given, refused},
};

/// Voice whose messages have their keys in snake case.
const SNAKE: &str = "snake";

/// Voice whose messages have each key twice and in both spellings.
const DOUBLED: &str = "doubled";

/// Most pronunciation dictionaries of one context.
const MOST_DICTIONARIES: usize = 3;

/// Most contexts of one socket.
const MOST_CONTEXTS: usize = 5;

/// `/v1/text-to-speech/…`.
pub const SPEECH: Service = Service("/v1/text-to-speech/…");

pub(crate) fn routes() -> Router<Arc<Stub>> {
    Router::new()
        .route("/v1/text-to-speech/{voice}/{route}", get(socket))
        .route("/v1/text-to-speech/{voice}/stream", post(http::stream))
        .layer(Extension(Arc::new(Speeches::default())))
}

#[derive(Debug, Deserialize)]
struct ModelRequest {
    output_format: Option<String>,
    auto_mode: Option<String>,
    inactivity_timeout: Option<u64>,
}

/// Returns the format of `pcm_16000` and the like; `None` for compressed ones.
fn output_format(name: Option<&str>) -> Option<LineFormat> {
    let (codec, rate) = name?.split_once('_')?;
    let encoding = match codec {
        "pcm" => Encoding::Linear16,
        "ulaw" => Encoding::MuLaw,
        "alaw" => Encoding::ALaw,
        _ => return None,
    };
    Some(format(encoding, rate.parse().ok()?))
}

/// Returns an error in the provider's format.
fn refusal(status: u16) -> Response {
    let (code, message) = match status {
        401 => ("invalid_api_key", "Invalid API key"),
        402 => ("payment_required", "A payment is due"),
        403 => ("model_access_denied", "The model does not allow this"),
        404 => ("voice_not_found", "A voice with this id was not found"),
        429 => ("too_many_concurrent_requests", "Too many concurrent requests"),
        400..=499 => ("invalid_request", "The request is not valid"),
        _ => ("system_busy", "The system is busy"),
    };
    refused(status, json!({ "detail": { "status": code, "message": message } }))
}

fn key(headers: &HeaderMap) -> Option<&str> {
    given(headers, "xi-api-key")
}

struct Opening {
    stub: Arc<Stub>,
    speeches: Arc<Speeches>,
    voice: String,
    asked: ModelRequest,
}

impl Opening {
    fn open(self, socket: WebSocketUpgrade, headers: &HeaderMap, many: bool) -> Response {
        let fault = self.stub.fault_of(SPEECH, &self.voice);
        if let Fault::Refuse(status) = fault {
            return refusal(status);
        }
        // The first message may contain the key if the header does not.
        if (many || key(headers).is_some()) && !self.stub.takes(key(headers)) {
            return refusal(401);
        }
        let Some(format) = output_format(self.asked.output_format.as_deref()) else {
            return refusal(400);
        };
        let known = key(headers).is_some() || many;
        let stub = self.stub.clone();
        upgrade(socket, stub, SPEECH, fault, move |client| async move {
            let idle_s = self.asked.inactivity_timeout.unwrap_or(20).min(180);
            let session = Session {
                known,
                format,
                many,
                automatic: self.asked.auto_mode.as_deref() == Some("true"),
                idle: Duration::from_secs(idle_s),
                contexts: BTreeMap::new(),
                client,
                stub: self.stub,
                speeches: self.speeches,
                voice: self.voice,
            };
            session.serve().await;
        })
    }
}

async fn socket(
    State(stub): State<Arc<Stub>>,
    Extension(speeches): Extension<Arc<Speeches>>,
    Path((voice, route)): Path<(String, String)>,
    Query(asked): Query<ModelRequest>,
    headers: HeaderMap,
    socket: WebSocketUpgrade,
) -> Response {
    let many = match route.as_str() {
        "stream-input" => false,
        "multi-stream-input" => true,
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    let opening = Opening {
        stub,
        speeches,
        voice,
        asked,
    };
    opening.open(socket, &headers, many)
}

/// A client's message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Said {
    text: Option<String>,
    context_id: Option<String>,
    voice_settings: Option<Value>,
    pronunciation_dictionary_locators: Vec<Locator>,
    flush: bool,
    try_trigger_generation: bool,
    close_context: bool,
    close_socket: bool,
    #[serde(alias = "xi-api-key")]
    xi_api_key: Option<String>,
}

/// A pronunciation dictionary. Unlike HTTP, a socket requires the version.
#[derive(Debug, Deserialize)]
struct Locator {
    #[serde(rename = "pronunciation_dictionary_id")]
    _id: String,
    #[serde(rename = "version_id")]
    _version: String,
}

/// Returns a message with its keys in the other spelling.
fn in_snake_case(message: &str) -> String {
    [
        ("isFinal", "is_final"),
        ("contextId", "context_id"),
        ("normalizedAlignment", "normalized_alignment"),
        ("charStartTimesMs", "chars_start_times_ms"),
        ("charDurationsMs", "chars_durations_ms"),
    ]
    .iter()
    .fold(message.to_owned(), |message, (camel, snake)| {
        message.replace(&format!("\"{camel}\""), &format!("\"{snake}\""))
    })
}

/// Reasons for the end of a socket.
enum End {
    Gone,
    Closing(Closing),
}

impl From<Gone> for End {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

fn broken(reason: &'static str) -> End {
    End::Closing(Closing { code: 1008, reason })
}

struct Session {
    client: ClientSocket,
    stub: Arc<Stub>,
    speeches: Arc<Speeches>,
    voice: String,
    format: LineFormat,
    many: bool,
    automatic: bool,
    idle: Duration,
    /// Whether the key was accepted.
    known: bool,
    contexts: BTreeMap<String, Context>,
}

impl Session {
    async fn serve(mut self) {
        let end = loop {
            if let Err(end) = self.step().await {
                break end;
            }
        };
        if let End::Closing(closing) = end {
            self.client.close(closing).await;
        }
    }

    async fn step(&mut self) -> Result<(), End> {
        let due = self.contexts.values().filter_map(Context::due).min();
        let at = due.unwrap_or_else(|| Instant::now() + self.idle);
        tokio::select! {
            biased;
            message = self.client.receive() => self.take(&message?),
            () = sleep_until(at) => match due {
                Some(at) => self.speak(at).await,
                None => Err(broken("input_timeout_exceeded")),
            },
        }
    }

    fn take(&mut self, message: &str) -> Result<(), End> {
        let said: Said = serde_json::from_str(message).map_err(|_| broken("invalid message"))?;
        let socket = if self.many {
            "multi-stream-input"
        } else {
            "stream-input"
        };
        if !self.stub.takes_fields("elevenlabs", socket, message) {
            return Err(broken("invalid message"));
        }
        if !self.known {
            if !self.stub.takes(said.xi_api_key.as_deref()) {
                return Err(broken("invalid_api_key"));
            }
            self.known = true;
        }
        if said.close_socket {
            return Err(End::Closing(Closing { code: 1000, reason: "" }));
        }
        let name = match (&said.context_id, self.many) {
            (Some(name), true) => name.clone(),
            (None, true) if said.text.as_deref() == Some("") => return Ok(()),
            _ => String::new(),
        };
        if self.many && said.text.as_deref() == Some("") && !said.flush && !said.close_context {
            // A keep-alive. For an unknown context it opens one, without settings.
            self.context(&name, &said)?;
            return Ok(());
        }
        if said.close_context && !self.contexts.contains_key(&name) {
            return Ok(());
        }
        let (automatic, many) = (self.automatic, self.many);
        let context = self.context(&name, &said)?;
        let ends = said.close_context || (!many && said.text.as_deref() == Some(""));
        context.hear(said.text.as_deref().unwrap_or_default());
        let wanted = ends || said.flush || said.try_trigger_generation || automatic || context.is_full();
        let text = if wanted { context.taken_text() } else { String::new() };
        let spoken = match text.trim().is_empty() {
            true => None,
            false => self.speeches.of(&text, &self.voice, self.format),
        };
        let after = self.stub.settings.times.first_audio.draw(&mut self.stub.chances());
        if let Some(context) = self.contexts.get_mut(&name) {
            if let Some(spoken) = spoken {
                context.speak(spoken, Instant::now() + after);
            }
            if ends && !context.close(Instant::now()) {
                return Err(broken("context closed twice"));
            }
        }
        Ok(())
    }

    /// Returns the context of a message, opened if it is new.
    fn context(&mut self, name: &str, said: &Said) -> Result<&mut Context, End> {
        if !self.contexts.contains_key(name) && self.contexts.len() >= MOST_CONTEXTS {
            return Err(broken("maximum number of concurrent contexts exceeded"));
        }
        let locators = said.pronunciation_dictionary_locators.len();
        if locators > MOST_DICTIONARIES || (locators > 0 && self.contexts.contains_key(name)) {
            return Err(broken(
                "pronunciation dictionaries: too many, or not in the first message",
            ));
        }
        let context = self.contexts.entry(name.to_owned());
        let context = context.or_insert_with(|| Context::new(said.voice_settings.clone()));
        match context.keeps(said.voice_settings.as_ref()) {
            true => Ok(context),
            false => Err(broken("voice_settings cannot be changed within a context")),
        }
    }

    /// Sends one frame that is due.
    async fn speak(&mut self, due: Instant) -> Result<(), End> {
        let drip = self.client.faulty.drip();
        let Some((name, context)) = self.contexts.iter_mut().find(|(_, c)| c.due() == Some(due)) else {
            return Ok(());
        };
        let (name, frame) = (name.clone(), context.next_frame(drip));
        let context_id = self.many.then_some(name.as_str());
        let (text, over) = match frame {
            Frame::Audio(text) => (text.with(context_id), false),
            Frame::Final => (context::last(context_id), true),
        };
        let error = || {
            let mut error = json!({ "message": "The system is busy", "error": "system_busy", "code": 1011 });
            if let Some(context_id) = context_id {
                error["contextId"] = context_id.into();
            }
            error.to_string()
        };
        let text = match self.voice.as_str() {
            SNAKE => in_snake_case(&text),
            DOUBLED => format!("{},{}", &text[..text.len() - 1], &in_snake_case(&text)[1..]),
            _ => text,
        };
        self.client.answer(Message::text(text), error).await?;
        if over {
            self.contexts.remove(&name);
            if !self.many {
                return Err(End::Closing(Closing { code: 1000, reason: "" }));
            }
        }
        Ok(())
    }
}
