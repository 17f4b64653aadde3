//! Inbound calls in memory.

use async_trait::async_trait;
use serde_json::Map;

use super::{
    MemoryStore,
    calls::SingleCall,
    tables::{AttemptEntry, Place, Tables},
};
use domain::{
    agent::named_numbers,
    dial_token::DialToken,
    id::NodeId,
    phone_number::PhoneNumber,
    ports::store::{
        AccountEventType, AgentRow, AttemptState, CREATED, CallDirection, CalleeRecord, CampaignContact, Claim,
        ClaimedAttempt, InboundStore, NewInboundCall, ReceivedCall, StoreError, StoreResult, Tries,
    },
    time::Timestamp,
};

impl Tables {
    fn answering(&self, number: &PhoneNumber) -> Option<&AgentRow> {
        let answers = |row: &&AgentRow| named_numbers(&row.document).get(number) == Some(&true);
        self.agents.values().find(answers)
    }

    /// Returns the person on the line, with the account's saved contact if there is one.
    pub(super) fn caller(&self, entry: &AttemptEntry) -> CampaignContact {
        let bare = CampaignContact {
            phone_number: entry.phone_number.clone(),
            contact: None,
            name: None,
            email: None,
            extra: Map::new(),
        };
        let contact = self.with_saved(entry.account, &bare);
        let saved = contact.contact.and_then(|id| self.contacts.get(&id));
        CampaignContact {
            name: saved.and_then(|row| row.name.clone()),
            email: saved.and_then(|row| row.email.clone()),
            ..contact
        }
    }
}

fn dialed(node: NodeId, new: NewInboundCall, token: &DialToken, now: Timestamp) -> AttemptEntry {
    let place = Place {
        account: new.account,
        campaign: None,
        agent: new.agent,
        contact_list: 0,
        contact_index: 0,
        attempt_no: 1,
        tries: Tries::default(),
        phone_number: new.from,
    };
    AttemptEntry {
        id: new.attempt,
        direction: CallDirection::Inbound,
        state: AttemptState::Dialed,
        owner: Some(node),
        epoch: 1,
        dialing_at: Some(now),
        dial_token: Some(token.clone()),
        carrier: Some(new.carrier),
        carrier_call: Some(new.call),
        agent_version: Some(new.agent_version),
        caller_id: Some(new.to).filter(|to| !to.is_withheld()),
        ..AttemptEntry::queued(place, now, now)
    }
}

#[async_trait]
impl InboundStore for MemoryStore {
    async fn answering_agent(&self, number: &PhoneNumber) -> StoreResult<Option<AgentRow>> {
        Ok(self.open()?.answering(number).cloned())
    }

    async fn receive_call(&self, node: NodeId, new: NewInboundCall) -> StoreResult<Option<ReceivedCall>> {
        let mut tables = self.open()?;
        if !tables.nodes.lives(node) {
            return Err(StoreError::Fenced);
        }
        let test = new.test.as_ref();
        let unsaved = test.and_then(|test| test.unsaved_row(new.account, new.agent, self.now()));
        let agent = match (&unsaved, new.to.is_withheld()) {
            (Some(row), _) => Some(row),
            (None, true) => tables.agents.get(&new.agent),
            (None, false) => tables.answering(&new.to),
        };
        if agent.map(|row| (row.account, row.id)) != Some((new.account, new.agent)) {
            return Ok(None);
        }
        let key = (new.carrier.clone(), new.call.clone());
        if tables.carrier_calls.contains_key(&key) {
            return Err(StoreError::Exists("call"));
        }
        let made = (CREATED, new.attempt.to_string());
        tables.settle(new.ticket.as_ref(), made, self.now())?;
        let test = new.test.as_ref().map(|test| test.actions);
        if test.is_some() {
            tables.tests.insert(new.attempt, unsaved.as_ref().map(|row| row.id));
        }
        tables.deleted_agents.extend(unsaved.map(|row| (row.id, row)));
        let token = DialToken::random();
        let variables = new.variables.clone();
        let mut entry = dialed(node, new, &token, self.now());
        let contact = tables.caller(&entry);
        let saved = contact.contact.and_then(|id| tables.contacts.get(&id));
        let attempt = ClaimedAttempt {
            claim: Claim {
                attempt: entry.id,
                owner: node,
                epoch: entry.epoch,
            },
            account: entry.account,
            campaign: None,
            agent: entry.agent,
            contact_index: 0,
            attempt_no: 1,
            tries: entry.tries,
            saved_extra: saved.map(|row| row.extra.clone()).unwrap_or_default(),
            variables: variables.clone(),
            contact,
        };
        entry.callee = Some(CalleeRecord::of(&attempt));
        if !variables.is_empty() {
            let call = SingleCall {
                name: None,
                variables,
                dial_before: self.now(),
            };
            tables.calls.insert(entry.id, call);
        }
        tables.carrier_calls.insert(key, entry.id);
        tables.unfinished.insert(entry.id);
        let id = entry.id;
        tables.attempts.insert(id, entry);
        tables.tell_of_call(id, AccountEventType::CallStarted, self.now());
        Ok(Some(ReceivedCall { attempt, token, test }))
    }
}
