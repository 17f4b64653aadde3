//! Facts, conversations and jobs in memory.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use serde_json::Value;

use super::{
    MemoryStore,
    tables::{AttemptEntry, JobEntry, Tables},
};
use domain::{
    analysis, conversation,
    id::{AccountId, AttemptId, EventId, JobId},
    ports::{
        store::{
            AccountEventType, Analysis, AttemptState, CallInProgress, CallOutcome, ConversationFilter,
            ConversationPage, ConversationRow, ConversationSort, EndPlace, EventFact, EventRow, FACTS_FOLLOW_MS, Fact,
            InProgressFilter, Job, MOST_COUNTED, OutcomeSign, PERSON_WANTED, RecordStore, StoreError, StoreResult,
            TurnFact,
        },
        usage::USAGE,
    },
    time::Timestamp,
};

/// Time for which a leased job is not handed out again.
const LEASE: Duration = Duration::from_secs(60);

impl Tables {
    pub(super) fn read_conversation(&self, entry: &AttemptEntry) -> ConversationRow {
        let agent = self
            .agents
            .get(&entry.agent)
            .or_else(|| self.deleted_agents.get(&entry.agent));
        let name = agent.and_then(|agent| agent.document.get("name"));
        let usage = self.events_of(entry.id).rfind(|row| row.event.name == USAGE);
        let usage = usage.and_then(|row| serde_json::from_str(&row.event.detail).ok());
        let counts = self.counted.get(&entry.id).and_then(Option::as_ref);
        ConversationRow {
            id: entry.id,
            account: entry.account,
            campaign: entry.campaign,
            agent: entry.agent,
            agent_version: entry.agent_version,
            agent_name: name.and_then(Value::as_str).unwrap_or_default().to_owned(),
            status: entry.conversation_status(),
            direction: entry.direction,
            started_at: entry.started_at(),
            answered_at: entry.answered_at,
            ended_at: entry.ended_at,
            contact_number: entry.phone_number.clone(),
            callee: self.callee_of(entry),
            caller_number: entry.caller_id.clone(),
            carrier: entry.carrier.clone(),
            // Until the end it holds only the reason why the call was put off.
            error: entry.error.clone().filter(|_| entry.state == AttemptState::Final),
            voicemail: entry.voicemail,
            transferred: entry.transferred,
            collected: entry.collected.clone(),
            evidence: entry.evidence.clone(),
            analysis: entry.analysis.clone(),
            sentiment: entry
                .analysis
                .as_ref()
                .map(|analysis| analysis.sentiment.sentiment_overall),
            usage: usage.filter(|_| entry.ended_at.is_some()),
            latency_ms: counts.and_then(|call| call.counts.latency_ms(50)).map(u64::cast_signed),
            cost_nanos: counts.and_then(|call| call.counts.cost.values().next().map(|cost| cost.cast_signed())),
            appointment: self.last_appointment(entry.id),
            issue_tracking: entry.issue_tracking,
            is_test: self.tests.contains_key(&entry.id),
            created_at: entry.created_at,
        }
    }

    /// Returns a call's events in the order in which they were stored.
    pub(super) fn events_of(&self, id: AttemptId) -> impl DoubleEndedIterator<Item = &EventRow> {
        let own = self.events.iter().filter(move |(attempt, _)| *attempt == id);
        own.map(|(_, row)| row)
    }

    pub(super) fn keep_event(&mut self, id: AttemptId, event: EventFact, stored_at: Timestamp) {
        let row = EventRow {
            id: EventId::new(),
            stored_at,
            event,
        };
        self.events.push((id, row));
    }

    /// Queues the analysis of a call that is over when a turn arrives, even if it was analysed before.
    fn analyse_again(&mut self, attempt: AttemptId, now: Timestamp) {
        let over = self
            .attempts
            .get(&attempt)
            .is_some_and(|entry| entry.state == AttemptState::Final && entry.answered_at.is_some() && entry.words_kept);
        if !over || self.tests.contains_key(&attempt) {
            return;
        }
        let due_at = Timestamp(now.0 + FACTS_FOLLOW_MS * 1_000);
        match self.jobs.values_mut().find(|job| job.attempt == attempt) {
            Some(job) => (job.due_at, job.tries) = (due_at, job.tries + 1),
            None => {
                let tries = 0;
                self.jobs.insert(JobId::new(), JobEntry { attempt, due_at, tries });
            }
        }
    }

    /// Returns a job if its latest lease is the caller's.
    fn leased(&mut self, job: &Job) -> StoreResult<&mut JobEntry> {
        let entry = self.jobs.get_mut(&job.id);
        let entry = entry.filter(|entry| entry.tries == job.tries + 1);
        entry.ok_or(StoreError::Fenced)
    }
}

fn duration_us(entry: &AttemptEntry) -> i64 {
    match (entry.answered_at, entry.ended_at) {
        (Some(answered), Some(ended)) => ended.0 - answered.0,
        _ => 0,
    }
}

fn passes(filter: &ConversationFilter, entry: &AttemptEntry) -> bool {
    let started = entry.started_at();
    filter.agent.is_none_or(|agent| entry.agent == agent)
        && filter
            .agents
            .as_ref()
            .is_none_or(|agents| agents.contains(&entry.agent))
        && filter.campaign.is_none_or(|campaign| entry.campaign == Some(campaign))
        && filter.status.is_none_or(|status| entry.conversation_status() == status)
        && filter.started_before.is_none_or(|before| started < before)
        && filter.started_after.is_none_or(|after| started > after)
        && filter
            .min_duration
            .is_none_or(|seconds| duration_us(entry) >= seconds.saturating_mul(1_000_000))
        && filter.number.as_ref().is_none_or(|number| {
            number
                .spellings()
                .iter()
                .any(|spelling| spelling == entry.phone_number.as_str())
        })
        && filter.direction.is_none_or(|direction| entry.direction == direction)
}

fn has_outcome(row: &ConversationRow, outcome: CallOutcome) -> bool {
    match outcome.sign() {
        OutcomeSign::Status(status) => row.status == status,
        OutcomeSign::Machine => row.voicemail && row.ended_at.is_some(),
        OutcomeSign::Error(word) => {
            let error = row.error.as_deref().and_then(|error| error.strip_prefix(word));
            error.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        }
    }
}

impl Tables {
    /// Returns whether a call matches the filters for which the SQL store must note it. Here every call counts as
    /// noted.
    fn fits(&self, filter: &ConversationFilter, entry: &AttemptEntry) -> bool {
        let asked = (filter.outcome, filter.sentiment, filter.has_issue, &filter.search);
        if asked == (None, None, None, &None) {
            return true;
        }
        let row = self.read_conversation(entry);
        let turns: Vec<TurnFact> = self.turns_of(entry.id).cloned().collect();
        let sentiment = row
            .analysis
            .as_ref()
            .map(|analysis| analysis.sentiment.sentiment_overall);
        let is_noted = entry.state == AttemptState::Final && entry.words_kept;
        let has_issue = || conversation::has_issue(&row, &turns, self.agents.get(&entry.agent));
        filter.outcome.is_none_or(|outcome| has_outcome(&row, outcome))
            && filter.sentiment.is_none_or(|label| sentiment == Some(label))
            && filter.has_issue.is_none_or(|has| is_noted && has_issue() == has)
            && filter
                .search
                .as_ref()
                .is_none_or(|query| is_noted && query.matches(&row.callee.text(), &turns))
    }

    /// Returns the matches of a filter in its order.
    fn found(&self, account: AccountId, filter: &ConversationFilter) -> Vec<ConversationRow> {
        let own = self.attempts.values().filter(|entry| entry.account == account);
        let own = own.filter(|entry| !self.deleted_conversations.contains(&entry.id));
        let own = own.filter(|entry| passes(filter, entry) && self.fits(filter, entry));
        let mut rows: Vec<_> = own.map(|entry| self.read_conversation(entry)).collect();
        rows.retain(|row| filter.sort == ConversationSort::StartTime || filter.place(row).0 > Timestamp(0));
        rows.sort_by_key(|row| filter.place(row));
        if !filter.ascending {
            rows.reverse();
        }
        let is_after = |row: &ConversationRow, last| match filter.ascending {
            true => filter.place(row) > last,
            false => filter.place(row) < last,
        };
        rows.retain(|row| filter.after.is_none_or(|last| is_after(row, last)));
        rows
    }

    pub(super) fn turns_of(&self, id: AttemptId) -> impl Iterator<Item = &TurnFact> {
        self.turns.range((id, i64::MIN)..=(id, i64::MAX)).map(|(_, turn)| turn)
    }
}

#[async_trait]
impl RecordStore for MemoryStore {
    async fn append_facts(&self, facts: &[(AttemptId, Fact)]) -> StoreResult<()> {
        let mut tables = self.open()?;
        for (attempt, fact) in facts {
            match fact {
                Fact::Turn(turn) => {
                    let key = (*attempt, turn.seq);
                    tables.turns.entry(key).or_insert_with(|| turn.clone());
                    tables.analyse_again(*attempt, self.now());
                }
                Fact::Event(event) => {
                    tables.keep_event(*attempt, event.clone(), self.now());
                    if event.name == PERSON_WANTED {
                        tables.tell_of_call(*attempt, AccountEventType::CallPersonWanted, self.now());
                    }
                }
            }
        }
        Ok(())
    }

    async fn conversation(&self, account: AccountId, id: AttemptId) -> StoreResult<ConversationRow> {
        let tables = self.open()?;
        let entry = tables.attempts.get(&id).filter(|entry| entry.account == account);
        let entry = entry.filter(|entry| !tables.deleted_conversations.contains(&entry.id));
        entry
            .map(|entry| tables.read_conversation(entry))
            .ok_or(StoreError::NotFound)
    }

    async fn conversation_page(
        &self,
        account: AccountId,
        filter: ConversationFilter,
        limit: i64,
    ) -> StoreResult<ConversationPage> {
        let mut rows = self.open()?.found(account, &filter);
        rows.truncate(usize::try_from(limit).unwrap_or(0));
        for row in &mut rows {
            row.appointment = None;
            row.analysis = row.analysis.take().map(|full| Analysis::of_summary(full.summary));
        }
        Ok(ConversationPage { rows, reached: None })
    }

    async fn count_conversations(&self, account: AccountId, filter: ConversationFilter) -> StoreResult<(i64, bool)> {
        let found = self.open()?.found(account, &filter).len() as i64;
        Ok((found.min(MOST_COUNTED), found <= MOST_COUNTED))
    }

    async fn calls_in_progress(
        &self,
        account: AccountId,
        filter: InProgressFilter,
        limit: i64,
    ) -> StoreResult<Vec<CallInProgress>> {
        Ok(self.open()?.in_progress(account, &filter, limit))
    }

    async fn note_calls(&self, _: EndPlace, _: i64) -> StoreResult<Option<EndPlace>> {
        self.open().map(|_| None)
    }

    async fn turns(&self, id: AttemptId) -> StoreResult<Vec<TurnFact>> {
        let tables = self.open()?;
        Ok(tables.turns_of(id).cloned().collect())
    }

    async fn last_event(&self, id: AttemptId, name: &str) -> StoreResult<Option<EventFact>> {
        let tables = self.open()?;
        let last = tables.events_of(id).rev().find(|row| row.event.name == name);
        Ok(last.map(|row| row.event.clone()))
    }

    async fn events_of(
        &self,
        id: AttemptId,
        names: &[&'static str],
        after: Option<EventId>,
        limit: i64,
    ) -> StoreResult<Vec<EventRow>> {
        let tables = self.open()?;
        let own = tables.events_of(id).filter(|row| names.contains(&&*row.event.name));
        let later = own.filter(|row| after.is_none_or(|after| row.id > after));
        Ok(later.take(usize::try_from(limit).unwrap_or(0)).cloned().collect())
    }

    async fn due_analyses(&self, limit: i64) -> StoreResult<Vec<Job>> {
        let mut tables = self.open()?;
        let now = self.now();
        let due = tables.jobs.iter().filter(|(_, job)| job.due_at <= now);
        let mut due: Vec<(Timestamp, JobId)> = due.map(|(id, job)| (job.due_at, *id)).collect();
        due.sort_unstable();
        due.truncate(usize::try_from(limit).unwrap_or(0));
        let mut jobs = Vec::new();
        for (_, id) in due {
            let Some(entry) = tables.jobs.get_mut(&id) else {
                continue;
            };
            jobs.push(Job {
                id,
                attempt: entry.attempt,
                tries: entry.tries,
            });
            entry.tries += 1;
            entry.due_at = now.plus(LEASE);
        }
        jobs.sort_by_key(|job| job.id);
        Ok(jobs)
    }

    async fn conversation_of_job(&self, job: &Job) -> StoreResult<ConversationRow> {
        let tables = self.open()?;
        let entry = tables.attempts.get(&job.attempt).ok_or(StoreError::NotFound)?;
        Ok(tables.read_conversation(entry))
    }

    async fn save_analysis(&self, job: &Job, analysis: Analysis) -> StoreResult<()> {
        let mut tables = self.open()?;
        tables.leased(job)?;
        tables.jobs.remove(&job.id);
        let (collected, values) = (analysis.collected.clone(), analysis.contact.clone());
        let Some(entry) = tables.attempts.get_mut(&job.attempt) else {
            return Ok(());
        };
        entry.collected = collected.unwrap_or_else(|| std::mem::take(&mut entry.collected));
        entry.evidence = analysis.evidence.clone();
        entry.analysis = Some(Analysis {
            collected: None,
            evidence: Default::default(),
            contact: BTreeMap::new(),
            ..analysis
        });
        let (account, number) = (entry.account, entry.phone_number.clone());
        let mut contacts = tables.contacts.values_mut();
        let its = contacts.find(|contact| contact.account == account && contact.phone_number == number);
        if let Some(contact) = its
            && analysis::keep(contact, &values)
        {
            contact.version += 1;
        }
        tables.tell_of_call(job.attempt, AccountEventType::CallAnalysed, self.now());
        tables.make_deliveries(job.attempt, self.now());
        Ok(())
    }

    async fn retry_job(&self, job: &Job, delay_ms: i64) -> StoreResult<()> {
        let mut tables = self.open()?;
        let due_at = Timestamp(self.now().0 + delay_ms * 1_000);
        tables.leased(job)?.due_at = due_at;
        Ok(())
    }

    async fn ping(&self) -> StoreResult<()> {
        self.open().map(drop)
    }
}
