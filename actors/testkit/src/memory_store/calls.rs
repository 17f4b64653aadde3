//! Single calls in memory.

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{
    MemoryStore,
    tables::{AttemptEntry, Place, Tables},
};
use domain::{
    id::{AccountId, AttemptId, NodeId},
    ports::store::{
        AttemptState, CREATED, CallStore, CampaignContact, ClaimedAttempt, ConversationStatus, DIAL_CALL_WITHIN,
        KeyTicket, NOT_DIALED_IN_TIME, NOT_DIALED_SINCE, NewCall, QueuedCall, StoreError, StoreResult, Tries,
        WaitingCalls,
    },
    time::Timestamp,
};

/// Data of a single call beside its attempt.
#[derive(Debug, Clone)]
pub(super) struct SingleCall {
    pub(super) name: Option<String>,
    pub(super) variables: Map<String, Value>,
    /// Time from which it is no longer dialed.
    pub(super) dial_before: Timestamp,
}

impl Tables {
    /// Returns the queued single calls.
    fn waiting(&self) -> impl Iterator<Item = (&AttemptEntry, &SingleCall)> {
        let attempts = self.unfinished.iter().filter_map(|id| self.attempts.get(id));
        let queued = attempts.filter(|entry| entry.state == AttemptState::Queued);
        queued.filter_map(|entry| Some((entry, self.calls.get(&entry.id)?)))
    }

    /// Returns the contact that a single call dials, merged with the saved contact of the number.
    pub(super) fn called(&self, entry: &AttemptEntry, call: &SingleCall) -> CampaignContact {
        let bare = CampaignContact {
            phone_number: entry.phone_number.clone(),
            contact: None,
            name: call.name.clone(),
            email: None,
            extra: Map::new(),
        };
        let contact = self.with_saved(entry.account, &bare);
        let saved = contact.contact.and_then(|id| self.contacts.get(&id));
        CampaignContact {
            name: contact.name.or_else(|| saved.and_then(|row| row.name.clone())),
            email: saved.and_then(|row| row.email.clone()),
            ..contact
        }
    }
}

fn queued(account: AccountId, new: &NewCall, now: Timestamp) -> AttemptEntry {
    let place = Place {
        account,
        campaign: None,
        agent: new.agent,
        contact_list: 0,
        contact_index: 0,
        attempt_no: 1,
        tries: Tries::default(),
        phone_number: new.phone_number.clone(),
    };
    AttemptEntry::queued(place, now, now)
}

#[async_trait]
impl CallStore for MemoryStore {
    async fn create_call(
        &self,
        account: AccountId,
        new: NewCall,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<QueuedCall> {
        let mut tables = self.open()?;
        tables.require_account(account)?;
        if tables.agents.get(&new.agent).is_none_or(|row| row.account != account) {
            return Err(StoreError::NotFound);
        }
        if tables.is_listed(account, &new.phone_number) {
            return Ok(QueuedCall::DoNotCall);
        }
        let now = self.now();
        let entry = queued(account, &new, now);
        tables.settle(ticket, (CREATED, entry.id.to_string()), now)?;
        let call = SingleCall {
            name: new.name,
            variables: new.variables,
            dial_before: now.plus(DIAL_CALL_WITHIN),
        };
        tables.calls.insert(entry.id, call);
        let row = tables.read_conversation(&entry);
        tables.unfinished.insert(entry.id);
        tables.attempts.insert(entry.id, entry);
        Ok(QueuedCall::Queued(Box::new(row)))
    }

    async fn call_variables(&self, attempt: AttemptId) -> StoreResult<Map<String, Value>> {
        let tables = self.open()?;
        let call = tables.calls.get(&attempt);
        Ok(call.map(|call| call.variables.clone()).unwrap_or_default())
    }

    async fn waiting_calls(&self) -> StoreResult<WaitingCalls> {
        let tables = self.open()?;
        let now = self.now();
        let mut waiting = WaitingCalls::default();
        for (entry, call) in tables.waiting() {
            if call.dial_before <= now {
                waiting.expired += 1;
            } else if entry.due_at <= now {
                waiting.due += 1;
            } else {
                let earlier = waiting.next_due.is_none_or(|next| entry.due_at < next);
                waiting.next_due = if earlier { Some(entry.due_at) } else { waiting.next_due };
            }
        }
        Ok(waiting)
    }

    async fn claim_calls(&self, node: NodeId, limit: i64) -> StoreResult<Vec<ClaimedAttempt>> {
        let mut tables = self.open()?;
        let now = self.now();
        let due = |(entry, call): &(&AttemptEntry, &SingleCall)| entry.due_at <= now && call.dial_before > now;
        let mut ids: Vec<_> = tables.waiting().filter(due).map(|(e, _)| (e.due_at, e.id)).collect();
        ids.sort_unstable();
        ids.truncate(usize::try_from(limit).unwrap_or(0));
        let take = |(_, id)| tables.take(id, node, now);
        Ok(ids.into_iter().filter_map(take).collect())
    }

    async fn expire_calls(&self) -> StoreResult<u64> {
        let mut tables = self.open()?;
        let now = self.now();
        let expired = tables.waiting().filter(|(_, call)| call.dial_before <= now);
        let ids: Vec<AttemptId> = expired.map(|(entry, _)| entry.id).collect();
        for id in &ids {
            let why = tables.attempts.get(id).and_then(|entry| entry.error.as_ref());
            let why = why.map_or_else(
                || NOT_DIALED_IN_TIME.to_owned(),
                |why| format!("{NOT_DIALED_SINCE}{why}"),
            );
            tables.end_unsent(*id, ConversationStatus::Failed, Some(&why), now);
        }
        Ok(ids.len() as u64)
    }

    async fn cancel_queued(&self, account: AccountId, attempt: AttemptId) -> StoreResult<()> {
        let mut tables = self.open()?;
        let entry = tables.attempts.get(&attempt).filter(|entry| entry.account == account);
        match entry.ok_or(StoreError::NotFound)?.state {
            AttemptState::Queued => {
                let campaign = tables.attempts.get(&attempt).and_then(|entry| entry.campaign);
                tables.cancel(attempt, None, self.now());
                if let Some(campaign) = campaign {
                    tables.look_again(campaign, self.now());
                }
                Ok(())
            }
            _ => Err(StoreError::Stale),
        }
    }
}
