//! Webhook endpoints in memory.

use std::cmp::Reverse;

use async_trait::async_trait;

use super::{MemoryStore, deliveries::DeliveryEntry, tables::Tables};
use domain::{
    deliveries::{DeliveryKind, WantedDelivery, endpoint_lane},
    id::{AccountId, DeliveryId, WebhookId},
    ports::store::{
        AccountEventType, CREATED, DISABLED, Delivery, DeliveryState, KeyTicket, MAX_WEBHOOKS, RECENT_DELIVERIES,
        RecentDeliveries, SECRET_KEPT_US, StoreError, StoreResult, TypePattern, WebhookDelivery, WebhookEndpoint,
        WebhookMessage, WebhookRow, WebhookSecrets, WebhookStore,
    },
    time::Timestamp,
};

pub(super) struct WebhookEntry {
    pub(super) row: WebhookRow,
    /// The types that it gets, and since when.
    terms: Vec<(Timestamp, Vec<TypePattern>)>,
    secret: String,
    /// The replaced secret, and the end of its validity.
    previous: Option<(String, Timestamp)>,
}

impl WebhookEntry {
    pub(super) fn wants(&self, event: AccountEventType, at: Timestamp) -> bool {
        let term = self.terms.iter().rfind(|(from, _)| *from <= at);
        self.row.endpoint.enabled && term.is_some_and(|(_, types)| types.iter().any(|pattern| pattern.matches(event)))
    }
}

impl Tables {
    fn webhook_of(&mut self, account: AccountId, id: WebhookId) -> StoreResult<&mut WebhookEntry> {
        let found = self.webhooks.get_mut(&id).filter(|entry| entry.row.account == account);
        found.ok_or(StoreError::NotFound)
    }

    /// Disables the endpoint of a delivery, if it has one with this URL. Returns whether it has one with another.
    pub(super) fn is_repaired(&mut self, delivery: &Delivery, url: &str, now: Timestamp) -> bool {
        let its = self.webhooks.values_mut().map(|entry| &mut entry.row);
        let mut its = its.filter(|row| row.id.to_string() == delivery.target && row.endpoint.enabled);
        let Some(row) = its.next() else { return false };
        if row.endpoint.url != url {
            return true;
        }
        row.endpoint.enabled = false;
        row.version += 1;
        row.updated_at = now;
        false
    }

    fn webhook_delivery(&self, entry: &DeliveryEntry) -> WebhookDelivery {
        WebhookDelivery {
            id: entry.delivery.id,
            event: entry.event.and_then(|id| self.account_event(id)),
            state: entry.state,
            failed: entry.delivery.failed,
            due_at: entry.due_at,
            last_error: entry.last_error.clone(),
            reply: entry.delivery.reply.clone(),
            created_at: entry.delivery.created_at,
        }
    }

    /// Newest first.
    fn deliveries_to(&self, id: WebhookId) -> impl Iterator<Item = &DeliveryEntry> {
        let all = self.outbox.deliveries.values().rev();
        all.filter(move |entry| entry.delivery.kind == DeliveryKind::Event && entry.delivery.target == id.to_string())
    }
}

#[async_trait]
impl WebhookStore for MemoryStore {
    async fn create_webhook(
        &self,
        account: AccountId,
        new: WebhookEndpoint,
        secret: String,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<Option<WebhookRow>> {
        let mut tables = self.open()?;
        tables.require_account(account)?;
        let own = tables.webhooks.values().filter(|entry| entry.row.account == account);
        if own.count() >= MAX_WEBHOOKS {
            return Ok(None);
        }
        let now = self.now();
        let row = WebhookRow {
            id: WebhookId::new(),
            account,
            endpoint: new,
            version: 1,
            created_at: now,
            updated_at: now,
        };
        tables.settle(ticket, (CREATED, row.id.to_string()), now)?;
        let entry = WebhookEntry {
            terms: vec![(now, row.endpoint.types.clone())],
            row: row.clone(),
            secret,
            previous: None,
        };
        tables.webhooks.insert(row.id, entry);
        Ok(Some(row))
    }

    async fn webhook(&self, account: AccountId, id: WebhookId) -> StoreResult<WebhookRow> {
        Ok(self.open()?.webhook_of(account, id)?.row.clone())
    }

    async fn webhooks(
        &self,
        account: AccountId,
        after: Option<(Timestamp, WebhookId)>,
        limit: i64,
    ) -> StoreResult<Vec<WebhookRow>> {
        let tables = self.open()?;
        let own = tables.webhooks.values().map(|entry| &entry.row);
        let mut found: Vec<WebhookRow> = own.filter(|row| row.account == account).cloned().collect();
        found.retain(|row| after.is_none_or(|last| (row.created_at, row.id) < last));
        found.sort_by_key(|row| Reverse((row.created_at, row.id)));
        found.truncate(usize::try_from(limit).unwrap_or(0));
        Ok(found)
    }

    async fn update_webhook(
        &self,
        account: AccountId,
        id: WebhookId,
        version: i64,
        new: WebhookEndpoint,
    ) -> StoreResult<WebhookRow> {
        let mut tables = self.open()?;
        let now = self.now();
        let entry = tables.webhook_of(account, id)?;
        let row = &mut entry.row;
        if row.version != version {
            return Err(StoreError::Stale);
        }
        if new.enabled && !row.endpoint.enabled {
            entry.terms.clear();
        }
        entry.terms.push((now, new.types.clone()));
        let moved = row.endpoint.url != new.url;
        let released = moved || row.endpoint.enabled != new.enabled;
        row.endpoint = new;
        row.version += 1;
        row.updated_at = now;
        let row = row.clone();
        let lane = endpoint_lane(account, id);
        if released {
            tables.outbox.release(&lane, moved);
        }
        if !row.endpoint.enabled {
            let all = tables.outbox.deliveries.values_mut();
            for entry in all.filter(|entry| entry.delivery.lane == lane && entry.state == DeliveryState::Pending) {
                entry.state = DeliveryState::GivenUp;
                entry.last_error = Some(DISABLED.to_owned());
            }
        }
        Ok(row)
    }

    async fn rotate_secret(&self, account: AccountId, id: WebhookId, secret: String) -> StoreResult<()> {
        let mut tables = self.open()?;
        let until = Timestamp(self.now().0 + SECRET_KEPT_US);
        let entry = tables.webhook_of(account, id)?;
        entry.previous = Some((std::mem::replace(&mut entry.secret, secret), until));
        Ok(())
    }

    async fn delete_webhook(&self, account: AccountId, id: WebhookId) -> StoreResult<()> {
        let mut tables = self.open()?;
        tables.webhook_of(account, id)?;
        tables.webhooks.remove(&id);
        let lane = endpoint_lane(account, id);
        tables.outbox.deliveries.retain(|_, entry| entry.delivery.lane != lane);
        Ok(())
    }

    async fn recent_deliveries(&self, id: WebhookId) -> StoreResult<RecentDeliveries> {
        let tables = self.open()?;
        let mut recent = RecentDeliveries::default();
        let latest = usize::try_from(RECENT_DELIVERIES).unwrap_or(0);
        for entry in tables.deliveries_to(id).take(latest) {
            match entry.state {
                DeliveryState::Done => recent.succeeded += 1,
                DeliveryState::GivenUp => recent.failed += 1,
                DeliveryState::Pending => recent.pending += 1,
            }
        }
        Ok(recent)
    }

    async fn webhook_deliveries(
        &self,
        id: WebhookId,
        after: Option<DeliveryId>,
        limit: i64,
    ) -> StoreResult<Vec<WebhookDelivery>> {
        let tables = self.open()?;
        let older = tables
            .deliveries_to(id)
            .filter(|entry| after.is_none_or(|after| entry.delivery.id < after));
        let page = older.take(usize::try_from(limit).unwrap_or(0));
        Ok(page.map(|entry| tables.webhook_delivery(entry)).collect())
    }

    async fn resend_delivery(&self, id: WebhookId, delivery: DeliveryId) -> StoreResult<WebhookDelivery> {
        let mut tables = self.open()?;
        let now = self.now();
        let entry = tables.outbox.deliveries.get_mut(&delivery);
        let entry = entry.filter(|entry| entry.delivery.target == id.to_string());
        let entry = entry.ok_or(StoreError::NotFound)?;
        entry.state = DeliveryState::Pending;
        entry.delivery.failed = 0;
        entry.delivery.lease += 1;
        entry.due_at = now;
        entry.last_error = None;
        entry.delivery.reply = None;
        let lane = entry.delivery.lane.clone();
        tables.outbox.release(&lane, false);
        Ok(tables.webhook_delivery(&tables.outbox.deliveries[&delivery]))
    }

    async fn test_webhook(&self, account: AccountId, id: WebhookId) -> StoreResult<WebhookDelivery> {
        let mut tables = self.open()?;
        tables.webhook_of(account, id)?;
        let wanted = WantedDelivery {
            kind: DeliveryKind::Event,
            target: id.to_string(),
            lane: endpoint_lane(account, id),
        };
        tables.outbox.release(&wanted.lane, false);
        let made = tables.outbox.add(account, wanted, self.now());
        Ok(tables.webhook_delivery(&tables.outbox.deliveries[&made]))
    }

    async fn webhook_message(&self, delivery: DeliveryId) -> StoreResult<WebhookMessage> {
        let tables = self.open()?;
        let now = self.now();
        let sent = tables.outbox.deliveries.get(&delivery).ok_or(StoreError::NotFound)?;
        let mut enabled = tables.webhooks.values().filter(|entry| entry.row.endpoint.enabled);
        let its = enabled.find(|entry| entry.row.id.to_string() == sent.delivery.target);
        let its = its.ok_or(StoreError::NotFound)?;
        let valid = its.previous.as_ref().filter(|(_, until)| *until > now);
        Ok(WebhookMessage {
            url: its.row.endpoint.url.clone(),
            secrets: WebhookSecrets {
                current: its.secret.clone(),
                previous: valid.map(|(secret, _)| secret.clone()),
            },
            event: sent.event.and_then(|id| tables.account_event(id)),
        })
    }
}
