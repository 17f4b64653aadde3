//! Authentication: lets a request pass with a valid key or session that has the scopes of its operation.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderValue, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use domain::{
    id::{ApiKeyId, SessionId},
    ports::store::Account,
    scope::Scope,
};

use super::{key_uses::KeyUses, scopes};
use crate::{
    caller::{Caller, CallerId, CallerKey, Credential, find, peer_address},
    response::{
        envelope,
        error::{ApiError, ApiResult},
    },
    state::RestState,
};

/// State of [`require_key`].
#[derive(Clone)]
pub struct Gatekeeper {
    state: RestState,
    key_uses: Arc<KeyUses<ApiKeyId>>,
    session_uses: Arc<KeyUses<SessionId>>,
}

impl Gatekeeper {
    /// Creates the state.
    pub fn new(state: RestState) -> Self {
        Self {
            state,
            key_uses: Arc::default(),
            session_uses: Arc::default(),
        }
    }

    /// Starts a task that records the use of a key or session, if it is due.
    fn record(&self, id: CallerId) {
        let store = Arc::clone(&self.state.store);
        match id {
            CallerId::Key(id) => self.key_uses.record(id, async move { store.api_key_used(id).await }),
            CallerId::Session(id) => self
                .session_uses
                .record(id, async move { store.session_used(id).await }),
        }
    }
}

/// Accepts a request only with a known key or session that has the scopes of its operation.
pub async fn require_key(State(gatekeeper): State<Gatekeeper>, mut request: Request, next: Next) -> Response {
    let state = &gatekeeper.state;
    let credential = Credential::sent(&state.site, request.method(), request.uri(), request.headers());
    let path = request
        .extensions()
        .get::<MatchedPath>()
        .map_or("", MatchedPath::as_str);
    let required = scopes::required(request.method().as_str(), path);
    let kept = scopes::kept(request.method().as_str(), path);
    let admitted = admitted(state, credential, peer_address(request.extensions())).await;
    let allowed = admitted.and_then(|(credential, account, key)| {
        gatekeeper.record(key.id);
        key.require_all(required.iter().copied())?;
        Ok((credential, account, key))
    });
    let mut response = match allowed {
        Ok((credential, account, key)) => {
            request.extensions_mut().insert(credential);
            request.extensions_mut().insert(Caller(account));
            let reads = key.may(Scope::Read);
            request.extensions_mut().insert(key);
            let mut response = next.run(request).await;
            if !reads {
                envelope::shorten(&mut response, kept);
            }
            response
        }
        Err(error) => error.into_response(),
    };
    // Proxies know neither `x-api-key` nor the cookie, and some keep whatever looks like a file, such as `results.csv`.
    let caching = response.headers_mut().entry(header::CACHE_CONTROL);
    caching.or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Returns the account of the request's key or session, if it is valid and within its rate limit.
async fn admitted(
    state: &RestState,
    credential: ApiResult<Credential>,
    address: IpAddr,
) -> ApiResult<(Credential, Account, CallerKey)> {
    let credential = credential?;
    let print = credential.print();
    let paid = state.rate_limit.admit(&print, address)?;
    let found = find(&*state.store, &credential).await;
    match &found {
        Ok(_) if !paid => state.rate_limit.known(&print)?,
        Err(ApiError::Unauthorized(_)) => state.rate_limit.unknown(address),
        Ok(_) | Err(_) => {}
    }
    found.map(|(account, key)| (credential, account, key))
}
