//! Reads of campaigns in memory.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;

use super::{
    MemoryStore,
    tables::{AttemptEntry, ContactState, Tables},
};
use domain::{
    id::{AccountId, AttemptId, CampaignId, ContactId},
    phone_number::PhoneNumber,
    ports::store::{
        AttemptState, Callee, CampaignContact, CampaignReadStore, ChangedConversation, ContactPage, ContactResult,
        ContactRow, ContactStatus, ConversationStatus, LastAttempt, RecentDials, ResultFilter, StoreResult,
    },
    time::Timestamp,
};

impl ContactState {
    fn read(self) -> ContactStatus {
        match self {
            Self::Pending => ContactStatus::Pending,
            Self::InProgress => ContactStatus::InProgress,
            Self::Completed => ContactStatus::Completed,
            Self::Failed => ContactStatus::Failed,
            Self::Cancelled => ContactStatus::Cancelled,
        }
    }
}

fn changed_at(entry: &AttemptEntry) -> Timestamp {
    let ended = entry.end_written_at.or(entry.ended_at);
    ended.or(entry.dialing_at).unwrap_or(entry.created_at)
}

impl Tables {
    fn callee(&self, account: AccountId, contact: &CampaignContact) -> Callee {
        let contact = self.with_saved(account, contact);
        Callee {
            phone_number: contact.phone_number,
            name: contact.name,
            contact: contact.contact,
        }
    }

    /// Returns the campaign's conversations in the order of their last change.
    fn changes(&self, campaign: CampaignId) -> StoreResult<Vec<ChangedConversation>> {
        self.visible(campaign)?;
        let own = self.attempts.values().filter(|entry| entry.campaign == Some(campaign));
        let shown = own.filter(|entry| entry.state != AttemptState::Claimed || entry.attempt_no > 1);
        let mut changes: Vec<ChangedConversation> = shown
            .filter_map(|entry| {
                let list = self.lists.get(&entry.contact_list)?;
                let callee = self.callee_of(entry);
                let who = self.callee(entry.account, &list.contacts.get(entry.contact_index)?.contact);
                Some(ChangedConversation {
                    id: entry.id,
                    status: entry.conversation_status(),
                    who: Callee {
                        name: callee.contact_name.clone(),
                        ..who
                    },
                    callee,
                    changed_at: changed_at(entry),
                })
            })
            .collect();
        changes.sort_unstable_by_key(|change| (change.changed_at, change.id));
        Ok(changes)
    }
}

fn is_found(who: &Callee, text: &str) -> bool {
    let number = PhoneNumber::search_text(text).unwrap_or(text.to_owned());
    let name = who.name.as_deref().unwrap_or_default().to_lowercase();
    name.contains(&text.to_lowercase()) || who.phone_number.as_str().contains(&number)
}

fn result_of(entry: &AttemptEntry) -> LastAttempt {
    LastAttempt {
        id: entry.id,
        number: entry.attempt_no,
        error: entry.error.clone(),
        voicemail: entry.voicemail,
        collected: entry.collected.clone(),
        evidence: entry.evidence.clone(),
    }
}

#[async_trait]
impl CampaignReadStore for MemoryStore {
    async fn contact_results(
        &self,
        campaign: CampaignId,
        ResultFilter { status, search }: ResultFilter,
        from: i64,
        limit: i64,
    ) -> StoreResult<ContactPage> {
        let tables = self.open()?;
        let (entry, list) = (tables.visible(campaign)?, tables.visible_list(campaign)?);
        let mut last: HashMap<usize, &AttemptEntry> = HashMap::new();
        for attempt in tables
            .attempts
            .values()
            .filter(|attempt| attempt.contact_list == entry.list)
        {
            let newest = last.entry(attempt.contact_index).or_insert(attempt);
            if newest.attempt_no < attempt.attempt_no {
                *newest = attempt;
            }
        }
        let contacts = list.contacts.iter().enumerate();
        let from = usize::try_from(from).unwrap_or(0);
        let wanted = contacts
            .skip(from)
            .filter(|(_, contact)| status.is_none_or(|status| contact.state.read() == status))
            .filter(|(_, contact)| {
                search
                    .as_ref()
                    .is_none_or(|text| is_found(&tables.callee(entry.row.account, &contact.contact), text))
            });
        let results = wanted.map(|(index, contact)| ContactResult {
            index: index as i64,
            who: tables.callee(entry.row.account, &contact.contact),
            status: contact.state.read(),
            last: last.get(&index).map(|attempt| result_of(attempt)),
        });
        Ok(ContactPage {
            list: entry.list,
            results: results.take(usize::try_from(limit).unwrap_or(0)).collect(),
        })
    }

    async fn changed_conversations(
        &self,
        campaign: CampaignId,
        after: Timestamp,
        after_id: AttemptId,
        limit: i64,
    ) -> StoreResult<Vec<ChangedConversation>> {
        let mut changes = self.open()?.changes(campaign)?;
        changes.retain(|change| (change.changed_at, change.id) > (after, after_id));
        changes.truncate(usize::try_from(limit).unwrap_or(0));
        Ok(changes)
    }

    async fn recent_dials(&self, campaign: CampaignId, minutes: i64) -> StoreResult<RecentDials> {
        let tables = self.open()?;
        let now = self.now();
        let own = tables
            .attempts
            .values()
            .filter(|entry| entry.campaign == Some(campaign));
        let dialed: Vec<Timestamp> = own
            .filter_map(|entry| entry.dialing_at)
            .filter(|at| at.0 >= now.0 - minutes * 60_000_000)
            .collect();
        Ok(RecentDials {
            dials: dialed.len() as i64,
            first: dialed.into_iter().min(),
            now,
        })
    }

    async fn latest_conversations(&self, campaign: CampaignId, newest: i64) -> StoreResult<Vec<ChangedConversation>> {
        let mut changes = self.open()?.changes(campaign)?;
        let old = changes.len().saturating_sub(usize::try_from(newest).unwrap_or(0));
        let mut index = 0;
        changes.retain(|change| {
            index += 1;
            index > old || change.status == ConversationStatus::InProgress
        });
        Ok(changes)
    }

    async fn saved_by_number(&self, account: AccountId, numbers: &[PhoneNumber]) -> StoreResult<Vec<ContactRow>> {
        let wanted: HashSet<&PhoneNumber> = numbers.iter().collect();
        let tables = self.open()?;
        let own = tables.contacts.values().filter(|row| row.account == account);
        Ok(own.filter(|row| wanted.contains(&row.phone_number)).cloned().collect())
    }

    async fn saved_by_id(&self, account: AccountId, ids: &[ContactId]) -> StoreResult<Vec<ContactRow>> {
        let tables = self.open()?;
        let found = ids.iter().filter_map(|id| tables.contacts.get(id));
        Ok(found.filter(|row| row.account == account).cloned().collect())
    }
}
