//! `GET /public/v1/events`: events of the account, as server-sent events.
//!
//! All readers with one key or session share a task that reads the database and sends new events to a bounded channel.
//! It reads when this node publishes events of the account, and every second for those of other nodes. A reader
//! that resumes, or is too slow for the channel, reads the store itself until it has caught up.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::State,
    http::HeaderMap,
    response::{Response, sse::Event},
};
use domain::{
    id::{AccountId, AgentId, CampaignId},
    ports::store::{AccountEvent, AccountEventType, Store, StoreError, StoreResult, TypePattern},
};
use tokio::{
    sync::{
        Semaphore,
        broadcast::{
            self,
            error::{RecvError, TryRecvError},
        },
        watch,
    },
    time::{sleep, timeout},
};

use crate::{
    caller::{Caller, Credential},
    limits::concurrency_limit::ConcurrencySlot,
    request::query::{Parameters, Query, RawQuery},
    response::error::{ApiError, ApiResult},
    sse::{self, HEARTBEAT, Looks, Source},
    state::{
        RestState,
        account_events::{LEAST, PAGE, Poll, Position, Shown},
    },
};

/// Pause of a catching-up reader after an error of the store.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// Pause after a page in which nothing was wanted, so that filters over a long history leave room for others.
const PAUSE: Duration = Duration::from_millis(50);
/// Wait of a reader after it was woken, for each reader on this node. It spreads a crowd of readers out, with the requests
/// that they make then, so that they hold up no call together.
const SPREAD: Duration = Duration::from_millis(4);
/// Longest such wait.
const MOST_SPREAD: Duration = Duration::from_secs(1);

/// Query parameters of the stream.
#[derive(Debug, Clone)]
pub struct Filter {
    campaign: Option<CampaignId>,
    agent: Option<AgentId>,
    types: Vec<TypePattern>,
}

impl Parameters for Filter {
    const NAMES: &'static [&'static str] = &["campaignId", "agentId", "type"];

    fn read(query: &mut RawQuery) -> Self {
        Self {
            campaign: query.parsed("campaignId", "an id", |text| text.parse().ok()),
            agent: query.parsed("agentId", "an id", |text| text.parse().ok()),
            types: query
                .parsed("type", &format!("a list of {}", choices()), |text| {
                    text.split(',').map(TypePattern::parse).collect()
                })
                .unwrap_or_default(),
        }
    }
}

/// Returns the list of types for messages.
pub fn choices() -> String {
    let types = AccountEventType::ALL.map(AccountEventType::as_str);
    format!("{}, a group such as `call.*`, or `*`", types.join(", "))
}

impl Filter {
    fn wants(&self, event: &AccountEvent) -> bool {
        let of_type = self.types.is_empty() || self.types.iter().any(|types| types.matches(event.event_type));
        of_type
            && self.campaign.is_none_or(|campaign| event.campaign == Some(campaign))
            && self.agent.is_none_or(|agent| event.agent == Some(agent))
    }
}

/// Feed of one reader.
struct Feed {
    store: Arc<dyn Store>,
    stopping: watch::Receiver<bool>,
    account: AccountId,
    filter: Filter,
    /// Place of the last event that was sent or passed over.
    place: i64,
    /// Whether events after `place` may be missing in the channel.
    behind: bool,
    turns: Arc<Semaphore>,
    events: broadcast::Receiver<Arc<Shown>>,
    slot: ConcurrencySlot,
    /// Place among all readers, from 0 to 1.
    place_in_crowd: f64,
}

/// Handles the request. A disconnected client sends its last event in `Last-Event-ID` and gets all later ones.
pub async fn stream(
    State(state): State<RestState>,
    Caller(account): Caller,
    credential: Credential,
    Query(filter): Query<Filter>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let store = &state.store;
    if let Some(campaign) = filter.campaign {
        known("campaignId", store.campaign(account.id, campaign).await)?;
    }
    if let Some(agent) = filter.agent {
        known("agentId", store.agent(account.id, agent).await)?;
    }
    let slot = sse::slot(&state.account_events.limit, account.id)?;
    let last = sse::last_event_id(&headers).map(Position::parse).transpose()?;
    let looks = Looks::new(&**store, account.id, state.stopping.clone(), LEAST);
    let now = store.last_event_place(account.id).await?;
    // The last events may have been erased meanwhile.
    let place = last.map_or(now, |last| last.0.min(now));
    // The feed listens before it reads for the first time, so that no event falls between the two.
    let events = state.account_events.listen(Poll {
        store: Arc::clone(store),
        looks,
        credential,
        account: account.id,
        place: now,
    });
    Ok(sse::response(Feed {
        store: Arc::clone(store),
        stopping: state.stopping.clone(),
        account: account.id,
        filter,
        place,
        behind: true,
        turns: Arc::clone(&state.account_events.turns),
        events,
        slot,
        place_in_crowd: rand::random(),
    }))
}

/// Requires that a filter names something in this account. Otherwise the stream would stay empty forever.
fn known<T>(filter: &str, found: StoreResult<T>) -> ApiResult<()> {
    match found {
        Err(StoreError::NotFound) => {
            let message = "there is nothing with this id in this account";
            Err(ApiError::field(filter, "not_found", message))
        }
        found => Ok(found.map(drop)?),
    }
}

impl Source for Feed {
    async fn advance(&mut self, events: &mut Vec<Event>) -> bool {
        if self.behind {
            return self.catch_up(events).await;
        }
        match timeout(HEARTBEAT, self.events.recv()).await {
            Ok(Ok(event)) => {
                sleep(self.spread()).await;
                self.show(&event, events);
            }
            Ok(Err(RecvError::Closed)) => return false,
            Ok(Err(RecvError::Lagged(_))) => {
                self.behind = true;
                return true;
            }
            Err(_) => return true,
        }
        loop {
            match self.events.try_recv() {
                Ok(event) => self.show(&event, events),
                Err(TryRecvError::Lagged(_)) => {
                    self.behind = true;
                    return true;
                }
                Err(TryRecvError::Empty | TryRecvError::Closed) => return true,
            }
        }
    }
}

impl Feed {
    /// Sends a page of the store's events when it is this reader's turn. A client whose stream ends meanwhile resumes
    /// after it.
    async fn catch_up(&mut self, events: &mut Vec<Event>) -> bool {
        let read = async {
            let _turn = self.turns.acquire().await;
            self.store.events_after(self.account, self.place, PAGE).await
        };
        let Ok(page) = timeout(HEARTBEAT, read).await else {
            return true;
        };
        match page {
            Ok(page) => {
                self.behind = page.len() as i64 == PAGE;
                for event in page {
                    self.show(&Shown::new(event), events);
                }
                if self.behind && events.is_empty() {
                    sleep(PAUSE).await;
                }
            }
            Err(error) => {
                tracing::debug!(account = %self.account, %error, "store unavailable for event stream");
                sleep(TRY_AGAIN).await;
            }
        }
        !(self.behind && (*self.stopping.borrow() || self.events.is_closed()))
    }

    /// Returns how long this reader waits once it is woken: the longer, the more readers there are.
    fn spread(&self) -> Duration {
        let readers = u32::try_from(self.slot.taken_in_all().saturating_sub(1)).unwrap_or(u32::MAX);
        let all = SPREAD.saturating_mul(readers).min(MOST_SPREAD);
        all.mul_f64(self.place_in_crowd)
    }

    fn show(&mut self, shown: &Shown, events: &mut Vec<Event>) {
        if shown.event.place <= self.place {
            return;
        }
        self.place = shown.event.place;
        if self.filter.wants(&shown.event) {
            events.push(shown.sent.clone());
        }
    }
}
