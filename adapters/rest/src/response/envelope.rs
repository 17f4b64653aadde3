//! The envelope around every response, and the layer that writes it, also around the framework's rejections and panics.

use std::panic::AssertUnwindSafe;

use axum::{
    body::Body,
    extract::{MatchedPath, Request},
    http::{HeaderName, HeaderValue, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use utoipa::ToSchema;

use super::error::{ApiError, ApiResult, ErrorBody};
use crate::response::request_id::{self, RequestId};

/// A page of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pagination {
    /// Maximum items of the page, as requested.
    #[schema(minimum = 1, maximum = 100)]
    pub page_size: i64,
    /// Whether there are more items.
    pub has_more: bool,
    /// Value for `cursor` to get the next page; omitted on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Number of all items of the list, if it was requested; at most 10,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 10_000)]
    pub total: Option<i64>,
    /// True if there may be more items than `total`; omitted otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub total_is_at_least: bool,
}

/// A successful response.
#[derive(Debug, Clone)]
pub struct Reply {
    status: StatusCode,
    data: Value,
    pagination: Option<Pagination>,
    sorting: Sorting,
    warning: Option<String>,
    version: Option<i64>,
}

/// Additional fields in `pagination` of sortable lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sorting {
    #[serde(skip_serializing_if = "Option::is_none")]
    sort_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sort_direction: Option<&'static str>,
}

#[derive(Serialize)]
struct SortedPagination<'a> {
    #[serde(flatten)]
    pagination: &'a Pagination,
    #[serde(flatten)]
    sorting: Sorting,
}

impl Reply {
    /// Creates a 200 with `data`.
    pub fn ok(data: impl Serialize) -> Self {
        Self {
            status: StatusCode::OK,
            // Response types have string keys and finite numbers, so serialisation cannot fail.
            data: serde_json::to_value(data).unwrap_or_default(),
            pagination: None,
            sorting: Sorting::default(),
            warning: None,
            version: None,
        }
    }

    /// Creates a 200 for a deletion; `name` is the name of the id.
    pub fn deleted(name: &str, id: impl Serialize) -> Self {
        Self::ok(json!({ name: id, "deleted": true }))
    }

    /// Adds a warning.
    #[must_use]
    pub fn warning(self, warning: Option<String>) -> Self {
        Self { warning, ..self }
    }

    /// Returns the warning.
    pub fn warning_text(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Adds the version of the resource, as `ETag`.
    #[must_use]
    pub fn version(self, version: i64) -> Self {
        Self {
            version: Some(version),
            ..self
        }
    }

    /// Creates a 201 with `data`.
    pub fn created(data: impl Serialize) -> Self {
        Self {
            status: StatusCode::CREATED,
            ..Self::ok(data)
        }
    }

    /// Creates a 200 with a page of a list.
    pub fn page(items: Vec<impl Serialize>, pagination: Pagination) -> Self {
        Self::ok(items).with_pagination(pagination)
    }

    /// Adds the pagination of a list that `data` contains.
    #[must_use]
    pub fn with_pagination(self, pagination: Pagination) -> Self {
        Self {
            pagination: Some(pagination),
            ..self
        }
    }

    /// Leaves only these fields of `data`. If others were left out, the version is added.
    fn keep(&mut self, fields: &[&str]) {
        let Value::Object(data) = &mut self.data else {
            self.data = Value::Object(Map::new());
            return;
        };
        let all = data.len();
        data.retain(|name, _| fields.contains(&name.as_str()));
        if let (Some(version), true) = (self.version, data.len() < all) {
            data.insert("version".to_owned(), version.into());
        }
    }

    /// Adds how the page is sorted.
    #[must_use]
    pub fn sorted(mut self, by: &'static str, direction: &'static str) -> Self {
        self.sorting = Sorting {
            sort_by: Some(by),
            sort_direction: Some(direction),
        };
        self
    }
}

/// Returns the `ETag` of a version.
pub fn etag(version: i64) -> Option<(HeaderName, HeaderValue)> {
    let value = HeaderValue::try_from(format!("\"{version}\"")).ok()?;
    Some((header::ETAG, value))
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.headers_mut().extend(self.version.and_then(etag));
        response.extensions_mut().insert(self);
        response
    }
}

/// Marker of a response whose body is already in the envelope, such as a streamed one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Enveloped;

/// Short form of a streamed response.
#[derive(Debug, Clone)]
pub(crate) struct InShort(pub Reply);

/// Shortens a response for a key without `read`: an error names resources by id only, and `data` has only the fields
/// in `kept`, if it is given.
pub(crate) fn shorten(response: &mut Response, kept: Option<&[&str]>) {
    if let Some(error) = response.extensions_mut().get_mut::<ErrorBody>() {
        error.hide_names();
    }
    let Some(fields) = kept else { return };
    if let Some(InShort(reply)) = response.extensions_mut().remove() {
        response.extensions_mut().remove::<Enveloped>();
        response.extensions_mut().insert(reply);
        *response.body_mut() = Body::empty();
    }
    if let Some(reply) = response.extensions_mut().get_mut::<Reply>() {
        reply.keep(fields);
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ErrorBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pagination: Option<SortedPagination<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
}

impl<'a> Envelope<'a> {
    fn of_success(reply: &'a Reply, id: Option<&'a RequestId>) -> Self {
        Self {
            success: true,
            data: Some(&reply.data),
            error: None,
            pagination: reply.pagination.as_ref().map(|pagination| SortedPagination {
                pagination,
                sorting: reply.sorting,
            }),
            warning: reply.warning.as_deref(),
            request_id: id.map(RequestId::as_str),
        }
    }

    fn of_failure(error: &'a ErrorBody, id: Option<&'a RequestId>) -> Self {
        Self {
            success: false,
            data: None,
            error: Some(error),
            pagination: None,
            warning: None,
            request_id: id.map(RequestId::as_str),
        }
    }
}

/// Refuses a query that is not UTF-8, also in its percent-encoded parts: it cannot be what the client meant.
fn require_utf8(uri: &Uri) -> ApiResult<()> {
    match percent_decode_str(uri.query().unwrap_or_default()).decode_utf8() {
        Ok(_) => Ok(()),
        Err(_) => Err(ApiError::Malformed(
            "the query string is not UTF-8; percent-encode the UTF-8 bytes of its text".into(),
        )),
    }
}

/// The outermost layer: request id, panics, envelope, and one log line per request. The query is never logged.
pub async fn layer(mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = RequestId::of(request.headers());
    let shown = shows_request_id(request.uri().path());
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or_else(|| "(none)".to_owned(), |path| path.as_str().to_owned());
    let method = request.method().clone();
    request.extensions_mut().insert(id.clone());
    let outcome = match require_utf8(request.uri()) {
        Ok(()) => AssertUnwindSafe(next.run(request)).catch_unwind().await,
        Err(error) => Ok(error.into_response()),
    };
    let response = outcome.unwrap_or_else(|_| {
        tracing::error!(%method, route, request_id = id.as_str(), "handler panicked");
        ApiError::Internal.into_response()
    });
    let mut response = enveloped(response, shown.then_some(&id));
    if let Some(value) = id.to_header() {
        response.headers_mut().insert(request_id::HEADER, value);
    }
    tracing::info!(
        %method,
        route,
        status = response.status().as_u16(),
        elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        request_id = id.as_str(),
        "request"
    );
    response
}

/// Returns whether responses at this path contain the request id, as those of campaigns and contacts do.
fn shows_request_id(path: &str) -> bool {
    ["/public/v1/campaigns", "/public/v1/contacts"].iter().any(|prefix| {
        path.strip_prefix(prefix)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

fn enveloped(mut response: Response, id: Option<&RequestId>) -> Response {
    if let Some(reply) = response.extensions_mut().remove::<Reply>() {
        return written(response, &Envelope::of_success(&reply, id));
    }
    if let Some(error) = response.extensions_mut().remove::<ErrorBody>() {
        return written(response, &Envelope::of_failure(&error, id));
    }
    let status = response.status();
    let refused = status.is_client_error() || status.is_server_error();
    if !refused || response.extensions().get::<Enveloped>().is_some() {
        return response;
    }
    let mut replacement = ApiError::of_status(status).into_response();
    if let Some(allow) = response.headers().get(header::ALLOW) {
        replacement.headers_mut().insert(header::ALLOW, allow.clone());
    }
    enveloped(replacement, id)
}

fn written(response: Response, envelope: &Envelope<'_>) -> Response {
    // Contains only values and texts, so serialisation cannot fail.
    let body = serde_json::to_vec(envelope).unwrap_or_default();
    let (mut parts, _) = response.into_parts();
    parts
        .headers
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    parts
        .headers
        .insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    Response::from_parts(parts, Body::from(body))
}
