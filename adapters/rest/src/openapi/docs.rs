//! `/docs`: a page that shows the description, from files in the binary. It loads nothing from elsewhere.

use axum::{
    Router,
    http::{HeaderName, HeaderValue, header},
    middleware,
    response::Response,
};
use utoipa_swagger_ui::{Config, SwaggerUi};

use crate::response::envelope;

/// Description for the page, whose requests go to the address from which it came.
const DESCRIPTION: &str = "/docs/openapi.json";

/// Allows only the page's own files, requests to the service, and no frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// Returns the routes of the page and its files.
pub fn router() -> Router {
    let config = Config::new([DESCRIPTION])
        // Otherwise the page would send the description's address to an online validator.
        .validator_url("none")
        .persist_authorization(false);
    Router::from(SwaggerUi::new("/docs").config(config))
        .route(DESCRIPTION, super::show("/"))
        .layer(middleware::from_fn(envelope::layer))
        .layer(middleware::map_response(guarded))
}

async fn guarded(mut response: Response) -> Response {
    let headers: [(HeaderName, &str); 2] = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
