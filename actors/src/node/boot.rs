//! Work of a node with the store at start and while it runs: it registers and cleans up after dead processes.
//! Every step waits for the store and the carrier, however long they are unavailable.

use std::time::Duration;

use ractor::ActorRef;
use tokio::{sync::watch, task::JoinSet, time::Instant};

use super::NodeMessage;
use crate::{
    attempt::{self, Ended},
    dial_gate::DialGate,
    lines::{CallRegistry, LostCall, settle},
    supervision::Backoff,
};
use domain::{
    id::NodeId,
    node_times::Times,
    ports::{
        Ports,
        store::{OrphanedAttempt, Patience, Pulse, StoreError},
        usage::Meter,
    },
};

/// Interval between sweeps of contact lists that no campaign uses any more.
const SWEEP: Duration = Duration::from_secs(60);

/// Longest ringing time of a transfer (the carriers' adapters use 30 s), plus as long again for the report of its end.
const HANDED_ON: Duration = Duration::from_secs(60);

/// Returns how long the calls of a dead process are left to their carriers, which notice a broken socket at
/// once. It is a third longer than it takes to declare a silent process dead, so that a process which
/// announced its end leaves them the same time.
fn left_alone(ports: &Ports, times: Times) -> Patience {
    let ask = ports.carriers.all().filter(|carrier| carrier.abilities().comes_back);
    Patience {
        carriers: ask.map(|carrier| carrier.name().to_owned()).collect(),
        talking: times.dead_after * 4 / 3,
        handed_on: HANDED_ON.max(times.dead_after * 4 / 3),
    }
}

fn patience() -> Backoff {
    Backoff::new(Duration::from_millis(200), Duration::from_secs(5))
}

/// Result of an attempt to register this process.
pub enum Registration {
    /// This process is one of the nodes. Holds the store's facts about the other nodes.
    Registered(Pulse),
    /// The store is unavailable. The process registers later.
    Later,
    /// This process cannot become a node, however often it asks. Holds the reason.
    Refused(String),
}

/// Tries once to register this process and to remove the imports that dead processes left unfinished. Both
/// happen before the first request is served, so that no import of this process is removed. Removing the
/// contacts of those imports takes longer and happens later in [`sweep_lists`].
pub async fn register(ports: &Ports, node: NodeId, address: Option<&str>, gate: &DialGate) -> Registration {
    let began = Instant::now();
    let registered = async {
        ports.store.register_node(node, address).await?;
        let imports = ports.store.sweep_imports().await?;
        Ok::<_, StoreError>((imports, ports.store.heartbeat(node).await?))
    };
    match registered.await {
        Ok((imports, pulse)) => {
            tracing::info!(
                %node,
                address,
                imports,
                nodes = pulse.nodes,
                "registered, unfinished imports removed"
            );
            gate.registered(began, pulse);
            Registration::Registered(pulse)
        }
        Err(StoreError::OtherTimes(why)) => Registration::Refused(why),
        Err(error) => {
            tracing::warn!(%error, "store unavailable, registering later");
            Registration::Later
        }
    }
}

/// Registers as soon as the store is available again.
pub async fn register_later(
    root: ActorRef<NodeMessage>,
    ports: Ports,
    (node, address): (NodeId, Option<String>),
    gate: DialGate,
) {
    let mut backoff = patience();
    loop {
        tokio::time::sleep(backoff.failed()).await;
        let message = match register(&ports, node, address.as_deref(), &gate).await {
            Registration::Registered(pulse) => NodeMessage::Registered(node, pulse),
            Registration::Later => continue,
            Registration::Refused(why) => NodeMessage::Refused(node, why),
        };
        let _ = root.cast(message);
        return;
    }
}

/// Removes the contacts of unfinished imports and of replaced lists, at start and regularly. Nobody reads
/// them any more, and a person's erasure does not reach them.
pub async fn sweep_lists(ports: Ports) {
    loop {
        // Imports of nodes that have died since the last sweep.
        if let Err(error) = ports.store.sweep_imports().await {
            tracing::warn!(%error, "removing imports of dead nodes failed, trying again");
        }
        match ports.store.sweep_lists().await {
            Ok(0) => {}
            Ok(lists) => tracing::info!(lists, "unused contact lists removed"),
            Err(error) => tracing::warn!(%error, "removing unused contact lists failed, trying again"),
        }
        tokio::time::sleep(SWEEP).await;
    }
}

/// Settles the attempts that dead processes left, at start and while the node runs, since a process may be
/// found dead later. A running campaign finds requeued attempts by itself. A draining node takes nothing
/// more, because it might end before it has settled it.
pub async fn take_over(
    ports: Ports,
    (node, times): (NodeId, Times),
    calls: CallRegistry,
    mut draining: watch::Receiver<bool>,
) {
    let mut backoff = patience();
    let left_alone = left_alone(&ports, times);
    let mut settling = JoinSet::new();
    while !*draining.borrow() {
        let wait = match ports.store.take_orphaned(node, &left_alone).await {
            Ok(orphaned) => {
                backoff.reset();
                if !orphaned.is_empty() {
                    settling.spawn(settle_all(ports.clone(), orphaned, times, calls.clone()));
                }
                times.heartbeat
            }
            // The heartbeat sees the same error and logs it.
            Err(StoreError::Fenced) => break,
            Err(error) => {
                tracing::warn!(%error, "taking over orphaned attempts failed, trying again");
                backoff.failed()
            }
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            _ = draining.wait_for(|draining| *draining) => {}
        }
        while settling.try_join_next().is_some() {}
    }
    while settling.join_next().await.is_some() {}
}

/// Settles the attempts that no earlier look has found.
async fn settle_all(ports: Ports, orphaned: Vec<OrphanedAttempt>, times: Times, calls: CallRegistry) {
    tracing::info!(attempts = orphaned.len(), "settling calls of a dead process");
    let mut each = JoinSet::new();
    for attempt in orphaned {
        let Some(seen_to) = calls.see_to(attempt.claim) else {
            continue;
        };
        let ports = ports.clone();
        each.spawn(async move {
            let settled = settle(&ports, lost(attempt), times).await.is_some();
            drop(seen_to);
            settled
        });
    }
    let (mut settled, mut others) = (0, 0);
    while let Some(done) = each.join_next().await {
        match done {
            Ok(true) => settled += 1,
            Ok(false) | Err(_) => others += 1,
        }
    }
    tracing::info!(settled, others, "settled calls of a dead process");
}

/// Returns the call to settle for an attempt that no call actor holds.
pub(super) fn lost(attempt: OrphanedAttempt) -> LostCall {
    LostCall {
        ended: Ended {
            claim: attempt.claim,
            account: attempt.account,
            agent: attempt.agent,
            campaign: attempt.campaign,
            tries: attempt.tries,
            direction: attempt.direction,
            call_back: None,
        },
        to: attempt.phone_number,
        carrier: attempt.carrier,
        leg: attempt.carrier_call,
        since: attempt.dialing_at,
        times: Default::default(),
        error: attempt::MEDIA_LOST.to_owned(),
        meter: Meter::default(),
    }
}
