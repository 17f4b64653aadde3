//! Guard of a stub's routes: refuses requests with fields that the service does not take, in the service's own words.

use axum::{
    Json, Router,
    body::{self, Body, Bytes},
    extract::Request,
    http::{Method, StatusCode, header::CONTENT_TYPE, request::Parts},
    middleware::{self, Next},
    response::IntoResponse,
};
use futures_util::stream;
use serde_json::{Map, Value, json};

use super::{Check, Misfit, SERVICES, record};

/// The largest request, in bytes. Services accept files of up to 25 MB.
const MAX_BODY_BYTES: usize = 32 * 1024 * 1024;

/// Adds the guard of a service to its routes. `refuse` returns the status and body with which a request is refused.
pub(crate) fn guarded<S, R>(routes: Router<S>, service: &'static str, refuse: R) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    R: Fn(&Misfit) -> (u16, Value) + Clone + Send + Sync + 'static,
{
    routes.route_layer(middleware::from_fn(move |request: Request, next: Next| {
        let refuse = refuse.clone();
        async move {
            let (parts, body) = request.into_parts();
            // The body of a WebSocket's request is its connection.
            let (body, rest) = match parts.method {
                Method::GET => (Bytes::new(), Some(body)),
                _ => (body::to_bytes(body, MAX_BODY_BYTES).await.unwrap_or_default(), None),
            };
            if let Err(found) = check(service, &parts, &body).await {
                let (status, body) = refuse(&found);
                let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
                return (status, Json(body)).into_response();
            }
            let body = rest.unwrap_or_else(|| Body::from(body));
            next.run(Request::from_parts(parts, body)).await
        }
    }))
}

async fn check(service: &str, parts: &Parts, body: &Bytes) -> Result<(), Misfit> {
    let asked = format!("{} {}", parts.method, parts.uri.path());
    let types = SERVICES.get(service);
    let known = types.and_then(|types| {
        let mut requests = types.requests.iter();
        let (kind, request) = requests.find(|(kind, _)| matches(kind, &asked))?;
        Some((types, kind, request))
    });
    let Some((types, kind, request)) = known else {
        return record(service, &asked, Err(Misfit::new("", format!("{asked} has no schema"))));
    };
    let query = texts(url::form_urlencoded::parse(
        parts.uri.query().unwrap_or_default().as_bytes(),
    ));
    let as_text = Check { types, is_text: true };
    let result = as_text.has(&request.query, &query, "");
    if result.is_err() || body.is_empty() {
        return record(service, kind, result);
    }
    let content_type = parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let result = match content_type.unwrap_or_default() {
        "application/x-www-form-urlencoded" => {
            as_text.fits(&request.body, &texts(url::form_urlencoded::parse(body)), "")
        }
        form if form.starts_with("multipart/") => as_text.fits(&request.body, &parts_of(form, body.clone()).await, ""),
        // The reader of the request refuses text that is not JSON.
        _ => serde_json::from_slice(body).map_or(Ok(()), |body| {
            Check { types, is_text: false }.fits(&request.body, &body, "")
        }),
    };
    record(service, kind, result)
}

/// Returns whether a request is of a kind, in which `{}` is any segment.
fn matches(kind: &str, asked: &str) -> bool {
    kind.split('/').count() == asked.split('/').count()
        && kind
            .split('/')
            .zip(asked.split('/'))
            .all(|(kind, asked)| kind == "{}" || kind == asked)
}

/// Returns pairs as an object; a repeated name has a list.
fn texts<N: Into<String>, T: Into<String>>(pairs: impl Iterator<Item = (N, T)>) -> Value {
    let mut texts = Map::new();
    for (name, text) in pairs {
        let text = Value::String(text.into());
        match texts.entry(name.into()) {
            serde_json::map::Entry::Vacant(free) => drop(free.insert(text)),
            serde_json::map::Entry::Occupied(mut taken) => match taken.get_mut() {
                Value::Array(items) => items.push(text),
                first => *first = json!([first.take(), text]),
            },
        }
    }
    texts.into()
}

/// Returns the fields of a form in parts; a file is empty.
async fn parts_of(content_type: &str, body: Bytes) -> Value {
    let mut fields = Vec::new();
    if let Ok(boundary) = multer::parse_boundary(content_type) {
        let body = stream::iter([Ok::<_, std::convert::Infallible>(body)]);
        let mut parts = multer::Multipart::new(body, boundary);
        while let Ok(Some(part)) = parts.next_field().await {
            let name = part.name().unwrap_or_default().to_owned();
            let text = match part.file_name() {
                Some(_) => String::new(),
                None => part.text().await.unwrap_or_default(),
            };
            fields.push((name, text));
        }
    }
    texts(fields.into_iter())
}
