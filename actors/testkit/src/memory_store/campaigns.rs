//! Campaigns in memory.

use std::collections::HashSet;

use async_trait::async_trait;

use super::{
    MemoryStore,
    tables::{CampaignEntry, ContactList, ContactState, Tables},
};
use domain::{
    id::{AccountId, AttemptId, CampaignId, NodeId},
    ports::store::{
        Account, ActiveCampaign, AttemptState, CREATED, CalledAgain, CampaignContact, CampaignEdit, CampaignFilter,
        CampaignRow, CampaignStatus, CampaignStore, ContactsAdded, KeyTicket, NewCampaign, Progress, StateChange,
        StoreError, StoreResult,
    },
    time::Timestamp,
};

impl Tables {
    pub(super) fn row(&self, entry: &CampaignEntry) -> CampaignRow {
        let list = self.lists.get(&entry.list);
        let count = list.map_or(0, |list| list.contacts.len());
        let untried = list.and_then(|list| list.untried.first()).copied();
        let attempts = self.unfinished.iter().filter_map(|id| self.attempts.get(id));
        let waiting = attempts.filter(|attempt| {
            attempt.contact_list == entry.list
                && attempt.attempt_no == 1
                && matches!(attempt.state, AttemptState::Queued | AttemptState::Claimed)
        });
        let undialed = waiting.map(|attempt| attempt.contact_index).chain(untried).min();
        CampaignRow {
            contact_count: count as i64,
            start_index: undialed.unwrap_or(count) as i64,
            ..entry.row.clone()
        }
    }

    fn remove_loose_lists(&mut self) -> u64 {
        let used: HashSet<i64> = self.campaigns.values().map(|entry| entry.list).collect();
        let before = self.lists.len();
        self.lists.retain(|list, _| used.contains(list));
        (before - self.lists.len()) as u64
    }

    /// Returns the first instant from `from` on at which the account created no other campaign.
    fn free_instant(&self, account: AccountId, except: CampaignId, from: Timestamp) -> Timestamp {
        let taken = |at: Timestamp| {
            let mut others = self.campaigns.values().map(|entry| &entry.row);
            others.any(|row| row.account == account && row.id != except && row.created_at == at)
        };
        let mut at = from;
        while taken(at) {
            at = Timestamp(at.0 + 1);
        }
        at
    }

    fn cancel_waiting(&mut self, campaign: CampaignId, now: Timestamp) {
        let attempts = self.unfinished.iter().filter_map(|id| self.attempts.get(id));
        let waiting: Vec<(AttemptId, i64)> = attempts
            .filter(|entry| entry.campaign == Some(campaign) && entry.state == AttemptState::Queued)
            .map(|entry| (entry.id, entry.attempt_no))
            .collect();
        for (id, attempt_no) in waiting {
            if attempt_no == 1 {
                self.forget(id);
            } else {
                self.cancel(id, None, now);
            }
        }
    }
}

impl Tables {
    fn require_version(&self, id: CampaignId, version: i64) -> StoreResult<()> {
        if self.visible(id)?.row.version == version {
            Ok(())
        } else {
            Err(StoreError::Stale)
        }
    }

    pub(super) fn change(
        &mut self,
        id: CampaignId,
        version: i64,
        change: StateChange,
        now: Timestamp,
    ) -> StoreResult<CampaignRow> {
        self.require_version(id, version)?;
        if change.cancel_waiting {
            self.cancel_waiting(id, now);
        }
        self.tell_of_campaign(id, Some(&change), now);
        let entry = self.campaigns.get_mut(&id).ok_or(StoreError::NotFound)?;
        let row = &mut entry.row;
        row.status = change.status;
        row.active = change.active;
        row.scheduled = change.scheduled;
        row.next_run_at = change.next_run_at;
        row.opens_from = change.opens_from;
        row.closes_at = change.closes_at;
        row.reason = change.reason;
        row.version += 1;
        row.updated_at = now;
        Ok(self.row(self.visible(id)?))
    }

    /// Moves the contacts of an import of the same account to the campaign. The import ends.
    fn replace_contacts(&mut self, id: CampaignId, import: CampaignId, now: Timestamp) -> StoreResult<()> {
        let account = self.visible(id)?.row.account;
        let source = self.campaigns.get(&import);
        source
            .filter(|source| source.importing && source.row.account == account)
            .ok_or(StoreError::NotFound)?;
        self.cancel_waiting(id, now);
        let source = self.campaigns.remove(&import).ok_or(StoreError::NotFound)?;
        let entry = self.campaigns.get_mut(&id).ok_or(StoreError::NotFound)?;
        entry.list = source.list;
        Ok(())
    }

    fn edit(&mut self, id: CampaignId, edit: CampaignEdit) -> StoreResult<()> {
        let entry = self.campaigns.get_mut(&id).ok_or(StoreError::NotFound)?;
        let row = &mut entry.row;
        row.name = edit.name.unwrap_or_else(|| std::mem::take(&mut row.name));
        row.agent = edit.agent.unwrap_or(row.agent);
        row.schedule = edit.schedule.unwrap_or_else(|| std::mem::take(&mut row.schedule));
        row.follow_up = edit.follow_up.unwrap_or_else(|| std::mem::take(&mut row.follow_up));
        row.options = edit.options.unwrap_or(row.options);
        let agent = row.agent;
        for attempt in self.attempts.values_mut() {
            if attempt.campaign == Some(id) && attempt.state == AttemptState::Queued {
                attempt.agent = agent;
            }
        }
        Ok(())
    }
}

fn new_row(account: AccountId, new: NewCampaign, now: Timestamp) -> CampaignRow {
    CampaignRow {
        id: CampaignId::new(),
        account,
        name: new.name,
        agent: new.agent,
        status: CampaignStatus::Draft,
        version: 1,
        active: false,
        scheduled: false,
        schedule: new.schedule,
        next_run_at: None,
        opens_from: None,
        closes_at: None,
        follow_up: new.follow_up,
        options: new.options,
        contact_count: 0,
        start_index: 0,
        reason: None,
        created_at: now,
        updated_at: now,
    }
}

fn passes(filter: &CampaignFilter, row: &CampaignRow) -> bool {
    let name = filter.name.as_ref().map(|name| name.to_lowercase());
    name.is_none_or(|name| row.name.to_lowercase().contains(&name))
        && filter.status.is_none_or(|status| row.status == status)
        && filter.active.is_none_or(|active| row.active == active)
        && filter.before.is_none_or(|before| row.created_at < before)
}

#[async_trait]
impl CampaignStore for MemoryStore {
    async fn begin_import(&self, account: AccountId, new: NewCampaign) -> StoreResult<CampaignId> {
        let mut tables = self.open()?;
        tables.require_account(account)?;
        tables.agents.get(&new.agent).ok_or(StoreError::NotFound)?;
        let mut row = new_row(account, new, self.now());
        row.created_at = tables.free_instant(account, row.id, row.created_at);
        let id = row.id;
        let entry = CampaignEntry {
            row,
            importing: true,
            imported_by: tables.nodes.last(),
            hang_up: None,
            deleted: false,
            list: rand::random_range(1..=i64::MAX),
            refusals: (None, 0),
        };
        tables.lists.insert(entry.list, ContactList::default());
        tables.campaigns.insert(id, entry);
        Ok(id)
    }

    async fn append_contacts(&self, import: CampaignId, contacts: &[CampaignContact]) -> StoreResult<()> {
        let mut tables = self.open()?;
        let entry = tables.campaigns.get(&import).filter(|entry| entry.importing);
        let list = entry.ok_or(StoreError::NotFound)?.list;
        let list = tables.lists.get_mut(&list).ok_or(StoreError::NotFound)?;
        for contact in contacts {
            list.push(contact.clone());
        }
        Ok(())
    }

    async fn finish_import(&self, import: CampaignId, ticket: Option<&KeyTicket>) -> StoreResult<CampaignRow> {
        let mut tables = self.open()?;
        let entry = tables.campaigns.get(&import).filter(|entry| entry.importing);
        let account = entry.ok_or(StoreError::NotFound)?.row.account;
        let created_at = tables.free_instant(account, import, self.now());
        tables.settle(ticket, (CREATED, import.to_string()), self.now())?;
        let entry = tables.campaigns.get_mut(&import).ok_or(StoreError::NotFound)?;
        entry.importing = false;
        entry.row.created_at = created_at;
        entry.row.updated_at = created_at;
        tables.tell_of_campaign(import, None, self.now());
        let entry = tables.campaigns.get(&import).ok_or(StoreError::NotFound)?;
        Ok(tables.row(entry))
    }

    async fn abandon_import(&self, import: CampaignId) -> StoreResult<()> {
        let mut tables = self.open()?;
        if tables.campaigns.get(&import).is_some_and(|entry| entry.importing) {
            tables.campaigns.remove(&import);
            tables.remove_loose_lists();
        }
        Ok(())
    }

    async fn sweep_imports(&self) -> StoreResult<u64> {
        let mut tables = self.open()?;
        let tables = &mut *tables;
        let before = tables.campaigns.len();
        let lives = |node: Option<NodeId>| node.is_some_and(|node| tables.nodes.lives(node));
        tables
            .campaigns
            .retain(|_, entry| !entry.importing || lives(entry.imported_by));
        Ok((before - tables.campaigns.len()) as u64)
    }

    async fn sweep_lists(&self) -> StoreResult<u64> {
        Ok(self.open()?.remove_loose_lists())
    }

    async fn campaign(&self, account: AccountId, id: CampaignId) -> StoreResult<CampaignRow> {
        let tables = self.open()?;
        let row = tables.row(tables.visible(id)?);
        if row.account == account {
            Ok(row)
        } else {
            Err(StoreError::NotFound)
        }
    }

    async fn campaign_contacts(&self, id: CampaignId, from: i64, limit: i64) -> StoreResult<Vec<CampaignContact>> {
        let tables = self.open()?;
        let account = tables.visible(id)?.row.account;
        let from = usize::try_from(from).unwrap_or(0);
        let limit = usize::try_from(limit).unwrap_or(0);
        let wanted = tables.visible_list(id)?.contacts.iter().skip(from).take(limit);
        Ok(wanted
            .map(|contact| tables.with_saved(account, &contact.contact))
            .collect())
    }

    async fn progress(&self, id: CampaignId) -> StoreResult<Progress> {
        let tables = self.open()?;
        let mut progress = Progress::default();
        for contact in &tables.visible_list(id)?.contacts {
            match contact.state {
                ContactState::Pending => progress.pending += 1,
                ContactState::InProgress => progress.in_progress += 1,
                ContactState::Completed => progress.completed += 1,
                ContactState::Failed => progress.failed += 1,
                ContactState::Cancelled => progress.cancelled += 1,
            }
            if contact.state == ContactState::Completed && contact.voicemail {
                progress.voicemail += 1;
            }
        }
        Ok(progress)
    }

    async fn campaigns(&self, account: AccountId, filter: CampaignFilter, limit: i64) -> StoreResult<Vec<CampaignRow>> {
        let tables = self.open()?;
        let visible = tables
            .campaigns
            .values()
            .filter(|entry| !entry.importing && !entry.deleted);
        let mut rows: Vec<CampaignRow> = visible
            .filter(|entry| entry.row.account == account && passes(&filter, &entry.row))
            .map(|entry| tables.row(entry))
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.created_at));
        rows.truncate(usize::try_from(limit).unwrap_or(0));
        Ok(rows)
    }

    async fn change_state(&self, id: CampaignId, version: i64, change: StateChange) -> StoreResult<CampaignRow> {
        self.open()?.change(id, version, change, self.now())
    }

    async fn update_campaign(
        &self,
        id: CampaignId,
        version: i64,
        edit: CampaignEdit,
        change: StateChange,
    ) -> StoreResult<CampaignRow> {
        let mut tables = self.open()?;
        tables.require_version(id, version)?;
        let now = self.now();
        if let Some(import) = edit.contacts {
            tables.replace_contacts(id, import, now)?;
        }
        tables.edit(id, edit)?;
        tables.change(id, version, change, now)
    }

    async fn add_contacts(
        &self,
        id: CampaignId,
        import: CampaignId,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<ContactsAdded> {
        self.open()?.add_contacts(id, import, ticket, self.now())
    }

    async fn call_again(
        &self,
        id: CampaignId,
        last: &[AttemptId],
        earlier: i64,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<CalledAgain> {
        self.open()?.call_again(id, last, (earlier, ticket), self.now())
    }

    async fn delete_campaign(&self, id: CampaignId, version: i64) -> StoreResult<()> {
        let mut tables = self.open()?;
        tables.require_version(id, version)?;
        tables.cancel_waiting(id, self.now());
        let entry = tables.campaigns.get_mut(&id).ok_or(StoreError::NotFound)?;
        entry.deleted = true;
        entry.row.active = false;
        entry.row.version += 1;
        Ok(())
    }

    async fn active_campaigns(&self) -> StoreResult<Vec<CampaignRow>> {
        let tables = self.open()?;
        let taken_up = |row: &CampaignRow| match row.status {
            CampaignStatus::Waiting | CampaignStatus::Running | CampaignStatus::Delayed => true,
            CampaignStatus::Paused => row.active,
            CampaignStatus::Draft | CampaignStatus::Stopped | CampaignStatus::Completed | CampaignStatus::Failed => {
                false
            }
        };
        let visible = tables
            .campaigns
            .values()
            .filter(|entry| !entry.importing && !entry.deleted);
        let mut rows: Vec<CampaignRow> = visible
            .filter(|entry| taken_up(&entry.row))
            .map(|entry| tables.row(entry))
            .collect();
        rows.sort_by_key(|row| (row.created_at, row.id));
        Ok(rows)
    }

    async fn active_versions(&self) -> StoreResult<Vec<ActiveCampaign>> {
        let rows = self.active_campaigns().await?;
        let mark = |row: CampaignRow| ActiveCampaign {
            id: row.id,
            account: row.account,
            version: row.version,
        };
        Ok(rows.into_iter().map(mark).collect())
    }

    async fn want_hang_up(&self, id: CampaignId, version: i64) -> StoreResult<()> {
        let mut tables = self.open()?;
        let entry = tables.campaigns.get_mut(&id).ok_or(StoreError::NotFound)?;
        entry.hang_up = Some(version);
        Ok(())
    }

    async fn hang_up_wanted(&self, id: CampaignId, version: i64) -> StoreResult<bool> {
        let tables = self.open()?;
        Ok(tables
            .campaigns
            .get(&id)
            .is_some_and(|entry| entry.hang_up == Some(version)))
    }

    async fn account(&self, id: AccountId) -> StoreResult<Account> {
        self.open()?.accounts.get(&id).cloned().ok_or(StoreError::NotFound)
    }
}
