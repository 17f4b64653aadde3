//! Live calls that move from node to node.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde_json::Map;

use super::{
    MemoryStore,
    tables::{AttemptEntry, Tables},
};
use domain::{
    id::{AttemptId, NodeId},
    ports::store::{
        AttemptState, CallDirection, CampaignContact, Claim, ClaimedAttempt, EVENTS_FOR_HEIRS, EventFact,
        MOST_TAKEN_OVER, Patience, ReturnStore, ReturnedCall, ReturningCall, StoreError, StoreResult, TAKEN_OVER,
        TRANSFER_FAILED, TRANSFER_TAKEN,
    },
    time::Timestamp,
};

impl Tables {
    /// Returns whether its carrier may still bring it to a living node.
    pub(super) fn is_waited_for(&self, entry: &AttemptEntry, patience: &Patience, now: Timestamp) -> bool {
        let mut names = self.events_of(entry.id).rev().map(|row| row.event.name.as_str());
        let is_handed_on = names.find(|name| [TRANSFER_TAKEN, TRANSFER_FAILED].contains(name)) == Some(TRANSFER_TAKEN);
        let seen_at = entry.owner.and_then(|owner| self.nodes.seen_at(owner));
        let silent = seen_at.filter(|seen| *seen <= now).map(|seen| now.since(seen));
        let carrier = entry.carrier.as_deref().unwrap_or_default();
        entry.state == AttemptState::Answered && patience.waits(carrier, is_handed_on, silent)
    }

    /// Returns the attempt as its claim returned it.
    pub(super) fn attempt_again(&self, id: AttemptId, node: NodeId) -> Option<ClaimedAttempt> {
        let entry = self.attempts.get(&id)?;
        let call = self.calls.get(&id);
        let contact: CampaignContact = match (call, entry.direction) {
            (Some(call), _) => self.called(entry, call),
            (None, CallDirection::Inbound) => self.caller(entry),
            (None, CallDirection::Outbound) => {
                let listed = self.lists.get(&entry.contact_list)?.contacts.get(entry.contact_index)?;
                self.with_saved(entry.account, &listed.contact)
            }
        };
        let saved = contact.contact.and_then(|id| self.contacts.get(&id));
        Some(ClaimedAttempt {
            claim: Claim {
                attempt: id,
                owner: node,
                epoch: entry.epoch,
            },
            account: entry.account,
            campaign: entry.campaign,
            agent: entry.agent,
            contact_index: entry.contact_index as i64,
            attempt_no: entry.attempt_no,
            tries: entry.tries,
            saved_extra: saved.map(|row| row.extra.clone()).unwrap_or_default(),
            variables: call.map_or_else(Map::new, |call| call.variables.clone()),
            contact,
        })
    }

    fn returned(&self, id: AttemptId, node: NodeId, now: Timestamp) -> Option<ReturnedCall> {
        let attempt = self.attempt_again(id, node)?;
        let entry = self.attempts.get(&id)?;
        let told = self.events_of(id).map(|row| &row.event);
        let told = told.filter(|event| EVENTS_FOR_HEIRS.contains(&&*event.name));
        let turns = self.turns.range((id, i64::MIN)..=(id, i64::MAX));
        Some(ReturnedCall {
            direction: entry.direction,
            token: entry.dial_token.clone()?,
            caller_id: entry.caller_id.clone(),
            elapsed_ms: entry.answered_at.map_or(0, |at| (now.0 - at.0) / 1_000),
            turns: turns.map(|(_, turn)| turn.clone()).collect(),
            events: told.cloned().collect(),
            collected: entry.collected.clone(),
            opted_out: self.is_listed(entry.account, &entry.phone_number),
            attempt,
        })
    }
}

#[async_trait]
impl ReturnStore for MemoryStore {
    async fn take_over(&self, node: NodeId, returning: ReturningCall) -> StoreResult<ReturnedCall> {
        let mut tables = self.open()?;
        let now = self.now();
        let ReturningCall { held, carrier, call } = returning;
        if !tables.nodes.lives(node) || !tables.held(held)?.is_sent() {
            return Err(StoreError::Fenced);
        }
        let key = (carrier.clone(), call.clone());
        let holder = tables.carrier_calls.get(&key).copied();
        let entry = tables.held(held)?;
        let anothers = holder.is_some_and(|holder| holder != held.attempt);
        let another = entry.carrier_call.as_ref().is_some_and(|known| *known != call);
        if anothers || another || entry.carrier.as_ref() != Some(&carrier) {
            return Err(StoreError::Exists("call"));
        }
        let names = tables.events_of(held.attempt).map(|row| row.event.name.as_str());
        let taken = names.filter(|name| *name == TAKEN_OVER).count();
        if taken >= MOST_TAKEN_OVER {
            return Err(StoreError::Exists("heirs"));
        }
        let entry = tables.held(held)?;
        entry.owner = Some(node);
        entry.epoch += 1;
        entry.state = AttemptState::Answered;
        entry.answered_at = entry.answered_at.or(Some(now));
        entry.carrier_call = Some(call);
        tables.carrier_calls.insert(key, held.attempt);
        let returned = tables.returned(held.attempt, node, now);
        let returned =
            returned.ok_or_else(|| StoreError::Damaged("a sent attempt lacks a required value".to_owned()))?;
        let told = EventFact {
            name: TAKEN_OVER.to_owned(),
            at_ms: returned.elapsed_ms,
            detail: "{}".to_owned(),
        };
        tables.keep_event(held.attempt, told, now);
        Ok(returned)
    }

    async fn keep_collected(&self, claim: Claim, collected: BTreeMap<String, String>) -> StoreResult<()> {
        let mut tables = self.open()?;
        let entry = tables.held(claim)?;
        if !entry.is_sent() {
            return Err(StoreError::Fenced);
        }
        entry.collected = collected;
        Ok(())
    }
}
