//! Events of accounts in memory. Each is published when it is created, since writes do not run concurrently.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::{MemoryStore, tables::Tables};
use domain::{
    deliveries::{DeliveryKind, WantedDelivery, endpoint_lane},
    id::{AccountEventId, AccountId, AttemptId, CampaignId},
    phone_number::PhoneNumber,
    ports::store::{
        AccountEvent, AccountEventStore, AccountEventType, CallForEvent, CampaignStatus, EventSignalling, EventSignals,
        StateChange, StoreResult,
    },
    time::Timestamp,
};

/// Events in their order, with their accounts.
#[derive(Default)]
pub(super) struct Feed {
    events: Vec<(AccountId, AccountEvent)>,
    last_place: i64,
    /// Number of events whose deliveries were created.
    delivered: usize,
    signals: Arc<EventSignals>,
}

/// Returns the members of the data of a campaign's change.
fn campaign_change(before: CampaignStatus, now: CampaignStatus, reason: Option<&str>) -> Map<String, Value> {
    let mut detail = Map::from_iter([
        ("status".to_owned(), json!(now.as_str())),
        ("previousStatus".to_owned(), json!(before.as_str())),
    ]);
    if let Some(reason) = reason {
        detail.insert("reason".into(), json!(reason));
    }
    detail
}

impl Tables {
    /// Stores an event of a call; does nothing if the call has one of this type already.
    pub(super) fn tell_of_call(&mut self, call: AttemptId, event_type: AccountEventType, now: Timestamp) {
        let is_test = self.tests.contains_key(&call);
        if let Some(account) = self.attempts.get(&call).map(|entry| entry.account).filter(|_| !is_test) {
            self.tell(account, event_type, (None, Some(call)), Map::new(), now);
        }
    }

    /// Stores the event of a created campaign, or of its change if the status changes.
    pub(super) fn tell_of_campaign(&mut self, id: CampaignId, change: Option<&StateChange>, now: Timestamp) {
        let Some(row) = self.campaigns.get(&id).map(|entry| &entry.row) else {
            return;
        };
        let (account, before) = (row.account, row.status);
        let (status, detail) = match change {
            None => (before, Map::from_iter([("status".to_owned(), json!(before.as_str()))])),
            Some(change) if change.status == before => return,
            Some(change) => {
                let detail = campaign_change(before, change.status, change.reason.as_deref());
                (change.status, detail)
            }
        };
        let event_type = AccountEventType::of_campaign(status);
        self.tell(account, event_type, (Some(id), None), detail, now);
    }

    pub(super) fn tell_of_opt_out(
        &mut self,
        account: AccountId,
        number: &PhoneNumber,
        by: Option<AttemptId>,
        now: Timestamp,
    ) {
        let mut saved = self.contacts.values();
        let saved = saved.find(|row| row.account == account && row.phone_number == *number);
        let detail = saved
            .map(|row| ("contactId".to_owned(), json!(row.id)))
            .into_iter()
            .collect();
        let of_account = |call: &AttemptId| self.attempts.get(call).is_some_and(|entry| entry.account == account);
        let by = by.filter(of_account);
        self.tell(account, AccountEventType::ContactOptedOut, (None, by), detail, now);
    }

    fn tell(
        &mut self,
        account: AccountId,
        event_type: AccountEventType,
        (campaign, attempt): (Option<CampaignId>, Option<AttemptId>),
        detail: Map<String, Value>,
        now: Timestamp,
    ) {
        let mut known = self.feed.events.iter().map(|(_, event)| event);
        if attempt.is_some() && known.any(|event| event.attempt == attempt && event.event_type == event_type) {
            return;
        }
        let call = attempt.and_then(|id| self.attempts.get(&id));
        let campaign = campaign.or(call.and_then(|entry| entry.campaign));
        let of_campaign = campaign
            .and_then(|id| self.campaigns.get(&id))
            .map(|entry| entry.row.agent);
        let agent = call.map(|entry| entry.agent).or(of_campaign);
        self.feed.last_place += 1;
        let event = AccountEvent {
            id: AccountEventId::new(),
            place: self.feed.last_place,
            event_type,
            campaign,
            agent,
            attempt,
            detail,
            created_at: now,
        };
        self.feed.signals.wrote();
        self.feed.signals.publish(account, event.place);
        self.feed.events.push((account, event));
    }

    /// Returns an event with the facts of its call.
    pub(super) fn account_event(&self, id: AccountEventId) -> Option<AccountEvent> {
        let (_, event) = self.feed.events.iter().find(|(_, event)| event.id == id)?;
        Some(self.told(event))
    }

    fn told(&self, event: &AccountEvent) -> AccountEvent {
        let mut event = event.clone();
        let of_call = event.event_type != AccountEventType::ContactOptedOut;
        let call = event.attempt.filter(|_| of_call).and_then(|id| self.attempts.get(&id));
        if let Some(entry) = call {
            let answered = entry.ended_at.zip(entry.answered_at);
            let facts = CallForEvent {
                direction: entry.direction,
                callee: self.callee_of(entry),
                status: entry.conversation_status(),
                duration_s: answered.map_or(0, |(ended, answered)| (ended.0 - answered.0) / 1_000_000),
                error: entry.error.clone(),
                voicemail: entry.voicemail,
                transferred: entry.transferred,
            };
            event.detail.extend(facts.detail(event.event_type));
        }
        event
    }

    /// Also removes the deliveries.
    pub(super) fn erase_events(&mut self, call: AttemptId) {
        self.remove_events(|event| event.attempt == Some(call));
    }

    fn remove_events(&mut self, which: impl Fn(&AccountEvent) -> bool) -> usize {
        let events = self.feed.events.len();
        let undelivered = self.feed.events.split_off(self.feed.delivered);
        self.feed.events.retain(|(_, event)| !which(event));
        self.feed.delivered = self.feed.events.len();
        self.feed
            .events
            .extend(undelivered.into_iter().filter(|(_, event)| !which(event)));
        let kept: Vec<AccountEventId> = self.feed.events.iter().map(|(_, event)| event.id).collect();
        let deliveries = &mut self.outbox.deliveries;
        deliveries.retain(|_, entry| entry.event.is_none_or(|event| kept.contains(&event)));
        events - self.feed.events.len()
    }
}

impl EventSignalling for MemoryStore {
    fn event_signals(&self) -> Arc<EventSignals> {
        Arc::clone(&self.locked().feed.signals)
    }
}

#[async_trait]
impl AccountEventStore for MemoryStore {
    async fn publish_events(&self, limit: i64) -> StoreResult<usize> {
        let mut tables = self.open()?;
        let now = self.now();
        let new = tables.feed.events.iter().skip(tables.feed.delivered);
        let new: Vec<_> = new.take(usize::try_from(limit).unwrap_or(0)).cloned().collect();
        for (account, event) in &new {
            let wanted: Vec<WantedDelivery> = tables
                .webhooks
                .values()
                .filter(|entry| entry.row.account == *account && entry.wants(event.event_type, event.created_at))
                .map(|entry| &entry.row)
                .map(|row| WantedDelivery {
                    kind: DeliveryKind::Event,
                    target: row.id.to_string(),
                    lane: endpoint_lane(*account, row.id),
                })
                .collect();
            for wanted in wanted {
                let id = tables.outbox.add(*account, wanted, now);
                if let Some(entry) = tables.outbox.deliveries.get_mut(&id) {
                    entry.event = Some(event.id);
                }
            }
        }
        tables.feed.delivered += new.len();
        Ok(new.len())
    }

    async fn last_event_place(&self, account: AccountId) -> StoreResult<i64> {
        let tables = self.open()?;
        let mut latest = tables.feed.events.iter().rev();
        let last = latest.find(|(owner, _)| *owner == account);
        Ok(last.map_or(0, |(_, event)| event.place))
    }

    async fn events_after(&self, account: AccountId, place: i64, limit: i64) -> StoreResult<Vec<AccountEvent>> {
        let tables = self.open()?;
        let own = tables.feed.events.iter();
        let later = own.filter(|(owner, event)| *owner == account && event.place > place);
        let later = later.take(usize::try_from(limit).unwrap_or(0));
        Ok(later.map(|(_, event)| tables.told(event)).collect())
    }

    async fn forget_events(&self, made_before: Timestamp, limit: i64) -> StoreResult<usize> {
        let mut tables = self.open()?;
        let oldest = tables.feed.events.iter().take(usize::try_from(limit).unwrap_or(0));
        let old: Vec<AccountEventId> = oldest
            .filter(|(_, event)| event.created_at < made_before)
            .map(|(_, event)| event.id)
            .collect();
        let tests = tables.outbox.deliveries.len();
        tables.outbox.deliveries.retain(|_, entry| {
            let test = entry.delivery.kind == DeliveryKind::Event && entry.event.is_none();
            !test || entry.delivery.created_at >= made_before
        });
        let tests = tests - tables.outbox.deliveries.len();
        Ok(tests + tables.remove_events(|event| old.contains(&event.id)))
    }
}
