//! ElevenLabs' plain HTTP stream: raw audio as it is made.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{Path, Query, State},
    http::HeaderMap,
    response::Response,
};
use serde_json::Value;

use super::{
    super::{
        Fault, Stub,
        speaking::{Body, Speeches},
    },
    ModelRequest, SERVICE, key, output_format, refusal,
};

pub(super) async fn stream(
    State(stub): State<Arc<Stub>>,
    Extension(speeches): Extension<Arc<Speeches>>,
    Path(voice): Path<String>,
    Query(asked): Query<ModelRequest>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    stub.received(SERVICE, body.to_string());
    let fault = stub.fault_of(SERVICE, &voice);
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
