//! Sessions of browsers: signing in with a key or a login link, the list of sessions, and signing out.

use axum::{
    Router,
    extract::State,
    http::{HeaderValue, Method, header, request::Parts},
    response::{IntoResponse, Response},
    routing::post,
};
use domain::{
    api_key::PlainKey,
    id::SessionId,
    ports::store::{FoundSession, OpenedWith, SessionRow, StoreError},
    scope::Scope,
    secret_token::{SecretToken, TokenHash},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use crate::{
    caller::{self, Caller, CallerKey},
    limits::rate_limit::{KeyPrint, print_of},
    request::{
        body::JsonObject,
        checked::Checked,
        cursor::Binding,
        path_id::PathId,
        query::{NoParameters, Paging, Query},
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, OrNoSuch},
    },
    state::RestState,
};

const NO_MATCH: &str = "no account has this e-mail address and this API key, or the key has expired";
const NO_LINK: &str =
    "this login link is unknown, used or older than 10 minutes; `ringback account login-link` prints a new one";
const BOTH: &str = "must not be sent with `email` or `apiKey`: sign in with those, or with the `token` of a login link";
const NOT_A_SESSION: &str = "the request has an API key, not a session's cookie, so there is no session to end; end \
                             another one with `DELETE /session/{sessionId}`";

/// A session.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Id of the session.
    #[schema(value_type = String, format = "uuid")]
    session_id: SessionId,
    /// Whether the request was made with it.
    is_present: bool,
    /// Name of the key that it was opened with; omitted for a login link.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_name: Option<String>,
    /// Rights of the session: those of its key, or all for a login link.
    scopes: Vec<Scope>,
    /// Time of signing in.
    #[schema(format = DateTime)]
    created_at: String,
    /// Time of the last request, up to a minute old. The session ends 12 hours after the last one.
    #[schema(format = DateTime)]
    last_used_at: String,
    /// Time at which it ends even if it is used: 30 days after signing in, or the end of its key.
    #[schema(format = DateTime)]
    expires_at: String,
}

impl Session {
    fn of(row: &SessionRow, present: Option<SessionId>) -> Self {
        let end = row.key_expires_at.map_or(row.expires_at, |end| end.min(row.expires_at));
        Self {
            session_id: row.id,
            is_present: present == Some(row.id),
            key_name: row.key_name.clone(),
            scopes: row.scopes.iter().collect(),
            created_at: row.created_at.to_iso8601(),
            last_used_at: row.last_used_at.to_iso8601(),
            expires_at: end.to_iso8601(),
        }
    }
}

/// A new session and its account.
#[derive(Serialize, ToSchema)]
pub struct SignedIn {
    /// E-mail address of the account.
    email: String,
    /// The session.
    session: Session,
}

/// A session that was ended.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionEnded {
    /// Id of the session.
    #[schema(value_type = String, format = "uuid")]
    session_id: SessionId,
    /// Always true.
    ended: bool,
}

/// Returns the route that opens a session.
pub fn opening() -> Router<RestState> {
    Router::new().route("/public/v1/session", post(sign_in))
}

/// Proof of identity: `email` and `apiKey`, or `token`.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SignIn {
    /// E-mail address of the account.
    pub email: Option<String>,
    /// A key of the account.
    pub api_key: Option<String>,
    /// Secret of a login link, which is used up.
    pub token: Option<String>,
}

/// Proof that a client signs in with.
enum Proof {
    /// An e-mail address and a key, which may be malformed.
    Key { email: String, key: Option<PlainKey> },
    /// The secret of a login link, which may be malformed.
    Link(Option<SecretToken>),
}

impl Proof {
    fn read(body: &Map<String, Value>) -> ApiResult<Self> {
        let mut fields = Checked::<SignIn>::of(body);
        let is_given = |name: &str| body.get(name).is_some_and(|value| !value.is_null());
        if is_given("token") {
            if is_given("email") || is_given("apiKey") {
                fields.problem("token", ("not_allowed", BOTH.into()));
            }
        } else {
            for name in ["email", "apiKey"].into_iter().filter(|name| !is_given(name)) {
                fields.problem(name, ("required", "is required".into()));
            }
        }
        let sent = fields.end()?;
        Ok(match sent.token {
            Some(token) => Self::Link(SecretToken::parse(&token)),
            None => Self::Key {
                email: sent.email.unwrap_or_default().trim().to_lowercase(),
                key: PlainKey::parse(sent.api_key.unwrap_or_default().trim()),
            },
        })
    }

    /// Returns a fingerprint of the account, whether it exists or not.
    fn account(&self) -> Option<KeyPrint> {
        let Self::Key { email, .. } = self else { return None };
        Some(print_of(Sha256::digest(email.as_bytes()).into()))
    }

    /// Opens a session. The account is found by the key alone, so that answers and their times are alike for an unknown
    /// e-mail address and a wrong key.
    async fn open(self, state: &RestState, token: TokenHash) -> ApiResult<FoundSession> {
        let store = &*state.store;
        let (with, refusal) = match self {
            Self::Key { email, key } => {
                let key = key.ok_or(ApiError::Unauthorized(NO_MATCH))?;
                let found = caller::find_key(store, &key).await.map_err(|error| match error {
                    ApiError::Unauthorized(_) => ApiError::Unauthorized(NO_MATCH),
                    other => other,
                })?;
                if found.account.email != email {
                    return Err(ApiError::Unauthorized(NO_MATCH));
                }
                store.api_key_used(found.row.id).await?;
                let with = OpenedWith::Key {
                    account: found.account.id,
                    hash: found.stored.hash,
                    name: found.row.name,
                    scopes: found.row.scopes,
                };
                (with, NO_MATCH)
            }
            Self::Link(link) => {
                let link = link.ok_or(ApiError::Unauthorized(NO_LINK))?;
                (OpenedWith::Link(link.hash()), NO_LINK)
            }
        };
        store.open_session(token, with).await.map_err(|error| match error {
            StoreError::NotFound => ApiError::Unauthorized(refusal),
            other => other.into(),
        })
    }
}

async fn sign_in(
    State(state): State<RestState>,
    request: Parts,
    _: Query<NoParameters>,
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let proof = Proof::read(&body)?;
    let entrance = state.site.check(&Method::POST, &request.uri, &request.headers)?;
    let address = caller::peer_address(&request.extensions);
    let account = proof.account();
    state.sign_in_limit.attempt(address, account)?;
    let token = SecretToken::random();
    let opened = proof.open(&state, token.hash()).await;
    match &opened {
        Err(ApiError::Unauthorized(_)) => tracing::info!(%address, "sign-in refused"),
        Ok(_) | Err(_) => state.sign_in_limit.succeeded(address, account),
    }
    let opened = opened?;
    tracing::info!(account = %opened.account.id, session = %opened.row.id, "signed in");
    let session = Session::of(&opened.row, Some(opened.row.id));
    let reply = Reply::created(SignedIn {
        email: opened.account.email,
        session,
    });
    Ok(with_cookie(reply, entrance.set(&token)))
}

/// Handles `GET /public/v1/session`.
pub async fn list(
    State(state): State<RestState>,
    (Caller(account), caller): (Caller, CallerKey),
    Query(paging): Query<Paging>,
) -> ApiResult<Reply> {
    let binding = Binding::new(account.id, "sessions", String::new());
    let after = binding.after::<SessionId>(paging.cursor.as_deref())?;
    let present = caller.session();
    let mut rows = state.store.sessions_of(account.id).await?;
    rows.retain(|row| {
        let is_shown = caller.may(Scope::Admin) || Some(row.id) == present;
        is_shown && after.is_none_or(|after| (row.created_at, row.id) < after)
    });
    let place = |row: &SessionRow| (row.created_at, row.id.to_string());
    let shown = |row: &SessionRow| Session::of(row, present);
    Ok(binding.page(rows, paging.page_size, shown, place))
}

/// Handles `DELETE /public/v1/session`.
pub async fn sign_out(
    State(state): State<RestState>,
    caller: (Caller, CallerKey),
    request: Parts,
    _: Query<NoParameters>,
) -> ApiResult<Response> {
    let present = caller.1.session();
    let id = present.ok_or_else(|| ApiError::Malformed(NOT_A_SESSION.into()))?;
    end_one(&state, caller, id, &request).await
}

/// Handles `DELETE /public/v1/session/{sessionId}`.
pub async fn end(
    State(state): State<RestState>,
    caller: (Caller, CallerKey),
    request: Parts,
    PathId(id): PathId<SessionId>,
    _: Query<NoParameters>,
) -> ApiResult<Response> {
    end_one(&state, caller, id, &request).await
}

async fn end_one(
    state: &RestState,
    (Caller(account), caller): (Caller, CallerKey),
    id: SessionId,
    request: &Parts,
) -> ApiResult<Response> {
    state.store.end_session(account.id, id).await.or_no_such("session")?;
    tracing::info!(account = %account.id, session = %id, by = caller.name(), "session ended");
    let reply = Reply::ok(SessionEnded {
        session_id: id,
        ended: true,
    });
    let is_own = caller.session() == Some(id);
    let entrance = state.site.entrance(&request.uri, &request.headers).filter(|_| is_own);
    Ok(with_cookie(reply, entrance.and_then(|entrance| entrance.clear())))
}

fn with_cookie(reply: Reply, cookie: Option<HeaderValue>) -> Response {
    let mut response = reply.into_response();
    response
        .headers_mut()
        .extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
