//! Other origins whose pages may use the API: none, unless origins are configured.

use std::time::Duration;

use axum::{
    Router,
    extract::Request,
    http::{HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::{self, Next},
    response::Response,
};
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::{access::idempotency, response::request_id};

/// Time for which browsers cache a preflight.
const MAX_AGE: Duration = Duration::from_secs(3_600);

/// An invalid origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an origin: write scheme, host and port only, such as https://app.example.com, or *")]
pub struct InvalidOrigin(String);

/// Parses an origin as browsers send it, or `*` for all of them.
///
/// # Errors
/// Returns an error that says how to write an origin.
pub fn parse_origin(text: &str) -> Result<String, InvalidOrigin> {
    let origin = reqwest::Url::parse(text)
        .ok()
        .map(|url| url.origin().ascii_serialization());
    if text == "*" || (origin.as_deref() == Some(text) && text != "null") {
        Ok(text.to_owned())
    } else {
        Err(InvalidOrigin(text.to_owned()))
    }
}

/// Adds CORS handling, if there are origins.
pub fn around(router: Router, origins: &[String]) -> Router {
    if origins.is_empty() {
        return router;
    }
    let allowed = if origins.iter().any(|origin| origin == "*") {
        AllowOrigin::any()
    } else {
        AllowOrigin::list(origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()))
    };
    let cors = CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::PATCH, Method::DELETE])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            HeaderName::from_static("x-api-key"),
            header::IF_MATCH,
            idempotency::KEY,
            request_id::HEADER,
        ])
        .expose_headers([
            request_id::HEADER,
            idempotency::REPLAYED,
            header::ETAG,
            header::RETRY_AFTER,
            header::ALLOW,
        ])
        .max_age(MAX_AGE);
    router.layer(cors).layer(middleware::from_fn(empty_preflight))
}

/// Gives preflight responses the status for an empty body.
async fn empty_preflight(request: Request, next: Next) -> Response {
    let preflight = request.method() == Method::OPTIONS;
    let mut response = next.run(request).await;
    if preflight && response.status() == StatusCode::OK {
        *response.status_mut() = StatusCode::NO_CONTENT;
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        for good in ["*", "https://app.example.com", "http://localhost:5173"] {
            assert_eq!(parse_origin(good).unwrap(), good);
        }
        for bad in [
            "",
            "null",
            "app.example.com",
            "https://app.example.com/",
            "https://a.b/c",
            "https://a.b:443",
        ] {
            assert!(parse_origin(bad).is_err(), "{bad}");
        }
    }
}
