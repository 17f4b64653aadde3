//! An id in a path. A malformed id is a 404, like an unknown one.

use std::str::FromStr;

use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};

use crate::response::error::{ApiError, ApiResult};

/// The single id in a path.
#[derive(Debug, Clone, Copy)]
pub struct PathId<T>(pub T);

impl<S: Sync + Send, T: FromStr> FromRequestParts<S> for PathId<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let text = Path::<String>::from_request_parts(parts, state).await;
        text.ok()
            .and_then(|Path(text)| text.parse().ok())
            .map(Self)
            .ok_or_else(unreadable)
    }
}

/// Returns the error for a text in a path that is no id.
pub fn unreadable() -> ApiError {
    ApiError::NotFound("there is nothing with this id".into())
}
