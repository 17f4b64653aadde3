//! Calls in progress in memory.

use std::cmp::Reverse;

use super::tables::{AttemptEntry, Tables};
use domain::{
    id::AccountId,
    ports::store::{
        CallInProgress, CallOperator, ConversationStatus, InProgressFilter, OPERATOR_JOINED, OPERATOR_LEFT,
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
            contact_name: self.name_on_the_line(entry),
            phone_number: entry.phone_number.clone(),
            direction: entry.direction,
            started_at: entry.started_at(),
            answered_at: entry.answered_at,
            operator: joined.map(|row| CallOperator::of_detail(&row.event.detail, row.stored_at)),
            is_test: row.is_test,
        }
    }

    fn name_on_the_line(&self, entry: &AttemptEntry) -> Option<String> {
        let list = self.lists.get(&entry.contact_list);
        let listed = list.and_then(|list| list.contacts.get(entry.contact_index));
        let own = match (listed, self.calls.get(&entry.id)) {
            (Some(listed), _) => listed.contact.name.clone(),
            (None, Some(call)) => call.name.clone(),
            (None, None) => None,
        };
        own.or_else(|| self.caller(entry).name)
    }
}
