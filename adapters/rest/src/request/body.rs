//! A request body that must be one JSON object within the size limit.

use axum::{
    body::Body,
    extract::{FromRequest, Request},
    http::{HeaderMap, header},
};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    checked,
    fields::kind,
    strict_json::{self, Refusal},
};
use crate::{
    response::error::{ApiError, ApiResult},
    server::BodyStalled,
};

/// Maximum size of a JSON body, in bytes.
pub const JSON_BYTES: usize = 1024 * 1024;

/// A body that is a JSON object.
#[derive(Debug, Clone)]
pub struct JsonObject(pub Map<String, Value>);

impl<S: Sync> FromRequest<S> for JsonObject {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> ApiResult<Self> {
        require_type(request.headers(), "application/json")?;
        let bytes = read(request.into_body()).await?;
        object(&bytes).map(Self)
    }
}

/// A body that may be missing. A missing one counts as an empty object, whatever the content type.
#[derive(Debug, Clone)]
pub struct OptionalJsonObject(pub Map<String, Value>);

impl<S: Sync> FromRequest<S> for OptionalJsonObject {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> ApiResult<Self> {
        let typed = require_type(request.headers(), "application/json");
        let bytes = read(request.into_body()).await?;
        if bytes.is_empty() {
            return Ok(Self(Map::new()));
        }
        typed?;
        object(&bytes).map(Self)
    }
}

/// A body that may be missing, and is read as its schema describes it.
#[derive(Debug, Clone)]
pub struct OptionalBody<T>(pub T);

impl<S: Sync, T: ToSchema + DeserializeOwned + 'static> FromRequest<S> for OptionalBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> ApiResult<Self> {
        let OptionalJsonObject(body) = OptionalJsonObject::from_request(request, state).await?;
        checked::read(&body).map(Self)
    }
}

/// Rejects a body of another content type. Parameters of the content type are ignored.
pub fn require_type(headers: &HeaderMap, wanted: &str) -> ApiResult<()> {
    let sent = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = sent.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case(wanted) {
        return Ok(());
    }
    let message = match essence {
        "" => format!("send the body as `Content-Type: {wanted}`"),
        other => format!("the body must be `{wanted}`, not `{other}`"),
    };
    Err(ApiError::UnsupportedMediaType(message))
}

/// Returns the error for a body that ended early.
pub fn broken_body(error: &(dyn std::error::Error + 'static)) -> ApiError {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(stalled) = error.downcast_ref::<BodyStalled>() {
            return ApiError::Malformed(stalled.to_string());
        }
        cause = error.source();
    }
    ApiError::Malformed("the body ended early".into())
}

async fn read(mut body: Body) -> ApiResult<Bytes> {
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| broken_body(&error))?;
        let Some(data) = frame.data_ref() else { continue };
        if bytes.len() + data.len() > JSON_BYTES {
            return Err(ApiError::PayloadTooLarge("a JSON body may have at most 1 MiB".into()));
        }
        bytes.extend_from_slice(data);
    }
    Ok(bytes.freeze())
}

fn object(bytes: &[u8]) -> ApiResult<Map<String, Value>> {
    if bytes.trim_ascii().is_empty() {
        return Err(ApiError::Malformed("the body is empty; send a JSON object".into()));
    }
    match strict_json::parse(bytes) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(other) => Err(ApiError::Malformed(format!(
            "the body must be a JSON object, not {}",
            kind(&other)
        ))),
        Err(Refusal::Syntax(error)) => Err(ApiError::Malformed(format!("the body is not valid JSON: {error}"))),
        Err(Refusal::Unsound(problems)) => Err(ApiError::Invalid(problems)),
    }
}
