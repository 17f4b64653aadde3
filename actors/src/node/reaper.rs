//! Gives back this node's own claims that nobody holds: the claim's answer was lost, a plan died in a mailbox, a
//! campaign crashed before it handed a claim on. A claim that is still on its way after all is safe: its permit is
//! asked under the old epoch and refused.

use std::time::Duration;

use super::Times;
use crate::{
    id::NodeId,
    lines::CallRegistry,
    ports::{
        Ports,
        store::{Claim, StoreResult},
    },
};

/// Looks now and then, for as long as it runs. A running campaign finds by itself what was given back: it counts what
/// is left every second while any attempt is open.
///
/// A call asks for its permit within milliseconds of its claim: one that is four times as old as a node may be silent
/// counts as lost.
pub async fn reap(ports: Ports, (node, times): (NodeId, Times), calls: CallRegistry) {
    loop {
        tokio::time::sleep(times.dead_after).await;
        match reap_once(&ports, node, &calls, times.dead_after * 4).await {
            Ok(0) => {}
            Ok(claims) => tracing::warn!(claims, "claims that nobody held were given back"),
            Err(error) => tracing::warn!(%error, "lost claims could not be given back"),
        }
    }
}

async fn reap_once(ports: &Ports, node: NodeId, calls: &CallRegistry, lost_after: Duration) -> StoreResult<usize> {
    let older_than_ms = i64::try_from(lost_after.as_millis()).unwrap_or(i64::MAX);
    let stale = ports.store.stale_claims(node, older_than_ms).await?;
    // While the store is away a call may hold its claim for long: it insists on saying that nothing was sent.
    let lost: Vec<Claim> = stale
        .into_iter()
        .filter(|claim| calls.get(claim.attempt).is_none_or(|call| call.ended.claim != *claim))
        .collect();
    if !lost.is_empty() {
        ports.store.release(&lost).await?;
    }
    Ok(lost.len())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        lines::{Dialer, LostCall},
        ports::store::AttemptState,
        testkit::{
            fake_ports::FakePorts,
            memory_store::MemoryStore,
            store_conformance::{Fixture, ManualClock},
        },
        time::Clock,
    };

    #[tokio::test(start_paused = true)]
    async fn a_claim_that_a_call_holds_is_not_taken_from_it() {
        let clock = Arc::new(ManualClock::new());
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let ports = FakePorts::with_clock(store.clone(), clock.clone()).ports();
        let fixture = Fixture {
            store: store.clone(),
            clock: clock.clone(),
        };
        let scene = fixture.scene().await;
        let campaign = scene.running(0..2).await;
        let (held, lost) = (
            scene.claim(campaign, 1).await.remove(0),
            scene.claim_one(campaign).await,
        );
        let calls = CallRegistry::default();
        let call = LostCall {
            ended: held.ended(),
            to: held.contact.phone_number,
            carrier: "fake".into(),
            leg: None,
            since: clock.now(),
            error: String::new(),
            meter: crate::ports::usage::Meter::default(),
        };
        calls.insert(Dialer::Campaign(campaign), call);
        assert_eq!(
            reap_once(&ports, scene.node, &calls, Duration::from_secs(60)).await,
            Ok(0)
        );
        clock.advance(Duration::from_secs(60));
        assert_eq!(
            reap_once(&ports, scene.node, &calls, Duration::from_secs(60)).await,
            Ok(1)
        );
        assert_eq!(store.attempt_state(lost.attempt), None);
        assert_eq!(store.attempt_state(held.claim.attempt), Some(AttemptState::Claimed));
        calls.remove(held.claim.attempt);
        assert_eq!(
            reap_once(&ports, scene.node, &calls, Duration::from_secs(60)).await,
            Ok(1)
        );
    }
}
