//! The errors of a webhook that cannot be used.

use axum::response::Response;

use crate::link;

/// A webhook that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    #[error("malformed webhook: {0}")]
    Malformed(String),
    #[error("webhook without `{0}`")]
    Missing(&'static str),
    #[error("`{0}` is not an id: 1 to 256 visible ASCII characters")]
    Id(&'static str),
}

impl From<serde_json::Error> for WebhookError {
    fn from(error: serde_json::Error) -> Self {
        Self::Malformed(error.to_string())
    }
}

impl From<WebhookError> for Response {
    fn from(error: WebhookError) -> Self {
        link::invalid(&error)
    }
}
