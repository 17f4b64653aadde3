//! `POST /public/v1/conversations/{conversationId}/live-tickets`, and the check of a ticket when its WebSocket opens.
//!
//! A browser cannot send an API key with a WebSocket. So it gets a ticket: a secret that works once, soon, for one call
//! and one purpose, at the node that holds the call.

use axum::{
    extract::{State, ws::close_code},
    http::{HeaderMap, HeaderValue, Uri, header},
    response::{IntoResponse, Response},
};
use domain::{
    id::{AccountId, AttemptId},
    ports::store::Store,
    scope::Scope,
};
use peers::{Elsewhere, Shown};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;
use url::Url;
use utoipa::ToSchema;

use super::{
    commands::{require_in_progress, status},
    operate::require_free,
    socket::Goodbye,
};
use crate::{
    caller::{self, Caller, CallerKey, Credential},
    request::{
        body::JsonObject,
        checked::Checked,
        path_id::PathId,
        query::{NoParameters, Parameters, Query, RawQuery},
    },
    response::{
        envelope::Reply,
        error::{ApiError, ApiResult, Conflict},
    },
    sse::HEARTBEAT,
    state::{
        RestState,
        live_access::{Bearer, LASTS, MOST_OF_A_CALL, TicketPurpose},
    },
};

const NO_TICKET: &str = "no such ticket: it is unknown, used, older than 30 s, or for another call or purpose; get a new one \
                         with `POST /conversations/{conversationId}/live-tickets`";

/// A ticket to ask for.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTicket {
    /// Purpose.
    #[serde(rename = "for")]
    pub purpose: TicketPurpose,
}

/// A ticket for a WebSocket to a live call.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveTicket {
    /// The ticket. It works once.
    ticket: String,
    /// Purpose.
    #[serde(rename = "for")]
    purpose: TicketPurpose,
    /// WebSocket address with the ticket.
    url: String,
    /// Time until which the WebSocket must be opened: 30 s from now.
    #[schema(format = DateTime)]
    expires_at: String,
}

/// Handles the request.
pub async fn create(
    State(state): State<RestState>,
    (Caller(account), key, credential): (Caller, CallerKey, Credential),
    (PathId(id), _, headers): (PathId<AttemptId>, Query<NoParameters>, HeaderMap),
    JsonObject(body): JsonObject,
) -> ApiResult<Response> {
    let status = status(&state, account.id, id).await?;
    let purpose = Checked::<NewTicket>::of(&body).end()?.purpose;
    require_in_progress(status)?;
    require_allowed(&state, account.id).await?;
    if let Some(elsewhere) = elsewhere(&state, id, Shown::Vouched).await? {
        return Ok(elsewhere.into_response());
    }
    if purpose == TicketPurpose::Operate {
        require_free(&state, id).await?;
    }
    let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    let bearer = Bearer {
        account: account.id,
        by: key.name().to_owned(),
        credential,
        origin: key.session().and(origin).map(str::to_owned),
    };
    let ticket = state.live.issue(id, purpose, bearer).ok_or_else(|| {
        ApiError::Conflict(
            Conflict::Changed,
            format!("{MOST_OF_A_CALL} tickets of this call are unused; use one, or wait 30 s"),
        )
    })?;
    let address = format!(
        "{}/public/v1/conversations/{id}/{}?ticket={}",
        state.public_url,
        purpose.as_str(),
        ticket.as_str()
    );
    let made = LiveTicket {
        ticket: ticket.as_str().to_owned(),
        purpose,
        url: address.replacen("http", "ws", 1),
        expires_at: key.now().plus(LASTS).to_iso8601(),
    };
    let mut response = Reply::created(made).into_response();
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Returns a 403 if the account allows nobody to follow its calls.
pub async fn require_allowed(state: &RestState, account: AccountId) -> ApiResult<()> {
    match state.store.safeguards(account).await?.safeguards.live_listening {
        true => Ok(()),
        false => Err(ApiError::Forbidden(
            "the account's safeguard `liveListening` is false, so nobody listens to its calls or takes them over; set it \
             with `PATCH /safeguards`"
                .into(),
        )),
    }
}

/// Returns why a client may no longer follow a call of its account: its key or session has become invalid or lost the
/// scope, or the account allows nobody to. If the store does not answer, it still may.
pub async fn why_not_anymore(store: &dyn Store, account: AccountId, credential: &Credential) -> Option<&'static str> {
    if caller::has_lost(store, credential, Scope::Live).await {
        return Some("the key or session is no longer valid, or has lost the scope `live`");
    }
    let allows = store.safeguards(account).await;
    allows
        .is_ok_and(|row| !row.safeguards.live_listening)
        .then_some("the account's safeguard `liveListening` is false")
}

/// Waits until the holder of a ticket may no longer follow the call. Returns the reason.
pub async fn no_longer_allowed(state: &RestState, bearer: &Bearer) -> Goodbye {
    loop {
        sleep(HEARTBEAT).await;
        if let Some(why) = why_not_anymore(&*state.store, bearer.account, &bearer.credential).await {
            return Some((close_code::POLICY, why.into()));
        }
    }
}

/// Returns the node that the request is to be passed to, unless the call is here or nowhere. Handlers answer with it
/// before they change anything.
pub async fn elsewhere(state: &RestState, id: AttemptId, shown: Shown<'_>) -> ApiResult<Option<Elsewhere>> {
    if !state.peers.are_possible() || state.switchboard.holds(id).await != Some(false) {
        return Ok(None);
    }
    let found = state.peers.holder(id, shown).await;
    found.map_err(|unknown| ApiError::Unavailable(unknown.to_string()))
}

/// Query of a WebSocket's address.
#[derive(Debug, Clone)]
pub struct TicketParameters(Option<String>);

impl Parameters for TicketParameters {
    const NAMES: &'static [&'static str] = &["ticket"];

    fn read(query: &mut RawQuery) -> Self {
        Self(query.text("ticket"))
    }
}

/// Uses up the ticket of a request for a WebSocket at this node. Returns an error if the ticket is not valid, if a page that
/// may not use it sent the request, or if its key or account no longer allows the WebSocket.
pub async fn admit(
    state: &RestState,
    (id, purpose): (AttemptId, TicketPurpose),
    TicketParameters(ticket): &TicketParameters,
    (uri, headers): (&Uri, &HeaderMap),
) -> ApiResult<Bearer> {
    let bearer = state.live.redeem(id, purpose, ticket.as_deref().unwrap_or_default());
    let bearer = bearer.ok_or_else(|| ApiError::NotFound(NO_TICKET.into()))?;
    require_own_page(state, &bearer, (uri, headers))?;
    match why_not_anymore(&*state.store, bearer.account, &bearer.credential).await {
        Some(why) => Err(ApiError::Forbidden(why.into())),
        None => Ok(bearer),
    }
}

/// Returns a 403 if a page of a foreign origin sent the request.
fn require_own_page(state: &RestState, bearer: &Bearer, (uri, headers): (&Uri, &HeaderMap)) -> ApiResult<()> {
    let origin = headers.get(header::ORIGIN);
    let is = |allowed: &str| origin.is_some_and(|origin| origin == allowed);
    let public = Url::parse(&state.public_url).map(|url| url.origin().ascii_serialization());
    let (own, allowed) = match &bearer.origin {
        Some(own) => (own.clone(), is(own)),
        None => {
            let public = public.unwrap_or_default();
            let entrance = state.site.entrance(uri, headers);
            let listed = state.live.origins.iter().any(|listed| listed == "*" || is(listed));
            let is_own = is(&public) || entrance.is_some_and(|entrance| is(entrance.origin()));
            (public, origin.is_none() || listed || is_own)
        }
    };
    match allowed {
        true => Ok(()),
        false => Err(ApiError::Forbidden(format!(
            "a page of another origin must not open this WebSocket: its `Origin` must be {own}, or with an API key's ticket \
             one of RINGBACK_CORS_ORIGINS"
        ))),
    }
}
