//! Rows of the memory store, and changes that several operations share.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value};
use uuid::Uuid;

use super::{
    account_events::Feed, appointments::Appointments, calls::SingleCall, deliveries::Outbox, knowledge::GroupEntry,
    nodes::Nodes, sessions::SessionEntry, webhooks::WebhookEntry,
};
use domain::{
    agent::tracks_issues,
    dial_token::DialToken,
    id::{
        AccountId, AgentId, AttemptId, CampaignId, ContactId, DocumentId, GroupId, JobId, NodeId, ToolId,
        TransferRuleId, WebhookId,
    },
    phone_number::PhoneNumber,
    ports::{
        carrier::CarrierCallId,
        store::{
            Account, AccountEventType, AgentRow, AgentVersion, Analysis, ApiKeyRow, AttemptState, CallDirection,
            CalleeRecord, CampaignContact, CampaignRow, CampaignStatus, Claim, ContactRow, ConversationStatus,
            CountedCall, DoNotCallRow, DocumentRow, EventRow, EvidenceOfValues, REFUSALS_IN_A_ROW, SafeguardsRow,
            StoreError, StoreResult, StoredApiKey, ToolRow, TransferRuleRow, Tries, TurnFact,
        },
    },
    safeguards::Rule,
    secret_token::TokenHash,
    time::Timestamp,
};

#[derive(Default)]
pub(super) struct Tables {
    pub(super) accounts: HashMap<AccountId, Account>,
    pub(super) keys: Vec<(StoredApiKey, ApiKeyRow)>,
    pub(super) sessions: Vec<SessionEntry>,
    /// Accounts of login links, and the ends of their validity.
    pub(super) login_links: HashMap<TokenHash, (AccountId, Timestamp)>,
    /// Secret, and the previous one with the end of its validity.
    pub(super) secrets: HashMap<AccountId, (String, Option<(String, Timestamp)>)>,
    pub(super) agents: HashMap<AgentId, AgentRow>,
    /// Deleted agents, since their conversations still show their names.
    pub(super) deleted_agents: HashMap<AgentId, AgentRow>,
    /// Kept versions with their documents.
    pub(super) agent_versions: BTreeMap<(AgentId, i64), (AgentVersion, Map<String, Value>)>,
    /// Documents with their texts.
    pub(super) documents: HashMap<DocumentId, (DocumentRow, String)>,
    pub(super) groups: HashMap<GroupId, GroupEntry>,
    pub(super) tools: HashMap<ToolId, ToolRow>,
    pub(super) transfer_rules: HashMap<TransferRuleId, TransferRuleRow>,
    pub(super) contacts: HashMap<ContactId, ContactRow>,
    pub(super) do_not_call: HashMap<(AccountId, PhoneNumber), DoNotCallRow>,
    pub(super) safeguards: HashMap<AccountId, SafeguardsRow>,
    pub(super) idempotency: HashMap<(AccountId, String), KeyEntry>,
    pub(super) campaigns: HashMap<CampaignId, CampaignEntry>,
    pub(super) lists: HashMap<i64, ContactList>,
    pub(super) attempts: BTreeMap<AttemptId, AttemptEntry>,
    /// Attempts whose conversation was deleted.
    pub(super) deleted_conversations: BTreeSet<AttemptId>,
    /// Test calls, with the agent that was not saved.
    pub(super) tests: HashMap<AttemptId, Option<AgentId>>,
    /// Attempts that belong to no campaign.
    pub(super) calls: HashMap<AttemptId, SingleCall>,
    /// Attempts that are not final, for claims, permits and takeovers.
    pub(super) unfinished: BTreeSet<AttemptId>,
    /// Number of permits of agents whose caller IDs rotate.
    pub(super) turns_taken: HashMap<AgentId, i64>,
    pub(super) carrier_calls: HashMap<(String, CarrierCallId), AttemptId>,
    pub(super) nodes: Nodes,
    pub(super) turns: BTreeMap<(AttemptId, i64), TurnFact>,
    /// Events of calls in the order in which they were stored.
    pub(super) events: Vec<(AttemptId, EventRow)>,
    pub(super) jobs: BTreeMap<JobId, JobEntry>,
    /// Counted calls; without counts if they were deleted before.
    pub(super) counted: BTreeMap<AttemptId, Option<CountedCall>>,
    pub(super) outbox: Outbox,
    pub(super) feed: Feed,
    pub(super) webhooks: HashMap<WebhookId, WebhookEntry>,
    pub(super) appointments: Appointments,
}

impl std::fmt::Debug for Tables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tables")
            .field("campaigns", &self.campaigns.len())
            .field("attempts", &self.attempts.len())
            .finish_non_exhaustive()
    }
}

/// A client's idempotency key. It is settled once it has a resource.
pub(super) struct KeyEntry {
    pub(super) operation: String,
    pub(super) request_hash: String,
    pub(super) lease: Uuid,
    pub(super) expires_at: Timestamp,
    /// Status and id of the result.
    pub(super) made: Option<(i64, String)>,
}

pub(super) struct CampaignEntry {
    pub(super) row: CampaignRow,
    pub(super) importing: bool,
    pub(super) imported_by: Option<NodeId>,
    pub(super) hang_up: Option<i64>,
    pub(super) deleted: bool,
    pub(super) list: i64,
    /// Kind and number of refusals in a row for an unknown reason.
    pub(super) refusals: (Option<String>, i64),
}

/// Contacts of an import. A campaign refers to them.
#[derive(Default)]
pub(super) struct ContactList {
    pub(super) contacts: Vec<ContactEntry>,
    /// Indexes of contacts without an attempt.
    pub(super) untried: BTreeSet<usize>,
}

impl ContactList {
    /// Adds a contact that has no attempt.
    pub(super) fn push(&mut self, contact: CampaignContact) {
        self.untried.insert(self.contacts.len());
        self.contacts.push(ContactEntry {
            contact,
            state: ContactState::Pending,
            voicemail: false,
        });
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContactState {
    Pending,
    InProgress,
    Completed,
    Failed,
    Cancelled,
}

pub(super) struct ContactEntry {
    pub(super) contact: CampaignContact,
    pub(super) state: ContactState,
    pub(super) voicemail: bool,
}

pub(super) struct AttemptEntry {
    pub(super) id: AttemptId,
    pub(super) account: AccountId,
    pub(super) campaign: Option<CampaignId>,
    pub(super) agent: AgentId,
    /// List of the claim. It stays when the campaign gets another list; 0 for a single call, which has none.
    pub(super) contact_list: i64,
    pub(super) contact_index: usize,
    pub(super) attempt_no: i64,
    pub(super) tries: Tries,
    pub(super) direction: CallDirection,
    pub(super) phone_number: PhoneNumber,
    /// The other person at the start of the call; none before.
    pub(super) callee: Option<CalleeRecord>,
    pub(super) state: AttemptState,
    pub(super) owner: Option<NodeId>,
    pub(super) epoch: i64,
    pub(super) claimed_at: Option<Timestamp>,
    pub(super) due_at: Timestamp,
    pub(super) put_off_by: Option<Rule>,
    pub(super) dialing_at: Option<Timestamp>,
    pub(super) answered_at: Option<Timestamp>,
    pub(super) ended_at: Option<Timestamp>,
    /// Time at which the end was written, if that differs from the end.
    pub(super) end_written_at: Option<Timestamp>,
    pub(super) dial_token: Option<DialToken>,
    pub(super) carrier: Option<String>,
    pub(super) caller_id: Option<PhoneNumber>,
    pub(super) agent_version: Option<i64>,
    pub(super) carrier_call: Option<CarrierCallId>,
    /// Status of a final attempt.
    pub(super) status: Option<ConversationStatus>,
    pub(super) error: Option<String>,
    pub(super) voicemail: bool,
    pub(super) transferred: bool,
    pub(super) collected: BTreeMap<String, String>,
    pub(super) evidence: EvidenceOfValues,
    pub(super) analysis: Option<Analysis>,
    pub(super) words_kept: bool,
    pub(super) issue_tracking: Option<bool>,
    pub(super) created_at: Timestamp,
}

/// Owner and campaign of an attempt.
pub(super) struct Place {
    pub(super) account: AccountId,
    pub(super) campaign: Option<CampaignId>,
    pub(super) agent: AgentId,
    pub(super) contact_list: i64,
    pub(super) contact_index: usize,
    pub(super) attempt_no: i64,
    pub(super) tries: Tries,
    pub(super) phone_number: PhoneNumber,
}

impl AttemptEntry {
    /// Creates an attempt that waits for its time.
    pub(super) fn queued(of: Place, due_at: Timestamp, now: Timestamp) -> Self {
        Self {
            id: AttemptId::new(),
            account: of.account,
            campaign: of.campaign,
            agent: of.agent,
            contact_list: of.contact_list,
            contact_index: of.contact_index,
            attempt_no: of.attempt_no,
            tries: of.tries,
            direction: CallDirection::Outbound,
            phone_number: of.phone_number,
            callee: None,
            state: AttemptState::Queued,
            owner: None,
            epoch: 0,
            claimed_at: None,
            due_at,
            put_off_by: None,
            dialing_at: None,
            answered_at: None,
            ended_at: None,
            end_written_at: None,
            dial_token: None,
            carrier: None,
            caller_id: None,
            agent_version: None,
            carrier_call: None,
            status: None,
            error: None,
            voicemail: false,
            transferred: false,
            collected: BTreeMap::new(),
            evidence: BTreeMap::new(),
            analysis: None,
            words_kept: true,
            issue_tracking: None,
            created_at: now,
        }
    }

    /// Returns an instant of the call as it is stored: not before the dial, and not after `now`.
    pub(super) fn bounded(&self, at: Timestamp, now: Timestamp) -> Timestamp {
        at.min(now).max(self.dialing_at.unwrap_or(self.created_at))
    }

    /// Returns whether the permit was given and the attempt is not over, so that its number is taken.
    pub(super) fn is_sent(&self) -> bool {
        match self.state {
            AttemptState::Dialing | AttemptState::Dialed | AttemptState::Answered | AttemptState::Unknown => true,
            AttemptState::Queued | AttemptState::Claimed | AttemptState::Final => false,
        }
    }

    pub(super) fn conversation_status(&self) -> ConversationStatus {
        match self.state {
            AttemptState::Queued | AttemptState::Claimed => ConversationStatus::Scheduled,
            AttemptState::Dialing | AttemptState::Dialed | AttemptState::Answered | AttemptState::Unknown => {
                ConversationStatus::InProgress
            }
            AttemptState::Final => self.status.unwrap_or(ConversationStatus::Failed),
        }
    }

    pub(super) fn started_at(&self) -> Timestamp {
        self.dialing_at.unwrap_or(self.due_at)
    }
}

pub(super) struct JobEntry {
    pub(super) attempt: AttemptId,
    pub(super) due_at: Timestamp,
    pub(super) tries: i64,
}

impl Tables {
    pub(super) fn require_account(&self, id: AccountId) -> StoreResult<()> {
        self.accounts.get(&id).map(|_| ()).ok_or(StoreError::NotFound)
    }

    /// Returns a campaign that readers see.
    pub(super) fn visible(&self, id: CampaignId) -> StoreResult<&CampaignEntry> {
        let entry = self
            .campaigns
            .get(&id)
            .filter(|entry| !entry.importing && !entry.deleted);
        entry.ok_or(StoreError::NotFound)
    }

    /// Returns whether it is running and its window is open.
    pub(super) fn is_running(&self, id: CampaignId, now: Timestamp) -> bool {
        self.visible(id).is_ok_and(|entry| {
            entry.row.status == CampaignStatus::Running && entry.row.closes_at.is_none_or(|closes_at| now < closes_at)
        })
    }

    /// Returns whether it was stopped or removed, so that nothing of it waits.
    pub(super) fn is_stopped(&self, id: CampaignId) -> bool {
        self.visible(id)
            .map_or(true, |entry| entry.row.status == CampaignStatus::Stopped)
    }

    /// Returns the attempt behind a claim that is still valid and not over.
    pub(super) fn held(&mut self, claim: Claim) -> StoreResult<&mut AttemptEntry> {
        let entry = self.attempts.get_mut(&claim.attempt).ok_or(StoreError::Fenced)?;
        let ours = entry.owner == Some(claim.owner) && entry.epoch == claim.epoch && entry.state != AttemptState::Final;
        if ours { Ok(entry) } else { Err(StoreError::Fenced) }
    }

    /// Returns how many attempts of a campaign may be claimed in addition to the open ones.
    pub(super) fn room(&self, id: CampaignId) -> usize {
        let most = self
            .visible(id)
            .ok()
            .and_then(|entry| match entry.refusals.1 >= REFUSALS_IN_A_ROW {
                true => Some(1),
                false => entry.row.options.max_concurrent_calls,
            });
        let Some(most) = most else { return usize::MAX };
        let unfinished = self.unfinished.iter().filter_map(|attempt| self.attempts.get(attempt));
        let open = unfinished.filter(|entry| entry.campaign == Some(id) && entry.state != AttemptState::Queued);
        usize::try_from(most).unwrap_or(usize::MAX).saturating_sub(open.count())
    }

    /// Returns the contacts of a campaign that readers see.
    pub(super) fn visible_list(&self, id: CampaignId) -> StoreResult<&ContactList> {
        let list = self.visible(id)?.list;
        self.lists.get(&list).ok_or(StoreError::NotFound)
    }

    /// Returns a contact, or `None` for a single call, which has none.
    pub(super) fn contact_mut(&mut self, list: i64, index: usize) -> Option<&mut ContactEntry> {
        self.lists.get_mut(&list)?.contacts.get_mut(index)
    }

    pub(super) fn set_contact_state(&mut self, list: i64, index: usize, state: ContactState) {
        if let Some(contact) = self.contact_mut(list, index) {
            contact.state = state;
        }
    }

    /// Returns the campaign's contact merged with the saved contact of its number.
    pub(super) fn with_saved(&self, account: AccountId, contact: &CampaignContact) -> CampaignContact {
        let saved = self
            .contacts
            .values()
            .find(|row| row.account == account && row.phone_number == contact.phone_number);
        CampaignContact {
            contact: saved.map(|row| row.id),
            ..contact.clone()
        }
    }

    /// Gives a claim back unsent: a contact's first attempt is removed, a later one is queued again, or
    /// cancelled if the campaign was stopped meanwhile. A single call is queued again.
    pub(super) fn give_back(&mut self, id: AttemptId, now: Timestamp) {
        let Some(entry) = self.attempts.get(&id) else { return };
        let Some(campaign) = entry.campaign else {
            self.requeue(id, None);
            return;
        };
        let stopped = self.is_stopped(campaign);
        match (entry.attempt_no, stopped) {
            (1, _) => self.forget(id),
            (_, true) => self.cancel(id, None, now),
            (_, false) => self.requeue(id, None),
        }
    }

    /// Removes an attempt that was never sent, and restores its contact.
    pub(super) fn forget(&mut self, id: AttemptId) {
        self.unfinished.remove(&id);
        let Some(entry) = self.attempts.remove(&id) else { return };
        self.set_contact_state(entry.contact_list, entry.contact_index, ContactState::Pending);
        if let Some(list) = self.lists.get_mut(&entry.contact_list) {
            list.untried.insert(entry.contact_index);
        }
    }

    /// Queues an attempt again under the next epoch, due at `due_at` or at its old time.
    pub(super) fn requeue(&mut self, id: AttemptId, due_at: Option<Timestamp>) {
        let Some(entry) = self.attempts.get_mut(&id) else {
            return;
        };
        entry.state = AttemptState::Queued;
        entry.owner = None;
        entry.epoch += 1;
        entry.due_at = due_at.unwrap_or(entry.due_at);
        entry.put_off_by = None;
        entry.dialing_at = None;
        entry.dial_token = None;
        entry.carrier = None;
        entry.caller_id = None;
        entry.agent_version = None;
        entry.callee = None;
        let (list, index) = (entry.contact_list, entry.contact_index);
        self.set_contact_state(list, index, ContactState::Pending);
    }

    /// Makes a campaign count the remaining work again, if it dials or waits for its time.
    pub(super) fn look_again(&mut self, id: CampaignId, now: Timestamp) {
        let Some(entry) = self.campaigns.get_mut(&id).filter(|entry| !entry.deleted) else {
            return;
        };
        match entry.row.status {
            CampaignStatus::Waiting => entry.row.next_run_at = Some(now),
            CampaignStatus::Running => {}
            _ => return,
        }
        entry.row.updated_at = now;
        entry.row.version += 1;
    }

    /// Cancels an attempt that was never sent, and its contact.
    pub(super) fn cancel(&mut self, id: AttemptId, error: Option<&str>, now: Timestamp) {
        self.end_unsent(id, ConversationStatus::Cancelled, error, now);
    }

    /// Ends an attempt that was never sent, and its contact, as `cancelled` or `failed`.
    pub(super) fn end_unsent(
        &mut self,
        id: AttemptId,
        status: ConversationStatus,
        error: Option<&str>,
        now: Timestamp,
    ) {
        let Some(entry) = self.attempts.get_mut(&id) else {
            return;
        };
        entry.state = AttemptState::Final;
        entry.status = Some(status);
        entry.error = error.map(str::to_owned);
        entry.ended_at = Some(now);
        entry.dialing_at = None;
        entry.dial_token = None;
        entry.carrier = None;
        entry.caller_id = None;
        entry.agent_version = None;
        entry.callee = None;
        let (list, index) = (entry.contact_list, entry.contact_index);
        self.unfinished.remove(&id);
        let state = match status {
            ConversationStatus::Failed => ContactState::Failed,
            _ => ContactState::Cancelled,
        };
        self.set_contact_state(list, index, state);
        self.keep_issue_tracking(id);
        self.tell_of_call(id, AccountEventType::CallEnded, now);
        self.make_deliveries(id, now);
    }

    /// Keeps with an ended attempt whether its agent tracks issues now.
    pub(super) fn keep_issue_tracking(&mut self, id: AttemptId) {
        let Some(entry) = self.attempts.get_mut(&id) else {
            return;
        };
        let agent = self.agents.get(&entry.agent);
        let agent = agent.or_else(|| self.deleted_agents.get(&entry.agent));
        entry.issue_tracking = Some(agent.is_some_and(|agent| tracks_issues(&agent.document)));
    }
}
