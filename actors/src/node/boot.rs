//! What a node does with the store at its start and all along: register, clean up after dead processes. Every step waits for the store and the carrier, however long they are away.

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
        store::{Orphan, Patience, Pulse, StoreError},
        usage::Meter,
    },
};

/// How often it looks for lists of contacts that no campaign has any more.
const SWEEP: Duration = Duration::from_secs(60);

/// How long a transfer rings at most (the carriers' adapters say 30 s), and as long again to be told of its end.
const HANDED_ON: Duration = Duration::from_secs(60);

/// For how long the calls of a dead process are left to their carriers, which notice a broken socket at once: a third longer
/// than it takes to find a silent process dead, so that one which said it was going leaves them the same time.
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

/// What came of a try to register this process.
pub enum Registration {
    /// It is one of the nodes; what the store says of the others.
    Registered(Pulse),
    /// The store is unavailable: it registers later.
    Later,
    /// It cannot be one of the nodes, however often it asks, and why.
    Refused(String),
}

/// One try to register this process and to remove the imports that dead ones left unfinished. Both before the first
/// request is served, so that no import of this process is taken for one of them. Their contacts take longer and go
/// behind it: [`sweep_lists`].
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
                "registered; unfinished imports were removed"
            );
            gate.registered(began, pulse);
            Registration::Registered(pulse)
        }
        Err(StoreError::OtherTimes(why)) => Registration::Refused(why),
        Err(error) => {
            tracing::warn!(%error, "store is away, registering later");
            Registration::Later
        }
    }
}

/// Registers as soon as the store is back.
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

/// Removes the contacts of unfinished imports and of lists that were replaced, at the start and all along: nobody
/// reads them any more, and a person's erasure does not reach them.
pub async fn sweep_lists(ports: Ports) {
    loop {
        // Those of nodes that died meanwhile.
        if let Err(error) = ports.store.sweep_imports().await {
            tracing::warn!(%error, "imports of dead nodes stay for now, trying again");
        }
        match ports.store.sweep_lists().await {
            Ok(0) => {}
            Ok(lists) => tracing::info!(lists, "contact lists that no campaign has were removed"),
            Err(error) => tracing::warn!(%error, "contact lists that no campaign has stay for now, trying again"),
        }
        tokio::time::sleep(SWEEP).await;
    }
}

/// Settles the attempts that dead processes left: at the start, and for as long as the node runs, as a process may be
/// found dead later. A running campaign finds by itself what was queued again. One that drains takes nothing more: it might
/// not live to settle it.
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
        let wait = match ports.store.take_orphans(node, &left_alone).await {
            Ok(orphans) => {
                backoff.reset();
                if !orphans.is_empty() {
                    settling.spawn(settle_all(ports.clone(), orphans, times, calls.clone()));
                }
                times.heartbeat
            }
            // The heartbeat hears of it too, and says so.
            Err(StoreError::Fenced) => break,
            Err(error) => {
                tracing::warn!(%error, "orphans could not be taken over, trying again");
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

/// Settles those that no other look has found before.
async fn settle_all(ports: Ports, orphans: Vec<Orphan>, times: Times, calls: CallRegistry) {
    tracing::info!(orphans = orphans.len(), "settling the calls of a dead process");
    let mut each = JoinSet::new();
    for orphan in orphans {
        let Some(seen_to) = calls.see_to(orphan.claim) else {
            continue;
        };
        let ports = ports.clone();
        each.spawn(async move {
            let settled = settle(&ports, lost(orphan), times).await.is_some();
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
    tracing::info!(
        settled,
        others,
        "settled the calls of a dead process; what others had taken by then is theirs"
    );
}

/// What is to be settled of an attempt that no call holds.
pub(super) fn lost(orphan: Orphan) -> LostCall {
    LostCall {
        ended: Ended {
            claim: orphan.claim,
            account: orphan.account,
            agent: orphan.agent,
            campaign: orphan.campaign,
            tries: orphan.tries,
            direction: orphan.direction,
            call_back: None,
        },
        to: orphan.phone_number,
        carrier: orphan.carrier,
        leg: orphan.carrier_call,
        since: orphan.dialing_at,
        times: Default::default(),
        error: attempt::MEDIA_LOST.to_owned(),
        meter: Meter::default(),
    }
}
