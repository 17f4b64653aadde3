//! ElevenLabs' plain HTTP stream: raw audio as it is made.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{Path, Query, State},
    http::HeaderMap,
    response::Response,
};
use serde_json::Value;

use crate::stub_providers::{
    elevenlabs::speech::{ModelRequest, SPEECH, key, output_format, refusal},
    fault::Fault,
    speaking::{Body, Speeches},
    stub::Stub,
};

pub(super) async fn stream(
    State(stub): State<Arc<Stub>>,
    Extension(speeches): Extension<Arc<Speeches>>,
    Path(voice): Path<String>,
    Query(asked): Query<ModelRequest>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    stub.received(SPEECH, body.to_string());
    let fault = stub.fault_of(SPEECH, &voice);
    if let Fault::Refuse(status) = fault {
        return refusal(status);
    }
    if !stub.takes(key(&headers)) {
        return refusal(401);
    }
    let text = body.get("text").and_then(Value::as_str).unwrap_or_default();
    let format = output_format(asked.output_format.as_deref());
    let Some(spoken) = format.and_then(|format| speeches.of(text, &voice, format)) else {
        return refusal(400);
    };
    let after = stub.settings.times.first_audio.draw(&mut stub.chances());
    Body { spoken, after, fault }.answer("audio/pcm").await
}
