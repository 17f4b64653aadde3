//! Conversations: the results of attempts.

pub mod delete;
pub mod end;
pub mod events;
pub mod export;
pub mod filters;
pub mod live;
pub mod peaks;
pub mod recording;
pub mod turns;

use axum::{
    Router,
    extract::{Request, State},
    http::header,
    middleware::Next,
    response::Response,
    routing::{get, post},
};
use domain::{
    conversation::{self, Conversation},
    id::AttemptId,
    ports::store::{Account, ConversationRow},
};
use filters::ListParameters;
use peers::Peers;

use crate::{
    caller::Caller,
    request::{
        cursor::Binding,
        path_id::PathId,
        query::{Parameters, Query, RawQuery},
    },
    response::{
        envelope::{Enveloped, Reply},
        error::{ApiError, ApiResult, OrNoSuch},
    },
    state::RestState,
};

/// Builds the routes that only the node which holds the call can answer, for clients with a key or session.
pub fn routes_at_the_holder() -> Router<RestState> {
    Router::new()
        .route(
            "/public/v1/conversations/{conversationId}/live",
            get(live::watch::stream),
        )
        .route(
            "/public/v1/conversations/{conversationId}/live-tickets",
            post(live::tickets::create),
        )
        .route(
            "/public/v1/conversations/{conversationId}/text",
            post(live::text::write),
        )
}

/// Builds the routes of WebSockets to live calls, which need a ticket and no key.
pub fn sockets() -> Router<RestState> {
    Router::new()
        .route(
            "/public/v1/conversations/{conversationId}/listen",
            get(live::listen::listen),
        )
        .route(
            "/public/v1/conversations/{conversationId}/operate",
            get(live::operate::operate),
        )
}

/// Passes a request on to the node that holds its call.
pub async fn to_the_holder(peers: State<Peers>, request: Request, next: Next) -> Response {
    let mut response = peers::layer::to_the_holder(peers, request, next).await;
    // Another node's response, and a refusal to pass a request on, have their envelope; the framework's own refusals
    // are empty or plain text.
    let kind = response.headers().get(header::CONTENT_TYPE);
    if kind.is_some_and(|kind| kind == "application/json") {
        response.extensions_mut().insert(Enveloped);
    }
    response
}

/// Handles `GET /public/v1/conversations`.
pub async fn list(
    State(state): State<RestState>,
    Caller(account): Caller,
    Query(ListParameters {
        wanted,
        cursor,
        page_size,
        with_total,
    }): Query<ListParameters>,
) -> ApiResult<Reply> {
    let binding = Binding::new(account.id, "conversations", format!("{wanted:?}"));
    let after = binding.after(cursor.as_deref())?;
    let query = wanted.filter.search.clone();
    let wanted = wanted.resolved(&state, account.id).await?;
    let mut page = wanted.page(&state, account.id, (after, page_size + 1)).await?;
    let size = usize::try_from(page_size).unwrap_or_default();
    let more = page.rows.len() > size;
    page.rows.truncate(size);
    let last = page.rows.last().filter(|_| more).and_then(|row| wanted.place(row));
    let last = last.or(page.reached).map(|(key, id)| (key, id.to_string()));
    let mut items = Vec::with_capacity(page.rows.len());
    for row in &page.rows {
        let mut item = conversation::item(row, &account).priced(row, state.prices.as_deref());
        if let Some(query) = &query {
            let turns = state.store.turns(row.id).await?;
            let (query, callee) = (query.clone(), row.callee.text());
            // The words of a call of hours take long.
            let places = tokio::task::spawn_blocking(move || query.places(&callee, &turns)).await;
            item.matches = Some(places.map_err(|_| ApiError::Internal)?);
        }
        items.push(item);
    }
    let mut pagination = binding.pagination(page_size, last);
    if with_total {
        let total = wanted.total(&state, account.id).await?;
        pagination.total = total.map(|(total, _)| total);
        pagination.total_is_at_least = total.is_some_and(|(_, is_all)| !is_all);
    }
    Ok(Reply::page(items, pagination))
}

/// Parameters of a single conversation.
#[derive(Debug, Clone, Copy)]
pub struct ShowParameters {
    with_turns: bool,
}

impl Parameters for ShowParameters {
    const NAMES: &'static [&'static str] = &["include"];

    fn read(query: &mut RawQuery) -> Self {
        let turns = query.parsed("include", "`turns`", |text| (text == "turns").then_some(()));
        Self {
            with_turns: turns.is_some(),
        }
    }
}

/// Handles `GET /public/v1/conversations/{conversationId}`.
pub async fn show(
    State(state): State<RestState>,
    Caller(account): Caller,
    PathId(id): PathId<AttemptId>,
    Query(ShowParameters { with_turns }): Query<ShowParameters>,
) -> ApiResult<Reply> {
    let row = state
        .store
        .conversation(account.id, id)
        .await
        .or_no_such("conversation")?;
    let mut shown = detail_of(&state, &account, &row).await?;
    if with_turns {
        let facts = state.store.turns(id).await?;
        shown.turns = Some(conversation::turns(&*state.store, id, facts).await?);
    }
    Ok(Reply::ok(shown))
}

/// Returns the full view of a conversation.
async fn detail_of(state: &RestState, account: &Account, row: &ConversationRow) -> ApiResult<Conversation> {
    let shown = conversation::in_full(&*state.store, account, row).await?;
    Ok(shown.priced(row, state.prices.as_deref()))
}
