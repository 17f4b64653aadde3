//! Recovers claims and attempts that the store assigns to this node but that nobody here holds any more.
//! Claims are released: the claim's answer was lost, a plan died in a mailbox, or a campaign crashed before
//! it handed a claim on. A claim still on its way is safe, since its permit request uses the old epoch and is
//! refused. Attempts that may have been sent are settled with the carrier: their outcome could not be written
//! for too long, was refused, or was lost by a server that took over.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use tokio::{task::JoinSet, time::Instant};

use super::boot;
use crate::lines::{CallRegistry, LostCall, NOT_TAKEN, settle, write_off};
use domain::{
    id::NodeId,
    node_times::Times,
    ports::{
        Ports,
        store::{AttemptState, CallDirection, Claim, OrphanedAttempt, StoreResult},
    },
};

/// Longest pause before an attempt whose outcome the store did not take is settled again.
const LONGEST_PAUSE: Duration = Duration::from_secs(3_600);

/// Looks periodically for as long as it runs. A running campaign notices released or settled attempts by
/// itself, since it counts the remaining work every second while any attempt is open.
///
/// A call asks for its permit within milliseconds of its claim. A claim counts as lost when it is four times
/// as old as the time after which a silent node counts as dead.
pub async fn recover(ports: Ports, (node, times): (NodeId, Times), calls: CallRegistry) {
    let lost_after = times.dead_after * 4;
    let mut unsettled = Unsettled::default();
    loop {
        tokio::time::sleep(times.dead_after).await;
        match recover_once(&ports, node, &calls, lost_after).await {
            Ok(0) => {}
            Ok(claims) => tracing::warn!(claims, "lost claims released"),
            Err(error) => tracing::warn!(%error, "releasing lost claims failed"),
        }
        match ports.store.unsettled(node, milliseconds(lost_after)).await {
            Ok(open) => unsettled.settle(
                open,
                &calls,
                |attempt| settled(ports.clone(), attempt, times),
                lost_after,
            ),
            Err(error) => tracing::warn!(%error, "search for attempts without a call failed"),
        }
    }
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

async fn recover_once(ports: &Ports, node: NodeId, calls: &CallRegistry, lost_after: Duration) -> StoreResult<usize> {
    let stale = ports.store.stale_claims(node, milliseconds(lost_after)).await?;
    // While the store is unavailable a call may hold its claim for long, since it keeps trying to write that
    // nothing was sent.
    let lost: Vec<Claim> = stale.into_iter().filter(|claim| !calls.holds(*claim)).collect();
    if !lost.is_empty() {
        ports.store.release(&lost).await?;
    }
    Ok(lost.len())
}

/// Settles an attempt that no call holds. Returns whether its outcome is written.
async fn settled(ports: Ports, attempt: OrphanedAttempt, times: Times) -> bool {
    let never_began = attempt.direction == CallDirection::Inbound && attempt.state == AttemptState::Dialed;
    let lost = boot::lost(attempt);
    let outcome = match never_began {
        // The carrier was told that nobody takes it, and may have connected it elsewhere.
        true => {
            let error = NOT_TAKEN.to_owned();
            write_off(&ports, LostCall { error, ..lost }).await
        }
        false => settle(&ports, lost, times).await,
    };
    outcome.is_some()
}

/// Attempts of this node that may have been sent and that no call holds.
#[derive(Default)]
struct Unsettled {
    /// Attempts found by the previous look. An attempt on its way to or from a call is not found twice.
    found: HashSet<Claim>,
    settling: JoinSet<(Claim, bool)>,
    /// Number of times the store did not take an outcome, and the time of the next try.
    refused: HashMap<Claim, (u32, Instant)>,
}

impl Unsettled {
    fn settle<F: Future<Output = bool> + Send + 'static>(
        &mut self,
        open: Vec<OrphanedAttempt>,
        calls: &CallRegistry,
        settled: impl Fn(OrphanedAttempt) -> F,
        pause: Duration,
    ) {
        let now = Instant::now();
        while let Some(ended) = self.settling.try_join_next() {
            // A crash was logged, and the attempt will be found again.
            if let Ok((claim, false)) = ended {
                let (times, until) = self.refused.entry(claim).or_insert((0, now));
                *until = now + (pause * 2_u32.saturating_pow((*times).min(10))).min(LONGEST_PAUSE);
                *times += 1;
            }
        }
        // After a failover the store may know an older claim than the call's. That is no reason to end its leg.
        let is_nobodys = |open: &OrphanedAttempt| !calls.holds(open.claim) && !calls.lives(open.claim.attempt);
        let nobodys: Vec<OrphanedAttempt> = open.into_iter().filter(is_nobodys).collect();
        let found: HashSet<Claim> = nobodys.iter().map(|open| open.claim).collect();
        self.refused
            .retain(|claim, _| found.contains(claim) || calls.holds(*claim));
        for open in nobodys {
            let claim = open.claim;
            let waits = self.refused.get(&claim).is_some_and(|(_, until)| now < *until);
            if waits || !self.found.contains(&claim) {
                continue;
            }
            let Some(seen_to) = calls.see_to(claim) else { continue };
            tracing::warn!(attempt = %claim.attempt, "settling an open attempt without a call");
            let settled = settled(open);
            self.settling.spawn(async move {
                let written = settled.await;
                drop(seen_to);
                (claim, written)
            });
        }
        self.found = found;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::attempt::Ended;
    use crate::lines::Dialer;
    use domain::{ports::store::AttemptStore, time::Clock};
    use testkit::{
        fake_ports::FakePorts,
        memory_store::MemoryStore,
        store_conformance::{Fixture, ManualClock},
    };

    #[tokio::test(start_paused = true)]
    async fn an_attempt_whose_call_lives_is_not_settled_whatever_its_epoch() {
        let clock = Arc::new(ManualClock::new());
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let fixture = Fixture {
            store: store.clone(),
            clock: clock.clone(),
        };
        let scene = fixture.scene().await;
        let campaign = scene.running(0..1).await;
        let dialed = scene.claim(campaign, 1).await.remove(0);
        scene.permit(dialed.claim).await.unwrap();
        let open = store.unsettled(scene.node, 0).await.unwrap();
        assert_eq!(open[0].claim, dialed.claim);
        let calls = CallRegistry::default();
        let later = Claim {
            epoch: dialed.claim.epoch + 2,
            ..dialed.claim
        };
        let call = LostCall {
            ended: Ended {
                claim: later,
                ..Ended::from(&dialed)
            },
            to: dialed.contact.phone_number.clone(),
            carrier: "fake".into(),
            leg: None,
            since: clock.now(),
            times: Default::default(),
            error: String::new(),
            meter: domain::ports::usage::Meter::default(),
        };
        calls.insert(Dialer::Campaign(campaign), call);
        assert!(calls.see_to(dialed.claim).is_none());
        let mut unsettled = Unsettled::default();
        let mut look = || {
            unsettled.settle(open.clone(), &calls, |_| async { true }, Duration::ZERO);
            unsettled.settling.len()
        };
        for _ in 0..3 {
            assert_eq!(look(), 0);
        }
        calls.remove(dialed.claim.attempt);
        assert_eq!(look(), 0, "it may be on its way");
        assert_eq!(look(), 1);
    }

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
            ended: Ended::from(&held),
            to: held.contact.phone_number,
            carrier: "fake".into(),
            leg: None,
            since: clock.now(),
            times: Default::default(),
            error: String::new(),
            meter: domain::ports::usage::Meter::default(),
        };
        calls.insert(Dialer::Campaign(campaign), call);
        assert_eq!(
            recover_once(&ports, scene.node, &calls, Duration::from_secs(60)).await,
            Ok(0)
        );
        clock.advance(Duration::from_secs(60));
        assert_eq!(
            recover_once(&ports, scene.node, &calls, Duration::from_secs(60)).await,
            Ok(1)
        );
        assert_eq!(store.attempt_state(lost.attempt), None);
        assert_eq!(store.attempt_state(held.claim.attempt), Some(AttemptState::Claimed));
        calls.remove(held.claim.attempt);
        assert_eq!(
            recover_once(&ports, scene.node, &calls, Duration::from_secs(60)).await,
            Ok(1)
        );
    }
}
