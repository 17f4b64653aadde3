//! Live calls that another node may have taken over while this process was suspended.

use std::{sync::Arc, time::Duration};

use ractor::ActorRef;

use super::{LinesMessage, LinesState, settle::hang_up};
use crate::{
    call::NoOutcome,
    supervision::{Backoff, contained},
};
use domain::{
    id::AttemptId,
    ports::{Ports, carrier::CarrierCallId, store::Claim},
};

/// Number of times the store is asked which claims hold. A call's next write checks it too.
const TRIES: u32 = 10;

impl LinesState {
    /// Asks which calls are still this node's, or whether one is.
    pub(super) fn doubt_claims(&self, me: &ActorRef<LinesMessage>, attempt: Option<AttemptId>) {
        let mut claims = self.registry.claims();
        claims.retain(|claim| attempt.is_none_or(|attempt| attempt == claim.attempt));
        if claims.is_empty() {
            return;
        }
        let (me, store) = (me.clone(), Arc::clone(&self.with.ports.store));
        tokio::spawn(async move {
            let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));
            while backoff.failures() < TRIES {
                let (store, claims) = (Arc::clone(&store), claims.clone());
                match contained(async move { store.lost_claims(&claims).await }).await {
                    Ok(lost) if lost.is_empty() => return,
                    Ok(lost) => {
                        let _ = me.cast(LinesMessage::ClaimsLost(lost));
                        return;
                    }
                    Err(error) => {
                        tracing::warn!(%error, "claim check failed, trying again");
                        tokio::time::sleep(backoff.failed()).await;
                    }
                }
            }
        });
    }

    /// Drops calls that another node owns or that are over, without writing to the store. A leg is hung up
    /// only if its attempt is over.
    pub(super) fn forget(&mut self, lost: &[Claim]) {
        for claim in lost {
            let attempt = claim.attempt;
            let ours = self.registry.get(attempt).filter(|call| call.ended.claim == *claim);
            let Some(call) = ours else { continue };
            tracing::warn!(%attempt, "call dropped: lost while this process was suspended");
            if let Some(actor) = self.calls.remove(&attempt) {
                self.by_actor.remove(&actor.get_id());
                actor.kill();
            }
            if let Some(leg) = call.leg {
                tokio::spawn(end_what_is_over(self.with.ports.clone(), attempt, leg));
            }
            self.ended(attempt, Err(NoOutcome::ItsOwn));
        }
    }
}

/// Hangs up a leg whose attempt is over and whose call was not transferred.
async fn end_what_is_over(ports: Ports, attempt: AttemptId, leg: CarrierCallId) {
    let sent = match ports.store.sent_with(attempt).await {
        Ok(Some(sent)) => sent,
        Ok(None) => return,
        Err(error) => {
            tracing::warn!(%attempt, %error, "reading a lost call's row failed");
            return;
        }
    };
    if let Some(carrier) = ports.carriers.named(&sent.carrier) {
        hang_up(&**carrier, attempt, &leg).await;
    }
}
