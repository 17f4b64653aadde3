//! `Idempotency-Key`: a repeated creating request returns what the first one created.
//!
//! A handler takes its key before it checks anything, creates its resource with the ticket, and ends the hold
//! with the outcome. A replay renders the resource again.

use std::{str::FromStr, sync::Arc, time::Duration};

use axum::{
    extract::FromRequestParts,
    http::{HeaderName, HeaderValue, StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use domain::{
    id::AccountId,
    ports::store::{KeyTicket, Reservation, Store, StoreError},
};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use tokio::task::AbortHandle;

use crate::{
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, Conflict},
    },
    state::RestState,
};

/// Header of the key.
pub const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Header that is `true` on a response that repeats an earlier one.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

const KEY_CHARACTERS: usize = 255;

/// Interval of lease renewals of a request in progress: a third of its lease.
const RENEWAL: Duration = Duration::from_secs(10);

/// Key of a request, if it has one.
#[derive(Debug, Clone)]
pub struct IdempotencyKey(Option<String>);

impl<S: Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        let mut sent = parts.headers.get_all(KEY).iter();
        let (Some(value), more) = (sent.next(), sent.next()) else {
            return Ok(Self(None));
        };
        let text = value.to_str().ok().filter(|text| {
            (1..=KEY_CHARACTERS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
        });
        match (text, more) {
            (Some(text), None) => Ok(Self(Some(text.to_owned()))),
            (_, Some(_)) => Err(refused("repeated", "is sent more than once".to_owned())),
            (None, None) => Err(refused(
                "invalid_value",
                format!("must be 1 to {KEY_CHARACTERS} visible ASCII characters"),
            )),
        }
    }
}

fn refused(code: &'static str, message: String) -> ApiError {
    ApiError::field("Idempotency-Key", code, message)
}

/// Hash of a request: the same for the same content, whatever its notation.
#[derive(Debug, Clone, Default)]
pub struct RequestHash(Sha256);

impl RequestHash {
    /// Hashes a JSON body; the order of its fields does not matter.
    pub fn of_json(body: &Map<String, Value>) -> Self {
        let mut hash = Self::default();
        hash.object(body);
        hash
    }

    /// Adds the id of the resource in the path.
    #[must_use]
    pub fn about(mut self, id: impl std::fmt::Display) -> Self {
        self.part(id.to_string().as_bytes());
        self
    }

    /// Adds a part with its length, so that different sequences of parts never have the same bytes.
    pub fn part(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }

    fn object(&mut self, map: &Map<String, Value>) {
        let mut fields: Vec<(&String, &Value)> = map.iter().collect();
        fields.sort_unstable_by_key(|(name, _)| *name);
        self.part(b"{");
        self.part(&fields.len().to_be_bytes());
        for (name, value) in fields {
            self.part(name.as_bytes());
            self.value(value);
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Object(map) => self.object(map),
            Value::Array(items) => {
                self.part(b"[");
                self.part(&items.len().to_be_bytes());
                items.iter().for_each(|item| self.value(item));
            }
            plain => self.part(plain.to_string().as_bytes()),
        }
    }

    fn hex(self) -> String {
        hex::encode(self.0.finalize())
    }
}

/// Action for a request.
pub enum Turn {
    /// Do the work. Also for requests without a key.
    First(Held),
    /// Return what an earlier request created.
    Again(Replay),
}

impl Turn {
    /// Returns the response to a creating request. `make` does the work and gets the ticket that the store
    /// settles. `read` finds what an earlier request created. `reply` renders either.
    pub async fn answer<T, Id: FromStr, Made, Found>(
        self,
        make: impl FnOnce(Option<KeyTicket>) -> Made,
        read: impl FnOnce(Id) -> Found,
        reply: impl FnOnce(&T) -> Reply,
    ) -> ApiResult<Response>
    where
        Made: Future<Output = ApiResult<T>>,
        Found: Future<Output = ApiResult<T>>,
    {
        match self {
            Self::First(held) => {
                let made = make(held.ticket().cloned()).await;
                Ok(reply(&held.end(made).await?).into_response())
            }
            Self::Again(replay) => Ok(replay.mark(reply(&read(replay.id()?).await?))),
        }
    }
}

impl IdempotencyKey {
    /// Returns whether there is a key, which means that a hash is needed.
    pub fn is_given(&self) -> bool {
        self.0.is_some()
    }

    /// Reserves the key for this request. Returns a 409 while another request holds it.
    pub async fn take(
        self,
        state: &RestState,
        account: AccountId,
        operation: &'static str,
        hash: impl FnOnce() -> RequestHash,
    ) -> ApiResult<Turn> {
        let Some(key) = self.0 else {
            return Ok(Turn::First(Held::new(state, None)));
        };
        let hash = hash().hex();
        match state.store.reserve_key(account, &key, operation, &hash).await? {
            Reservation::Fresh(ticket) => Ok(Turn::First(Held::new(state, Some(ticket)))),
            Reservation::Replay { status, resource } => Ok(Turn::Again(Replay { status, resource })),
            Reservation::OtherRequest => Err(ApiError::Conflict(
                Conflict::Changed,
                "this `Idempotency-Key` belongs to another request, with another body or of another operation; use a \
                 new key"
                    .into(),
            )),
            Reservation::InProgress => Err(ApiError::Conflict(
                Conflict::InProgress,
                "the first request with this `Idempotency-Key` is still in progress; try again".into(),
            )),
        }
    }
}

/// A key that is held while its request is processed. If it is dropped without an outcome (the client
/// disconnected), the key is released.
pub struct Held {
    store: Arc<dyn Store>,
    ticket: Option<KeyTicket>,
    renewal: Option<AbortHandle>,
}

impl Held {
    fn new(state: &RestState, ticket: Option<KeyTicket>) -> Self {
        let store = &state.store;
        let renewal = ticket
            .clone()
            .map(|ticket| tokio::spawn(renew(Arc::clone(store), ticket)).abort_handle());
        Self {
            store: Arc::clone(store),
            ticket,
            renewal,
        }
    }

    /// Returns the ticket for the store, which settles the key together with the new resource.
    pub fn ticket(&self) -> Option<&KeyTicket> {
        self.ticket.as_ref()
    }

    /// Ends the hold. A success has already settled the key; after a failure it is released before the
    /// response is sent.
    pub async fn end<T>(mut self, outcome: ApiResult<T>) -> ApiResult<T> {
        if outcome.is_err()
            && let Some(ticket) = &self.ticket
        {
            give_back(&*self.store, ticket).await;
        }
        self.ticket = None;
        outcome
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(renewal) = &self.renewal {
            renewal.abort();
        }
        if let (Some(ticket), Ok(runtime)) = (self.ticket.take(), tokio::runtime::Handle::try_current()) {
            let store = Arc::clone(&self.store);
            runtime.spawn(async move { give_back(&*store, &ticket).await });
        }
    }
}

async fn give_back(store: &dyn Store, ticket: &KeyTicket) {
    if let Err(error) = store.release_key(ticket).await {
        tracing::warn!(%error, "idempotency key not released");
    }
}

async fn renew(store: Arc<dyn Store>, ticket: KeyTicket) {
    loop {
        tokio::time::sleep(RENEWAL).await;
        if store.renew_key(&ticket).await == Err(StoreError::Fenced) {
            return;
        }
    }
}

/// Result of an earlier request with the key.
#[derive(Debug, Clone)]
pub struct Replay {
    status: i64,
    resource: String,
}

impl Replay {
    /// Returns the id of the resource.
    pub fn id<T: FromStr>(&self) -> ApiResult<T> {
        self.resource
            .parse()
            .map_err(|_| StoreError::Damaged("resource of an idempotency key".into()).into())
    }

    /// Marks a response as a replay, with the status of the first response.
    pub fn mark(&self, answer: impl IntoResponse) -> Response {
        let mut response = answer.into_response();
        let status = u16::try_from(self.status).ok();
        if let Some(status) = status.and_then(|status| StatusCode::from_u16(status).ok()) {
            *response.status_mut() = status;
        }
        response
            .headers_mut()
            .insert(REPLAYED, HeaderValue::from_static("true"));
        response
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hash(value: &Value) -> String {
        RequestHash::of_json(value.as_object().unwrap()).hex()
    }

    #[test]
    fn a_body_is_known_by_what_it_says() {
        let body = json!({ "a": 1, "b": { "c": [1, "2"], "d": null } });
        assert_eq!(hash(&body), hash(&json!({ "b": { "d": null, "c": [1, "2"] }, "a": 1 })));
        for other in [
            json!({ "a": 1, "b": { "c": ["2", 1], "d": null } }),
            json!({ "a": 1, "b": { "c": [1, 2], "d": null } }),
            json!({ "a": 1, "b": { "c": [1, "2"] } }),
            json!({ "a": 1, "b": { "c": [1, "2"] }, "d": null }),
            json!({}),
        ] {
            assert_ne!(hash(&body), hash(&other), "{other}");
        }
    }
}
