//! Authentication: the API key of a request and its account.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::{
    extract::{ConnectInfo, FromRequestParts, Request, State},
    http::{HeaderMap, Method, Uri, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use domain::ports::store::{Account, Store};

use super::{
    RestState,
    error::{ApiError, ApiResult},
    query::{self, QUERY_KEY},
};
use domain::api_key::PlainKey;

const MISSING: &str = "an API key is required: send it as `x-api-key` or as `Authorization: Bearer`";
const UNKNOWN: &str = "this API key is not known";
const NO_BEARER: &str = "the header Authorization holds no API key: write `Authorization: Bearer KEY`";
const AMBIGUOUS: &str = "the request carries two different API keys";

/// Account that sends the request. Every operation except the health check has one.
#[derive(Debug, Clone)]
pub struct Caller(pub Account);

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or(ApiError::Unauthorized(MISSING))
    }
}

/// Key of an authenticated request, for handlers that need it.
#[derive(Debug, Clone)]
pub struct SentKey(pub PlainKey);

impl<S: Sync> FromRequestParts<S> for SentKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        sent_key(&parts.method, &parts.uri, &parts.headers).map(Self)
    }
}

/// Name of the request's key, for records of what a client did. It tells no more of the key than its first characters.
#[derive(Debug, Clone)]
pub struct KeyName(pub String);

impl<S: Sync> FromRequestParts<S> for KeyName {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        let key = sent_key(&parts.method, &parts.uri, &parts.headers)?;
        Ok(Self(format!("rb_{}…", key.prefix())))
    }
}

/// Accepts a request only with a known key.
pub async fn require_key(State(state): State<RestState>, mut request: Request, next: Next) -> Response {
    let key = sent_key(request.method(), request.uri(), request.headers());
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let address = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0.ip());
    match admitted(&state, key, address).await {
        Ok(account) => {
            request.extensions_mut().insert(Caller(account));
            next.run(request).await
        }
        Err(error) => error.into_response(),
    }
}

/// Returns the account of the request's key, if the key is valid and within its rate limit.
async fn admitted(state: &RestState, key: ApiResult<PlainKey>, address: IpAddr) -> ApiResult<Account> {
    let key = key?;
    let print = key.print();
    let paid = state.rate_limit.admit(&print, address)?;
    let found = account_of(&*state.store, &key).await;
    match &found {
        Ok(_) if !paid => state.rate_limit.known(&print)?,
        Err(ApiError::Unauthorized(_)) => state.rate_limit.unknown(address),
        Ok(_) | Err(_) => {}
    }
    found
}

/// Returns the single key of a request, wherever it was sent.
fn sent_key(method: &Method, uri: &Uri, headers: &HeaderMap) -> ApiResult<PlainKey> {
    let mut texts = Vec::new();
    for value in headers.get_all("x-api-key") {
        texts.push(value.to_str().unwrap_or_default().trim().to_owned());
    }
    for value in headers.get_all(header::AUTHORIZATION) {
        texts.push(
            bearer(value.to_str().unwrap_or_default())
                .unwrap_or_default()
                .to_owned(),
        );
    }
    if matches!(*method, Method::GET | Method::HEAD) {
        let pairs = query::pairs(uri).unwrap_or_default();
        texts.extend(pairs.into_iter().filter(|(name, _)| name == QUERY_KEY).map(|(_, v)| v));
    }
    let Some(first) = texts.first() else {
        return Err(ApiError::Unauthorized(MISSING));
    };
    if texts.iter().any(|text| text != first) {
        return Err(ApiError::Unauthorized(AMBIGUOUS));
    }
    if first.is_empty() && headers.contains_key(header::AUTHORIZATION) {
        return Err(ApiError::Unauthorized(NO_BEARER));
    }
    PlainKey::parse(first).ok_or(ApiError::Unauthorized(UNKNOWN))
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Returns the account that currently owns this key.
pub async fn account_of(store: &dyn Store, key: &PlainKey) -> ApiResult<Account> {
    let candidates = store.api_keys(key.prefix()).await?;
    candidates
        .into_iter()
        .find(|(stored, _)| key.matches(stored))
        .map(|(_, account)| account)
        .ok_or(ApiError::Unauthorized(UNKNOWN))
}
