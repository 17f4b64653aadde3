//! Idempotency keys in memory.

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    MemoryStore,
    tables::{KeyEntry, Tables},
};
use domain::{
    id::AccountId,
    ports::store::{IdempotencyStore, KEY_KEPT_US, KEY_LEASE_US, KeyTicket, Reservation, StoreError, StoreResult},
    time::Timestamp,
};

impl Tables {
    /// Returns the key of a ticket that was neither settled nor taken over.
    fn reserved(&mut self, ticket: &KeyTicket) -> Option<&mut KeyEntry> {
        let entry = self.idempotency.get_mut(&(ticket.account, ticket.key.clone()))?;
        (entry.lease == ticket.lease && entry.made.is_none()).then_some(entry)
    }

    /// Stores the result of the request behind a ticket. Does nothing without a ticket.
    pub(super) fn settle(
        &mut self,
        ticket: Option<&KeyTicket>,
        made: (i64, String),
        now: Timestamp,
    ) -> StoreResult<()> {
        let Some(ticket) = ticket else { return Ok(()) };
        let entry = self.reserved(ticket).ok_or(StoreError::Fenced)?;
        entry.made = Some(made);
        entry.expires_at = Timestamp(now.0 + KEY_KEPT_US);
        Ok(())
    }
}

#[async_trait]
impl IdempotencyStore for MemoryStore {
    async fn reserve_key(
        &self,
        account: AccountId,
        key: &str,
        operation: &str,
        request_hash: &str,
    ) -> StoreResult<Reservation> {
        let mut tables = self.open()?;
        tables.require_account(account)?;
        let now = self.now();
        tables.idempotency.retain(|_, entry| entry.expires_at > now);
        if let Some(entry) = tables.idempotency.get(&(account, key.to_owned())) {
            let same = entry.operation == operation && entry.request_hash == request_hash;
            return Ok(match &entry.made {
                _ if !same => Reservation::OtherRequest,
                Some((status, resource)) => Reservation::Replay {
                    status: *status,
                    resource: resource.clone(),
                },
                None => Reservation::InProgress,
            });
        }
        let lease = Uuid::new_v4();
        let entry = KeyEntry {
            operation: operation.to_owned(),
            request_hash: request_hash.to_owned(),
            lease,
            expires_at: Timestamp(now.0 + KEY_LEASE_US),
            made: None,
        };
        tables.idempotency.insert((account, key.to_owned()), entry);
        Ok(Reservation::Fresh(KeyTicket {
            account,
            key: key.to_owned(),
            lease,
        }))
    }

    async fn renew_key(&self, ticket: &KeyTicket) -> StoreResult<()> {
        let mut tables = self.open()?;
        let entry = tables.reserved(ticket).ok_or(StoreError::Fenced)?;
        entry.expires_at = Timestamp(self.now().0 + KEY_LEASE_US);
        Ok(())
    }

    async fn release_key(&self, ticket: &KeyTicket) -> StoreResult<()> {
        let mut tables = self.open()?;
        if tables.reserved(ticket).is_some() {
            tables.idempotency.remove(&(ticket.account, ticket.key.clone()));
        }
        Ok(())
    }
}
