//! Accounts, agents and contacts in memory.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashSet},
};

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{MemoryStore, tables::Tables};
use domain::{
    account_settings::AccountSettings,
    agent::{changed_fields, named_numbers, referenced_agents},
    id::{AccountId, AgentId, AttemptId, ContactId},
    phone_number::PhoneNumber,
    ports::store::{
        AGENT_PAGE_BYTES, AGENT_VERSIONS_KEPT, AgentFilter, AgentPage, AgentRow, AgentVersion, ApiKeyRow, AttemptState,
        CREATED, CampaignStatus, ContactFilter, ContactRow, DirectoryStore, DoNotCallRow, HOLDERS_NAMED, Holder,
        KeyTicket, NewAccount, NewContact, NumberFilter, NumberUse, Removal, SECRET_KEPT_US, StoreError, StoreResult,
        WebhookSecrets,
    },
    time::Timestamp,
};

impl Tables {
    /// Returns whether a number is on the account's do-not-call list, in any of its spellings.
    pub(super) fn is_listed(&self, account: AccountId, number: &PhoneNumber) -> bool {
        let mut spellings = number.spellings().into_iter();
        spellings.any(|spelling| {
            PhoneNumber::stored(&spelling).is_ok_and(|number| self.do_not_call.contains_key(&(account, number)))
        })
    }

    /// Returns the numbers of a document that belong to another account or that another agent answers.
    fn taken(&self, account: AccountId, agent: Option<AgentId>, document: &Map<String, Value>) -> Vec<PhoneNumber> {
        let mut taken = named_numbers(document);
        taken.retain(|number, answered| {
            let mut others = self.agents.values().filter(|row| Some(row.id) != agent);
            others.any(|row| {
                let named = named_numbers(&row.document).get(number).copied();
                named.is_some_and(|other| row.account != account || (other && *answered))
            })
        });
        taken.into_keys().collect()
    }

    /// Checks that its numbers are free, and that the agents to which it hands calls exist.
    fn require_free(
        &self,
        account: AccountId,
        agent: Option<AgentId>,
        document: &Map<String, Value>,
    ) -> StoreResult<()> {
        let there = |text: &str| {
            let row = text.parse().ok().and_then(|id| self.agents.get(&id));
            row.is_some_and(|row| row.account == account)
        };
        if !referenced_agents(document).iter().all(|(_, text)| there(text)) {
            return Err(StoreError::Stale);
        }
        if self.taken(account, agent, document).is_empty() {
            Ok(())
        } else {
            Err(StoreError::Exists("number"))
        }
    }

    /// Keeps the version of an agent that was just saved, and drops the ones that are too many.
    fn keep_version(&mut self, row: &AgentRow, changed: Vec<String>) {
        let version = AgentVersion {
            version: row.version,
            saved_at: row.updated_at,
            changed,
        };
        let kept = (version, row.document.clone());
        self.agent_versions.insert((row.id, row.version), kept);
        let oldest = row.version - AGENT_VERSIONS_KEPT;
        self.agent_versions
            .retain(|(agent, version), _| *agent != row.id || *version > oldest);
    }

    fn holders_of_agent(&self, id: AgentId) -> Vec<Holder> {
        let campaigns = self.campaigns.values().filter(|entry| {
            let holds = matches!(
                entry.row.status,
                CampaignStatus::Draft
                    | CampaignStatus::Waiting
                    | CampaignStatus::Running
                    | CampaignStatus::Paused
                    | CampaignStatus::Delayed
            );
            !entry.importing && entry.row.agent == id && holds
        });
        let mut holders: Vec<Holder> = campaigns
            .map(|entry| Holder {
                kind: "campaign",
                id: entry.row.id.to_string(),
                name: entry.row.name.clone(),
            })
            .collect();
        holders.sort_by(|a, b| a.id.cmp(&b.id));
        let text = id.to_string();
        let mut agents: Vec<&AgentRow> = self.agents.values().filter(|row| row.id != id).collect();
        agents.retain(|row| referenced_agents(&row.document).iter().any(|(_, named)| *named == text));
        agents.sort_by_key(|row| row.id);
        holders.extend(agents.into_iter().map(|row| Holder {
            kind: "agent",
            id: row.id.to_string(),
            name: row.name().to_owned(),
        }));
        let going = self.unfinished.iter().filter_map(|attempt| self.attempts.get(attempt));
        let going = going.filter(|entry| entry.agent == id);
        // An attempt queued in a campaign waits together with its campaign.
        let going = going.filter(|entry| entry.state != AttemptState::Queued || entry.campaign.is_none());
        holders.extend(going.map(|entry| Holder {
            kind: "call",
            id: entry.id.to_string(),
            name: entry.phone_number.to_string(),
        }));
        holders.truncate(HOLDERS_NAMED);
        holders
    }
}

impl Tables {
    fn list_number(
        &mut self,
        account: AccountId,
        number: &PhoneNumber,
        by: Option<AttemptId>,
        now: Timestamp,
    ) -> DoNotCallRow {
        let key = (account, number.clone());
        if !self.do_not_call.contains_key(&key) {
            self.tell_of_opt_out(account, number, by, now);
        }
        let entry = self.do_not_call.entry(key).or_insert(DoNotCallRow {
            phone_number: number.clone(),
            created_at: now,
            call: by,
        });
        entry.clone()
    }
}

#[async_trait]
impl DirectoryStore for MemoryStore {
    async fn create_account(&self, new: NewAccount) -> StoreResult<()> {
        let mut tables = self.open()?;
        if tables.accounts.values().any(|other| other.email == new.account.email) {
            return Err(StoreError::Exists("email"));
        }
        let own = ApiKeyRow::own(new.account.id, new.key.prefix.clone(), self.now(), None);
        tables.keys.push((new.key, own));
        tables.secrets.insert(new.account.id, (new.webhook_secret, None));
        tables.accounts.insert(new.account.id, new.account);
        Ok(())
    }

    async fn webhook_secrets(&self, account: AccountId) -> StoreResult<WebhookSecrets> {
        let tables = self.open()?;
        let (current, previous) = tables.secrets.get(&account).ok_or(StoreError::NotFound)?;
        let valid = previous.as_ref().filter(|(_, until)| *until > self.now());
        Ok(WebhookSecrets {
            current: current.clone(),
            previous: valid.map(|(secret, _)| secret.clone()),
        })
    }

    async fn rotate_webhook_secret(&self, account: AccountId, secret: String) -> StoreResult<()> {
        let mut tables = self.open()?;
        let until = Timestamp(self.now().0 + SECRET_KEPT_US);
        let secrets = tables.secrets.get_mut(&account).ok_or(StoreError::NotFound)?;
        let replaced = std::mem::replace(&mut secrets.0, secret);
        secrets.1 = Some((replaced, until));
        Ok(())
    }

    async fn set_account_settings(
        &self,
        account: AccountId,
        before: AccountSettings,
        after: AccountSettings,
    ) -> StoreResult<()> {
        let mut tables = self.open()?;
        match tables.accounts.get_mut(&account) {
            Some(account) if account.settings == before => account.settings = after,
            _ => return Err(StoreError::Stale),
        }
        Ok(())
    }

    async fn create_agent(
        &self,
        account: AccountId,
        document: Map<String, Value>,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<AgentRow> {
        let mut tables = self.open()?;
        tables.require_account(account)?;
        tables.require_knowledge(account, &document)?;
        tables.require_tools(account, &document)?;
        tables.require_free(account, None, &document)?;
        let now = self.now();
        let row = AgentRow {
            id: AgentId::new(),
            account,
            document,
            version: 1,
            created_at: now,
            updated_at: now,
        };
        tables.settle(ticket, (CREATED, row.id.to_string()), now)?;
        tables.keep_version(&row, Vec::new());
        tables.agents.insert(row.id, row.clone());
        Ok(row)
    }

    async fn agent(&self, account: AccountId, id: AgentId) -> StoreResult<AgentRow> {
        let tables = self.open()?;
        let row = tables.agents.get(&id).filter(|row| row.account == account);
        row.cloned().ok_or(StoreError::NotFound)
    }

    async fn kept_agent(&self, account: AccountId, id: AgentId) -> StoreResult<AgentRow> {
        let tables = self.open()?;
        let row = tables.agents.get(&id).or_else(|| tables.deleted_agents.get(&id));
        let row = row.filter(|row| row.account == account);
        row.cloned().ok_or(StoreError::NotFound)
    }

    async fn any_agent(&self, id: AgentId) -> StoreResult<AgentRow> {
        self.open()?.agents.get(&id).cloned().ok_or(StoreError::NotFound)
    }

    async fn agents(&self, account: AccountId, filter: AgentFilter, limit: i64) -> StoreResult<AgentPage> {
        let tables = self.open()?;
        let own = tables.agents.values().filter(|row| row.account == account);
        let mut found: Vec<&AgentRow> = own.collect();
        found.retain(|row| filter.after.is_none_or(|last| (row.created_at, row.id) < last));
        found.retain(|row| row.fits(&filter));
        found.sort_by_key(|row| Reverse((row.created_at, row.id)));
        let limit = usize::try_from(limit).unwrap_or(0);
        let (mut rows, mut bytes) = (Vec::new(), 0);
        for row in &found {
            if rows.len() == limit || bytes > AGENT_PAGE_BYTES {
                break;
            }
            bytes += Value::Object(row.document.clone()).to_string().len();
            rows.push((*row).clone());
        }
        let more = rows.len() < found.len();
        Ok(AgentPage { rows, more })
    }

    async fn number_uses(&self, account: AccountId, filter: NumberFilter, limit: i64) -> StoreResult<Vec<NumberUse>> {
        let tables = self.open()?;
        let mut rows: Vec<&AgentRow> = tables.agents.values().filter(|row| row.account == account).collect();
        rows.sort_by_key(|row| (row.created_at, row.id));
        let mut numbers: BTreeMap<PhoneNumber, Vec<NumberUse>> = BTreeMap::new();
        for row in rows {
            for (phone_number, answered) in named_numbers(&row.document) {
                let found = NumberUse {
                    phone_number: phone_number.clone(),
                    agent: row.id,
                    agent_name: row.name().to_owned(),
                    answered,
                };
                numbers.entry(phone_number).or_default().push(found);
            }
        }
        let limit = usize::try_from(limit).unwrap_or_default();
        let wanted = numbers.into_iter().filter(|(number, _)| {
            let is_only = filter.only.as_ref().is_none_or(|only| only == number);
            is_only && filter.after.as_ref().is_none_or(|after| number > after)
        });
        Ok(wanted.take(limit).flat_map(|(_, uses)| uses).collect())
    }

    async fn taken_numbers(
        &self,
        account: AccountId,
        agent: Option<AgentId>,
        document: &Map<String, Value>,
    ) -> StoreResult<Vec<PhoneNumber>> {
        Ok(self.open()?.taken(account, agent, document))
    }

    async fn agent_versions(
        &self,
        account: AccountId,
        id: AgentId,
        before: Option<i64>,
        limit: i64,
    ) -> StoreResult<Vec<AgentVersion>> {
        self.agent(account, id).await?;
        let tables = self.open()?;
        let kept = tables
            .agent_versions
            .range((id, 0)..(id, before.unwrap_or(i64::MAX).max(0)));
        let limit = usize::try_from(limit).unwrap_or(0);
        Ok(kept
            .rev()
            .take(limit)
            .map(|(_, (version, _))| version.clone())
            .collect())
    }

    async fn agent_version(&self, account: AccountId, id: AgentId, version: i64) -> StoreResult<AgentRow> {
        let unsaved = {
            let tables = self.open()?;
            let is_tested = tables.tests.values().any(|agent| *agent == Some(id));
            let row = tables.deleted_agents.get(&id).filter(|_| is_tested);
            row.filter(|row| row.account == account && row.version == version)
                .cloned()
        };
        if let Some(row) = unsaved {
            return Ok(row);
        }
        let row = self.agent(account, id).await?;
        let tables = self.open()?;
        let (kept, document) = tables.agent_versions.get(&(id, version)).ok_or(StoreError::NotFound)?;
        Ok(AgentRow {
            document: document.clone(),
            version,
            updated_at: kept.saved_at,
            ..row
        })
    }

    async fn delete_agent(&self, account: AccountId, id: AgentId) -> StoreResult<Removal> {
        let mut tables = self.open()?;
        let row = tables.agents.get(&id).filter(|row| row.account == account);
        row.ok_or(StoreError::NotFound)?;
        let holders = tables.holders_of_agent(id);
        if !holders.is_empty() {
            return Ok(Removal::Held(holders));
        }
        if let Some(row) = tables.agents.remove(&id) {
            tables.deleted_agents.insert(id, row);
            tables.agent_versions.retain(|(agent, _), _| *agent != id);
        }
        Ok(Removal::Done)
    }

    async fn update_agent(
        &self,
        account: AccountId,
        id: AgentId,
        version: i64,
        document: Map<String, Value>,
    ) -> StoreResult<AgentRow> {
        let mut tables = self.open()?;
        let held = tables.require_knowledge(account, &document);
        let held = held.and_then(|()| tables.require_tools(account, &document));
        let held = held.and_then(|()| tables.require_free(account, Some(id), &document));
        let row = tables.agents.get_mut(&id).filter(|row| row.account == account);
        let row = row.ok_or(StoreError::NotFound)?;
        if row.version != version {
            return Err(StoreError::Stale);
        }
        held?;
        let changed = changed_fields(&row.document, &document);
        row.document = document;
        row.version += 1;
        row.updated_at = self.now();
        let row = row.clone();
        tables.keep_version(&row, changed);
        Ok(row)
    }

    async fn create_contact(
        &self,
        account: AccountId,
        new: NewContact,
        ticket: Option<&KeyTicket>,
    ) -> StoreResult<ContactRow> {
        let mut tables = self.open()?;
        tables.require_account(account)?;
        let taken = |row: &ContactRow| row.account == account && row.phone_number == new.phone_number;
        if tables.contacts.values().any(taken) {
            return Err(StoreError::Exists("phoneNumber"));
        }
        let row = ContactRow {
            id: ContactId::new(),
            account,
            phone_number: new.phone_number,
            name: new.name,
            email: new.email,
            extra: new.extra,
            version: 1,
            created_at: self.now(),
        };
        tables.settle(ticket, (CREATED, row.id.to_string()), row.created_at)?;
        tables.contacts.insert(row.id, row.clone());
        Ok(row)
    }

    async fn contact(&self, account: AccountId, id: ContactId) -> StoreResult<ContactRow> {
        let tables = self.open()?;
        let row = tables.contacts.get(&id).filter(|row| row.account == account);
        row.cloned().ok_or(StoreError::NotFound)
    }

    async fn contacts(&self, account: AccountId, filter: ContactFilter, limit: i64) -> StoreResult<Vec<ContactRow>> {
        Ok(self.open()?.contacts_of(account, &filter, limit))
    }

    async fn update_contact(
        &self,
        account: AccountId,
        id: ContactId,
        version: i64,
        new: NewContact,
    ) -> StoreResult<ContactRow> {
        self.open()?.replace_contact((account, id), version, new)
    }

    async fn delete_contact(&self, account: AccountId, id: ContactId) -> StoreResult<()> {
        let mut tables = self.open()?;
        let row = tables.contacts.get(&id).filter(|row| row.account == account);
        row.ok_or(StoreError::NotFound)?;
        tables.contacts.remove(&id);
        Ok(())
    }

    async fn add_do_not_call(&self, account: AccountId, number: &PhoneNumber) -> StoreResult<DoNotCallRow> {
        let mut tables = self.open()?;
        tables.require_account(account)?;
        let now = self.now();
        Ok(tables.list_number(account, number, None, now))
    }

    async fn opt_out(&self, account: AccountId, number: &PhoneNumber, call: AttemptId) -> StoreResult<()> {
        let mut tables = self.open()?;
        tables.require_account(account)?;
        tables.list_number(account, number, Some(call), self.now());
        Ok(())
    }

    async fn do_not_call(
        &self,
        account: AccountId,
        search: Option<String>,
        after: Option<(Timestamp, PhoneNumber)>,
        limit: i64,
    ) -> StoreResult<Vec<DoNotCallRow>> {
        let tables = self.open()?;
        let own = tables.do_not_call.iter().filter(|((owner, _), _)| *owner == account);
        let mut found: Vec<DoNotCallRow> = own.map(|(_, row)| row.clone()).collect();
        let search = search.unwrap_or_default();
        found.retain(|row| row.phone_number.as_str().contains(&search));
        let place = |row: &DoNotCallRow| (row.created_at, row.phone_number.clone());
        found.retain(|row| after.as_ref().is_none_or(|last| place(row) < *last));
        found.sort_by_key(|row| Reverse(place(row)));
        found.truncate(usize::try_from(limit).unwrap_or(0));
        Ok(found)
    }

    async fn among_do_not_call(
        &self,
        account: AccountId,
        numbers: &[PhoneNumber],
    ) -> StoreResult<HashSet<PhoneNumber>> {
        let tables = self.open()?;
        let is_listed = |number: &&PhoneNumber| tables.is_listed(account, number);
        Ok(numbers.iter().filter(is_listed).cloned().collect())
    }

    async fn remove_do_not_call(&self, account: AccountId, number: &PhoneNumber) -> StoreResult<()> {
        let spellings = number.spellings();
        let is_it =
            |owner: AccountId, listed: &PhoneNumber| owner == account && spellings.contains(&listed.to_string());
        let mut tables = self.open()?;
        let before = tables.do_not_call.len();
        tables.do_not_call.retain(|(owner, listed), _| !is_it(*owner, listed));
        match tables.do_not_call.len() < before {
            true => Ok(()),
            false => Err(StoreError::NotFound),
        }
    }
}
