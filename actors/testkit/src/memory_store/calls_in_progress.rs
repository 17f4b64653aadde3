//! Calls in progress in memory.

use std::cmp::Reverse;

use super::tables::{AttemptEntry, Tables};
use domain::{
    id::{AccountId, AttemptId},
    ports::store::{
        CallInProgress, CallOperator, CalleeRecord, ConversationStatus, InProgressFilter, OPERATOR_JOINED,
        OPERATOR_LEFT,
    },
};

impl Tables {
    /// Returns the calls in progress that match, newest first.
    pub(super) fn in_progress(&self, account: AccountId, filter: &InProgressFilter, limit: i64) -> Vec<CallInProgress> {
        let matches = |entry: &&AttemptEntry| {
            entry.account == account
                && entry.conversation_status() == ConversationStatus::InProgress
                && filter.agent.is_none_or(|agent| entry.agent == agent)
                && filter.campaign.is_none_or(|campaign| entry.campaign == Some(campaign))
                && filter
                    .is_test
                    .is_none_or(|is_test| self.tests.contains_key(&entry.id) == is_test)
                && filter.after.is_none_or(|last| (entry.started_at(), entry.id) < last)
        };
        let unfinished = self.unfinished.iter().filter_map(|id| self.attempts.get(id));
        let mut found: Vec<&AttemptEntry> = unfinished.filter(matches).collect();
        found.sort_by_key(|entry| Reverse((entry.started_at(), entry.id)));
        found.truncate(usize::try_from(limit).unwrap_or(0));
        found.into_iter().map(|entry| self.read_in_progress(entry)).collect()
    }

    fn read_in_progress(&self, entry: &AttemptEntry) -> CallInProgress {
        let row = self.read_conversation(entry);
        let campaign = entry.campaign.and_then(|id| Some((id, self.campaigns.get(&id)?)));
        let mut told = self
            .events_of(entry.id)
            .filter(|row| [OPERATOR_JOINED, OPERATOR_LEFT].contains(&&*row.event.name));
        let joined = told.next_back().filter(|row| row.event.name == OPERATOR_JOINED);
        CallInProgress {
            id: entry.id,
            agent: entry.agent,
            agent_name: row.agent_name,
            campaign: campaign.map(|(id, campaign)| (id, campaign.row.name.clone())),
            callee: row.callee,
            phone_number: entry.phone_number.clone(),
            direction: entry.direction,
            started_at: entry.started_at(),
            answered_at: entry.answered_at,
            operator: joined.map(|row| CallOperator::of_detail(&row.event.detail, row.stored_at)),
            is_test: row.is_test,
        }
    }

    /// Returns what an attempt keeps of the other person when it is dialed now.
    pub(super) fn callee_now(&self, id: AttemptId) -> Option<CalleeRecord> {
        let contact = self.contact_in(self.attempts.get(&id)?);
        let given = self.calls.get(&id).map(|call| &call.variables);
        let fields = given.into_iter().chain([&contact.extra]);
        Some(CalleeRecord::new(contact.name, contact.email.as_deref(), fields))
    }

    /// Returns the other person as the call keeps them, or before it as its campaign or the call has them.
    pub(super) fn callee_of(&self, entry: &AttemptEntry) -> CalleeRecord {
        let list = self.lists.get(&entry.contact_list);
        let listed = list.and_then(|list| list.contacts.get(entry.contact_index));
        match (
            &entry.callee,
            listed.map(|listed| &listed.contact),
            self.calls.get(&entry.id),
        ) {
            _ if !entry.words_kept => CalleeRecord::default(),
            (Some(kept), ..) => kept.clone(),
            (None, Some(row), _) => CalleeRecord::new(row.name.clone(), row.email.as_deref(), [&row.extra]),
            (None, None, Some(call)) => CalleeRecord::new(call.name.clone(), None, [&call.variables]),
            (None, None, None) => CalleeRecord::default(),
        }
    }
}
