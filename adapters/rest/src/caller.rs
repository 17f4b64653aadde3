//! Sender of a request: its API key or session, and the account.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::{
    extract::{ConnectInfo, FromRequestParts},
    http::{Extensions, HeaderMap, Method, Uri, header, request::Parts},
};
use domain::{
    api_key::PlainKey,
    id::{ApiKeyId, SessionId},
    ports::store::{Account, ApiKeyRow, FoundKey, SessionRow, Store},
    scope::{Scope, Scopes},
    secret_token::SecretToken,
    time::Timestamp,
};

use crate::{
    limits::rate_limit::{KeyPrint, print_of},
    request::query::{self, QUERY_KEY},
    response::error::{ApiError, ApiResult},
    site::{self, Site},
};

const MISSING: &str = "an API key is required: send it as `x-api-key` or as `Authorization: Bearer`";
const UNKNOWN: &str = "this API key is not known";
const EXPIRED: &str =
    "this API key has expired; use another one, or set a later `expiresAt` with a key that has `admin`";
const READS_NO_MORE: &str = "this API key or session no longer has the scope `read`";
const ENDED: &str = "this session has ended; sign in again";
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

/// Secret that a request was authenticated with, for handlers that need it.
#[derive(Debug, Clone)]
pub enum Credential {
    /// An API key.
    Key(PlainKey),
    /// A session, from its cookie.
    Session(SecretToken),
}

impl Credential {
    /// Returns a fingerprint that distinguishes it from others without its text.
    pub fn print(&self) -> KeyPrint {
        match self {
            Self::Key(key) => key.print(),
            Self::Session(token) => print_of(token.hash()),
        }
    }

    /// Returns the one of a request, wherever it was sent. A key has precedence, and needs no rule of [`site`].
    pub fn sent(site: &Site, method: &Method, uri: &Uri, headers: &HeaderMap) -> ApiResult<Self> {
        if let Some(key) = sent_key(method, uri, headers)? {
            return Ok(Self::Key(key));
        }
        if !site::has_cookie(headers) {
            return Err(ApiError::Unauthorized(MISSING));
        }
        let token = site.check(method, uri, headers)?.token(headers);
        token.map(Self::Session).ok_or(ApiError::Unauthorized(ENDED))
    }
}

impl<S: Sync> FromRequestParts<S> for Credential {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        let found = parts.extensions.get::<Self>().cloned();
        found.ok_or(ApiError::Unauthorized(MISSING))
    }
}

/// Key or session of an authenticated request, as stored when the request began. Handlers need its name for events, and
/// its scopes for rights that depend on the body.
#[derive(Debug, Clone)]
pub struct CallerKey {
    name: String,
    scopes: Scopes,
    /// End of the key, or of the key that the session was opened with.
    expires_at: Option<Timestamp>,
    pub(crate) id: CallerId,
    read_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallerId {
    Key(ApiKeyId),
    Session(SessionId),
}

impl CallerKey {
    fn of_key(row: ApiKeyRow, read_at: Timestamp) -> Self {
        Self {
            name: row.name,
            scopes: row.scopes,
            expires_at: row.expires_at,
            id: CallerId::Key(row.id),
            read_at,
        }
    }

    fn of_session(row: SessionRow, account: &Account, read_at: Timestamp) -> Self {
        Self {
            name: row.key_name.unwrap_or_else(|| format!("{} (browser)", account.email)),
            scopes: row.scopes,
            expires_at: row.key_expires_at,
            id: CallerId::Session(row.id),
            read_at,
        }
    }

    /// Returns the key's name; for a session the name of the key that it was opened with, or the account's e-mail address
    /// with `(browser)` if a login link opened it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the time of the store when it read the key or session.
    pub fn now(&self) -> Timestamp {
        self.read_at
    }

    /// Returns the session, unless the request has a key.
    pub fn session(&self) -> Option<SessionId> {
        match self.id {
            CallerId::Session(id) => Some(id),
            CallerId::Key(_) => None,
        }
    }

    /// Returns whether it has a scope.
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(scope)
    }

    /// Returns a 403 that names the scope if the key or session lacks it.
    pub fn require(&self, scope: Scope) -> ApiResult<()> {
        if self.may(scope) {
            return Ok(());
        }
        let name = scope.as_str();
        // A key gives only scopes that it has itself.
        let giver = if scope == Scope::Admin {
            "`admin`".to_owned()
        } else {
            format!("`admin` and `{name}`")
        };
        Err(ApiError::Forbidden(match self.id {
            CallerId::Key(id) => format!(
                "this API key lacks the scope `{name}`; use a key that has it, or add it with `PATCH /me/api-keys/{id}` \
                 and a key that has {giver}"
            ),
            CallerId::Session(_) => format!("this session lacks the scope `{name}`; sign in with a key that has it"),
        }))
    }

    /// Returns a 403 that names the first scope that the key lacks.
    pub fn require_all(&self, mut scopes: impl Iterator<Item = Scope>) -> ApiResult<()> {
        scopes.try_for_each(|scope| self.require(scope))
    }

    /// Returns a 403 if the key ends before the key that it would make or change.
    pub fn require_end(&self, end: Option<Timestamp>) -> ApiResult<()> {
        match self.expires_at {
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

/// Returns the address of a request's sender.
pub fn peer_address(extensions: &Extensions) -> IpAddr {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>();
    peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0.ip())
}

/// Returns the single key of a request, wherever it was sent; none if there is none.
fn sent_key(method: &Method, uri: &Uri, headers: &HeaderMap) -> ApiResult<Option<PlainKey>> {
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
        return Ok(None);
    };
    if texts.iter().any(|text| text != first) {
        return Err(ApiError::Unauthorized(AMBIGUOUS));
    }
    if first.is_empty() && headers.contains_key(header::AUTHORIZATION) {
        return Err(ApiError::Unauthorized(NO_BEARER));
    }
    PlainKey::parse(first).map(Some).ok_or(ApiError::Unauthorized(UNKNOWN))
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Returns a key with its account, unless it is unknown or has expired.
pub async fn find_key(store: &dyn Store, key: &PlainKey) -> ApiResult<FoundKey> {
    let candidates = store.api_keys(key.prefix()).await?;
    let found = candidates.into_iter().find(|found| key.matches(&found.stored));
    let found = found.ok_or(ApiError::Unauthorized(UNKNOWN))?;
    if found.row.expires_at.is_some_and(|at| at <= found.read_at) {
        return Err(ApiError::Unauthorized(EXPIRED));
    }
    Ok(found)
}

pub async fn find(store: &dyn Store, credential: &Credential) -> ApiResult<(Account, CallerKey)> {
    match credential {
        Credential::Key(key) => {
            let found = find_key(store, key).await?;
            Ok((found.account, CallerKey::of_key(found.row, found.read_at)))
        }
        Credential::Session(token) => {
            let found = store.session(token.hash()).await?;
            let found = found.ok_or(ApiError::Unauthorized(ENDED))?;
            let key = CallerKey::of_session(found.row, &found.account, found.read_at);
            Ok((found.account, key))
        }
    }
}

/// Returns whether a key or session has become invalid or lost a scope. If the store does not answer, it has not.
pub async fn has_lost(store: &dyn Store, credential: &Credential, scope: Scope) -> bool {
    match find(store, credential).await {
        Ok((_, key)) => !key.may(scope),
        Err(error) => matches!(error, ApiError::Unauthorized(_)),
    }
}

/// Returns the account of a key or session, unless that has become invalid or lost `read`. Streams check this repeatedly.
pub async fn account_of(store: &dyn Store, credential: &Credential) -> ApiResult<Account> {
    let (account, key) = find(store, credential).await?;
    key.require(Scope::Read)
        .map_err(|_| ApiError::Unauthorized(READS_NO_MORE))?;
    Ok(account)
}
