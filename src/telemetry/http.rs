//! Counts and times of HTTP requests. Labels come from fixed lists, so no client can increase their number.

use axum::{
    extract::{MatchedPath, Request},
    http::Method,
    middleware::Next,
    response::Response,
};
use tokio::time::Instant;

/// Layer that counts a request and its time to the response's head, by the declared route.
pub async fn measure(request: Request, next: Next) -> Response {
    let began = Instant::now();
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or_else(|| "(none)".to_owned(), |path| path.as_str().to_owned());
    let method = method_word(request.method());
    let response = next.run(request).await;
    let status = response.status().as_u16().to_string();
    metrics::histogram!("ringback_http_request_seconds", "route" => route.clone(), "method" => method)
        .record(began.elapsed().as_secs_f64());
    metrics::counter!("ringback_http_requests_total", "route" => route, "method" => method, "status" => status)
        .increment(1);
    response
}

/// Returns a known method's name, because clients may invent methods.
fn method_word(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"];
    KNOWN
        .into_iter()
        .find(|known| *known == method.as_str())
        .unwrap_or("other")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invented_method_makes_no_label_of_its_own() {
        assert_eq!(method_word(&Method::POST), "POST");
        assert_eq!(method_word(&Method::from_bytes(b"BREW").unwrap()), "other");
    }
}
