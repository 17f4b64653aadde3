//! `/v1/audio/speech`, as OpenAI, Kokoro-FastAPI and speaches serve it: 24 kHz PCM as it is made.

use std::sync::Arc;

use axum::{Extension, Router, extract::State, http::HeaderMap, response::Response, routing::post};
use media::format::{Encoding, LineFormat};
use serde::Deserialize;

use crate::stub_providers::{
    fault::Fault,
    log::Service,
    openai::refusal::{kind, refused},
    speaking::{Body, Speeches, format},
    stub::{Stub, bearer},
};

/// Sample rate of `pcm`.
const RATE: u32 = 24_000;

/// The longest input.
const MOST_CHARACTERS: usize = 4_096;

/// `/v1/audio/speech`.
pub const SPEECH: Service = Service("/v1/audio/speech");

pub(crate) fn routes() -> Router<Arc<Stub>> {
    Router::new()
        .route("/v1/audio/speech", post(speech))
        .layer(Extension(Arc::new(Speeches::default())))
}

#[derive(Debug, Deserialize)]
struct ModelRequest {
    model: String,
    input: String,
    voice: String,
    response_format: Option<String>,
    speed: Option<f64>,
    /// Supported by speaches only.
    sample_rate: Option<u32>,
}

fn refusal(status: u16, message: &str) -> Response {
    let code = match status {
        401 => "invalid_api_key",
        402 | 429 => "rate_limit_exceeded",
        400..=499 => "invalid_value",
        _ => "server_error",
    };
    refused(status, kind(status), message, Some(code), None)
}

impl ModelRequest {
    fn format(&self) -> Result<LineFormat, &'static str> {
        if self.input.chars().count() > MOST_CHARACTERS {
            return Err("input is longer than 4096 characters");
        }
        if self.speed.is_some_and(|speed| !(0.25..=4.0).contains(&speed)) {
            return Err("speed must be from 0.25 to 4.0");
        }
        if self.model.is_empty() || self.voice.is_empty() {
            return Err("model and voice are required");
        }
        match self.response_format.as_deref() {
            Some("pcm") => Ok(format(Encoding::Linear16, self.sample_rate.unwrap_or(RATE))),
            _ => Err("this server gives response_format pcm only"),
        }
    }
}

async fn speech(
    State(stub): State<Arc<Stub>>,
    Extension(speeches): Extension<Arc<Speeches>>,
    headers: HeaderMap,
    body: String,
) -> Response {
    stub.received(SPEECH, body.as_str());
    let fault = stub.fault_of(SPEECH, &body);
    if let Fault::Refuse(status) = fault {
        return refusal(status, "The request was refused");
    }
    if !stub.takes(bearer(&headers)) {
        return refusal(401, "Incorrect API key provided");
    }
    let asked = match serde_json::from_str::<ModelRequest>(&body) {
        Ok(asked) => asked,
        Err(error) => return refusal(400, &error.to_string()),
    };
    if let Err(error) = stub.takes_model("tts", &asked.model) {
        return refusal(404, &error.to_string());
    }
    let format = match asked.format() {
        Ok(format) => format,
        Err(why) => return refusal(400, why),
    };
    let Some(spoken) = speeches.of(&asked.input, &asked.voice, format) else {
        return refusal(400, "sample_rate is not supported");
    };
    let after = stub.settings.times.first_audio.draw(&mut stub.chances());
    Body { spoken, after, fault }.answer("audio/pcm").await
}
