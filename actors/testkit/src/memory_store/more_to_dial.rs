//! Additions to a saved campaign, in memory: added contacts, and contacts that are called again.

use std::collections::HashSet;

use serde_json::json;

use super::tables::{AttemptEntry, ContactState, Place, Tables};
use domain::{
    id::{AttemptId, CampaignId},
    phone_number::PhoneNumber,
    ports::store::{
        AttemptState, CONTACTS, CalledAgain, ContactsAdded, KeyTicket, LISTED_ROWS, StoreError, StoreResult, Tries,
    },
    time::Timestamp,
};

/// Status of a settled key.
const OK: i64 = 200;

impl Tables {
    pub(super) fn add_contacts(
        &mut self,
        id: CampaignId,
        import: CampaignId,
        ticket: Option<&KeyTicket>,
        now: Timestamp,
    ) -> StoreResult<ContactsAdded> {
        let (list, row) = (self.visible(id)?.list, self.row(self.visible(id)?));
        let source = self.campaigns.get(&import);
        let source = source.filter(|source| source.importing && source.row.account == row.account);
        let source = source.ok_or(StoreError::NotFound)?.list;
        let present: HashSet<&PhoneNumber> = numbers(self, list).collect();
        let sent = self.lists.get(&source).ok_or(StoreError::NotFound)?;
        let (known, fresh): (Vec<_>, Vec<_>) = (1_i64..)
            .zip(&sent.contacts)
            .partition(|(_, entry)| present.contains(&entry.contact.phone_number));
        let rows: Vec<i64> = known.iter().map(|(row, _)| *row).collect();
        let fresh: Vec<_> = fresh.into_iter().map(|(_, entry)| entry.contact.clone()).collect();
        let added = fresh.len() as i64;
        if row.contact_count + added > CONTACTS {
            return Err(StoreError::Refused(format!(
                "the campaign would have {} contacts; at most {CONTACTS} are possible",
                row.contact_count + added
            )));
        }
        let change = row.with_more_to_dial(now);
        let status = change.status;
        let answer = ContactsAdded {
            campaign_id: id,
            status: if added > 0 { status } else { row.status },
            contact_count: row.contact_count + added,
            added,
            already_present: rows.len() as i64,
            already_present_rows: rows.into_iter().take(LISTED_ROWS).collect(),
        };
        self.settle(ticket, (OK, json!(answer).to_string()), now)?;
        self.campaigns.remove(&import);
        if added > 0 {
            let list = self.lists.get_mut(&list).ok_or(StoreError::NotFound)?;
            fresh.into_iter().for_each(|contact| list.push(contact));
            self.change(id, row.version, change, now)?;
        }
        Ok(answer)
    }

    pub(super) fn call_again(
        &mut self,
        id: CampaignId,
        last: &[AttemptId],
        (earlier, ticket): (i64, Option<&KeyTicket>),
        now: Timestamp,
    ) -> StoreResult<CalledAgain> {
        let waits = |entry: &&AttemptEntry| entry.campaign == Some(id) && entry.state == AttemptState::Queued;
        let waiting = self.attempts.values().filter(waits).count() + last.len();
        let refused = self.row(self.visible(id)?).calls_nobody_again(waiting as i64);
        if let Some(why) = refused.filter(|_| !last.is_empty()) {
            return Err(StoreError::Refused(why));
        }
        let planned = last.iter().filter(|last| self.plan_again(id, **last, now)).count() as i64;
        let mut row = self.row(self.visible(id)?);
        if planned > 0 {
            row = self.change(id, row.version, row.with_more_to_dial(now), now)?;
        }
        let answer = CalledAgain {
            campaign_id: id,
            status: row.status,
            contacts: earlier + planned,
        };
        self.settle(ticket, (OK, json!(answer).to_string()), now)?;
        Ok(answer)
    }

    /// Plans an attempt after `last`. Returns false if its contact has no final outcome, or a later attempt.
    fn plan_again(&mut self, campaign: CampaignId, last: AttemptId, now: Timestamp) -> bool {
        let Some(entry) = self.campaigns.get(&campaign) else {
            return false;
        };
        let (list, agent) = (entry.list, entry.row.agent);
        let own = |entry: &&AttemptEntry| {
            entry.campaign == Some(campaign)
                && entry.contact_list == list
                && entry.state == AttemptState::Final
                && !entry.phone_number.is_erased()
        };
        let Some(ended) = self.attempts.get(&last).filter(own) else {
            return false;
        };
        let index = ended.contact_index;
        let state = self.lists.get(&list).and_then(|list| list.contacts.get(index));
        let is_final =
            state.is_some_and(|contact| !matches!(contact.state, ContactState::Pending | ContactState::InProgress));
        let mut of_contact = self.attempts.values();
        let later = of_contact.any(|other| {
            (other.contact_list, other.contact_index) == (list, index) && other.attempt_no > ended.attempt_no
        });
        if later || !is_final {
            return false;
        }
        let place = Place {
            account: ended.account,
            campaign: Some(campaign),
            agent,
            contact_list: list,
            contact_index: index,
            attempt_no: ended.attempt_no + 1,
            tries: Tries::default(),
            phone_number: ended.phone_number.clone(),
        };
        let planned = AttemptEntry::queued(place, now, now);
        self.unfinished.insert(planned.id);
        self.attempts.insert(planned.id, planned);
        self.set_contact_state(list, index, ContactState::Pending);
        true
    }
}

fn numbers(tables: &Tables, list: i64) -> impl Iterator<Item = &PhoneNumber> {
    let contacts = tables.lists.get(&list).into_iter().flat_map(|list| &list.contacts);
    contacts.map(|entry| &entry.contact.phone_number)
}
