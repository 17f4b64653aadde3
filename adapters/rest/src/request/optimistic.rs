//! Read, change and write of a resource under the version that was read, by this request or, with `If-Match`, by
//! its client.

use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
};
use domain::ports::store::{StoreError, StoreResult};

use super::query::plain_integer;
use crate::response::error::{ApiError, ApiResult};

/// Maximum tries if other requests change the resource meanwhile. Each time one of them succeeds, so that
/// this many concurrent clients are served.
const TRIES: usize = 64;

/// Runs `attempt`, which reads, changes and writes, until no other request was faster. Returns `Stale` after
/// too many tries.
///
/// # Errors
///
/// Returns the error of `attempt`. The store's result of the write is the value.
pub async fn until_written<T, Attempt>(attempt: impl Fn() -> Attempt) -> ApiResult<StoreResult<T>>
where
    Attempt: Future<Output = ApiResult<StoreResult<T>>>,
{
    for _ in 1..TRIES {
        let outcome = attempt().await?;
        if !matches!(outcome, Err(StoreError::Stale)) {
            return Ok(outcome);
        }
    }
    attempt().await
}

/// Version that the resource must have, from `If-Match`. `None` allows every version.
#[derive(Debug, Clone, Copy)]
pub struct IfMatch(pub Option<i64>);

impl IfMatch {
    /// Returns a 409 with the present version if another one is expected.
    pub fn check(self, present: i64) -> ApiResult<()> {
        match self.0 {
            Some(expected) if expected != present => Err(ApiError::Stale(present)),
            _ => Ok(()),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        let mut sent = parts.headers.get_all(header::IF_MATCH).iter();
        let text = match (sent.next(), sent.next()) {
            (None, _) => return Ok(Self(None)),
            (Some(value), None) => value.to_str().unwrap_or_default(),
            (Some(_), Some(_)) => return Err(ApiError::field("If-Match", "repeated", "is sent more than once")),
        };
        if text == "*" {
            return Ok(Self(None));
        }
        // Proxies that compress responses mark their tags as weak.
        let tag = text.strip_prefix("W/").unwrap_or(text);
        let version = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
        let version = version.and_then(plain_integer);
        version.map(|version| Self(Some(version))).ok_or_else(|| {
            let message = "must be `*` or the `ETag` of a response, such as `\"3\"`";
            ApiError::field("If-Match", "invalid_value", message)
        })
    }
}
