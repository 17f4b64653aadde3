//! Attempts: from the claim through the permit to the outcome, every write guarded by owner and epoch.

mod claim;
mod guard;
mod orphans;
mod permit;
mod steps;

use actors::{
    dial_token::DialToken,
    id::{AttemptId, CampaignId, NodeId},
    ports::{
        carrier::CarrierCallId,
        store::{AttemptStore, Claim, ClaimedAttempt, Orphan, Outcome, Permit, PermitRequest, Remaining, StoreResult},
    },
};
use async_trait::async_trait;

use super::{SqlStore, nodes};

pub(super) use steps::cancel_waiting;

#[async_trait]
impl AttemptStore for SqlStore {
    async fn register_node(&self, node: NodeId) -> StoreResult<()> {
        self.write(move |work| Box::pin(nodes::register(work, node))).await
    }

    async fn heartbeat(&self, node: NodeId) -> StoreResult<()> {
        self.write(move |work| Box::pin(nodes::heartbeat(work, node))).await
    }

    async fn take_orphans(&self, node: NodeId) -> StoreResult<Vec<Orphan>> {
        self.write(move |work| Box::pin(orphans::take(work, node))).await
    }

    async fn claim(&self, node: NodeId, campaign: CampaignId, limit: i64) -> StoreResult<Vec<ClaimedAttempt>> {
        self.write(move |work| Box::pin(claim::claim(work, node, campaign, limit)))
            .await
    }

    async fn release(&self, claims: &[Claim]) -> StoreResult<()> {
        let claims = claims.to_vec();
        self.write(move |work| Box::pin(steps::release(work, claims))).await
    }

    async fn permit(&self, claim: Claim, request: PermitRequest) -> StoreResult<Permit> {
        self.write(move |work| Box::pin(permit::permit(work, claim, request)))
            .await
    }

    async fn not_sent(&self, claim: Claim, delay_ms: i64) -> StoreResult<()> {
        self.write(move |work| Box::pin(steps::not_sent(work, claim, delay_ms)))
            .await
    }

    async fn dialed(&self, claim: Claim, call: &CarrierCallId) -> StoreResult<()> {
        let call = call.clone();
        self.write(move |work| Box::pin(steps::dialed(work, claim, call))).await
    }

    async fn answered(&self, claim: Claim) -> StoreResult<()> {
        self.write(move |work| Box::pin(steps::answered(work, claim))).await
    }

    async fn unknown(&self, claim: Claim) -> StoreResult<()> {
        self.write(move |work| Box::pin(steps::unknown(work, claim))).await
    }

    async fn finish(&self, claim: Claim, outcome: Outcome) -> StoreResult<()> {
        self.write(move |work| Box::pin(steps::finish(work, claim, outcome)))
            .await
    }

    async fn remaining(&self, campaign: CampaignId) -> StoreResult<Remaining> {
        self.read(move |work| Box::pin(claim::remaining(work, campaign))).await
    }

    async fn dial_token(&self, attempt: AttemptId) -> StoreResult<DialToken> {
        self.read(move |work| Box::pin(permit::dial_token(work, attempt))).await
    }
}
