//! What a node does with the store at its start and all along: register, clean up after dead processes, show that it
//! lives. Every step waits for the store and the carrier, however long they are away.

use std::time::Duration;

use ractor::ActorRef;
use tokio::task::JoinSet;

use super::{Backoff, NodeMessage};
use crate::{
    campaign::Ended,
    id::NodeId,
    lines::{LostCall, settle},
    ports::{
        Ports,
        store::{Orphan, StoreError},
        usage::Meter,
    },
};

/// How often a node shows that it lives.
const HEARTBEAT: Duration = Duration::from_secs(3);

/// How often it looks for what dead processes left.
const TAKE_OVER: Duration = Duration::from_secs(3);

/// How often it looks for lists of contacts that no campaign has any more.
const SWEEP: Duration = Duration::from_secs(60);

/// The outcome of a call whose process died.
pub const MEDIA_LOST: &str = "media-lost";

fn patience() -> Backoff {
    Backoff::new(Duration::from_millis(200), Duration::from_secs(5))
}

/// One try to register this process and to remove the imports that earlier ones left unfinished. Both before the
/// first request is served, so that no import of this process is taken for one of them. Their contacts take longer
/// and go behind it: [`sweep_lists`].
pub async fn register(ports: &Ports, node: NodeId, address: Option<&str>) -> bool {
    let registered = async {
        ports.store.register_node(node, address).await?;
        ports.store.sweep_imports().await
    };
    match registered.await {
        Ok(imports) => {
            tracing::info!(%node, imports, "registered; unfinished imports were removed");
            true
        }
        Err(error) => {
            tracing::warn!(%error, "store is away, registering later");
            false
        }
    }
}

/// Registers as soon as the store is back.
pub async fn register_later(root: ActorRef<NodeMessage>, ports: Ports, node: NodeId, address: Option<String>) {
    let mut backoff = patience();
    loop {
        tokio::time::sleep(backoff.failed()).await;
        if register(&ports, node, address.as_deref()).await {
            let _ = root.cast(NodeMessage::Registered);
            return;
        }
    }
}

/// Removes the contacts of unfinished imports and of lists that were replaced, at the start and all along: nobody
/// reads them any more, and a person's erasure does not reach them.
pub async fn sweep_lists(ports: Ports) {
    loop {
        match ports.store.sweep_lists().await {
            Ok(0) => {}
            Ok(lists) => tracing::info!(lists, "contact lists that no campaign has were removed"),
            Err(error) => tracing::warn!(%error, "contact lists that no campaign has stay for now, trying again"),
        }
        tokio::time::sleep(SWEEP).await;
    }
}

/// Shows every 3 s that this process lives, until the store says that it does not.
pub async fn heartbeat(root: ActorRef<NodeMessage>, ports: Ports, node: NodeId) {
    loop {
        tokio::time::sleep(HEARTBEAT).await;
        match ports.store.heartbeat(node).await {
            Ok(()) => {}
            Err(StoreError::Fenced) => {
                let _ = root.cast(NodeMessage::Fenced);
                return;
            }
            Err(error) => tracing::warn!(%error, "heartbeat failed"),
        }
    }
}

/// Settles the attempts that dead processes left: at the start, and for as long as the node runs, as a process may be
/// found dead later. A running campaign finds by itself what was queued again.
pub async fn take_over(ports: Ports, node: NodeId) {
    let mut backoff = patience();
    let mut settling = JoinSet::new();
    loop {
        let wait = match ports.store.take_orphans(node).await {
            Ok(orphans) => {
                backoff.reset();
                if !orphans.is_empty() {
                    tracing::info!(orphans = orphans.len(), "settling the calls of a dead process");
                }
                for orphan in orphans {
                    let ports = ports.clone();
                    settling.spawn(async move { settle(&ports, lost(orphan)).await });
                }
                TAKE_OVER
            }
            // The heartbeat hears of it too, and says so.
            Err(StoreError::Fenced) => break,
            Err(error) => {
                tracing::warn!(%error, "orphans could not be taken over, trying again");
                backoff.failed()
            }
        };
        tokio::time::sleep(wait).await;
        while settling.try_join_next().is_some() {}
    }
    while settling.join_next().await.is_some() {}
}

fn lost(orphan: Orphan) -> LostCall {
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
        error: MEDIA_LOST.to_owned(),
        meter: Meter::default(),
    }
}
