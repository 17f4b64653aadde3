//! Authentication: the API key of a request and its account.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use axum::{
    extract::{ConnectInfo, FromRequestParts, MatchedPath, Request, State},
    http::{HeaderMap, Method, Uri, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use domain::{
    api_key::PlainKey,
    ports::store::{Account, ApiKeyRow, FoundKey, Store},
    scope::Scope,
    time::Timestamp,
};

use super::{
    RestState,
    error::{ApiError, ApiResult},
    key_uses::KeyUses,
    query::{self, QUERY_KEY},
    scopes,
};

const MISSING: &str = "an API key is required: send it as `x-api-key` or as `Authorization: Bearer`";
const UNKNOWN: &str = "this API key is not known";
const EXPIRED: &str =
    "this API key has expired; use another one, or set a later `expiresAt` with a key that has `admin`";
const READS_NO_MORE: &str = "this API key no longer has the scope `read`";
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

/// Key of an authenticated request, as stored when the request began. Handlers need its name for events, and its
/// scopes for rights that depend on the body.
#[derive(Debug, Clone)]
pub struct CallerKey {
    row: ApiKeyRow,
    read_at: Timestamp,
}

impl CallerKey {
    /// Returns the key's name.
    pub fn name(&self) -> &str {
        &self.row.name
    }

    /// Returns the time of the store when it read the key.
    pub fn now(&self) -> Timestamp {
        self.read_at
    }

    /// Returns a 403 that names the scope if the key lacks it.
    pub fn require(&self, scope: Scope) -> ApiResult<()> {
        if self.row.scopes.contains(scope) {
            return Ok(());
        }
        let name = scope.as_str();
        Err(ApiError::Forbidden(format!(
            "this API key lacks the scope `{name}`; use a key that has it, or add it with `PATCH /me/api-keys/{}` and \
             a key that has `admin` and `{name}`",
            self.row.id
        )))
    }

    /// Returns a 403 that names the first scope that the key lacks.
    pub fn require_all(&self, mut scopes: impl Iterator<Item = Scope>) -> ApiResult<()> {
        scopes.try_for_each(|scope| self.require(scope))
    }

    /// Returns a 403 if the key ends before the key that it would make or change.
    pub fn require_end(&self, end: Option<Timestamp>) -> ApiResult<()> {
        match self.row.expires_at {
            Some(own) if end.is_none_or(|end| end > own) => Err(ApiError::Forbidden(format!(
                "this API key ends at {}, so it gives no key that is valid longer; set `expiresAt` no later than that, \
                 or use a key without an end",
                own.to_iso8601()
            ))),
            _ => Ok(()),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for CallerKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        let found = parts.extensions.get::<Self>().cloned();
        found.ok_or(ApiError::Unauthorized(MISSING))
    }
}

/// State of [`require_key`].
#[derive(Clone)]
pub struct Gatekeeper {
    state: RestState,
    uses: Arc<KeyUses>,
}

impl Gatekeeper {
    /// Creates the state.
    pub fn new(state: RestState) -> Self {
        Self {
            state,
            uses: Arc::default(),
        }
    }
}

/// Accepts a request only with a known key that has the scopes of its operation.
pub async fn require_key(State(gatekeeper): State<Gatekeeper>, mut request: Request, next: Next) -> Response {
    let key = sent_key(request.method(), request.uri(), request.headers());
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let address = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0.ip());
    let path = request.extensions().get::<MatchedPath>();
    let required = scopes::required(request.method().as_str(), path.map_or("", MatchedPath::as_str));
    let admitted = admitted(&gatekeeper.state, key, address).await;
    let allowed = admitted.and_then(|(account, key)| {
        gatekeeper.uses.record(&gatekeeper.state.store, key.row.id);
        key.require_all(required.iter().copied())?;
        Ok((account, key))
    });
    match allowed {
        Ok((account, key)) => {
            request.extensions_mut().insert(Caller(account));
            request.extensions_mut().insert(key);
            next.run(request).await
        }
        Err(error) => error.into_response(),
    }
}

/// Returns the account of the request's key, if the key is valid and within its rate limit.
async fn admitted(state: &RestState, key: ApiResult<PlainKey>, address: IpAddr) -> ApiResult<(Account, CallerKey)> {
    let key = key?;
    let print = key.print();
    let paid = state.rate_limit.admit(&print, address)?;
    let found = find(&*state.store, &key).await;
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

/// Returns the account of a key and the key, unless it is unknown or has expired.
async fn find(store: &dyn Store, key: &PlainKey) -> ApiResult<(Account, CallerKey)> {
    let candidates = store.api_keys(key.prefix()).await?;
    let found = candidates.into_iter().find(|found| key.matches(&found.stored));
    let FoundKey {
        account, row, read_at, ..
    } = found.ok_or(ApiError::Unauthorized(UNKNOWN))?;
    if row.expires_at.is_some_and(|at| at <= read_at) {
        return Err(ApiError::Unauthorized(EXPIRED));
    }
    Ok((account, CallerKey { row, read_at }))
}

/// Returns the account of a key, unless the key has become invalid or lost `read`. Streams check this repeatedly.
pub async fn account_of(store: &dyn Store, key: &PlainKey) -> ApiResult<Account> {
    let (account, key) = find(store, key).await?;
    key.require(Scope::Read)
        .map_err(|_| ApiError::Unauthorized(READS_NO_MORE))?;
    Ok(account)
}
