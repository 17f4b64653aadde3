//! Access to live calls: tickets for WebSockets, listeners, and texts in their order.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use domain::{
    id::{AccountId, AttemptId},
    secret_token::{SecretToken, TokenHash},
};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use utoipa::ToSchema;

use crate::{
    caller::Credential,
    limits::concurrency_limit::{ConcurrencyLimit, ConcurrencySlot},
    response::error::{ApiError, ApiResult},
    state::text_queue::TextQueues,
};

/// Time for which a ticket is valid.
pub(crate) const LASTS: Duration = Duration::from_secs(30);

/// Maximum unused tickets of a call.
pub(crate) const MOST_OF_A_CALL: usize = 50;

/// Purpose of a ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TicketPurpose {
    /// Hear the call.
    Listen,
    /// Take the call over.
    Operate,
}

impl TicketPurpose {
    /// Returns its word in the API, which is also the last part of the WebSocket's path.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Listen => "listen",
            Self::Operate => "operate",
        }
    }
}

/// Client that got a ticket.
#[derive(Debug, Clone)]
pub struct Bearer {
    /// Account of the call.
    pub account: AccountId,
    /// Name of its key or session.
    pub by: String,
    /// The key or session itself.
    pub(crate) credential: Credential,
    /// Origin of the page with the session's cookie. Only that page may use the ticket.
    pub(crate) origin: Option<String>,
}

/// A ticket that was not used yet.
struct Unused {
    hash: TokenHash,
    purpose: TicketPurpose,
    until: Instant,
    bearer: Bearer,
}

/// Shared state of WebSockets and texts to live calls.
#[derive(Clone)]
pub struct LiveAccess {
    tickets: Arc<Mutex<HashMap<AttemptId, Vec<Unused>>>>,
    listeners: ConcurrencyLimit,
    texts: TextQueues,
    /// Origins whose pages may open a WebSocket with a key's ticket; `*` allows all.
    pub(crate) origins: Arc<[String]>,
}

impl LiveAccess {
    /// Creates an access without tickets, for at most `listeners` listeners at once, of which an account may have half,
    /// rounded up. Pages of `origins` may listen too.
    pub fn new(listeners: usize, origins: &[String]) -> Self {
        Self {
            tickets: Arc::default(),
            listeners: ConcurrencyLimit::new(listeners.div_ceil(2), listeners),
            texts: TextQueues::default(),
            origins: origins.into(),
        }
    }

    /// Takes a place of a listener for an account. Returns a 503 if there is none.
    pub fn listener(&self, account: AccountId) -> ApiResult<ConcurrencySlot> {
        self.listeners.take(account).ok_or_else(|| {
            let message = match self.listeners.is_account_full(account) {
                true => {
                    "this account has as many listeners at this node as an account may: half of \
                     RINGBACK_MAX_LISTENERS; close one, or try again later"
                }
                false => "this node has as many listeners as RINGBACK_MAX_LISTENERS allows; try again later",
            };
            ApiError::Unavailable(message.into())
        })
    }

    /// Returns the queues of texts.
    pub fn texts(&self) -> &TextQueues {
        &self.texts
    }

    /// Makes a ticket. Returns none if too many of the call wait.
    pub(crate) fn issue(&self, call: AttemptId, purpose: TicketPurpose, bearer: Bearer) -> Option<SecretToken> {
        let now = Instant::now();
        let mut tickets = self.tickets.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.retain(|_, unused| {
            unused.retain(|ticket| ticket.until > now);
            !unused.is_empty()
        });
        let unused = tickets.entry(call).or_default();
        if unused.len() >= MOST_OF_A_CALL {
            return None;
        }
        let token = SecretToken::random();
        unused.push(Unused {
            hash: token.hash(),
            purpose,
            until: now + LASTS,
            bearer,
        });
        Some(token)
    }

    /// Uses a ticket up. Returns none if it is not valid.
    pub(crate) fn redeem(&self, call: AttemptId, purpose: TicketPurpose, ticket: &str) -> Option<Bearer> {
        let hash = SecretToken::parse(ticket)?.hash();
        let mut tickets = self.tickets.lock().unwrap_or_else(PoisonError::into_inner);
        let unused = tickets.get_mut(&call)?;
        let found = unused
            .iter()
            .position(|ticket| ticket.hash == hash && ticket.purpose == purpose)?;
        let ticket = unused.swap_remove(found);
        (ticket.until > Instant::now()).then_some(ticket.bearer)
    }
}
