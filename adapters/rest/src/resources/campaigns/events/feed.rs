//! The event feed of one reader. Rows are read when the reader can accept more, so that a slow reader gets
//! the latest values and nothing waits for it in memory.
//!
//! The feed reads rows instead of the node's live events. Those contain turns and events of calls, but no
//! changes of campaigns, no outcomes and nothing from other nodes, and may be missed. A read costs one row by
//! key and a short index range.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use axum::response::sse::Event;
use domain::{
    id::{AccountId, AttemptId, CampaignId},
    ports::store::{CampaignRow, ChangedConversation, ConversationStatus, Store, StoreError, StoreResult},
    time::Timestamp,
};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::{
    caller::{self, Credential},
    limits::concurrency_limit::ConcurrencySlot,
    response::error::ApiError,
    sse::{self, Looks, Source},
    state::RestState,
};

/// Shortest interval of reads. Any event of the account may be one of the campaign.
const LEAST: Duration = Duration::from_millis(250);
/// Maximum conversations shown to a new reader in addition to those in progress.
const NEWEST: i64 = 1_000;
/// Conversations per read.
const PAGE: i64 = 500;
/// Changes become visible later than their timestamp, by up to the length of a transaction (5 s). Their
/// timestamp may come from a node whose clock is 5 s slow while another's is 5 s fast. So each read starts at
/// the feed's position this long ago.
const LOOK_BACK: Duration = Duration::from_secs(20);
/// Changes of that period that are remembered to avoid duplicates. If there are more, some are sent twice.
const REMEMBERED: usize = 20_000;
/// Maximum share of time for counting all contacts of a campaign (1 in …).
const PROGRESS_SHARE: u32 = 20;
/// Contacts also change without a conversation, for example when a claim is returned.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// A position in the order of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(Timestamp, AttemptId);

impl Place {
    const START: Self = Self(Timestamp(0), AttemptId::FIRST);

    /// Parses an event id.
    pub fn parse(text: &str) -> Option<Self> {
        let (at, id) = text.split_once('.')?;
        Some(Self(Timestamp(at.parse().ok()?), id.parse().ok()?))
    }

    /// Returns the position this much earlier.
    fn before(self, by: Duration) -> Self {
        let us = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        Self(Timestamp(self.0.0.saturating_sub(us)), AttemptId::FIRST)
    }
}

/// The next step of a feed.
enum Step {
    /// Send the current state to a new reader.
    Begin,
    /// Send the changes after this position.
    Changes { from: Place, row: Box<CampaignRow> },
    /// Wait for the next read.
    Wait,
    /// End the stream.
    End,
}

/// State of one reader's feed.
pub struct Feed {
    store: Arc<dyn Store>,
    looks: Looks,
    account: AccountId,
    campaign: CampaignId,
    credential: Credential,
    step: Step,
    /// Whether the reader has a state to continue from.
    begun: bool,
    /// Last change that was sent.
    place: Place,
    /// Positions at earlier reads: those at most [`LOOK_BACK`] ago, and one older.
    trail: VecDeque<(Instant, Place)>,
    /// Sent changes that may be read again.
    sent: HashMap<AttemptId, (Timestamp, ConversationStatus)>,
    progress: Pace,
    /// Campaign event that was sent last, and the row's version at that time.
    shown: (Value, i64),
    _slot: ConcurrencySlot,
}

/// When the contacts may be counted again, and when they must.
struct Pace {
    wanted: bool,
    not_before: Instant,
    at_last: Instant,
}

impl Feed {
    /// Creates a feed that starts after `resumed`, or with the current state.
    pub fn new(
        state: &RestState,
        row: &CampaignRow,
        credential: Credential,
        resumed: Option<Place>,
        slot: ConcurrencySlot,
    ) -> Self {
        let now = Instant::now();
        let place = resumed.map_or(Place::START, |place| place.before(LOOK_BACK));
        Self {
            store: Arc::clone(&state.store),
            looks: Looks::new(&*state.store, row.account, state.stopping.clone(), LEAST),
            account: row.account,
            campaign: row.id,
            credential,
            step: match resumed {
                None => Step::Begin,
                Some(_) => Step::Changes {
                    from: place,
                    row: Box::new(row.clone()),
                },
            },
            begun: resumed.is_some(),
            place,
            trail: VecDeque::new(),
            sent: HashMap::new(),
            progress: Pace {
                wanted: true,
                not_before: now,
                at_last: now,
            },
            shown: (Value::Null, row.version),
            _slot: slot,
        }
    }

    async fn step(&mut self, events: &mut Vec<Event>) -> StoreResult<()> {
        match std::mem::replace(&mut self.step, Step::Wait) {
            Step::Begin => self.begin(events).await,
            Step::Changes { from, row } => self.changes(from, row, events).await,
            Step::Wait => self.look_later().await,
            Step::End => {
                self.step = Step::End;
                Ok(())
            }
        }
    }

    /// Sends the campaign first, then its conversations.
    async fn begin(&mut self, events: &mut Vec<Event>) -> StoreResult<()> {
        let row = self.store.campaign(self.account, self.campaign).await?;
        let latest = self.store.latest_conversations(self.campaign, NEWEST).await?;
        self.place = latest
            .last()
            .map_or(Place::START, |last| Place(last.changed_at, last.id));
        self.show_campaign(&row, events).await?;
        for change in &latest {
            self.show(change, events);
        }
        self.trail.push_back((Instant::now(), self.place.before(LOOK_BACK)));
        self.begun = true;
        Ok(())
    }

    async fn changes(&mut self, from: Place, row: Box<CampaignRow>, events: &mut Vec<Event>) -> StoreResult<()> {
        let page = self
            .store
            .changed_conversations(self.campaign, from.0, from.1, PAGE)
            .await?;
        for change in &page {
            self.show(change, events);
        }
        if let Some(last) = page.last().filter(|_| page.len() as i64 == PAGE) {
            let from = Place(last.changed_at, last.id);
            self.step = Step::Changes { from, row };
            return Ok(());
        }
        self.trail.push_back((Instant::now(), self.place));
        // The row was read before the changes: if it says that all is over, all outcomes are among them.
        self.show_campaign(&row, events).await
    }

    /// Waits for the next read and starts it. When the service ends, it is the last one.
    async fn look_later(&mut self) -> StoreResult<()> {
        if self.looks.is_stopping() {
            self.step = Step::End;
            return Ok(());
        }
        self.looks.next().await;
        match caller::account_of(&*self.store, &self.credential).await {
            Ok(_) => {}
            // The key was replaced or the session has ended meanwhile.
            Err(ApiError::Unauthorized(_)) => {
                self.step = Step::End;
                return Ok(());
            }
            Err(_) => return Ok(()),
        }
        if !self.begun {
            self.step = Step::Begin;
            return Ok(());
        }
        let row = Box::new(self.store.campaign(self.account, self.campaign).await?);
        let from = self.look_back();
        self.step = Step::Changes { from, row };
        Ok(())
    }

    /// Returns the position at which this read starts.
    fn look_back(&mut self) -> Place {
        let now = Instant::now();
        while self
            .trail
            .get(1)
            .is_some_and(|(at, _)| now.duration_since(*at) >= LOOK_BACK)
        {
            self.trail.pop_front();
        }
        let from = self.trail.front().map_or(self.place, |(_, place)| *place);
        if self.sent.len() > REMEMBERED {
            self.trail.clear();
            self.sent.clear();
            return self.place;
        }
        self.sent.retain(|_, (at, _)| *at >= from.0);
        from
    }

    fn show(&mut self, change: &ChangedConversation, events: &mut Vec<Event>) {
        let now = (change.changed_at, change.status);
        self.place = self.place.max(Place(change.changed_at, change.id));
        if self.sent.insert(change.id, now) == Some(now) {
            return;
        }
        self.progress.wanted = true;
        let mut contact = Map::new();
        contact.insert("phoneNumber".into(), json!(change.who.phone_number));
        if let Some(name) = &change.who.name {
            contact.insert("name".into(), json!(name));
        }
        contact.insert("contactId".into(), json!(change.who.contact));
        let data = json!({
            "conversationId": change.id,
            "contact": contact,
            "contactName": change.callee.contact_name,
            "variables": change.callee.variables,
            "status": change.status.as_str(),
        });
        self.event("conversation", &data, events);
    }

    async fn show_campaign(&mut self, row: &CampaignRow, events: &mut Vec<Event>) -> StoreResult<()> {
        let started = Instant::now();
        let pace = &self.progress;
        let changed = row.version != self.shown.1 || self.shown.0.is_null();
        let wanted = pace.wanted || started.duration_since(pace.at_last) >= PROGRESS_EVERY;
        let may = wanted && started >= pace.not_before;
        if !changed && !may {
            return Ok(());
        }
        let progress = self.store.progress(row.id).await?;
        let now = Instant::now();
        self.progress = Pace {
            wanted: false,
            not_before: now + now.duration_since(started) * PROGRESS_SHARE,
            at_last: now,
        };
        let data = campaign(row, &json!(progress));
        if data != self.shown.0 {
            self.event("campaign", &data, events);
        }
        self.shown = (data, row.version);
        Ok(())
    }

    fn event(&self, name: &str, data: &Value, events: &mut Vec<Event>) {
        let Place(at, id) = self.place;
        events.push(sse::event(name, &format!("{}.{id}", at.0), data));
    }
}

impl Source for Feed {
    async fn advance(&mut self, events: &mut Vec<Event>) -> bool {
        match self.step(events).await {
            Ok(()) => {}
            // The campaign was deleted. A client that reconnects gets an error.
            Err(StoreError::NotFound) => self.step = Step::End,
            Err(error) => {
                tracing::debug!(campaign = %self.campaign, %error, "store unavailable for event stream");
                self.step = Step::Wait;
            }
        }
        !matches!(self.step, Step::End)
    }
}

fn campaign(row: &CampaignRow, progress: &Value) -> Value {
    let mut data = json!({
        "campaignId": row.id,
        "status": row.status.as_str(),
        "active": row.active,
        "scheduled": row.scheduled,
        "nextRunAt": row.next_run_at.map(Timestamp::to_iso8601),
        "startIndex": row.start_index,
        "contactCount": row.contact_count,
        "progress": progress,
    });
    if let Some(reason) = &row.reason {
        data["reason"] = json!(reason);
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_events_id_reads_back_and_nothing_else_does() {
        let place = Place(Timestamp(-7), AttemptId::new());
        assert_eq!(Place::parse(&format!("{}.{}", place.0.0, place.1)), Some(place));
        for bad in ["", ".", "1", "x.y", &format!("1.{}x", place.1)] {
            assert_eq!(Place::parse(bad), None, "{bad}");
        }
    }
}
