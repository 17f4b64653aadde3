//! Attempts in memory: claim, permit, fencing and outcome.

use std::time::Duration;

use async_trait::async_trait;

use super::{
    MemoryStore,
    calls::SingleCall,
    tables::{AttemptEntry, ContactState, JobEntry, Place, Tables},
};
use domain::{
    dial_token::DialToken,
    id::{AccountId, AgentId, AttemptId, CampaignId, JobId, NodeId},
    phone_number::PhoneNumber,
    ports::{
        carrier::CarrierCallId,
        store::{
            AccountEventType, AttemptState, AttemptStore, CallerId, Claim, ClaimedAttempt, ConversationStatus,
            DIAL_CALL_WITHIN, FACTS_FOLLOW_MS, NextAttempt, OrphanedAttempt, Outcome, Patience, Permit, PermitRequest,
            REFUSED_PAUSE, Remaining, SentWith, StoreError, StoreResult, Tries,
        },
    },
    safeguards::Refusal,
    time::Timestamp,
};

/// Delay of an attempt whose number another attempt is calling.
const NUMBER_BUSY_DELAY: Duration = Duration::from_secs(30);

impl Tables {
    fn unfinished_of(&self, campaign: CampaignId) -> impl Iterator<Item = &AttemptEntry> {
        let attempts = self.unfinished.iter().filter_map(|id| self.attempts.get(id));
        attempts.filter(move |entry| entry.campaign == Some(campaign))
    }

    fn due(&self, campaign: CampaignId, now: Timestamp) -> Vec<AttemptId> {
        let mut due: Vec<(Timestamp, AttemptId)> = self
            .unfinished_of(campaign)
            .filter(|entry| entry.state == AttemptState::Queued && entry.due_at <= now)
            .map(|entry| (entry.due_at, entry.id))
            .collect();
        due.sort_unstable();
        due.into_iter().map(|(_, id)| id).collect()
    }

    /// Creates the first attempt of a contact that has none, as a queued row to be claimed at once.
    fn first_attempt(&mut self, campaign: CampaignId, index: usize, now: Timestamp) -> Option<AttemptId> {
        let entry = self.campaigns.get(&campaign)?;
        let list = self.lists.get_mut(&entry.list)?;
        let place = Place {
            account: entry.row.account,
            campaign: Some(campaign),
            agent: entry.row.agent,
            contact_list: entry.list,
            contact_index: index,
            attempt_no: 1,
            tries: Tries::default(),
            phone_number: list.contacts.get(index)?.contact.phone_number.clone(),
        };
        let attempt = AttemptEntry::queued(place, now, now);
        let id = attempt.id;
        list.untried.remove(&index);
        self.unfinished.insert(id);
        self.attempts.insert(id, attempt);
        Some(id)
    }

    /// Plans the attempt after one that ended, and makes its contact pending again. Does nothing in a stopped campaign.
    fn plan_next(&mut self, ended: AttemptId, next: NextAttempt, now: Timestamp) {
        let Some(entry) = self.attempts.get(&ended) else { return };
        let (campaign, list, index) = (entry.campaign, entry.contact_list, entry.contact_index);
        if campaign.is_some_and(|campaign| self.is_stopped(campaign)) {
            return;
        }
        let place = Place {
            account: entry.account,
            campaign,
            agent: campaign
                .and_then(|campaign| self.visible(campaign).ok())
                .map_or(entry.agent, |campaign| campaign.row.agent),
            contact_list: list,
            contact_index: index,
            attempt_no: entry.attempt_no + 1,
            tries: entry.tries.next(next.kind),
            phone_number: entry.phone_number.clone(),
        };
        let planned = AttemptEntry::queued(place, next.due_at, now);
        if let Some(call) = self.calls.get(&ended) {
            let call = SingleCall {
                dial_before: next.due_at.plus(DIAL_CALL_WITHIN),
                ..call.clone()
            };
            self.calls.insert(planned.id, call);
        }
        self.unfinished.insert(planned.id);
        self.attempts.insert(planned.id, planned);
        self.set_contact_state(list, index, ContactState::Pending);
    }

    pub(super) fn take(&mut self, id: AttemptId, node: NodeId, now: Timestamp) -> Option<ClaimedAttempt> {
        let entry = self.attempts.get_mut(&id)?;
        entry.state = AttemptState::Claimed;
        entry.claimed_at = Some(now);
        entry.owner = Some(node);
        entry.epoch += 1;
        let (list, index) = (entry.contact_list, entry.contact_index);
        let claimed = self.attempt_again(id, node)?;
        self.set_contact_state(list, index, ContactState::InProgress);
        Some(claimed)
    }

    fn orphaned(&mut self, id: AttemptId, node: NodeId) -> Option<OrphanedAttempt> {
        let entry = self.attempts.get_mut(&id)?;
        entry.owner = Some(node);
        entry.epoch += 1;
        self.left(id, node)
    }

    fn left(&self, id: AttemptId, node: NodeId) -> Option<OrphanedAttempt> {
        let entry = self.attempts.get(&id)?;
        Some(OrphanedAttempt {
            claim: Claim {
                attempt: id,
                owner: node,
                epoch: entry.epoch,
            },
            account: entry.account,
            agent: entry.agent,
            campaign: entry.campaign,
            tries: entry.tries,
            direction: entry.direction,
            state: entry.state,
            phone_number: entry.phone_number.clone(),
            carrier: entry.carrier.clone()?,
            carrier_call: entry.carrier_call.clone(),
            dialing_at: entry.dialing_at?,
        })
    }

    /// Returns why a number is not dialed for anybody of the account.
    fn barred(&self, account: AccountId, number: &PhoneNumber, restricted: &[String]) -> Option<Permit> {
        if number.is_nobodys() || self.is_listed(account, number) {
            return Some(Permit::DoNotCall);
        }
        let Some(dialed) = number.dialed() else {
            let error = "invalid-number".to_owned();
            return Some(Permit::NotAllowed { error });
        };
        let begins_with = |prefix: &String| dialed.as_str().starts_with(prefix.as_str());
        restricted.iter().any(begins_with).then_some(Permit::Restricted)
    }

    /// Returns why a claimed attempt may not be sent, or `None`.
    fn refusal(&self, entry: &AttemptEntry, request: &PermitRequest, now: Timestamp) -> Option<Permit> {
        let number = &entry.phone_number;
        let spellings = number.spellings();
        let is_same = |other: &PhoneNumber| spellings.iter().any(|spelling| spelling == other.as_str());
        let mut open = self.unfinished.iter().filter_map(|id| self.attempts.get(id));
        if entry.campaign.is_some_and(|campaign| !self.is_running(campaign, now)) {
            Some(Permit::CampaignNotRunning)
        } else if let Some(why) = self.barred(entry.account, number, &request.restricted_prefixes) {
            Some(why)
        } else if open.any(|other| {
            other.is_sent() && other.id != entry.id && other.account == entry.account && is_same(&other.phone_number)
        }) {
            Some(Permit::NumberBusy)
        } else {
            None
        }
    }

    /// Returns the number for the agent's next permit.
    fn take_turn(&mut self, agent: AgentId, caller: &CallerId) -> Option<PhoneNumber> {
        let permit = match caller {
            CallerId::Fixed(_) => 0,
            CallerId::InTurn(_) => {
                let taken = self.turns_taken.entry(agent).or_default();
                *taken += 1;
                *taken - 1
            }
        };
        caller.of_permit(permit).cloned()
    }

    fn refuse(&mut self, id: AttemptId, refusal: &Permit, now: Timestamp) {
        match refusal {
            Permit::Granted { .. } => {}
            Permit::CampaignNotRunning => self.give_back(id, now),
            Permit::DoNotCall => self.cancel(id, Some("do-not-call"), now),
            Permit::Restricted => self.cancel(id, Some("restricted"), now),
            Permit::NumberBusy => self.requeue(id, Some(now.plus(NUMBER_BUSY_DELAY))),
            Permit::PutOff { until } => self.requeue(id, Some(*until)),
            Permit::NotAllowed { error } => self.end_unsent(id, ConversationStatus::Failed, Some(error), now),
            Permit::DayUsedUp { .. } => self.give_back(id, now),
        }
    }
}

fn contact_state(status: ConversationStatus) -> StoreResult<ContactState> {
    match status {
        ConversationStatus::Completed => Ok(ContactState::Completed),
        ConversationStatus::Failed => Ok(ContactState::Failed),
        ConversationStatus::Cancelled => Ok(ContactState::Cancelled),
        ConversationStatus::InProgress | ConversationStatus::Scheduled => {
            Err(StoreError::Damaged(format!("an outcome cannot be {}", status.as_str())))
        }
    }
}

#[async_trait]
impl AttemptStore for MemoryStore {
    async fn take_orphaned(&self, node: NodeId, patience: &Patience) -> StoreResult<Vec<OrphanedAttempt>> {
        let mut tables = self.open()?;
        let now = self.now();
        tables.nodes.bury_silent(node, now)?;
        let lives = |owner: NodeId| owner == node || tables.nodes.lives(owner);
        let attempts = tables.unfinished.iter().filter_map(|id| tables.attempts.get(id));
        let left: Vec<(AttemptId, bool)> = attempts
            .filter(|entry| entry.owner.is_some_and(|owner| !lives(owner)))
            .filter(|entry| !tables.is_waited_for(entry, patience, now))
            .map(|entry| (entry.id, entry.is_sent()))
            .collect();
        let mut orphaned = Vec::new();
        for (id, sent) in left {
            if sent {
                orphaned.extend(tables.orphaned(id, node));
            } else {
                tables.give_back(id, self.now());
            }
        }
        Ok(orphaned)
    }

    async fn claim(&self, node: NodeId, campaign: CampaignId, limit: i64) -> StoreResult<Vec<ClaimedAttempt>> {
        let mut tables = self.open()?;
        let now = self.now();
        if !tables.is_running(campaign, now) {
            return Ok(Vec::new());
        }
        let limit = usize::try_from(limit).unwrap_or(0).min(tables.room(campaign));
        let mut ids = tables.due(campaign, now);
        ids.truncate(limit);
        let room = limit - ids.len();
        let untried = tables.visible_list(campaign)?.untried.iter().take(room);
        for index in untried.copied().collect::<Vec<_>>() {
            ids.extend(tables.first_attempt(campaign, index, now));
        }
        Ok(ids.into_iter().filter_map(|id| tables.take(id, node, now)).collect())
    }

    async fn pass_over(
        &self,
        node: NodeId,
        campaign: CampaignId,
        window: i64,
        restricted: &[String],
    ) -> StoreResult<u64> {
        let mut tables = self.open()?;
        let now = self.now();
        if !tables.is_running(campaign, now) {
            return Ok(0);
        }
        let window = usize::try_from(window).unwrap_or(0);
        let account = tables.visible(campaign)?.row.account;
        let mut refused: Vec<(AttemptId, Permit)> = Vec::new();
        let due = tables.due(campaign, now);
        for id in due.iter().copied().take(window) {
            let number = tables.attempts.get(&id).map(|entry| entry.phone_number.clone());
            let why = number.and_then(|number| tables.barred(account, &number, restricted));
            refused.extend(why.map(|why| (id, why)));
        }
        let list = tables.visible_list(campaign)?;
        let numbered = |index: usize| Some((index, list.contacts.get(index)?.contact.phone_number.clone()));
        let untried = list.untried.iter().copied().take(window.saturating_sub(due.len()));
        let untried: Vec<(usize, PhoneNumber)> = untried.filter_map(numbered).collect();
        for (index, number) in untried {
            let why = tables.barred(account, &number, restricted);
            let first = why.and_then(|why| Some((tables.first_attempt(campaign, index, now)?, why)));
            refused.extend(first);
        }
        for (id, why) in &refused {
            tables.take(*id, node, now);
            tables.refuse(*id, why, now);
        }
        Ok(refused.len() as u64)
    }

    async fn release(&self, claims: &[Claim]) -> StoreResult<()> {
        let mut tables = self.open()?;
        for claim in claims {
            if tables
                .held(*claim)
                .is_ok_and(|entry| entry.state == AttemptState::Claimed)
            {
                tables.give_back(claim.attempt, self.now());
            }
        }
        Ok(())
    }

    async fn stale_claims(&self, node: NodeId, older_than_ms: i64) -> StoreResult<Vec<Claim>> {
        let tables = self.open()?;
        let until = Timestamp(self.now().0 - older_than_ms * 1_000);
        let attempts = tables.unfinished.iter().filter_map(|id| tables.attempts.get(id));
        let own = attempts.filter(|entry| entry.state == AttemptState::Claimed && entry.owner == Some(node));
        let mut stale: Vec<_> = own
            .filter_map(|entry| Some((entry.claimed_at.filter(|at| *at <= until)?, entry.id, entry.epoch)))
            .collect();
        stale.sort_unstable();
        stale.truncate(1_000);
        let claims = stale.into_iter().map(|(_, attempt, epoch)| Claim {
            attempt,
            owner: node,
            epoch,
        });
        Ok(claims.collect())
    }

    async fn unsettled(&self, node: NodeId, older_than_ms: i64) -> StoreResult<Vec<OrphanedAttempt>> {
        let tables = self.open()?;
        let until = Timestamp(self.now().0 - older_than_ms * 1_000);
        let attempts = tables.unfinished.iter().filter_map(|id| tables.attempts.get(id));
        let own = attempts.filter(|entry| entry.is_sent() && entry.owner == Some(node));
        let mut old: Vec<_> = own
            .filter_map(|entry| Some((entry.dialing_at.filter(|at| *at <= until)?, entry.id)))
            .collect();
        old.sort_unstable();
        old.truncate(1_000);
        Ok(old.into_iter().filter_map(|(_, id)| tables.left(id, node)).collect())
    }

    async fn permit(&self, claim: Claim, request: PermitRequest) -> StoreResult<Permit> {
        let mut tables = self.open()?;
        let now = self.now();
        if tables.held(claim)?.state != AttemptState::Claimed {
            return Err(StoreError::Fenced);
        }
        let entry = tables.attempts.get(&claim.attempt).ok_or(StoreError::Fenced)?;
        if let Some(refusal) = tables.refusal(entry, &request, now) {
            tables.refuse(claim.attempt, &refusal, now);
            return Ok(refusal);
        }
        let judgement = tables.judge(entry, now);
        for note in &judgement.notes {
            tables.keep_event(claim.attempt, note.fact(), now);
        }
        let put_off_by = judgement.put_off_by();
        let refusal = judgement.refusal.map(|refusal| match refusal {
            Refusal::PutOff(until) => Permit::PutOff { until },
            Refusal::NotAllowed(error) => Permit::NotAllowed { error },
            Refusal::DayUsedUp(reason) => Permit::DayUsedUp { reason },
        });
        if let Some(refusal) = refusal {
            tables.refuse(claim.attempt, &refusal, now);
            if let Some(entry) = tables.attempts.get_mut(&claim.attempt) {
                entry.put_off_by = put_off_by;
            }
            return Ok(refusal);
        }
        let entry = tables.attempts.get(&claim.attempt).ok_or(StoreError::Fenced)?;
        let agent = entry.agent;
        let caller_id = request.caller_id.and_then(|caller| tables.take_turn(agent, &caller));
        let token = DialToken::random();
        let callee = tables.callee_now(claim.attempt);
        let entry = tables.held(claim)?;
        entry.callee = callee;
        entry.state = AttemptState::Dialing;
        entry.dialing_at = Some(now);
        entry.dial_token = Some(token.clone());
        entry.carrier = Some(request.carrier);
        entry.caller_id.clone_from(&caller_id);
        entry.agent_version = request.agent_version;
        Ok(Permit::Granted { token, caller_id })
    }

    async fn not_sent(&self, claim: Claim, delay_ms: i64, why: Option<String>) -> StoreResult<()> {
        let mut tables = self.open()?;
        match tables.held(claim)?.state {
            AttemptState::Claimed | AttemptState::Dialing => {}
            _ => return Err(StoreError::Fenced),
        }
        let now = self.now();
        let campaign = tables.held(claim)?.campaign;
        if campaign.is_some_and(|campaign| tables.is_stopped(campaign)) {
            tables.give_back(claim.attempt, now);
        } else {
            tables.requeue(claim.attempt, Some(Timestamp(now.0 + delay_ms * 1_000)));
            if let (Some(why), Some(entry)) = (why, tables.attempts.get_mut(&claim.attempt)) {
                entry.error = Some(why);
            }
        }
        Ok(())
    }

    async fn dialed(&self, claim: Claim, call: &CarrierCallId) -> StoreResult<()> {
        let mut tables = self.open()?;
        let entry = tables.held(claim)?;
        if !entry.is_sent() {
            return Err(StoreError::Fenced);
        }
        let key = (entry.carrier.clone().unwrap_or_default(), call.clone());
        let another = entry.carrier_call.as_ref().is_some_and(|known| known != call);
        let holder = tables.carrier_calls.get(&key);
        if another || holder.is_some_and(|holder| *holder != claim.attempt) {
            return Err(StoreError::Exists("call"));
        }
        tables.carrier_calls.insert(key, claim.attempt);
        let entry = tables.held(claim)?;
        entry.carrier_call = Some(call.clone());
        if entry.state != AttemptState::Answered {
            entry.state = AttemptState::Dialed;
        }
        tables.tell_of_call(claim.attempt, AccountEventType::CallStarted, self.now());
        Ok(())
    }

    async fn answered(&self, claim: Claim, at: Timestamp) -> StoreResult<()> {
        let (mut tables, now) = (self.open()?, self.now());
        let entry = tables.held(claim)?;
        if !entry.is_sent() {
            return Err(StoreError::Fenced);
        }
        entry.state = AttemptState::Answered;
        entry.answered_at = entry.answered_at.or(Some(entry.bounded(at, now)));
        tables.got_through(claim.attempt);
        tables.tell_of_call(claim.attempt, AccountEventType::CallStarted, now);
        tables.tell_of_call(claim.attempt, AccountEventType::CallAnswered, now);
        Ok(())
    }

    async fn unknown(&self, claim: Claim) -> StoreResult<()> {
        let mut tables = self.open()?;
        let entry = tables.held(claim)?;
        match entry.state {
            AttemptState::Dialing => entry.state = AttemptState::Unknown,
            // A callback was faster, so the outcome of the dial is known after all.
            AttemptState::Unknown | AttemptState::Dialed | AttemptState::Answered => {}
            AttemptState::Queued | AttemptState::Claimed | AttemptState::Final => return Err(StoreError::Fenced),
        }
        Ok(())
    }

    async fn finish(&self, claim: Claim, outcome: Outcome, next: Option<NextAttempt>) -> StoreResult<()> {
        let now = self.now();
        if outcome.error.as_ref().is_some_and(|error| error.contains('\0')) {
            return Err(StoreError::Refused(
                "a text holds U+0000, as none of PostgreSQL's may".to_owned(),
            ));
        }
        let state = contact_state(outcome.status)?;
        let counts = {
            let mut tables = self.open()?;
            tables.held(claim)?;
            tables.counts_refusal(claim.attempt, &outcome, now)?
        };
        if !counts {
            let delay_ms = i64::try_from(REFUSED_PAUSE.as_millis()).unwrap_or(i64::MAX);
            return self.not_sent(claim, delay_ms, None).await;
        }
        let mut tables = self.open()?;
        let entry = tables.held(claim)?;
        entry.state = AttemptState::Final;
        entry.status = Some(outcome.status);
        entry.error = outcome.error;
        entry.voicemail = outcome.voicemail;
        entry.transferred = outcome.transferred;
        if !outcome.collected.is_empty() {
            entry.collected = outcome.collected;
        }
        let times = outcome.times;
        let told = times.answered_at.map(|at| entry.bounded(at, now));
        entry.answered_at = entry.answered_at.or(told);
        let ended_at = entry.bounded(times.ended_at.unwrap_or(now), now);
        entry.ended_at = Some(entry.answered_at.map_or(ended_at, |at| ended_at.max(at)));
        entry.end_written_at = Some(now);
        let (list, index, answered) = (entry.contact_list, entry.contact_index, entry.answered_at.is_some());
        tables.unfinished.remove(&claim.attempt);
        if let Some(contact) = tables.contact_mut(list, index) {
            contact.state = state;
            contact.voicemail = outcome.voicemail;
        }
        tables.keep_issue_tracking(claim.attempt);
        tables.tell_of_call(claim.attempt, AccountEventType::CallEnded, now);
        if answered && !tables.tests.contains_key(&claim.attempt) {
            let job = JobEntry {
                attempt: claim.attempt,
                due_at: match outcome.facts_follow {
                    true => Timestamp(now.0 + FACTS_FOLLOW_MS * 1_000),
                    false => now,
                },
                tries: 0,
            };
            tables.jobs.insert(JobId::new(), job);
        } else {
            tables.make_deliveries(claim.attempt, now);
        }
        if let Some(next) = next {
            tables.plan_next(claim.attempt, next, now);
        }
        Ok(())
    }

    async fn remaining(&self, campaign: CampaignId) -> StoreResult<Remaining> {
        let tables = self.open()?;
        let now = self.now();
        let mut remaining = Remaining {
            due: tables.visible_list(campaign)?.untried.len() as i64,
            ..Remaining::default()
        };
        for entry in tables.unfinished_of(campaign) {
            if entry.state != AttemptState::Queued {
                remaining.open += 1;
            } else if entry.due_at <= now {
                remaining.due += 1;
            } else {
                remaining.later += 1;
                let earlier = remaining.next_due.is_none_or(|next| entry.due_at < next);
                remaining.next_due = if earlier {
                    Some(entry.due_at)
                } else {
                    remaining.next_due
                };
            }
        }
        Ok(remaining)
    }

    async fn attempt_of_call(&self, carrier: &str, call: &CarrierCallId) -> StoreResult<Option<AttemptId>> {
        let key = (carrier.to_owned(), call.clone());
        Ok(self.locked().carrier_calls.get(&key).copied())
    }

    async fn sent_with(&self, attempt: AttemptId) -> StoreResult<Option<SentWith>> {
        let tables = self.locked();
        let over = tables.attempts.get(&attempt);
        let over = over.filter(|entry| entry.state == AttemptState::Final && !entry.transferred);
        Ok(over.and_then(|entry| {
            Some(SentWith {
                carrier: entry.carrier.clone()?,
                token: entry.dial_token.clone()?,
            })
        }))
    }

    async fn dial_token(&self, attempt: AttemptId) -> StoreResult<DialToken> {
        let tables = self.open()?;
        let entry = tables.attempts.get(&attempt).filter(|entry| entry.is_sent());
        let token = entry.and_then(|entry| entry.dial_token.clone());
        token.ok_or(StoreError::NotFound)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store_conformance::{Fixture, ManualClock, Scene};
    use domain::ports::store::CampaignStatus;

    /// Creates a contact's second attempt in a campaign that is then stopped. The attempt is claimed, and has
    /// its permit if `permitted`.
    async fn claimed_retry_at_a_stop(permitted: bool) -> (Scene, CampaignId, Claim) {
        let clock = Arc::new(ManualClock::new());
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let fixture = Fixture {
            store: store.clone(),
            clock,
        };
        let scene = fixture.scene().await;
        let campaign = scene.running(0..2).await;
        let claim = scene.claim_one(campaign).await;
        store.locked().attempts.get_mut(&claim.attempt).unwrap().attempt_no = 2;
        if permitted {
            scene.permit(claim).await.unwrap();
        }
        scene.turn(campaign, CampaignStatus::Stopped).await;
        (scene, campaign, claim)
    }

    #[tokio::test]
    async fn a_retry_that_a_stop_found_claimed_is_cancelled_when_it_is_given_back() {
        for way in ["release", "permit", "not_sent", "not_sent after the permit"] {
            let (scene, campaign, claim) = claimed_retry_at_a_stop(way.contains("after")).await;
            match way {
                "release" => scene.store.release(&[claim]).await.unwrap(),
                "permit" => assert_eq!(scene.permit(claim).await, Ok(Permit::CampaignNotRunning)),
                _ => scene.store.not_sent(claim, 60_000, None).await.unwrap(),
            }
            let row = scene.store.conversation(scene.account, claim.attempt).await.unwrap();
            assert_eq!(
                (row.status, row.carrier),
                (ConversationStatus::Cancelled, None),
                "{way}"
            );
            let progress = scene.store.progress(campaign).await.unwrap();
            assert_eq!((progress.pending, progress.cancelled), (1, 1), "{way}");
            assert_eq!(scene.store.remaining(campaign).await.unwrap().later, 0, "{way}");
        }
    }
}
