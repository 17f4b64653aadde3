//! The outbox of deliveries in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::{
    MemoryStore,
    tables::{AttemptEntry, Tables},
};
use domain::{
    deliveries::{DeliveryKind, WantedDelivery, wanted},
    id::{AccountEventId, AccountId, AttemptId, DeliveryId},
    ports::store::{
        CampaignContact, DELIVERY_LEASE, Delivery, DeliveryRow, DeliveryState, DeliveryStore, DueLane, Settled, Sought,
        Standing, StoreError, StoreResult,
    },
    time::Timestamp,
};

/// A delivery and its state.
pub(super) struct DeliveryEntry {
    pub(super) delivery: Delivery,
    /// Event that it contains, if it goes to a webhook endpoint.
    pub(super) event: Option<AccountEventId>,
    pub(super) state: DeliveryState,
    pub(super) due_at: Timestamp,
    pub(super) last_error: Option<String>,
}

impl DeliveryEntry {
    /// Settles the delivery. Returns until when the whole lane must wait, if it must.
    fn settle(&mut self, settled: &Settled, now: Timestamp) -> Option<Timestamp> {
        let (state, error) = match settled {
            Settled::Delivered => (DeliveryState::Done, None),
            Settled::PutOff { error, .. } => (DeliveryState::Pending, Some(error)),
            Settled::GivenUp { error } | Settled::Gone { error, .. } => (DeliveryState::GivenUp, Some(error)),
        };
        self.state = state;
        self.delivery.failed += i64::from(error.is_some());
        self.last_error = error.cloned();
        let Settled::PutOff { pause, lane_too, .. } = settled else {
            return None;
        };
        // The lease ends too: a late renewal must not move the next try.
        self.delivery.lease += 1;
        self.due_at = now.plus(*pause);
        lane_too.then_some(self.due_at)
    }
}

#[derive(Default)]
struct LaneEntry {
    proven: bool,
    failures: i64,
    hold_until: Option<Timestamp>,
}

/// The tables of deliveries.
#[derive(Default)]
pub(super) struct Outbox {
    pub(super) deliveries: BTreeMap<DeliveryId, DeliveryEntry>,
    lanes: BTreeMap<String, LaneEntry>,
    gone: BTreeMap<(AccountId, String), Timestamp>,
}

impl Tables {
    /// Creates the deliveries that the agent of an ended call asks for now.
    pub(super) fn make_deliveries(&mut self, attempt: AttemptId, now: Timestamp) {
        if self.tests.contains_key(&attempt) {
            return;
        }
        let Some(entry) = self.attempts.get(&attempt) else {
            return;
        };
        let account = entry.account;
        let agent = self.agents.get(&entry.agent);
        let Some(agent) = agent.or_else(|| self.deleted_agents.get(&entry.agent)) else {
            return;
        };
        let saved_at = agent.updated_at;
        for wanted in wanted(account, &agent.document) {
            let gone_at = self.outbox.gone.get(&(account, wanted.target.clone()));
            let made = self.outbox.of(attempt).any(|own| own.delivery.kind == wanted.kind);
            if made || gone_at.is_some_and(|gone_at| *gone_at >= saved_at) {
                continue;
            }
            self.add_delivery((account, attempt), wanted, now);
        }
    }

    /// Adds one delivery unchanged.
    pub(super) fn add_delivery(&mut self, of: (AccountId, AttemptId), wanted: WantedDelivery, now: Timestamp) {
        let id = self.outbox.add(of.0, wanted, now);
        if let Some(entry) = self.outbox.deliveries.get_mut(&id) {
            entry.delivery.attempt = Some(of.1);
        }
    }

    /// Returns the person of a call, with the fields of the saved contact.
    pub(super) fn contact_in(&self, entry: &AttemptEntry) -> CampaignContact {
        let mut contact = self.person_of(entry);
        if !entry.words_kept {
            let (name, email, extra) = Default::default();
            return CampaignContact {
                name,
                email,
                extra,
                ..contact
            };
        }
        let saved = contact.contact.and_then(|id| self.contacts.get(&id));
        if let Some(saved) = saved {
            contact.name = contact.name.or_else(|| saved.name.clone());
            contact.email = contact.email.or_else(|| saved.email.clone());
            for (name, value) in &saved.extra {
                contact.extra.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        if let Some(kept) = &entry.callee {
            contact.name.clone_from(&kept.contact_name);
        }
        contact
    }

    fn person_of(&self, entry: &AttemptEntry) -> CampaignContact {
        let list = self.lists.get(&entry.contact_list);
        if let Some(place) = list.and_then(|list| list.contacts.get(entry.contact_index)) {
            return self.with_saved(entry.account, &place.contact);
        }
        match self.calls.get(&entry.id) {
            Some(call) => self.called(entry, call),
            None => self.caller(entry),
        }
    }
}

impl Outbox {
    pub(super) fn add(&mut self, account: AccountId, wanted: WantedDelivery, now: Timestamp) -> DeliveryId {
        self.lanes.entry(wanted.lane.clone()).or_default();
        let delivery = Delivery {
            id: DeliveryId::new(),
            account,
            attempt: None,
            kind: wanted.kind,
            target: wanted.target,
            lane: wanted.lane,
            failed: 0,
            lease: 0,
            created_at: now,
            reply: None,
        };
        let id = delivery.id;
        let entry = DeliveryEntry {
            event: None,
            state: DeliveryState::Pending,
            due_at: now,
            last_error: None,
            delivery,
        };
        self.deliveries.insert(id, entry);
        id
    }

    /// Ends the pause of a lane and forgets its failures; at a new address, its successes too.
    pub(super) fn release(&mut self, lane: &str, moved: bool) {
        if let Some(entry) = self.lanes.get_mut(lane) {
            entry.proven &= !moved;
            entry.failures = 0;
            entry.hold_until = None;
        }
    }

    /// Removes pending invitations to the appointments of a call.
    pub(super) fn drop_invitations(&mut self, attempt: AttemptId) {
        self.deliveries.retain(|_, entry| {
            let waits = entry.delivery.kind == DeliveryKind::Invitation && entry.state == DeliveryState::Pending;
            entry.delivery.attempt != Some(attempt) || !waits
        });
    }

    pub(super) fn remove(&mut self, attempt: AttemptId) {
        self.deliveries
            .retain(|_, entry| entry.delivery.attempt != Some(attempt));
    }

    fn of(&self, attempt: AttemptId) -> impl Iterator<Item = &DeliveryEntry> {
        let all = self.deliveries.values();
        all.filter(move |entry| entry.delivery.attempt == Some(attempt))
    }

    fn due(&self, now: Timestamp, sought: Sought) -> impl Iterator<Item = &DeliveryEntry> {
        let pending = self
            .deliveries
            .values()
            .filter(|entry| entry.state == DeliveryState::Pending);
        pending.filter(move |entry| entry.due_at <= now && entry.delivery.failed >= sought.least_failed())
    }

    fn held(&mut self, id: DeliveryId, lease: i64) -> Option<&mut DeliveryEntry> {
        let entry = self.deliveries.get_mut(&id)?;
        (entry.state == DeliveryState::Pending && entry.delivery.lease == lease).then_some(entry)
    }

    fn give_up_all(&mut self, delivery: &Delivery, error: &str, now: Timestamp) {
        self.gone.insert((delivery.account, delivery.target.clone()), now);
        let meant = self.deliveries.values_mut().filter(|entry| {
            entry.state == DeliveryState::Pending
                && entry.delivery.lane == delivery.lane
                && entry.delivery.target == delivery.target
        });
        for entry in meant {
            entry.state = DeliveryState::GivenUp;
            entry.last_error = Some(error.to_owned());
        }
    }
}

#[async_trait]
impl DeliveryStore for MemoryStore {
    async fn due_lanes(&self, sought: Sought, limit: i64) -> StoreResult<Vec<DueLane>> {
        let tables = self.open()?;
        let now = self.now();
        let mut waiting: BTreeMap<&str, Timestamp> = BTreeMap::new();
        for entry in tables.outbox.due(now, sought) {
            let due_at = waiting.entry(&entry.delivery.lane).or_insert(entry.due_at);
            *due_at = entry.due_at.min(*due_at);
        }
        let mut found = Vec::new();
        for (lane, due_at) in waiting {
            let entry = &tables.outbox.lanes[lane];
            let standing = Standing::of(entry.proven, entry.failures);
            let held_up = entry.hold_until.is_some_and(|until| until > now);
            if !held_up && (sought.failing_lanes || standing != Standing::Failing) {
                let lane = lane.to_owned();
                found.push((due_at, DueLane { lane, standing }));
            }
        }
        found.sort_by_key(|(due_at, _)| *due_at);
        found.truncate(usize::try_from(limit).unwrap_or(0));
        Ok(found.into_iter().map(|(_, lane)| lane).collect())
    }

    async fn lease_deliveries(&self, sought: Sought, lanes: &[(String, i64)]) -> StoreResult<Vec<Delivery>> {
        let mut tables = self.open()?;
        let now = self.now();
        let mut leased = Vec::new();
        for (lane, most) in lanes {
            let due = tables
                .outbox
                .due(now, sought)
                .filter(|entry| entry.delivery.lane == *lane);
            let mut due: Vec<_> = due.map(|entry| (entry.due_at, entry.delivery.id)).collect();
            due.sort_unstable();
            due.truncate(usize::try_from(*most).unwrap_or(0));
            for (_, id) in due {
                if let Some(entry) = tables.outbox.deliveries.get_mut(&id) {
                    entry.delivery.lease += 1;
                    entry.due_at = now.plus(DELIVERY_LEASE);
                    leased.push(entry.delivery.clone());
                }
            }
        }
        Ok(leased)
    }

    async fn renew_deliveries(&self, held: &[(DeliveryId, i64)]) -> StoreResult<()> {
        let mut tables = self.open()?;
        let until = self.now().plus(DELIVERY_LEASE);
        for (id, lease) in held {
            if let Some(entry) = tables.outbox.held(*id, *lease) {
                entry.due_at = until;
            }
        }
        Ok(())
    }

    async fn settle_delivery(&self, delivery: &Delivery, settled: Settled) -> StoreResult<()> {
        let mut tables = self.open()?;
        let now = self.now();
        let held = tables.outbox.held(delivery.id, delivery.lease);
        held.ok_or(StoreError::Fenced)?.delivery.reply = delivery.reply.clone();
        if let Settled::Gone { url, .. } = &settled
            && tables.is_repaired(delivery, url, now)
        {
            if let Some(entry) = tables.outbox.held(delivery.id, delivery.lease) {
                entry.delivery.lease += 1;
                entry.due_at = now;
            }
            return Ok(());
        }
        let entry = tables.outbox.held(delivery.id, delivery.lease);
        let hold_until = entry.and_then(|entry| entry.settle(&settled, now));
        if let Settled::Gone { error, .. } = &settled {
            tables.outbox.give_up_all(delivery, error, now);
        }
        let arrived = settled == Settled::Delivered;
        let lane = tables.outbox.lanes.entry(delivery.lane.clone()).or_default();
        lane.proven |= arrived;
        lane.failures = if arrived { 0 } else { lane.failures + 1 };
        lane.hold_until = hold_until.or(lane.hold_until);
        Ok(())
    }

    async fn deliveries_of(&self, attempt: AttemptId) -> StoreResult<Vec<DeliveryRow>> {
        let tables = self.open()?;
        let row = |entry: &DeliveryEntry| DeliveryRow {
            id: entry.delivery.id,
            kind: entry.delivery.kind,
            state: entry.state,
            failed: entry.delivery.failed,
            due_at: entry.due_at,
            last_error: entry.last_error.clone(),
        };
        Ok(tables.outbox.of(attempt).map(row).collect())
    }

    async fn forget_deliveries(&self, made_before: Timestamp, limit: i64) -> StoreResult<usize> {
        let mut tables = self.open()?;
        let after_calls = |entry: &DeliveryEntry| entry.delivery.kind != DeliveryKind::Event;
        let oldest = tables.outbox.deliveries.iter().filter(|(_, entry)| after_calls(entry));
        let oldest = oldest.take(usize::try_from(limit).unwrap_or(0));
        let over = oldest
            .filter(|(_, entry)| entry.state != DeliveryState::Pending && entry.delivery.created_at < made_before);
        let over: Vec<DeliveryId> = over.map(|(id, _)| *id).collect();
        for id in &over {
            tables.outbox.deliveries.remove(id);
        }
        Ok(over.len())
    }

    async fn contact_of(&self, attempt: AttemptId) -> StoreResult<CampaignContact> {
        let tables = self.open()?;
        let entry = tables.attempts.get(&attempt).ok_or(StoreError::NotFound)?;
        Ok(tables.contact_in(entry))
    }
}
