//! The request's id: the client's own if it is a valid token, otherwise a new UUID.

use std::convert::Infallible;

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, HeaderValue, request::Parts},
};
use uuid::Uuid;

/// Header of the id, both ways.
pub const HEADER: HeaderName = HeaderName::from_static("x-request-id");

const MAX_LENGTH: usize = 128;

/// A token of 1 to 128 characters of `[A-Za-z0-9._-]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(String);

impl RequestId {
    /// Returns the id of a request with these headers.
    pub fn of(headers: &HeaderMap) -> Self {
        headers
            .get(HEADER)
            .and_then(|value| value.to_str().ok())
            .filter(|text| is_sane(text))
            .map_or_else(|| Self(Uuid::new_v4().to_string()), |text| Self(text.to_owned()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the header value.
    pub fn to_header(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&self.0).ok()
    }
}

impl<S: Sync> FromRequestParts<S> for RequestId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let known = parts.extensions.get::<Self>().cloned();
        Ok(known.unwrap_or_else(|| Self::of(&parts.headers)))
    }
}

fn is_sane(text: &str) -> bool {
    (1..=MAX_LENGTH).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: &[u8]) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(HEADER, HeaderValue::from_bytes(value).unwrap());
        RequestId::of(&headers).0
    }

    #[test]
    fn a_sane_token_is_kept_and_anything_else_replaced() {
        for sane in ["a", "A.b_c-9", &"x".repeat(128)] {
            assert_eq!(of(sane.as_bytes()), sane);
        }
        for bad in ["", " ", "a b", "a\"b", "ä", &"x".repeat(129)] {
            let id = of(bad.as_bytes());
            assert!(Uuid::try_parse(&id).is_ok(), "{bad} -> {id}");
        }
    }
}
