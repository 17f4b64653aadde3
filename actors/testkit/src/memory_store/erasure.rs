//! Erasing a person in memory.

use async_trait::async_trait;

use super::{
    MemoryStore,
    tables::{AttemptEntry, Tables},
};
use domain::{
    id::{AccountId, AttemptId, ContactId},
    phone_number::PhoneNumber,
    ports::{
        store::{
            AttemptState, ContactCalls, EndedTest, ErasureStore, SETTLING_US, StoreError, StoreResult, erased_error,
        },
        usage::USAGE,
    },
    time::Timestamp,
};

fn is_going(entry: &AttemptEntry, now: Timestamp) -> bool {
    match entry.state {
        AttemptState::Queued => false,
        AttemptState::Final => {
            let over_since = entry.end_written_at.or(entry.ended_at);
            over_since.is_some_and(|since| now.0 - since.0 < SETTLING_US)
        }
        AttemptState::Claimed
        | AttemptState::Dialing
        | AttemptState::Dialed
        | AttemptState::Answered
        | AttemptState::Unknown => true,
    }
}

impl Tables {
    fn number_of(&self, account: AccountId, id: ContactId) -> StoreResult<PhoneNumber> {
        let row = self.contacts.get(&id).filter(|row| row.account == account);
        row.map(|row| row.phone_number.clone()).ok_or(StoreError::NotFound)
    }

    fn calls_to(&self, account: AccountId, number: &PhoneNumber, now: Timestamp) -> ContactCalls {
        let own = self.attempts.values().filter(|entry| entry.account == account);
        let calls: Vec<&AttemptEntry> = own.filter(|entry| entry.phone_number == *number).collect();
        if calls.iter().any(|entry| is_going(entry, now)) {
            ContactCalls::Going
        } else {
            ContactCalls::Over(calls.into_iter().map(|entry| entry.id).collect())
        }
    }

    fn erase_call(&mut self, id: AttemptId, now: Timestamp) {
        if let Some(entry) = self.attempts.get_mut(&id) {
            entry.phone_number = PhoneNumber::erased();
        }
        self.erase_content(id, now);
    }

    fn conversation_is_settled(&self, account: AccountId, id: AttemptId, now: Timestamp) -> StoreResult<bool> {
        let entry = self.attempts.get(&id).filter(|entry| entry.account == account);
        let entry = entry.filter(|_| !self.deleted_conversations.contains(&id));
        let entry = entry.ok_or(StoreError::NotFound)?;
        Ok(entry.state == AttemptState::Final && !is_going(entry, now))
    }

    fn erase_content(&mut self, id: AttemptId, now: Timestamp) {
        for row in self.do_not_call.values_mut().filter(|row| row.call == Some(id)) {
            row.call = None;
        }
        if let Some(entry) = self.attempts.get_mut(&id) {
            entry.error = entry.error.as_deref().map(|error| erased_error(error).to_owned());
        }
        self.erase_appointments(id);
        self.erase_events(id);
        self.erase_words(id, now);
    }

    fn erase_words(&mut self, id: AttemptId, now: Timestamp) {
        if let Some(entry) = self.attempts.get_mut(&id) {
            entry.collected.clear();
            entry.evidence.clear();
            entry.analysis = None;
            entry.words_kept = false;
            entry.callee = None;
        }
        if let Some(call) = self.calls.get_mut(&id) {
            call.name = None;
            call.variables.clear();
        }
        self.turns.retain(|(attempt, _), _| *attempt != id);
        self.events
            .retain(|(attempt, row)| *attempt != id || row.event.name == USAGE);
        let jobs = self.jobs.len();
        self.jobs.retain(|_, job| job.attempt != id);
        if self.jobs.len() < jobs {
            // Deliveries that waited for the analysis still report that the call ended.
            self.make_deliveries(id, now);
        }
    }

    fn erase_places(&mut self, account: AccountId, number: &PhoneNumber) {
        let own = self.campaigns.values().filter(|entry| entry.row.account == account);
        for list in own.map(|entry| entry.list).collect::<Vec<_>>() {
            let contacts = self
                .lists
                .get_mut(&list)
                .into_iter()
                .flat_map(|list| &mut list.contacts);
            for place in contacts.filter(|place| place.contact.phone_number == *number) {
                place.contact.phone_number = PhoneNumber::erased();
                place.contact.contact = None;
                place.contact.name = None;
                place.contact.email = None;
                place.contact.extra.clear();
            }
        }
    }
}

#[async_trait]
impl ErasureStore for MemoryStore {
    async fn calls_of_contact(&self, account: AccountId, id: ContactId) -> StoreResult<ContactCalls> {
        let tables = self.open()?;
        let number = tables.number_of(account, id)?;
        Ok(tables.calls_to(account, &number, self.now()))
    }

    async fn erase_contact(&self, account: AccountId, id: ContactId) -> StoreResult<ContactCalls> {
        let mut tables = self.open()?;
        let number = tables.number_of(account, id)?;
        let calls = tables.calls_to(account, &number, self.now());
        if let ContactCalls::Over(ids) = &calls {
            for id in ids {
                tables.erase_call(*id, self.now());
            }
            tables.erase_places(account, &number);
            tables.contacts.remove(&id);
        }
        Ok(calls)
    }

    async fn is_settled(&self, account: AccountId, id: AttemptId) -> StoreResult<bool> {
        self.open()?.conversation_is_settled(account, id, self.now())
    }

    async fn delete_conversation(&self, account: AccountId, id: AttemptId) -> StoreResult<()> {
        let mut tables = self.open()?;
        if !tables.conversation_is_settled(account, id, self.now())? {
            return Err(StoreError::Stale);
        }
        tables.erase_content(id, self.now());
        tables.events.retain(|(attempt, _)| *attempt != id);
        tables.outbox.remove(id);
        if let Some(unsaved) = tables.tests.remove(&id).flatten() {
            tables.deleted_agents.remove(&unsaved);
        }
        tables.deleted_conversations.insert(id);
        Ok(())
    }

    async fn ended_tests(&self, ended_before: Timestamp, limit: i64) -> StoreResult<Vec<EndedTest>> {
        let tables = self.open()?;
        let entries = tables.tests.keys().filter_map(|id| tables.attempts.get(id));
        let over = entries.filter(|entry| entry.state == AttemptState::Final);
        let ended = over.filter_map(|entry| {
            Some(EndedTest {
                account: entry.account,
                attempt: entry.id,
                ended_at: entry.ended_at.filter(|ended| *ended < ended_before)?,
            })
        });
        let mut ended: Vec<EndedTest> = ended.collect();
        ended.sort_unstable_by_key(|test| (test.ended_at, test.attempt));
        ended.truncate(usize::try_from(limit).unwrap_or(0));
        Ok(ended)
    }

    async fn erase_words(&self, ended_before: Timestamp, limit: i64) -> StoreResult<usize> {
        let mut tables = self.open()?;
        let old = tables.attempts.values().filter(|entry| entry.words_kept);
        let mut old: Vec<(Timestamp, AttemptId)> = old
            .filter(|entry| entry.state == AttemptState::Final)
            .filter_map(|entry| Some((entry.ended_at.filter(|ended| *ended < ended_before)?, entry.id)))
            .collect();
        old.sort_unstable();
        old.truncate(usize::try_from(limit).unwrap_or(0));
        for (_, id) in &old {
            tables.erase_past_appointments(*id, ended_before);
            tables.erase_words(*id, self.now());
        }
        Ok(old.len())
    }
}
