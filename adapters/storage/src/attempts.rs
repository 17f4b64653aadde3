//! Attempts: from the claim through the permit to the outcome. Every write is guarded by owner and epoch.

pub mod attempt_guard;
pub mod calls;
pub mod inbound;
pub mod test_calls;

mod claim;
mod counters;
mod orphaned;
mod passed_over;
mod permit;
mod steps;
mod taken_over;
mod waiting;

use async_trait::async_trait;
use domain::{
    dial_token::DialToken,
    id::{AttemptId, CampaignId, NodeId},
    ports::{
        carrier::CarrierCallId,
        store::{
            AttemptStore, Claim, ClaimedAttempt, NextAttempt, OrphanedAttempt, Outcome, Patience, Permit,
            PermitRequest, REFUSED_PAUSE, Remaining, SentWith, StoreError, StoreResult,
        },
    },
    time::Timestamp,
};

use crate::{campaigns::safeguards, engine::SqlStore};

pub use counters::SAFEGUARDS;
pub(super) use steps::told_again;

#[async_trait]
impl AttemptStore for SqlStore {
    async fn take_orphaned(&self, node: NodeId, patience: &Patience) -> StoreResult<Vec<OrphanedAttempt>> {
        let (liveness, patience) = (self.liveness(), patience.clone());
        // Their owners may be alive and just not have reported yet.
        self.write_compared(move |work| Box::pin(orphaned::take(work, node, liveness, patience)))
            .await
    }

    async fn claim(&self, node: NodeId, campaign: CampaignId, limit: i64) -> StoreResult<Vec<ClaimedAttempt>> {
        // The next contact may be one that the server has forgotten.
        self.write_compared(move |work| Box::pin(claim::claim(work, node, campaign, limit)))
            .await
    }

    async fn pass_over(
        &self,
        node: NodeId,
        campaign: CampaignId,
        window: i64,
        restricted: &[String],
    ) -> StoreResult<u64> {
        let ahead = passed_over::Ahead {
            node,
            campaign,
            window,
            restricted: restricted.to_vec(),
        };
        let looked_at = ahead.clone();
        if !self
            .read(move |work| Box::pin(passed_over::any(work, looked_at)))
            .await?
        {
            return Ok(0);
        }
        let refused = self
            .write_compared(move |work| Box::pin(passed_over::pass_over(work, ahead)))
            .await?;
        for (permit, notes) in &refused {
            counters::count_refusal(permit, notes);
        }
        Ok(refused.len() as u64)
    }

    async fn release(&self, claims: &[Claim]) -> StoreResult<()> {
        let claims = claims.to_vec();
        self.write(move |work| Box::pin(steps::release(work, claims))).await
    }

    async fn stale_claims(&self, node: NodeId, older_than_ms: i64) -> StoreResult<Vec<Claim>> {
        self.compared()?;
        self.read(move |work| Box::pin(claim::stale(work, node, older_than_ms)))
            .await
    }

    async fn unsettled(&self, node: NodeId, older_than_ms: i64) -> StoreResult<Vec<OrphanedAttempt>> {
        self.compared()?;
        self.read(move |work| Box::pin(orphaned::unsettled(work, node, older_than_ms)))
            .await
    }

    async fn permit(&self, claim: Claim, request: PermitRequest) -> StoreResult<Permit> {
        let journaled = self.keeps_dial_journal();
        let answer = self.write_compared(move |mut work| {
            Box::pin(async move {
                let (permit, notes) = permit::permit(work.again(), claim, request).await?;
                let dial = match permit {
                    Permit::Granted { .. } if journaled => Some(permit::note_of(work.conn, claim).await?),
                    _ => None,
                };
                Ok((permit, notes, dial))
            })
        });
        let (permit, notes, dial) = answer.await?;
        if let Some(dial) = dial {
            // Do not dial on a permit that the journal does not contain.
            self.note_permit(dial).await?;
        }
        counters::count_refusal(&permit, &notes);
        Ok(permit)
    }

    async fn not_sent(&self, claim: Claim, delay_ms: i64, why: Option<String>) -> StoreResult<()> {
        // Note this first: another node that compares the journal meanwhile must not take the permit for a
        // forgotten dial.
        self.note_taken_back(claim).await;
        let written = self.write(move |mut work| {
            Box::pin(async move {
                safeguards::uncount(&mut work, claim).await?;
                steps::not_sent(work, claim, delay_ms, why).await
            })
        });
        self.under_claim(written.await)
    }

    async fn dialed(&self, claim: Claim, call: &CarrierCallId) -> StoreResult<()> {
        let call = call.clone();
        let written = self.write(move |work| Box::pin(steps::dialed(work, claim, call)));
        self.under_claim(written.await)
    }

    async fn answered(&self, claim: Claim, at: Timestamp) -> StoreResult<()> {
        let written = self.write(move |work| Box::pin(steps::answered(work, claim, at)));
        self.under_claim(written.await)
    }

    async fn unknown(&self, claim: Claim) -> StoreResult<()> {
        let written = self.write(move |work| Box::pin(steps::unknown(work, claim)));
        self.under_claim(written.await)
    }

    async fn finish(&self, claim: Claim, outcome: Outcome, next: Option<NextAttempt>) -> StoreResult<()> {
        let word = counters::outcome_word(&outcome);
        let finished = self.write(move |work| Box::pin(steps::finish(work, claim, outcome, next)));
        let finished = finished.await;
        if finished == Err(StoreError::Stale) {
            let delay_ms = i64::try_from(REFUSED_PAUSE.as_millis()).unwrap_or(i64::MAX);
            return self.not_sent(claim, delay_ms, None).await;
        }
        self.under_claim(finished).inspect(|()| counters::count_outcome(word))
    }

    async fn remaining(&self, campaign: CampaignId) -> StoreResult<Remaining> {
        self.read(move |work| Box::pin(claim::remaining(work, campaign))).await
    }

    async fn attempt_of_call(&self, carrier: &str, call: &CarrierCallId) -> StoreResult<Option<AttemptId>> {
        let (carrier, call) = (carrier.to_owned(), call.clone());
        self.read(move |work| Box::pin(steps::attempt_of_call(work, carrier, call)))
            .await
    }

    async fn sent_with(&self, attempt: AttemptId) -> StoreResult<Option<SentWith>> {
        self.read(move |work| Box::pin(permit::sent_with(work, attempt))).await
    }

    async fn dial_token(&self, attempt: AttemptId) -> StoreResult<DialToken> {
        let token = self.read(move |work| Box::pin(permit::dial_token(work, attempt)));
        match token.await {
            Err(StoreError::NotFound) => self.compared().and(Err(StoreError::NotFound)),
            token => token,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use domain::{
        ports::store::{CampaignStatus, ConversationStatus, Remaining, StoreResult},
        time::Clock,
    };
    use testkit::store_conformance::{Fixture, ManualClock, Scene, number, outcome};

    use super::*;
    use crate::engine::Work;

    /// Inserts a later attempt of contact 0, due in 60 s, as if it had been planned.
    async fn plan_retry(work: Work<'_>, first: AttemptId, retry: AttemptId) -> StoreResult<()> {
        let insert = "INSERT INTO attempts (id, account, agent, campaign, contact_list, contact_index, attempt_no, \
             kind, phone_number, state, epoch, due_at, started_at, status, voicemail, transferred, collected, created_at) \
             SELECT $1, account, agent, campaign, contact_list, contact_index, 2, 'retry', phone_number, 'queued', 0, $2, $2, \
             'scheduled', 0, 0, '{}', created_at FROM attempts WHERE id = $3";
        let query = sqlx::query(insert)
            .bind(retry.to_string())
            .bind(work.now.plus(Duration::from_secs(60)).0)
            .bind(first.to_string());
        query.execute(&mut *work.conn).await.unwrap();
        sqlx::query("UPDATE contact_states SET state = 'pending', attempts = 2 WHERE idx = 0")
            .execute(work.conn)
            .await
            .unwrap();
        Ok(())
    }

    /// Creates a running campaign of two contacts; the first one was busy and has a retry planned.
    async fn with_retry() -> (Scene, CampaignId, AttemptId) {
        let clock = Arc::new(ManualClock::new());
        let store = Arc::new(SqlStore::open("sqlite::memory:", clock.clone()).await.unwrap());
        let fixture = Fixture {
            store: store.clone(),
            clock,
        };
        let scene = fixture.scene().await;
        let campaign = scene.running(0..2).await;
        let first = scene.dialing(campaign).await;
        scene
            .store
            .finish(first, outcome(ConversationStatus::Failed), None)
            .await
            .unwrap();
        let retry = AttemptId::new();
        store
            .write(move |work| Box::pin(plan_retry(work, first.attempt, retry)))
            .await
            .unwrap();
        (scene, campaign, retry)
    }

    #[tokio::test]
    async fn a_retry_is_claimed_when_it_is_due_and_returns_to_the_queue() {
        let (scene, campaign, retry) = with_retry().await;
        let row = scene.store.campaign(scene.account, campaign).await.unwrap();
        assert_eq!(row.start_index, 1);
        let expected = Remaining {
            due: 1,
            later: 1,
            next_due: Some(scene.clock.now().plus(Duration::from_secs(60))),
            open: 0,
        };
        assert_eq!(scene.store.remaining(campaign).await, Ok(expected));
        scene.clock.advance(Duration::from_secs(60));
        let claimed = scene.claim(campaign, 1).await.remove(0);
        assert_eq!((claimed.claim.attempt, claimed.attempt_no), (retry, 2));
        assert_eq!(claimed.contact.phone_number, number(0));

        // Unlike a first attempt its row stays, under another epoch.
        scene.store.release(&[claimed.claim]).await.unwrap();
        assert_eq!(scene.permit(claimed.claim).await, Err(StoreError::Fenced));
        let again = scene.claim_one(campaign).await;
        assert_eq!((again.attempt, again.epoch), (retry, claimed.claim.epoch + 2));
        scene.turn(campaign, CampaignStatus::Paused).await;
        assert_eq!(scene.permit(again).await, Ok(Permit::CampaignNotRunning));
        let row = scene.store.conversation(scene.account, retry).await.unwrap();
        assert_eq!(row.status, ConversationStatus::Scheduled);
        scene.turn(campaign, CampaignStatus::Running).await;
        assert_eq!(scene.dialing(campaign).await.attempt, retry);
    }

    #[tokio::test]
    async fn a_stop_cancels_a_waiting_retry_and_its_contact() {
        let (scene, campaign, retry) = with_retry().await;
        scene.turn(campaign, CampaignStatus::Stopped).await;
        let row = scene.store.conversation(scene.account, retry).await.unwrap();
        assert_eq!(row.status, ConversationStatus::Cancelled);
        assert_eq!(row.ended_at, Some(scene.clock.now()));
        let progress = scene.store.progress(campaign).await.unwrap();
        assert_eq!((progress.pending, progress.cancelled), (1, 1));
        assert_eq!(scene.store.remaining(campaign).await.unwrap().later, 0);
    }

    #[tokio::test]
    async fn a_retry_that_a_stop_found_claimed_is_cancelled_when_it_is_given_back() {
        for way in ["release", "permit", "not_sent", "not_sent after the permit"] {
            let (scene, campaign, retry) = with_retry().await;
            scene.clock.advance(Duration::from_secs(60));
            let claim = scene.claim_one(campaign).await;
            assert_eq!(claim.attempt, retry);
            if way.contains("after") {
                scene.permit(claim).await.unwrap();
            }
            scene.turn(campaign, CampaignStatus::Stopped).await;
            match way {
                "release" => scene.store.release(&[claim]).await.unwrap(),
                "permit" => assert_eq!(scene.permit(claim).await, Ok(Permit::CampaignNotRunning)),
                _ => scene.store.not_sent(claim, 60_000, None).await.unwrap(),
            }
            let row = scene.store.conversation(scene.account, retry).await.unwrap();
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
